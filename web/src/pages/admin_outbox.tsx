// What waits to be sent, what failed and why; and a test message for the mail server.
import { useState } from 'preact/hooks';
import { get, post, remove, type Row } from '../api';
import { useList } from '../load';
import { href } from '../route';
import { me } from '../session';
import { Badge, Button, Card, Empty, Page, Time } from '../ui/basic';
import { Dialog, ask } from '../ui/dialog';
import { SelectFilter, chosen } from '../ui/filter';
import { Form, TextField } from '../ui/form';
import { List } from '../ui/table';
import { attempt, toast } from '../ui/toast';

type Item = Row<'/api/admin/outbox'>;
const STATUS = ['waiting', 'failed'] as const;
const KIND = ['mail', 'gateway', 'event'] as const;

/** A call about a payment: once given up, it continues with its payment or refund; while it waits, it cannot be
 * deleted. */
const isCall = (item: Item): boolean => item.kind === 'gateway' && item.payment_id !== null;
const canRetry = (item: Item): boolean => !isCall(item) || item.status === 'waiting';
const canForget = (item: Item): boolean => !isCall(item) || item.status === 'failed';

export function Outbox() {
  const status = chosen('status', STATUS);
  const kind = chosen('kind', KIND);
  const list = useList((cursor) => get('/api/admin/outbox', { query: { status, kind, cursor } }), [status, kind]);
  const [testing, setTesting] = useState(false);
  const again = (item: Item) =>
    attempt(async () => {
      list.change((await post('/api/admin/outbox/{id}/retry', { path: { id: item.id } })).data);
      toast('It is sent now.');
    });
  const forget = (item: Item) =>
    ask({
      title: 'Delete this?',
      text: (
        <>
          <strong>{item.what}</strong> is never sent. This cannot be undone.
        </>
      ),
      action: 'Delete',
      danger: true,
      run: async () => {
        await remove('/api/admin/outbox/{id}', { path: { id: item.id } });
        list.reload();
        toast('It was deleted.');
      },
    });
  return (
    <Page
      title="Outbox"
      lead="Mail and calls to gateways that wait or failed."
      actions={
        <>
          <Button onClick={list.reload}>Reload</Button>
          <Button kind="primary" onClick={() => setTesting(true)}>
            Send a test mail
          </Button>
        </>
      }
    >
      <Card flush>
        <div class="filters">
          <SelectFilter label="Status" name="status" options={[...STATUS]} />
          <SelectFilter label="Kind" name="kind" options={[...KIND]} />
        </div>
        <List
          label="Outbox"
          of={list}
          empty={
            status || kind ? (
              <Empty title="Nothing matches">Change the filters to see others.</Empty>
            ) : (
              <Empty title="Nothing waits">Everything has been sent.</Empty>
            )
          }
          columns={[
            {
              head: 'What',
              cell: (i) => (
                <>
                  {i.what}
                  {i.last_error && <span class="sub">{i.last_error}</span>}
                </>
              ),
            },
            { head: 'Kind', cell: (i) => <Badge status={i.kind} /> },
            {
              head: 'Status',
              cell: (i) => (
                <>
                  <Badge status={i.status} />
                  <span class="sub">{i.tries === 1 ? '1 try' : `${i.tries} tries`}</span>
                </>
              ),
            },
            {
              head: 'Order',
              cell: (i) =>
                i.order_id === null ? (
                  <span class="muted">–</span>
                ) : (
                  <a href={href(`/orders/${i.order_id}`)}>#{i.order_id}</a>
                ),
            },
            {
              head: 'Since',
              cell: (i) => (
                <>
                  <Time at={i.created_at} />
                  {i.next_try_at && (
                    <span class="sub">
                      next try <Time at={i.next_try_at} />
                    </span>
                  )}
                </>
              ),
            },
            {
              head: 'Actions',
              actions: true,
              cell: (i) => (
                <>
                  {canRetry(i) && (
                    <Button small label={`Again: ${i.what}`} onClick={() => again(i)}>
                      Again
                    </Button>
                  )}
                  {canForget(i) && (
                    <Button small label={`Delete: ${i.what}`} onClick={() => forget(i)}>
                      Delete
                    </Button>
                  )}
                </>
              ),
            },
          ]}
        />
      </Card>
      {testing && <TestMail onClose={() => setTesting(false)} />}
    </Page>
  );
}

function TestMail({ onClose }: { onClose: () => void }) {
  return (
    <Dialog title="Send a test mail" onClose={onClose}>
      <Form
        submit="Send"
        onCancel={onClose}
        onSubmit={async (v) => {
          const { data } = await post('/api/admin/mail/test', { body: { to: v.trimmed('to') } });
          if (!data.sent) throw new Error(data.error ?? 'The mail server did not accept the message.');
          toast(`The mail server accepted the message to ${data.to}.`);
          onClose();
        }}
      >
        <TextField name="to" type="email" label="E-mail address" value={me.value?.email} />
      </Form>
    </Dialog>
  );
}
