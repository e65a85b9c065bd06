// Where the account is logged in, and ending those sessions.
import { get, remove } from '../../api';
import { useList } from '../../load';
import { Badge, Button, Card, Empty, Time } from '../../ui/basic';
import { List } from '../../ui/table';
import { attempt, toast } from '../../ui/toast';

export function Sessions() {
  const sessions = useList((cursor) => get('/api/auth/sessions', { query: { cursor } }), []);
  const end = (id: number) =>
    attempt(async () => {
      await remove('/api/auth/sessions/{id}', { path: { id } });
      toast('The session has ended.');
      sessions.reload();
    });
  const endOthers = () =>
    attempt(async () => {
      await remove('/api/auth/sessions');
      toast('You are logged out everywhere else.');
      sessions.reload();
    });
  return (
    <Card title="Where you are logged in" flush>
      <List
        label="Sessions"
        of={sessions}
        empty={<Empty title="Nowhere" />}
        columns={[
          {
            head: 'From',
            cell: (s) => (
              <>
                {s.network || 'Unknown'} {s.is_current && <Badge status="active">This one</Badge>}
              </>
            ),
          },
          { head: 'Since', cell: (s) => <Time at={s.created_at} /> },
          { head: 'Last used', cell: (s) => <Time at={s.last_used_at} /> },
          {
            head: 'Actions',
            actions: true,
            cell: (s) => (s.is_current ? null : <Button onClick={() => end(s.id)}>End session</Button>),
          },
        ]}
      />
      {(sessions.rows?.length ?? 0) > 1 && (
        <div class="form-actions">
          <Button onClick={endOthers}>End all others</Button>
        </div>
      )}
    </Card>
  );
}
