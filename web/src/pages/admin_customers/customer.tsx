// One customer: wallet, tokens, credit, and whether the account works.
import type { Amount } from '../../amount';
import { get, patch } from '../../api';
import { plainMoney } from '../../format';
import { useList, useLoad } from '../../load';
import { href, type PageProps } from '../../route';
import { currency } from '../../session';
import { HistoryButton } from '../../parts/history';
import { Badge, Button, Card, Empty, Facts, Load, Money, Page, Time } from '../../ui/basic';
import { ask } from '../../ui/dialog';
import { Form, TextField } from '../../ui/form';
import { List } from '../../ui/table';
import { toast } from '../../ui/toast';
import { CustomerTokens } from './tokens';
import { CustomerWallet } from './wallet';

export function Customer({ id }: PageProps) {
  const customer = useLoad(async () => (await get('/api/admin/customers/{id}', { path: { id } })).data, [id]);
  const orders = useList((cursor) => get('/api/admin/orders', { query: { customer_id: id, limit: 10, cursor } }), [id]);
  const c = customer.data;
  const change = async (body: { name?: string; is_active?: boolean; credit_limit?: Amount }) => {
    const { data, message } = await patch('/api/admin/customers/{id}', { path: { id }, body });
    customer.set(data);
    return message;
  };
  const switchTo = (isActive: boolean) =>
    c &&
    ask({
      title: isActive ? `Switch ${c.email} on?` : `Switch ${c.email} off?`,
      text: isActive
        ? 'The customer can log in and buy again. Old tokens stay ended.'
        : 'The customer can no longer log in or buy, and all tokens end now. Licences keep working.',
      action: isActive ? 'Switch on' : 'Switch off',
      danger: !isActive,
      run: async () => {
        await change({ is_active: isActive });
        toast(isActive ? 'The account works again.' : 'The account is switched off.');
      },
    });
  return (
    <Page
      title={c ? c.name || c.email : 'Customer'}
      back={[href('/customers'), 'Customers']}
      lead={
        c && (
          <>
            {c.is_active ? <Badge status="active" /> : <Badge status="off">Switched off</Badge>} {c.name ? c.email : ''}
          </>
        )
      }
      actions={
        c && (
          <>
            <HistoryButton of="customer" id={id} />
            {c.role === 'customer' && (
              <Button onClick={() => switchTo(!c.is_active)}>{c.is_active ? 'Switch off' : 'Switch on'}</Button>
            )}
          </>
        )
      }
    >
      <Load of={customer}>
        {(data) => (
          <div class="columns">
            <div class="stack">
              <CustomerWallet id={id} onChange={customer.reload} />
              <Card title="Orders" flush>
                <List
                  label="Orders of this customer"
                  of={orders}
                  to={(o) => href(`/orders/${o.id}`)}
                  empty={<Empty title="No orders yet" />}
                  columns={[
                    { head: 'Order', cell: (o) => `#${o.id}` },
                    { head: 'Status', cell: (o) => <Badge status={o.status} /> },
                    { head: 'Date', cell: (o) => <Time at={o.created_at} /> },
                    { head: 'Total', right: true, cell: (o) => <Money amount={o.total} /> },
                  ]}
                />
              </Card>
            </div>
            <div class="stack">
              <Card title="Account">
                <Facts
                  of={[
                    ['Number', data.id],
                    ['E-mail', data.email],
                    ['Since', <Time at={data.created_at} />],
                    ['Licences', <a href={href('/licenses', { q: data.email })}>Show</a>],
                  ]}
                />
                {data.role === 'customer' ? (
                  <Form
                    key={`${data.name}${data.credit_limit}`}
                    submit="Save"
                    onSubmit={async (v) => {
                      const limit = v.requiredAmount('credit_limit');
                      toast((await change({ name: v.trimmed('name'), credit_limit: limit })) ?? 'Saved.');
                    }}
                  >
                    <TextField name="name" label="Name" optional value={data.name} />
                    <TextField
                      name="credit_limit"
                      label={`Credit limit in ${currency()}`}
                      numeric
                      value={plainMoney(data.credit_limit)}
                      hint="How far API orders may take the wallet below zero."
                    />
                  </Form>
                ) : (
                  <p class="muted">A member of staff. Owners change them on the page Staff.</p>
                )}
              </Card>
              {data.role === 'customer' && <CustomerTokens id={id} />}
            </div>
          </div>
        )}
      </Load>
    </Page>
  );
}
