// One conversation.
import { get, patch, post, type Data } from '../../api';
import { useLoad } from '../../load';
import { href, type PageProps } from '../../route';
import { Button, Card, Facts, Load, Page, Time } from '../../ui/basic';
import { Form, Select, TextArea } from '../../ui/form';
import { attempt, toast } from '../../ui/toast';
import { Help } from './help';
import { TICKET_WORDS, TicketStatus, readDepartments } from './common';

type TicketData = Data<'/api/admin/tickets/{id}'>;

export function Ticket({ id }: PageProps) {
  const ticket = useLoad(async () => (await get('/api/admin/tickets/{id}', { path: { id } })).data, [id]);
  const t = ticket.data;
  const close = () =>
    attempt(async () => {
      ticket.set((await patch('/api/admin/tickets/{id}', { path: { id }, body: { status: 'closed' } })).data);
      toast('The ticket is closed.');
    });
  return (
    <Page
      title={t?.subject ?? `Ticket #${id}`}
      back={[href('/tickets'), 'Tickets']}
      lead={
        t && (
          <>
            <TicketStatus of={t.status} /> #{t.id}
          </>
        )
      }
      actions={t && t.status !== 'closed' && <Button onClick={close}>Close ticket</Button>}
    >
      <Load of={ticket}>
        {(data) => (
          <div class="columns">
            <Card title="Conversation">
              <ol class="talk">
                {data.messages.map((m) => (
                  <li key={m.id} class={m.author}>
                    <header>
                      <strong>{m.author_name}</strong>
                      <span>{m.author === 'staff' ? 'Staff' : 'Customer'}</span>
                      <Time at={m.created_at} />
                    </header>
                    <p class="preline">{m.body}</p>
                  </li>
                ))}
              </ol>
              <Form
                submit="Send reply"
                onSubmit={async (v) => {
                  ticket.set(
                    (
                      await post('/api/admin/tickets/{id}/replies', {
                        path: { id },
                        body: { message: v.text('message') },
                        once: v.key,
                      })
                    ).data,
                  );
                  v.element.reset();
                  toast('Your reply was sent.');
                }}
              >
                <TextArea
                  name="message"
                  label="Your reply"
                  rows={5}
                  hint="Plain text. The ticket then waits for the customer."
                />
              </Form>
            </Card>
            <div class="stack">
              <Help ticket={data} onChange={ticket.set} />
              <Properties ticket={data} onChange={ticket.set} />
            </div>
          </div>
        )}
      </Load>
    </Page>
  );
}

function Properties({ ticket, onChange }: { ticket: TicketData; onChange: (ticket: TicketData) => void }) {
  const departments = useLoad(readDepartments, []);
  return (
    <Card title="Properties">
      <Facts
        of={[
          ['Customer', <a href={href(`/customers/${ticket.customer_id}`)}>{ticket.email}</a>],
          ['Opened', <Time at={ticket.created_at} />],
          ['Last message', <Time at={ticket.last_reply_at} />],
        ]}
      />
      <Load of={departments}>
        {(all) => (
          <Form
            key={`${ticket.status}${ticket.department_id}`}
            submit="Save"
            onSubmit={async (v) => {
              const body = {
                status: v.text('status') as TicketData['status'],
                department_id: Number(v.text('department_id')),
              };
              onChange((await patch('/api/admin/tickets/{id}', { path: { id: ticket.id }, body })).data);
              toast('Saved.');
            }}
          >
            <Select name="status" label="Status" value={ticket.status} options={TICKET_WORDS} />
            <Select
              name="department_id"
              label="Department"
              value={String(ticket.department_id)}
              options={all.map((d) => [String(d.id), d.name])}
            />
          </Form>
        )}
      </Load>
    </Card>
  );
}
