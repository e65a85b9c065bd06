// All customers, found by name or e-mail address.
import { useState } from 'preact/hooks';
import { get, post } from '../../api';
import { useList } from '../../load';
import { go, href } from '../../route';
import { Badge, Button, Card, Empty, Money, Page, Time } from '../../ui/basic';
import { Dialog } from '../../ui/dialog';
import { ExportButton } from '../../ui/export';
import { SearchFilter, filterValue } from '../../ui/filter';
import { Form, TextField } from '../../ui/form';
import { List } from '../../ui/table';
import { toast } from '../../ui/toast';

export function Customers() {
  const q = filterValue('q');
  const customers = useList((cursor) => get('/api/admin/customers', { query: { q, cursor } }), [q]);
  const [open, setOpen] = useState(false);
  return (
    <Page
      title="Customers"
      actions={
        <>
          <ExportButton what="customers" />
          <Button kind="primary" icon="plus" onClick={() => setOpen(true)}>
            Add customer
          </Button>
        </>
      }
    >
      <Card flush>
        <div class="filters">
          <SearchFilter label="Search name or e-mail" />
        </div>
        <List
          label="Customers"
          of={customers}
          to={(c) => href(`/customers/${c.id}`)}
          empty={
            q ? (
              <Empty title="Nobody matches">Search for a part of the name or the e-mail address.</Empty>
            ) : (
              <Empty title="No customers yet">They register in your shop, or you add them here.</Empty>
            )
          }
          columns={[
            {
              head: 'Customer',
              cell: (c) => (
                <>
                  {c.name || c.email}
                  {c.name && <span class="sub">{c.email}</span>}
                </>
              ),
            },
            {
              head: 'State',
              cell: (c) => <>{c.is_active ? <Badge status="active" /> : <Badge status="off">Switched off</Badge>}</>,
            },
            { head: 'Since', cell: (c) => <Time at={c.created_at} /> },
            { head: 'Balance', right: true, cell: (c) => <Money amount={c.balance} /> },
          ]}
        />
      </Card>
      {open && (
        <Dialog title="New customer" onClose={() => setOpen(false)}>
          <Form
            submit="Add customer"
            onCancel={() => setOpen(false)}
            onSubmit={async (v) => {
              const { data } = await post('/api/admin/customers', {
                body: { email: v.trimmed('email'), name: v.optional('name'), password: v.text('password') || null },
                once: v.key,
              });
              toast(`${data.email} was added.`);
              setOpen(false);
              go(`/customers/${data.id}`);
            }}
          >
            <TextField name="email" label="E-mail address" type="email" />
            <TextField name="name" label="Name" optional />
            <TextField
              name="password"
              label="Password"
              type="password"
              optional
              autocomplete="new-password"
              hint="At least 10 characters. Without one the account is used through tokens only."
            />
          </Form>
        </Dialog>
      )}
    </Page>
  );
}
