// One order: what was bought, what was delivered, what happened, and what can be done about it.
import { useState } from 'preact/hooks';
import { difference, isPositive, negated } from '../../amount';
import { get, post, type Data } from '../../api';
import { money, words } from '../../format';
import { useLoad } from '../../load';
import { href, type PageProps } from '../../route';
import { currency } from '../../session';
import { HistoryButton } from '../../parts/history';
import { Badge, Button, Card, Empty, Facts, Load, Money, Page, Time } from '../../ui/basic';
import { Dialog, ask } from '../../ui/dialog';
import { Form, TextField } from '../../ui/form';
import { Table } from '../../ui/table';
import { attempt, toast } from '../../ui/toast';
import { Note } from './note';
import { Payments, Refunds } from './payments';
import { Timeline } from './timeline';

type OrderData = Data<'/api/admin/orders/{id}'>;

function Deliveries({ order, reveal }: { order: OrderData; reveal: () => void }) {
  const rows = order.items.flatMap((item) => item.deliveries.map((d) => ({ ...d, name: item.name })));
  if (rows.length === 0)
    return (
      <Empty title="Nothing delivered">
        {order.status === 'pending' ? 'The goods are delivered as soon as the payment arrives.' : ''}
      </Empty>
    );
  const table = (
    <Table
      label="Deliveries"
      rows={rows}
      columns={[
        { head: 'Product', cell: (d) => d.name },
        {
          head: 'Delivered',
          cell: (d) => (
            <>
              <code>{d.value}</code>
              {d.fetch_count !== undefined && (
                <span class="sub">
                  {d.fetch_count} downloads{d.fetch_max ? ` of ${d.fetch_max}` : ''}
                </span>
              )}
            </>
          ),
        },
        { head: 'Kind', cell: (d) => words(d.type) },
        {
          head: 'State',
          cell: (d) => (d.is_revoked ? <Badge status="revoked" /> : <Badge status="active">Delivered</Badge>),
        },
      ]}
    />
  );
  return (
    <>
      {table}
      {rows.some((d) => d.value.startsWith('*')) && (
        <div class="form-actions">
          <Button onClick={reveal}>Reveal keys and codes</Button>
        </div>
      )}
    </>
  );
}

export function Order({ id }: PageProps) {
  const order = useLoad(async () => (await get('/api/admin/orders/{id}', { path: { id } })).data, [id]);
  const [refunding, setRefunding] = useState(false);
  const o = order.data;
  const confirm = () =>
    ask({
      title: `Confirm order #${id}?`,
      text: 'Do this when the money has arrived another way. The goods are delivered at once.',
      action: 'Payment received',
      run: async () => {
        order.set((await post('/api/admin/orders/{id}/confirm', { path: { id } })).data);
        toast('The order is confirmed and delivered.');
      },
    });
  const cancel = () =>
    ask({
      title: `Cancel order #${id}?`,
      text: o?.payments.some((p) => isPositive(p.waiting))
        ? 'The customer can no longer pay for it. What was paid goes back where it came from.'
        : 'The customer can no longer pay for it.',
      action: 'Cancel order',
      danger: true,
      run: async () => {
        const { data, message } = await post('/api/admin/orders/{id}/cancel', { path: { id } });
        order.set(data);
        toast(`${message}.`);
      },
    });
  const sendAgain = () =>
    ask({
      title: `Send the mail of order #${id} again?`,
      text: 'It has what was delivered, and goes to the customer’s address.',
      action: 'Send mail',
      run: async () => {
        order.set((await post('/api/admin/orders/{id}/send', { path: { id } })).data);
        toast('The mail is on its way.');
      },
    });
  const actions = o && (
    <>
      <HistoryButton of="order" id={id} />
      {o.status === 'pending' && (
        <Button kind="primary" onClick={confirm}>
          Confirm payment
        </Button>
      )}
      {o.status === 'pending' && <Button onClick={cancel}>Cancel order</Button>}
      {o.status === 'confirmed' && <Button onClick={sendAgain}>Send again</Button>}
      {o.status === 'confirmed' && <Button onClick={() => setRefunding(true)}>Refund</Button>}
    </>
  );
  return (
    <Page
      title={`Order #${id}`}
      back={[href('/orders'), 'Orders']}
      actions={actions}
      lead={
        o && (
          <>
            <Badge status={o.status} />
            {o.on_hold && <Badge status="on_hold">On hold</Badge>}{' '}
            <a href={href(`/customers/${o.customer_id}`)}>{o.email}</a>
          </>
        )
      }
    >
      <Load of={order}>
        {(data) => (
          <div class="columns">
            <div class="stack">
              <Card title="Items" flush>
                <Table
                  label="Items"
                  rows={data.items}
                  columns={[
                    {
                      head: 'Product',
                      cell: (i) => (
                        <>
                          <a href={href(`/products/${i.product_id}`)}>{i.name}</a>
                          {i.variant_name && <span class="sub">{i.variant_name}</span>}
                        </>
                      ),
                    },
                    { head: 'Quantity', right: true, cell: (i) => <span class="number">{i.quantity}</span> },
                    { head: 'Price', right: true, cell: (i) => <Money amount={i.unit_price} /> },
                    { head: 'Subtotal', right: true, cell: (i) => <Money amount={i.subtotal} /> },
                  ]}
                />
              </Card>
              <Card title="Deliveries" flush>
                <Deliveries
                  order={data}
                  reveal={() =>
                    attempt(async () => order.set((await post('/api/admin/orders/{id}/reveal', { path: { id } })).data))
                  }
                />
              </Card>
              <Payments of={data.payments} />
              <Refunds of={data.refunds} onChange={order.reload} />
            </div>
            <div class="stack">
              <Card title="Money">
                <Facts
                  of={[
                    ['Subtotal', <Money amount={data.subtotal} />],
                    [
                      'Discount',
                      isPositive(data.discount) ? (
                        <>
                          <Money amount={negated(data.discount)} /> {data.coupon && <code>{data.coupon}</code>}
                        </>
                      ) : null,
                    ],
                    [
                      'Total',
                      <strong>
                        <Money amount={data.total} />
                      </strong>,
                    ],
                    ['Refunded', isPositive(data.refunded_amount) ? <Money amount={data.refunded_amount} /> : null],
                    ['Codes kept until', data.reserved_until ? <Time at={data.reserved_until} /> : null],
                  ]}
                />
              </Card>
              <Card title="Timeline">
                <Timeline of={data.timeline} />
                <Note order={data} onChange={order.set} />
              </Card>
            </div>
          </div>
        )}
      </Load>
      {refunding && o && <RefundDialog order={o} onClose={() => setRefunding(false)} onDone={order.set} />}
    </Page>
  );
}

function RefundDialog({
  order,
  onClose,
  onDone,
}: {
  order: OrderData;
  onClose: () => void;
  onDone: (order: OrderData) => void;
}) {
  const left = difference(order.total, order.refunded_amount);
  return (
    <Dialog title={`Refund order #${order.id}`} onClose={onClose}>
      <Form
        submit="Refund"
        danger
        onCancel={onClose}
        onSubmit={async (v) => {
          const amount = v.amount('amount');
          const { data, message } = await post('/api/admin/orders/{id}/refund', {
            path: { id: order.id },
            body: { amount },
            once: v.key,
          });
          toast(data.status === 'refunded' ? 'The order was refunded.' : `${message}.`);
          onDone(data);
          onClose();
        }}
      >
        <p>
          Up to {money(left)} can be given back. A full refund closes what was delivered: licences and links stop
          working.
        </p>
        <TextField name="amount" label={`Amount in ${currency()}`} optional numeric hint="Empty: all that is left." />
      </Form>
    </Dialog>
  );
}
