// Where tickets go.
import { useState } from 'preact/hooks';
import { ApiError, patch, post, remove, type Schemas } from '../../api';
import { useLoad } from '../../load';
import { Badge, Button, Card, Empty, Load, Page } from '../../ui/basic';
import { Dialog, ask } from '../../ui/dialog';
import { Check, Form, TextField } from '../../ui/form';
import { Table } from '../../ui/table';
import { toast } from '../../ui/toast';
import { readDepartments } from './common';

type Department = Schemas['AdminDepartment'];

export function Departments() {
  const list = useLoad(readDepartments, []);
  const [edited, setEdited] = useState<Department | 'new' | null>(null);
  const close = () => setEdited(null);
  const add = (
    <Button kind="primary" icon="plus" onClick={() => setEdited('new')}>
      Add department
    </Button>
  );
  const removeIt = (d: Department) =>
    ask({
      title: `Delete ${d.name}?`,
      text: 'Only a department that never had a ticket can be deleted; others are switched off by editing them.',
      action: 'Delete department',
      danger: true,
      run: async () => {
        await remove('/api/admin/departments/{id}', { path: { id: d.id } }).catch((e: unknown) => {
          throw e instanceof ApiError && e.status === 409
            ? new Error('It has had tickets: edit it and switch it off instead.')
            : e;
        });
        toast(`${d.name} was deleted.`);
        list.reload();
      },
    });
  const old = edited === 'new' ? undefined : (edited ?? undefined);
  return (
    <Page title="Departments" lead="Customers choose one when they open a ticket." actions={add}>
      <Card flush>
        <Load of={list}>
          {(all) =>
            all.length === 0 ? (
              <Empty title="No departments yet" action={add}>
                Without one nobody can open a ticket. “Sales” and “Technical help” are a good start.
              </Empty>
            ) : (
              <Table
                label="Departments"
                rows={all}
                keyOf={(d) => d.id}
                columns={[
                  { head: 'Name', cell: (d) => d.name },
                  {
                    head: 'State',
                    cell: (d) => (d.is_active ? <Badge status="active" /> : <Badge status="off">Switched off</Badge>),
                  },
                  {
                    head: 'Actions',
                    actions: true,
                    cell: (d) => (
                      <>
                        <Button small label={`Edit ${d.name}`} onClick={() => setEdited(d)}>
                          Edit
                        </Button>
                        <Button small label={`Delete ${d.name}`} onClick={() => removeIt(d)}>
                          Delete
                        </Button>
                      </>
                    ),
                  },
                ]}
              />
            )
          }
        </Load>
      </Card>
      {edited && (
        <Dialog title={old ? `Department ${old.name}` : 'New department'} onClose={close}>
          <Form
            submit={old ? 'Save' : 'Add department'}
            onCancel={close}
            onSubmit={async (v) => {
              const body = { name: v.trimmed('name'), is_active: v.bool('is_active') };
              if (old) await patch('/api/admin/departments/{id}', { path: { id: old.id }, body });
              else await post('/api/admin/departments', { body, once: v.key });
              toast(`${body.name} was saved.`);
              close();
              list.reload();
            }}
          >
            <TextField name="name" label="Name" value={old?.name} />
            <Check name="is_active" label="Takes new tickets" checked={old?.is_active ?? true} />
          </Form>
        </Dialog>
      )}
    </Page>
  );
}
