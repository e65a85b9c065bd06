// One review: what happened, and every action that can settle it, once.
import { useState } from 'preact/hooks';
import { ApiError, get, post, type Data } from '../../api';
import { words } from '../../format';
import { useLoad } from '../../load';
import { href, type PageProps } from '../../route';
import { Badge, Button, Card, Facts, Load, Page, Time } from '../../ui/basic';
import { Dialog } from '../../ui/dialog';
import { Form, TextArea } from '../../ui/form';
import { toast } from '../../ui/toast';

type ReviewData = Data<'/api/admin/reviews/{id}'>;
type Action = ReviewData['actions'][number];

const EFFECTS: Record<Action, string> = {
  confirm:
    'The order is confirmed with the money that came, or the top-up credited. A shortfall is the store’s loss; any ' +
    'surplus goes into the wallet.',
  refund: 'The money that waits is given back, or the refund is tried again.',
  credit: 'The money goes into the customer’s wallet.',
  cancel: 'The order is cancelled, and the money that came is given back.',
  settle: 'It was settled outside. Money that waits is booked as given back.',
};

const link = (path: string, id: number | null) => id !== null && <a href={href(`${path}/${id}`)}>#{id}</a>;

/** A payment has no page of its own: its order shows it, or for a top-up its customer. */
function payment(review: ReviewData) {
  if (review.payment_id === null) return null;
  const of = review.order_id === null ? `/customers/${review.customer_id}` : `/orders/${review.order_id}`;
  return <a href={href(of)}>#{review.payment_id}</a>;
}

function ReviewFacts({ of: r }: { of: ReviewData }) {
  const customer = r.customer_id !== null && (
    <a href={href(`/customers/${r.customer_id}`)}>{r.email ?? `#${r.customer_id}`}</a>
  );
  return (
    <Facts
      of={[
        ['Amount', r.amount && `${r.amount} ${r.currency ?? ''}`],
        ['Gateway', r.gateway],
        ['Order', link('/orders', r.order_id) || null],
        ['Payment', payment(r)],
        ['Customer', customer || null],
        ['Event', link('/events', r.event_id) || null],
        ['Refund', r.refund_id && `#${r.refund_id}`],
        ['Due', r.due_at && <Time at={r.due_at} />],
        ['Since', <Time at={r.created_at} />],
      ]}
    />
  );
}

function Outcome({ of: r }: { of: ReviewData }) {
  return (
    <Card title="Outcome">
      <Facts
        of={[
          ['Done', r.action === 'none' ? 'It settled itself' : r.action && words(r.action)],
          ['Note', r.note],
          ['Settled', r.settled_at && <Time at={r.settled_at} />],
        ]}
      />
    </Card>
  );
}

export function Review({ id }: PageProps) {
  const review = useLoad(async () => (await get('/api/admin/reviews/{id}', { path: { id } })).data, [id]);
  const [chosen, setChosen] = useState<Action | null>(null);
  const r = review.data;
  return (
    <Page
      title={`Review #${id}`}
      back={[href('/reviews'), 'Reviews']}
      lead={
        r && (
          <>
            <Badge status={r.status} /> {words(r.kind)}
          </>
        )
      }
      actions={
        r?.status === 'open' &&
        r.actions.map((action) => (
          <Button key={action} onClick={() => setChosen(action)}>
            {words(action)}
          </Button>
        ))
      }
    >
      <Load of={review}>
        {(data) => (
          <div class="columns">
            <div class="stack">
              <Card title="What happened">
                <p>{data.reason}</p>
              </Card>
              {data.status === 'settled' && <Outcome of={data} />}
            </div>
            <Card title="About">
              <ReviewFacts of={data} />
            </Card>
          </div>
        )}
      </Load>
      {chosen && (
        <ActionDialog
          id={id}
          action={chosen}
          onClose={() => setChosen(null)}
          onDone={review.set}
          onRefused={review.reload}
        />
      )}
    </Page>
  );
}

interface ActionProps {
  id: number;
  action: Action;
  onClose: () => void;
  onDone: (review: ReviewData) => void;
  onRefused: () => void;
}

function ActionDialog({ id, action, onClose, onDone, onRefused }: ActionProps) {
  return (
    <Dialog title={`${words(action)}: review #${id}`} onClose={onClose}>
      <Form
        submit={words(action)}
        danger={action === 'cancel'}
        onCancel={onClose}
        onSubmit={async (v) => {
          const body = { action, note: v.optional('note') };
          try {
            onDone((await post('/api/admin/reviews/{id}/resolve', { path: { id }, body, once: v.key })).data);
          } catch (e) {
            if (e instanceof ApiError && e.status === 409) onRefused();
            throw e;
          }
          toast('The review is settled.');
          onClose();
        }}
      >
        <p>{EFFECTS[action]} This happens once and cannot be undone.</p>
        <TextArea name="note" label="Note" optional rows={3} hint="For your colleagues." />
      </Form>
    </Dialog>
  );
}
