// A customer's money: the balance, every movement, and changing it manually.
import { useState } from 'preact/hooks';
import { isPositive, negated } from '../../amount';
import { get, post, type Data } from '../../api';
import { money } from '../../format';
import { useLoad } from '../../load';
import { currency } from '../../session';
import { Button, Card, Empty, Facts, Load, Money, Time } from '../../ui/basic';
import { Dialog } from '../../ui/dialog';
import { Form, Select, TextField, bad } from '../../ui/form';
import { Table } from '../../ui/table';
import { toast } from '../../ui/toast';

type Wallet = Data<'/api/admin/customers/{id}/wallet'>;
const PAGE = 20;

export function CustomerWallet({ id, onChange }: { id: number; onChange: () => void }) {
  const [open, setOpen] = useState(false);
  const [older, setOlder] = useState<Wallet['transactions']>([]);
  const [hasMore, setMore] = useState(true);
  const wallet = useLoad(
    async () => (await get('/api/admin/customers/{id}/wallet', { path: { id }, query: { limit: PAGE } })).data,
    [id],
  );
  const more = async (before: number) => {
    const page = (await get('/api/admin/customers/{id}/wallet', { path: { id }, query: { limit: PAGE, before } })).data
      .transactions;
    setOlder([...page, ...older]);
    setMore(page.length === PAGE);
  };
  return (
    <Card
      title="Wallet"
      flush
      actions={
        <Button small onClick={() => setOpen(true)}>
          Credit or debit
        </Button>
      }
    >
      <Load of={wallet}>
        {(w) => {
          const all = [...older.filter((t) => !w.transactions.some((x) => x.id === t.id)), ...w.transactions];
          const first = all[0];
          return (
            <>
              <div class="card-part">
                <Facts
                  of={[
                    [
                      'Balance',
                      <strong>
                        <Money amount={w.balance} />
                      </strong>,
                    ],
                    ['Held for withdrawals', isPositive(w.held) ? <Money amount={w.held} /> : null],
                    ['Credit limit', isPositive(w.credit_limit) ? <Money amount={w.credit_limit} /> : null],
                  ]}
                />
              </div>
              {all.length === 0 ? (
                <Empty title="No movements yet">Credit the wallet to let the customer buy with it.</Empty>
              ) : (
                <Table
                  label="Movements of the wallet"
                  rows={[...all].reverse()}
                  keyOf={(t) => t.id}
                  columns={[
                    { head: 'What', cell: (t) => t.description },
                    { head: 'When', cell: (t) => <Time at={t.created_at} /> },
                    {
                      head: 'Amount',
                      right: true,
                      cell: (t) => <Money sign amount={t.type === 'debit' ? negated(t.amount) : t.amount} />,
                    },
                  ]}
                />
              )}
              {first && hasMore && w.transactions.length === PAGE && (
                <div class="more">
                  <Button onClick={() => more(first.id)}>Load more</Button>
                </div>
              )}
            </>
          );
        }}
      </Load>
      {open && (
        <Dialog title="Credit or debit the wallet" onClose={() => setOpen(false)}>
          <Form
            submit="Book"
            onCancel={() => setOpen(false)}
            onSubmit={async (v) => {
              const amount = v.requiredAmount('amount');
              if (!isPositive(amount)) throw bad('amount', 'Enter an amount above 0');
              const signed = v.text('direction') === 'debit' ? negated(amount) : amount;
              const { data } = await post('/api/admin/customers/{id}/wallet', {
                path: { id },
                body: { amount: signed, description: v.trimmed('description') },
                once: v.key,
              });
              toast(`Booked. The balance is ${money(data.balance)} now.`);
              setOpen(false);
              wallet.reload();
              onChange();
            }}
          >
            <div class="pair">
              <Select
                name="direction"
                label="Direction"
                options={[
                  ['credit', 'Credit: add money'],
                  ['debit', 'Debit: take money'],
                ]}
              />
              <TextField name="amount" label={`Amount in ${currency()}`} numeric />
            </div>
            <TextField name="description" label="Description" hint="The customer reads this." />
          </Form>
        </Dialog>
      )}
    </Card>
  );
}
