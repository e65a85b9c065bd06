// What sells and what waits.
import { useEffect, useRef, useState } from 'preact/hooks';
import { sum } from '../amount';
import { get, type Data } from '../api';
import { day, money, number } from '../format';
import { useLoad } from '../load';
import { href } from '../route';
import { settings } from '../session';
import { shown } from '../theme';
import { Badge, Card, Empty, LinkButton, Load, Page, Time } from '../ui/basic';
import { Checklist } from '../parts/admin_checklist';
import { Table } from '../ui/table';

type Stats = Data<'/api/admin/stats'>;
const PERIODS = [7, 30, 90, 365];

/** The library is loaded in its own chunk when the first chart is shown. */
function Chart({ sales, currency }: { sales: Stats['sales']; currency: string }) {
  const element = useRef<HTMLDivElement>(null);
  const theme = shown.value;
  useEffect(() => {
    let stop = () => {};
    let left = false;
    void import('../ui/chart').then(({ drawSales }) => {
      if (element.current && !left) stop = drawSales(element.current, sales, currency);
    });
    return () => {
      left = true;
      stop();
    };
  }, [sales, theme]);
  return (
    <div ref={element} class="chart" role="img" aria-label="Sales by day; the same figures are in the table below" />
  );
}

function Sales({ stats }: { stats: Stats }) {
  const sold = stats.sales.filter((s) => s.orders > 0);
  const total = sum(sold.map((s) => s.total));
  const orders = sold.reduce((soFar, s) => soFar + s.orders, 0);
  if (orders === 0) {
    return (
      <Empty
        title="No sales in this time"
        action={<LinkButton to={href('/products')}>Look at your products</LinkButton>}
      >
        Orders appear here as soon as they are paid.
      </Empty>
    );
  }
  return (
    <>
      <p>
        <strong>{money(total, stats.currency)}</strong>{' '}
        <span class="muted">
          from {number(orders)} {orders === 1 ? 'order' : 'orders'}
        </span>
      </p>
      <Chart sales={stats.sales} currency={stats.currency} />
      <details class="chart-table">
        <summary>Show as a table</summary>
        <Table
          label="Sales by day"
          rows={[...sold].reverse()}
          keyOf={(s) => s.day}
          columns={[
            { head: 'Day (UTC)', cell: (s) => day(s.day) },
            { head: 'Orders', right: true, cell: (s) => number(s.orders) },
            { head: 'Sales', right: true, cell: (s) => money(s.total, stats.currency) },
          ]}
        />
      </details>
    </>
  );
}

function Tile({ to, label, count }: { to: string; label: string; count: number }) {
  return (
    <a class={`card tile ${count > 0 ? 'waiting' : ''}`} href={to}>
      <strong>{number(count)}</strong>
      <span class="muted">{label}</span>
    </a>
  );
}

const TWO_DAYS_MS = 48 * 3600 * 1000;

/** How old the newest verified backup is; silent for a store that is backed up in another way. */
function Backup({ backup }: { backup: Stats['backup'] }) {
  if (!backup.made_at) return null;
  const isOld = !backup.verified_at || Date.now() - Date.parse(backup.verified_at) > TWO_DAYS_MS;
  return (
    <p class="muted">
      Last verified backup: <Time at={backup.verified_at} none="never" />{' '}
      {isOld && <Badge status="low">Look at your backups</Badge>}
    </p>
  );
}

export function Dashboard() {
  const [days, setDays] = useState(30);
  const stats = useLoad(async () => (await get('/api/admin/stats', { query: { days } })).data, [days]);
  return (
    <Page title="Dashboard" lead={settings.value?.store_name}>
      <Checklist />
      <Load of={stats}>
        {(s) => (
          <>
            <div class="tiles">
              <Tile
                to={href('/withdrawals', { status: 'pending' })}
                label="Open withdrawals"
                count={s.open.withdrawals}
              />
              <Tile to={href('/tickets', { status: 'open' })} label="Tickets waiting" count={s.open.tickets} />
              <Tile to={href('/orders', { status: 'pending' })} label="Unpaid orders" count={s.open.pending_orders} />
              <Tile to={href('/orders')} label="Orders on hold" count={s.open.orders_on_hold} />
              <Tile to={href('/events')} label="Failed webhooks" count={s.open.webhooks} />
              <Tile to={href('/reviews')} label="Open reviews" count={s.open.reviews} />
              <Tile to={href('/outbox')} label="Failed in the outbox" count={s.open.outbox} />
            </div>
            <Backup backup={s.backup} />
            <div class="columns">
              <Card
                title="Sales by day"
                actions={
                  <>
                    <label class="hidden" for="period">
                      Period
                    </label>
                    <select id="period" value={String(days)} onChange={(e) => setDays(Number(e.currentTarget.value))}>
                      {PERIODS.map((n) => (
                        <option key={n} value={String(n)}>
                          Last {n} days
                        </option>
                      ))}
                    </select>
                  </>
                }
              >
                <Sales stats={s} />
              </Card>
              <Card title="Low stock" flush>
                {s.low_stock.length === 0 ? (
                  <Empty title="Nothing runs out">Pools of serial codes with few codes left are listed here.</Empty>
                ) : (
                  <Table
                    label="Low stock"
                    rows={s.low_stock}
                    to={(r) => href(`/products/${r.product_id}`)}
                    columns={[
                      {
                        head: 'Product',
                        cell: (r) => (
                          <>
                            {r.product_name}
                            {r.variant_name && <span class="sub">{r.variant_name}</span>}
                          </>
                        ),
                      },
                      {
                        head: 'Codes left',
                        right: true,
                        cell: (r) => <Badge status={r.free === 0 ? 'out_of_stock' : 'low'}>{number(r.free)}</Badge>,
                      },
                    ]}
                  />
                )}
              </Card>
            </div>
          </>
        )}
      </Load>
    </Page>
  );
}
