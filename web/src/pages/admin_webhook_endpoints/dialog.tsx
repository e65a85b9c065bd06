import { patch, post, remove, type Data } from '../../api';
import { Dialog, ask } from '../../ui/dialog';
import { Button } from '../../ui/basic';
import { Check, Form, TextField, bad, type Values } from '../../ui/form';
import { toast } from '../../ui/toast';

export type Endpoint = Data<'/api/admin/webhook-endpoints/{id}'>;
type EventType = Endpoint['events'][number];

const TYPES: EventType[] = [
  'order.created',
  'order.confirmed',
  'order.cancelled',
  'order.refunded',
  'order.disputed',
  'payment.review',
  'license.created',
  'license.bound',
  'license.released',
  'license.revoked',
  'license.reinstated',
  'license.expired',
  'wallet.credited',
  'withdrawal.requested',
  'withdrawal.approved',
  'withdrawal.rejected',
  'ticket.created',
  'ticket.replied',
  'ticket.closed',
  'customer.created',
  'stock.low',
  'stock.empty',
];

function bodyOf(v: Values) {
  const events = v.all('events') as EventType[];
  if (events.length === 0) throw bad('events', 'Choose at least one.');
  return {
    url: v.trimmed('url'),
    description: v.trimmed('description'),
    events,
    include_keys: v.bool('include_keys'),
    is_enabled: v.bool('is_enabled'),
  };
}

interface Props {
  endpoint: Endpoint | undefined;
  onClose: () => void;
  /** Saved; with its secret when it is new. Deleted: null. */
  onChange: (endpoint: (Endpoint & { secret?: string }) | null) => void;
}

export function EndpointDialog({ endpoint, onClose, onChange }: Props) {
  const removeIt = () =>
    endpoint &&
    ask({
      title: 'Delete this endpoint?',
      text: (
        <>
          Nothing more is sent to <strong>{endpoint.url}</strong>, also not what waits. Its deliveries are no longer
          shown.
        </>
      ),
      action: 'Delete endpoint',
      danger: true,
      run: async () => {
        await remove('/api/admin/webhook-endpoints/{id}', { path: { id: endpoint.id } });
        toast('The endpoint was deleted.');
        onClose();
        onChange(null);
      },
    });
  return (
    <Dialog title={endpoint ? 'Endpoint' : 'New endpoint'} onClose={onClose}>
      <Form
        submit={endpoint ? 'Save endpoint' : 'Add endpoint'}
        onCancel={onClose}
        onSubmit={async (v) => {
          const body = bodyOf(v);
          const { data } = endpoint
            ? await patch('/api/admin/webhook-endpoints/{id}', { path: { id: endpoint.id }, body })
            : await post('/api/admin/webhook-endpoints', { body });
          toast('The endpoint was saved.');
          onClose();
          onChange(data);
        }}
      >
        <TextField
          name="url"
          type="url"
          label="Address"
          value={endpoint?.url}
          hint="https:// and on the public internet. It must answer 2xx within 15 seconds."
        />
        <TextField name="description" label="Description" optional value={endpoint?.description} />
        <fieldset>
          <legend>Events</legend>
          <div class="choices" role="group" aria-label="Events" tabIndex={0}>
            <Check
              name="events"
              value="*"
              label="All of them"
              checked={endpoint ? endpoint.events.includes('*') : true}
            />
            {TYPES.map((type) => (
              <Check key={type} name="events" value={type} label={type} checked={endpoint?.events.includes(type)} />
            ))}
          </div>
        </fieldset>
        <Check name="include_keys" label="Send licence keys and codes in full" checked={endpoint?.include_keys} />
        <Check name="is_enabled" label="Switched on" checked={endpoint?.is_enabled ?? true} />
      </Form>
      {endpoint && (
        <p class="dialog-foot">
          <Button small kind="quiet" onClick={removeIt}>
            Delete this endpoint
          </Button>
        </p>
      )}
    </Dialog>
  );
}
