// Customers' questions, latest activity first.
import { get } from '../../api';
import { useList, useLoad } from '../../load';
import { href } from '../../route';
import { Card, Empty, Page, Time } from '../../ui/basic';
import { SelectFilter, chosen, filterValue } from '../../ui/filter';
import { List } from '../../ui/table';
import { TICKET_STATUS, TICKET_WORDS, TicketStatus, readDepartments } from './common';

export function Tickets() {
  const status = chosen('status', TICKET_STATUS);
  const department = Number(filterValue('department')) || undefined;
  const departments = useLoad(readDepartments, []);
  const list = useList(
    (cursor) => get('/api/admin/tickets', { query: { status, department_id: department, cursor } }),
    [status, department],
  );
  return (
    <Page title="Tickets">
      <Card flush>
        <div class="filters">
          <SelectFilter label="Status" name="status" options={TICKET_WORDS} />
          <SelectFilter
            label="Department"
            name="department"
            options={(departments.data ?? []).map((d): [string, string] => [String(d.id), d.name])}
          />
        </div>
        <List
          label="Tickets"
          of={list}
          to={(t) => href(`/tickets/${t.id}`)}
          empty={
            status || department ? (
              <Empty title="No ticket matches">Change the filters to see others.</Empty>
            ) : (
              <Empty title="No tickets">
                Customers’ questions arrive here. They choose one of your departments, so have at least one.
              </Empty>
            )
          }
          columns={[
            {
              head: 'Subject',
              cell: (t) => (
                <>
                  {t.subject}
                  <span class="sub">{t.email}</span>
                </>
              ),
            },
            { head: 'Department', cell: (t) => t.department },
            { head: 'Status', cell: (t) => <TicketStatus of={t.status} /> },
            { head: 'Last message', cell: (t) => <Time at={t.last_reply_at} /> },
          ]}
        />
      </Card>
    </Page>
  );
}
