// One event of a gateway, with what was sent.
import { get, post } from '../../api';
import { inLines, words } from '../../format';
import { useLoad } from '../../load';
import { href, type PageProps } from '../../route';
import { Badge, Button, Card, Facts, Load, Page, Time } from '../../ui/basic';
import { ask } from '../../ui/dialog';
import { toast } from '../../ui/toast';

export function Event({ id }: PageProps) {
  const event = useLoad(async () => (await get('/api/admin/webhook-events/{id}', { path: { id } })).data, [id]);
  const e = event.data;
  const replay = () =>
    ask({
      title: 'Try this event again?',
      text: 'Do this once the cause is fixed. The event takes effect only once, however often it is tried.',
      action: 'Try again',
      run: async () => {
        const { data } = await post('/api/admin/webhook-events/{id}/replay', { path: { id } });
        event.set(data);
        toast(`The event is ${words(data.status).toLowerCase()} now.`);
      },
    });
  return (
    <Page
      title={`Event #${id}`}
      back={[href('/events'), 'Webhook events']}
      lead={
        e && (
          <>
            <Badge status={e.status} /> {words(e.kind)}
          </>
        )
      }
      actions={e && (e.status === 'unmatched' || e.status === 'review') && <Button onClick={replay}>Try again</Button>}
    >
      <Load of={event}>
        {(data) => (
          <div class="columns">
            <Card title="Body">
              <pre class="body">{inLines(data.body)}</pre>
            </Card>
            <Card title="Event">
              <Facts
                of={[
                  ['Why', data.reason && words(data.reason)],
                  ['Gateway', data.gateway],
                  ['Its word', <code>{data.type}</code>],
                  ['Its number', <code>{data.event_id}</code>],
                  [
                    'Order',
                    data.order_id === null ? (
                      data.order_ref
                    ) : (
                      <a href={href(`/orders/${data.order_id}`)}>#{data.order_id}</a>
                    ),
                  ],
                  ['Payment', data.payment_ref && <code>{data.payment_ref}</code>],
                  ['Refund', data.refund_ref && <code>{data.refund_ref}</code>],
                  ['Amount', data.amount && `${data.amount} ${data.currency ?? ''}`],
                  ['Refunded in all', data.refunded_total && `${data.refunded_total} ${data.currency ?? ''}`],
                  ['Happened', data.occurred_at && <Time at={data.occurred_at} />],
                  ['Received', <Time at={data.received_at} />],
                ]}
              />
            </Card>
          </div>
        )}
      </Load>
    </Page>
  );
}
