// Discounts by code.
import { useState } from 'preact/hooks';
import { get } from '../../api';
import { decimal } from '../../format';
import { useList } from '../../load';
import { Badge, Button, Card, Empty, Money, Page, Time } from '../../ui/basic';
import { List } from '../../ui/table';
import { CouponDialog, type Coupon } from './dialog';

function State({ of }: { of: Coupon }) {
  const now = Date.now();
  if (!of.is_active) return <Badge status="off" />;
  if (of.expires_at && Date.parse(of.expires_at) <= now) return <Badge status="expired" />;
  if (of.max_uses !== null && of.uses >= of.max_uses) return <Badge status="expired">Used up</Badge>;
  if (of.starts_at && Date.parse(of.starts_at) > now) return <Badge status="pending">Not yet</Badge>;
  return <Badge status="active" />;
}

export function Coupons() {
  const coupons = useList((cursor) => get('/api/admin/coupons', { query: { cursor } }), []);
  const [edited, setEdited] = useState<Coupon | 'new' | null>(null);
  const add = (
    <Button kind="primary" icon="plus" onClick={() => setEdited('new')}>
      Make coupon
    </Button>
  );
  return (
    <Page title="Coupons" actions={add}>
      <Card flush>
        <List
          label="Coupons"
          of={coupons}
          empty={
            <Empty title="No coupons yet" action={add}>
              A coupon takes a percentage or an amount off what it applies to.
            </Empty>
          }
          columns={[
            { head: 'Code', cell: (c) => <code>{c.code}</code> },
            {
              head: 'Discount',
              cell: (c) =>
                c.kind === 'percent' ? <span class="number">{decimal(c.value)} %</span> : <Money amount={c.value} />,
            },
            { head: 'State', cell: (c) => <State of={c} /> },
            {
              head: 'Used',
              right: true,
              cell: (c) => (
                <span class="number">
                  {c.uses}
                  {c.max_uses !== null && ` of ${c.max_uses}`}
                </span>
              ),
            },
            { head: 'Ends', cell: (c) => <Time at={c.expires_at} none="Never" /> },
            {
              head: 'Actions',
              actions: true,
              cell: (c) => (
                <Button small label={`Edit ${c.code}`} onClick={() => setEdited(c)}>
                  Edit
                </Button>
              ),
            },
          ]}
        />
      </Card>
      {edited && (
        <CouponDialog
          coupon={edited === 'new' ? undefined : edited}
          onClose={() => setEdited(null)}
          onChange={coupons.reload}
        />
      )}
    </Page>
  );
}
