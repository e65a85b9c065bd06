// All orders, newest first.
import { isPositive, negated } from '../../amount';
import { get } from '../../api';
import { words } from '../../format';
import { useList } from '../../load';
import { href } from '../../route';
import { Badge, Card, Empty, Money, Page, Time } from '../../ui/basic';
import { ExportButton } from '../../ui/export';
import { SearchFilter, SelectFilter, chosen, filterValue } from '../../ui/filter';
import { List } from '../../ui/table';

const ORDER_STATUS = ['pending', 'confirmed', 'cancelled', 'refunded'] as const;

export function Orders() {
  const q = filterValue('q');
  const status = chosen('status', ORDER_STATUS);
  const orders = useList((cursor) => get('/api/admin/orders', { query: { q, status, cursor } }), [q, status]);
  return (
    <Page
      title="Orders"
      actions={
        <>
          <ExportButton what="orders" />
        </>
      }
    >
      <Card flush>
        <div class="filters">
          <SearchFilter label="Search number or e-mail" />
          <SelectFilter label="Status" name="status" options={[...ORDER_STATUS]} />
        </div>
        <List
          label="Orders"
          of={orders}
          to={(o) => href(`/orders/${o.id}`)}
          empty={
            q || status ? (
              <Empty title="No order matches">Change the filters to see others.</Empty>
            ) : (
              <Empty title="No orders yet">They appear here as soon as somebody buys.</Empty>
            )
          }
          columns={[
            {
              head: 'Order',
              cell: (o) => (
                <>
                  #{o.id}
                  <span class="sub">{o.email}</span>
                </>
              ),
            },
            {
              head: 'Status',
              cell: (o) => (
                <>
                  <Badge status={o.status} />
                  {o.on_hold && <Badge status="on_hold">On hold</Badge>}
                </>
              ),
            },
            { head: 'Paid with', cell: (o) => (o.paid_with ? words(o.paid_with) : <span class="muted">–</span>) },
            { head: 'Date', cell: (o) => <Time at={o.created_at} /> },
            {
              head: 'Total',
              right: true,
              cell: (o) => (
                <>
                  <Money amount={o.total} />
                  {isPositive(o.refunded_amount) && o.status !== 'refunded' && (
                    <span class="sub">
                      <Money amount={negated(o.refunded_amount)} /> refunded
                    </span>
                  )}
                </>
              ),
            },
          ]}
        />
      </Card>
    </Page>
  );
}
