// What staff can do about a ticket without leaving it. The server writes each step into the conversation.
import { useState } from 'preact/hooks';
import { difference } from '../../amount';
import { get, post, type Data } from '../../api';
import { money, toLocalInput } from '../../format';
import { useLoad } from '../../load';
import { href } from '../../route';
import { currency } from '../../session';
import { Badge, Button, Card, Facts, Load, Time } from '../../ui/basic';
import { Dialog } from '../../ui/dialog';
import { Form, Select, TextArea, TextField, type Values } from '../../ui/form';
import { toast } from '../../ui/toast';

type TicketData = Data<'/api/admin/tickets/{id}'>;
type LicenseData = Data<'/api/admin/licenses/{id}'>;
type OrderData = Data<'/api/admin/orders/{id}'>;
interface About {
  license: LicenseData | null;
  order: OrderData | null;
}
type Step = 'clear' | 'extend' | 'key' | 'code' | 'refund' | 'credit';

async function readAbout(t: TicketData): Promise<About> {
  const [license, order] = await Promise.all([
    t.license_id === null ? null : get('/api/admin/licenses/{id}', { path: { id: t.license_id } }),
    t.order_id === null ? null : get('/api/admin/orders/{id}', { path: { id: t.order_id } }),
  ]);
  return { license: license && license.data, order: order && order.data };
}

/** Codes that could be replaced: [item and unit, what they are called]. */
const codesOf = (order: OrderData | null): [string, string][] =>
  (order?.items ?? []).flatMap((item) =>
    item.deliveries
      .filter((d) => d.type !== 'download_url' && !d.is_revoked)
      .map((d): [string, string] => [`${item.item_id} ${d.unit}`, `${item.name} ${d.value}`]),
  );

export function Help({ ticket, onChange }: { ticket: TicketData; onChange: (ticket: TicketData) => void }) {
  const about = useLoad(() => readAbout(ticket), [ticket]);
  const [step, setStep] = useState<Step | null>(null);
  const close = () => setStep(null);
  const done = (changed: TicketData) => {
    close();
    onChange(changed);
  };
  return (
    <Card title="Help">
      <Load of={about}>
        {({ license, order }) => (
          <>
            <Facts
              of={[
                ['Licence', license && <AboutLicense license={license} />],
                ['Order', order && <AboutOrder order={order} />],
              ]}
            />
            <div class="form-actions">
              {license?.hardware_id && (
                <Button small onClick={() => setStep('clear')}>
                  Clear hardware
                </Button>
              )}
              {license && license.status !== 'refunded' && (
                <Button small onClick={() => setStep('extend')}>
                  Extend licence
                </Button>
              )}
              {license?.status === 'active' && (
                <Button small onClick={() => setStep('key')}>
                  Replace key
                </Button>
              )}
              {!license && codesOf(order).length > 0 && (
                <Button small onClick={() => setStep('code')}>
                  Replace a code
                </Button>
              )}
              {order?.status === 'confirmed' && (
                <Button small onClick={() => setStep('refund')}>
                  Refund order
                </Button>
              )}
              <Button small onClick={() => setStep('credit')}>
                Credit wallet
              </Button>
            </div>
            {step && (
              <StepDialog step={step} ticket={ticket} about={{ license, order }} onClose={close} onDone={done} />
            )}
          </>
        )}
      </Load>
    </Card>
  );
}

function AboutLicense({ license: l }: { license: LicenseData }) {
  return (
    <>
      <a href={href(`/licenses/${l.id}`)}>{l.product_name}</a>
      <span class="sub">
        {l.hardware_id === null ? 'Not bound' : `Bound to ${l.hardware_id}`}; expires{' '}
        <Time at={l.expires_at} none="never" />
      </span>
    </>
  );
}

function AboutOrder({ order: o }: { order: OrderData }) {
  return (
    <>
      <a href={href(`/orders/${o.id}`)}>#{o.id}</a> <Badge status={o.status} />
    </>
  );
}

interface StepProps {
  ticket: TicketData;
  about: About;
  onClose: () => void;
  onDone: (ticket: TicketData) => void;
}

/** One dialog for all: what happens, what it needs to know, and a note to the customer. */
function StepDialog({ step, ticket, about, onClose, onDone }: StepProps & { step: Step }) {
  const path = { id: ticket.id };
  const { license, order } = about;
  const left = order ? difference(order.total, order.refunded_amount) : null;
  const word = (v: Values) => ({ message: v.optional('message') });
  const steps: Record<
    Step,
    { title: string; submit: string; said: string; danger?: boolean; run: (v: Values) => Promise<{ data: TicketData }> }
  > = {
    clear: {
      title: 'Clear the hardware',
      submit: 'Clear hardware',
      said: 'The licence is free.',
      run: (v) => post('/api/admin/tickets/{id}/clear-hardware', { path, body: word(v), once: v.key }),
    },
    extend: {
      title: 'Extend the licence',
      submit: 'Extend licence',
      said: 'The licence was extended.',
      run: (v) =>
        post('/api/admin/tickets/{id}/extend', {
          path,
          body: { ...word(v), expires_at: v.time('expires_at') },
          once: v.key,
        }),
    },
    key: {
      title: 'Replace the key',
      submit: 'Replace key',
      said: 'The licence has a new key.',
      danger: true,
      run: (v) => post('/api/admin/tickets/{id}/replace-code', { path, body: word(v), once: v.key }),
    },
    code: {
      title: 'Replace a code',
      submit: 'Replace code',
      said: 'The customer has a new code.',
      danger: true,
      run: (v) => {
        const [item = 0, unit = 0] = v.text('code').split(' ').map(Number);
        const body = { ...word(v), item_id: item, unit };
        return post('/api/admin/tickets/{id}/replace-code', { path, body, once: v.key });
      },
    },
    refund: {
      title: `Refund order #${order?.id ?? ''}`,
      submit: 'Refund order',
      said: 'The refund is under way.',
      danger: true,
      run: (v) =>
        post('/api/admin/tickets/{id}/refund', { path, body: { ...word(v), amount: v.amount('amount') }, once: v.key }),
    },
    credit: {
      title: 'Credit the wallet',
      submit: 'Credit wallet',
      said: 'The wallet was credited.',
      run: (v) =>
        post('/api/admin/tickets/{id}/credit', {
          path,
          body: { ...word(v), amount: v.requiredAmount('amount') },
          once: v.key,
        }),
    },
  };
  const { title, submit, said, danger, run } = steps[step];
  return (
    <Dialog title={title} onClose={onClose}>
      <Form
        submit={submit}
        danger={danger}
        onCancel={onClose}
        onSubmit={async (v) => {
          const { data } = await run(v);
          toast(data.messages.length > ticket.messages.length ? said : 'Somebody else has to approve this credit.');
          onDone(data);
        }}
      >
        {step === 'clear' && <p>The licence binds to the next computer that checks it.</p>}
        {step === 'key' && <p>The old key stops working at once. The customer finds the new one in the account.</p>}
        {step === 'extend' && (
          <TextField
            name="expires_at"
            label="Valid until"
            optional
            type="datetime-local"
            value={toLocalInput(license?.expires_at ?? null)}
            hint="Your local time. Empty: for ever."
          />
        )}
        {step === 'code' && (
          <Select
            name="code"
            label="Code"
            options={codesOf(order)}
            hint="The old one is not sold again; the customer finds the new one in the account."
          />
        )}
        {step === 'refund' && left && (
          <TextField
            name="amount"
            label={`Amount in ${currency()}`}
            optional
            numeric
            hint={`Empty: all that is left, ${money(left)}. A full refund closes what was delivered.`}
          />
        )}
        {step === 'credit' && <TextField name="amount" label={`Amount in ${currency()}`} numeric />}
        <TextArea
          name="message"
          label="A note to the customer"
          optional
          rows={3}
          hint="What was done is written into the conversation in any case."
        />
      </Form>
    </Dialog>
  );
}
