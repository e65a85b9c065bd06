// Money for an order through gateways, what was given back, and refunds that need a hand.
import { useState } from 'preact/hooks';
import { isPositive, type Amount } from '../../amount';
import { post, type Data } from '../../api';
import { money, words } from '../../format';
import { Badge, Button, Card, Money, Time } from '../../ui/basic';
import { Dialog, ask } from '../../ui/dialog';
import { Form, TextArea } from '../../ui/form';
import { Table } from '../../ui/table';
import { toast } from '../../ui/toast';

type OrderData = Data<'/api/admin/orders/{id}'>;
type Payment = OrderData['payments'][number];
type Refund = OrderData['refunds'][number];

/** Where a payment's money is, unless it simply paid for the order. */
const PARTS: [keyof Payment & ('waiting' | 'credited' | 'returned' | 'lost'), string][] = [
  ['waiting', 'waits for a decision'],
  ['credited', 'in the wallet'],
  ['returned', 'given back'],
  ['lost', 'lost in disputes'],
];

function Whereabouts({ payment: p }: { payment: Payment }) {
  return (
    <>
      <span class="number">{money(p.received, p.currency)}</span>
      {PARTS.filter(([name]) => isPositive(p[name] as Amount)).map(([name, text]) => (
        <span key={name} class="sub">
          {money(p[name] as Amount, p.currency)} {text}
        </span>
      ))}
    </>
  );
}

export function Payments({ of }: { of: Payment[] }) {
  if (of.length === 0) return null;
  return (
    <Card title="Payments" flush>
      <Table
        label="Payments"
        rows={of}
        keyOf={(p) => p.id}
        columns={[
          {
            head: 'Payment',
            cell: (p) => (
              <>
                #{p.id} {words(p.gateway)}
                {p.payment_ref && <span class="sub">{p.payment_ref}</span>}
              </>
            ),
          },
          {
            head: 'Status',
            cell: (p) => (
              <>
                <Badge status={p.status} />
                {p.is_disputed && <Badge status="failed">Disputed</Badge>}
                <span class="sub">
                  <Time at={p.succeeded_at ?? p.created_at} />
                </span>
              </>
            ),
          },
          { head: 'Asked for', right: true, cell: (p) => <span class="number">{money(p.amount, p.currency)}</span> },
          { head: 'Received', right: true, cell: (p) => <Whereabouts payment={p} /> },
        ]}
      />
    </Card>
  );
}

/** onChange: read the order again. */
export function Refunds({ of, onChange }: { of: Refund[]; onChange: () => void }) {
  const [settled, setSettled] = useState<Refund | null>(null);
  if (of.length === 0) return null;
  const retry = (refund: Refund) =>
    ask({
      title: `Try the refund of ${money(refund.amount)} again?`,
      text: 'The gateway is asked once more to give the money back.',
      action: 'Try again',
      run: async () => {
        await post('/api/admin/refunds/{id}/retry', { path: { id: refund.id } });
        toast('The gateway is asked again.');
        onChange();
      },
    });
  return (
    <Card title="Refunds" flush>
      <Table
        label="Refunds"
        rows={of}
        keyOf={(r) => r.id}
        columns={[
          {
            head: 'Refund',
            cell: (r) => (
              <>
                #{r.id}
                <span class="sub">
                  <Time at={r.done_at ?? r.requested_at} />
                </span>
              </>
            ),
          },
          {
            head: 'Status',
            cell: (r) => (
              <>
                <Badge status={r.status} />
                {r.reason && <span class="sub">{r.reason}</span>}
                {r.note && <span class="sub">{r.note}</span>}
                {r.claim_url && (
                  <span class="sub">
                    <a href={r.claim_url} rel="noreferrer" target="_blank">
                      Where the customer claims it
                    </a>
                  </span>
                )}
              </>
            ),
          },
          { head: 'Amount', right: true, cell: (r) => <Money amount={r.amount} /> },
          {
            head: 'Actions',
            actions: true,
            cell: (r) =>
              r.status === 'failed' && (
                <>
                  <Button small label={`Try refund #${r.id} again`} onClick={() => retry(r)}>
                    Try again
                  </Button>
                  <Button small label={`Settle refund #${r.id}`} onClick={() => setSettled(r)}>
                    Settle
                  </Button>
                </>
              ),
          },
        ]}
      />
      {settled && <SettleDialog refund={settled} onClose={() => setSettled(null)} onDone={onChange} />}
    </Card>
  );
}

function SettleDialog({ refund, onClose, onDone }: { refund: Refund; onClose: () => void; onDone: () => void }) {
  return (
    <Dialog title={`Settle the refund of ${money(refund.amount)}`} onClose={onClose}>
      <Form
        submit="Settle"
        onCancel={onClose}
        onSubmit={async (v) => {
          const body = { note: v.trimmed('note') };
          await post('/api/admin/refunds/{id}/settle', { path: { id: refund.id }, body, once: v.key });
          toast('The refund is settled.');
          onDone();
          onClose();
        }}
      >
        <p>Do this when the customer got the money another way. This cannot be undone.</p>
        <TextArea name="note" label="Note" rows={3} hint="How the money went back, for your colleagues." />
      </Form>
    </Dialog>
  );
}
