// Money that customers want paid out.
import { useState } from 'preact/hooks';
import { get, post, type Row } from '../api';
import { money } from '../format';
import { useList } from '../load';
import { href } from '../route';
import { Badge, Button, Card, Empty, Money, Page, Time } from '../ui/basic';
import { Dialog, ask } from '../ui/dialog';
import { SelectFilter, chosen } from '../ui/filter';
import { Form, TextArea } from '../ui/form';
import { List } from '../ui/table';
import { toast } from '../ui/toast';

type Withdrawal = Row<'/api/admin/withdrawals'>;
const STATUS = ['pending', 'approved', 'rejected'] as const;

export function Withdrawals() {
  const status = chosen('status', STATUS);
  const list = useList((cursor) => get('/api/admin/withdrawals', { query: { status, cursor } }), [status]);
  const [rejected, setRejected] = useState<Withdrawal | null>(null);
  const approve = (w: Withdrawal) =>
    ask({
      title: `Approve ${money(w.amount)}?`,
      text: (
        <>
          Pay <strong>{money(w.amount)}</strong> to {w.email} first, then approve. The customer is told. This cannot be
          taken back.
        </>
      ),
      action: 'Approve',
      run: async () => {
        list.change((await post('/api/admin/withdrawals/{id}/approve', { path: { id: w.id } })).data);
        toast('The withdrawal was approved.');
      },
    });
  return (
    <Page title="Withdrawals">
      <Card flush>
        <div class="filters">
          <SelectFilter label="Status" name="status" options={[...STATUS]} />
        </div>
        <List
          label="Withdrawals"
          of={list}
          empty={
            status === 'pending' ? (
              <Empty title="Nothing waits">All withdrawals are decided.</Empty>
            ) : (
              <Empty title="No withdrawals">When customers ask for money from their wallets, you decide here.</Empty>
            )
          }
          columns={[
            { head: 'Customer', cell: (w) => <a href={href(`/customers/${w.customer_id}`)}>{w.email}</a> },
            { head: 'Amount', right: true, cell: (w) => <Money amount={w.amount} /> },
            {
              head: 'Status',
              cell: (w) => (
                <>
                  <Badge status={w.status} />
                  {w.reason && <span class="sub">{w.reason}</span>}
                </>
              ),
            },
            {
              head: 'Asked',
              cell: (w) => (
                <>
                  <Time at={w.requested_at} />
                  {w.decided_at && (
                    <span class="sub">
                      decided <Time at={w.decided_at} />
                    </span>
                  )}
                </>
              ),
            },
            {
              head: 'Actions',
              actions: true,
              cell: (w) =>
                w.status === 'pending' && (
                  <>
                    <Button
                      small
                      kind="primary"
                      label={`Approve ${money(w.amount)} for ${w.email}`}
                      onClick={() => approve(w)}
                    >
                      Approve
                    </Button>
                    <Button small label={`Reject ${money(w.amount)} for ${w.email}`} onClick={() => setRejected(w)}>
                      Reject
                    </Button>
                  </>
                ),
            },
          ]}
        />
      </Card>
      {rejected && (
        <Dialog title={`Reject ${money(rejected.amount)}?`} onClose={() => setRejected(null)}>
          <Form
            submit="Reject"
            danger
            onCancel={() => setRejected(null)}
            onSubmit={async (v) => {
              list.change(
                (
                  await post('/api/admin/withdrawals/{id}/reject', {
                    path: { id: rejected.id },
                    body: { reason: v.optional('reason') },
                  })
                ).data,
              );
              toast('The withdrawal was rejected; the money is back in the wallet.');
              setRejected(null);
            }}
          >
            <p>The money goes back to the wallet of {rejected.email}.</p>
            <TextArea name="reason" label="Reason" optional rows={3} hint="The customer reads this." />
          </Form>
        </Dialog>
      )}
    </Page>
  );
}
