// Events from gateways.
import { get } from '../../api';
import { words } from '../../format';
import { useList } from '../../load';
import { href } from '../../route';
import { Badge, Card, Empty, Page, Time } from '../../ui/basic';
import { SelectFilter, chosen } from '../../ui/filter';
import { List } from '../../ui/table';

const STATUS = ['handled', 'unmatched', 'review', 'ignored'] as const;

export function Events() {
  const status = chosen('status', STATUS);
  const events = useList((cursor) => get('/api/admin/webhook-events', { query: { status, cursor } }), [status]);
  return (
    <Page
      title="Webhook events"
      back={[href('/gateways'), 'Gateways']}
      lead="Unmatched events and those under review need a look."
    >
      <Card flush>
        <div class="filters">
          <SelectFilter label="Status" name="status" options={[...STATUS]} />
        </div>
        <List
          label="Webhook events"
          of={events}
          to={(e) => href(`/events/${e.id}`)}
          empty={
            status ? (
              <Empty title="No event matches">Change the filter to see others.</Empty>
            ) : (
              <Empty title="No events yet">
                Gateways report payments here. Give them the webhook address that their setup shows.
              </Empty>
            )
          }
          columns={[
            {
              head: 'Event',
              cell: (e) => (
                <>
                  {words(e.kind)}
                  <span class="sub">
                    {e.gateway}: {e.type}
                  </span>
                </>
              ),
            },
            {
              head: 'Status',
              cell: (e) => (
                <>
                  <Badge status={e.status} />
                  {e.reason && <span class="sub">{words(e.reason)}</span>}
                </>
              ),
            },
            {
              head: 'Order',
              cell: (e) =>
                e.order_id === null ? (
                  <span class="muted">–</span>
                ) : (
                  <a href={href(`/orders/${e.order_id}`)}>#{e.order_id}</a>
                ),
            },
            {
              head: 'Amount',
              right: true,
              cell: (e) => <span class="number">{e.amount === null ? '–' : `${e.amount} ${e.currency ?? ''}`}</span>,
            },
            { head: 'Received', cell: (e) => <Time at={e.received_at} /> },
          ]}
        />
      </Card>
    </Page>
  );
}
