// The staff. Owners only.
import { useState } from 'preact/hooks';
import { ApiError, get, patch, post, remove, type Row } from '../api';
import { useList } from '../load';
import { me } from '../session';
import { Badge, Button, Card, Empty, Page, Time } from '../ui/basic';
import { Dialog, ask } from '../ui/dialog';
import { Check, Form, Select, TextField } from '../ui/form';
import { List } from '../ui/table';
import { toast } from '../ui/toast';

type Member = Row<'/api/admin/staff'>;
const ROLES: [Member['role'], string][] = [
  ['staff', 'Staff: daily work'],
  ['owner', 'Owner: also staff and settings'],
];

function explainLastOwner(e: unknown): never {
  throw e instanceof ApiError && e.status === 409 && e.code === 'invalid_state'
    ? new Error('The store needs at least one active owner.')
    : e;
}

export function Staff() {
  const list = useList((cursor) => get('/api/admin/staff', { query: { cursor } }), []);
  const [edited, setEdited] = useState<Member | 'new' | null>(null);
  const takeAway = (m: Member) =>
    ask({
      title: `Remove ${m.email} from the staff?`,
      text: 'All logins and tokens end now. The account stays, as a customer’s.',
      action: 'Remove from staff',
      danger: true,
      run: async () => {
        await remove('/api/admin/staff/{id}', { path: { id: m.id } }).catch(explainLastOwner);
        toast(`${m.email} is no longer staff.`);
        list.reload();
      },
    });
  return (
    <Page
      title="Staff"
      actions={
        <Button kind="primary" icon="plus" onClick={() => setEdited('new')}>
          Add member
        </Button>
      }
    >
      <Card flush>
        <List
          label="Staff"
          of={list}
          empty={<Empty title="Nobody yet" />}
          columns={[
            {
              head: 'Name',
              cell: (m) => (
                <>
                  {m.name || m.email}
                  {m.id === me.value?.id && <span class="muted"> (you)</span>}
                  {m.name && <span class="sub">{m.email}</span>}
                </>
              ),
            },
            { head: 'Role', cell: (m) => (m.role === 'owner' ? 'Owner' : 'Staff') },
            {
              head: 'State',
              cell: (m) => (
                <>
                  {m.is_active ? <Badge status="active" /> : <Badge status="off">Switched off</Badge>}
                  {m.totp_is_on && <Badge status="active">Two factors</Badge>}
                </>
              ),
            },
            { head: 'Since', cell: (m) => <Time at={m.created_at} /> },
            {
              head: 'Actions',
              actions: true,
              cell: (m) => (
                <>
                  <Button small label={`Edit ${m.email}`} onClick={() => setEdited(m)}>
                    Edit
                  </Button>
                  <Button small label={`Remove ${m.email}`} onClick={() => takeAway(m)}>
                    Remove
                  </Button>
                </>
              ),
            },
          ]}
        />
      </Card>
      {edited && (
        <MemberDialog
          member={edited === 'new' ? undefined : edited}
          onClose={() => setEdited(null)}
          onChange={list.reload}
        />
      )}
    </Page>
  );
}

function MemberDialog({
  member,
  onClose,
  onChange,
}: {
  member: Member | undefined;
  onClose: () => void;
  onChange: () => void;
}) {
  const resetTotp = () =>
    member &&
    ask({
      title: `Remove the second factor of ${member.email}?`,
      text: 'For a lost phone. The password alone is then enough, until a new factor is set up.',
      action: 'Take away',
      danger: true,
      run: async () => {
        await remove('/api/admin/staff/{id}/totp', { path: { id: member.id } });
        toast('The second factor was removed.');
        onClose();
        onChange();
      },
    });
  return (
    <Dialog title={member ? `Member ${member.email}` : 'New member of staff'} onClose={onClose}>
      <Form
        submit={member ? 'Save' : 'Add member'}
        onCancel={onClose}
        onSubmit={async (v) => {
          const role = v.text('role') as Member['role'];
          const password = v.text('password');
          if (member) {
            const body = {
              name: v.trimmed('name'),
              role,
              is_active: v.bool('is_active'),
              ...(password ? { password } : {}),
            };
            await patch('/api/admin/staff/{id}', { path: { id: member.id }, body }).catch(explainLastOwner);
          } else {
            await post('/api/admin/staff', {
              body: { email: v.trimmed('email'), name: v.optional('name'), role, password },
              once: v.key,
            });
          }
          toast('Saved.');
          onClose();
          onChange();
        }}
      >
        {!member && <TextField name="email" label="E-mail address" type="email" />}
        <TextField name="name" label="Name" optional value={member?.name} />
        <Select name="role" label="Role" value={member?.role ?? 'staff'} options={ROLES} />
        <TextField
          name="password"
          label={member ? 'New password' : 'Password'}
          optional={!!member}
          type="password"
          autocomplete="new-password"
          hint={
            member
              ? 'Ends all logins of this person.'
              : 'At least 10 characters. Tell them in person; they can change it.'
          }
        />
        {member && <Check name="is_active" label="May log in" checked={member.is_active} />}
      </Form>
      {member?.totp_is_on && (
        <p class="dialog-foot">
          <Button small kind="quiet" onClick={resetTotp}>
            Remove the second factor
          </Button>
        </p>
      )}
    </Dialog>
  );
}
