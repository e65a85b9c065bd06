// What waits for a person, and whether the gateways' books agree with ours.
import { get } from '../../api';
import { words } from '../../format';
import { useList } from '../../load';
import { href } from '../../route';
import { Badge, Card, Empty, Page, Time } from '../../ui/basic';
import { SelectFilter, chosen } from '../../ui/filter';
import { List } from '../../ui/table';
import { Books } from './books';

const STATUS = ['open', 'settled'] as const;
const KIND = [
  'unmatched',
  'amount',
  'late',
  'stock',
  'refund_failed',
  'dispute',
  'duplicate',
  'reconciliation',
] as const;

export function Reviews() {
  const status = chosen('status', STATUS);
  const kind = chosen('kind', KIND);
  const list = useList((cursor) => get('/api/admin/reviews', { query: { status, kind, cursor } }), [status, kind]);
  return (
    <Page title="Reviews" lead="Money that needs a decision.">
      <div class="stack">
        <Card flush>
          <div class="filters">
            <SelectFilter label="Status" name="status" options={[...STATUS]} />
            <SelectFilter label="Kind" name="kind" options={[...KIND]} />
          </div>
          <List
            label="Reviews"
            of={list}
            to={(r) => href(`/reviews/${r.id}`)}
            empty={
              status || kind ? (
                <Empty title="No review matches">Change the filters to see others.</Empty>
              ) : (
                <Empty title="No reviews">Payments and refunds that need a decision appear here.</Empty>
              )
            }
            columns={[
              {
                head: 'What happened',
                cell: (r) => (
                  <>
                    {words(r.kind)}
                    <span class="sub">{r.reason}</span>
                  </>
                ),
              },
              {
                head: 'Status',
                cell: (r) => (
                  <>
                    <Badge status={r.status} />
                    {r.action && <span class="sub">{words(r.action)}</span>}
                  </>
                ),
              },
              {
                head: 'Order',
                cell: (r) =>
                  r.order_id === null ? (
                    <span class="muted">–</span>
                  ) : (
                    <a href={href(`/orders/${r.order_id}`)}>#{r.order_id}</a>
                  ),
              },
              {
                head: 'Customer',
                cell: (r) =>
                  r.customer_id === null ? (
                    <span class="muted">–</span>
                  ) : (
                    <a href={href(`/customers/${r.customer_id}`)}>{r.email ?? `#${r.customer_id}`}</a>
                  ),
              },
              {
                head: 'Amount',
                right: true,
                cell: (r) => <span class="number">{r.amount === null ? '–' : `${r.amount} ${r.currency ?? ''}`}</span>,
              },
              {
                head: 'Since',
                cell: (r) => (
                  <>
                    <Time at={r.created_at} />
                    {r.due_at && r.status === 'open' && (
                      <span class="sub">
                        due <Time at={r.due_at} />
                      </span>
                    )}
                  </>
                ),
              },
            ]}
          />
        </Card>
        <Books />
      </div>
    </Page>
  );
}
