// One endpoint: its health, and what was sent to it.
import { useState } from 'preact/hooks';
import { get, post, type Row } from '../../api';
import { number } from '../../format';
import { useList, useLoad, type Loaded } from '../../load';
import { go, href, type PageProps } from '../../route';
import { Badge, Button, Card, Empty, Facts, Load, Page, Secret, Time } from '../../ui/basic';
import { Dialog, ask } from '../../ui/dialog';
import { SelectFilter, chosen } from '../../ui/filter';
import { List } from '../../ui/table';
import { attempt } from '../../ui/toast';
import { EndpointDialog, type Endpoint } from './dialog';
import { State } from './state';

const STATUS = ['pending', 'delivered', 'failed'] as const;
type Delivery = Row<'/api/admin/webhook-deliveries'>;

export function Webhook({ id }: PageProps) {
  const endpoint = useLoad(async () => (await get('/api/admin/webhook-endpoints/{id}', { path: { id } })).data, [id]);
  const status = chosen('status', STATUS);
  const deliveries = useList(
    (cursor) => get('/api/admin/webhook-deliveries', { query: { endpoint_id: id, status, cursor } }),
    [id, status],
  );
  const e = endpoint.data;
  const reload = () => {
    endpoint.reload();
    deliveries.reload();
  };
  return (
    <Page
      title={e?.description || `Endpoint #${id}`}
      back={[href('/webhooks'), 'Webhooks']}
      lead={e && <code>{e.url}</code>}
      actions={e && <Actions of={endpoint} endpoint={e} onSent={reload} />}
    >
      <div class="columns">
        <Card title="Deliveries" flush>
          <div class="filters">
            <SelectFilter label="Status" name="status" options={[...STATUS]} />
            <Button onClick={reload}>Reload</Button>
          </div>
          <Deliveries of={deliveries} isFiltered={!!status} />
        </Card>
        <Card title="Health">
          <Load of={endpoint}>
            {(data) => (
              <Facts
                of={[
                  ['State', <State of={data} />],
                  ['Waiting', number(data.pending)],
                  ['Failures in a row', data.failures > 0 ? number(data.failures) : null],
                  ['Last success', <Time at={data.succeeded_at} />],
                  ['Events', data.events.includes('*') ? 'All' : data.events.join(', ')],
                  ['Keys and codes', data.include_keys ? 'in full' : 'masked'],
                  ['Old secret until', data.old_secret_until && <Time at={data.old_secret_until} />],
                ]}
              />
            )}
          </Load>
        </Card>
      </div>
    </Page>
  );
}

function Deliveries({ of, isFiltered }: { of: ReturnType<typeof useList<Delivery>>; isFiltered: boolean }) {
  return (
    <List
      label="Deliveries"
      of={of}
      to={(d) => href(`/deliveries/${d.id}`)}
      empty={
        isFiltered ? (
          <Empty title="Nothing matches">Change the filter to see others.</Empty>
        ) : (
          <Empty title="Nothing was sent yet">Send a test to see whether the address answers.</Empty>
        )
      }
      columns={[
        { head: 'Event', cell: (d) => d.type },
        {
          head: 'Status',
          cell: (d) => (
            <>
              <Badge status={d.status} />
              <span class="sub">{d.tries === 1 ? '1 try' : `${d.tries} tries`}</span>
            </>
          ),
        },
        {
          head: 'Since',
          cell: (d) => (
            <>
              <Time at={d.created_at} />
              {d.next_try_at && d.tries > 0 && (
                <span class="sub">
                  next try <Time at={d.next_try_at} />
                </span>
              )}
            </>
          ),
        },
      ]}
    />
  );
}

function Actions({ of, endpoint, onSent }: { of: Loaded<Endpoint>; endpoint: Endpoint; onSent: () => void }) {
  const [editing, setEditing] = useState(false);
  const [secret, setSecret] = useState<string | null>(null);
  const path = { id: endpoint.id };
  const test = () =>
    attempt(async () => {
      const { data } = await post('/api/admin/webhook-endpoints/{id}/test', { path });
      onSent();
      go(`/deliveries/${data.delivery_id}`);
    });
  const rotate = () =>
    ask({
      title: 'Make a new secret?',
      text: 'For 24 hours calls are signed with both, so that your system can be changed meanwhile.',
      action: 'Make a new secret',
      run: async () => {
        const { data } = await post('/api/admin/webhook-endpoints/{id}/rotate', { path });
        of.set(data);
        setSecret(data.secret);
      },
    });
  return (
    <>
      <Button onClick={rotate}>New secret</Button>
      <Button onClick={() => setEditing(true)}>Edit</Button>
      <Button kind="primary" disabled={!endpoint.is_enabled} onClick={test}>
        Send a test
      </Button>
      {editing && (
        <EndpointDialog
          endpoint={endpoint}
          onClose={() => setEditing(false)}
          onChange={(changed) => {
            if (changed) of.set(changed);
            else go('/webhooks');
          }}
        />
      )}
      {secret && (
        <Dialog title="The new signing secret" onClose={() => setSecret(null)}>
          <p>It is shown only now.</p>
          <Secret text={secret} label="Signing secret" />
        </Dialog>
      )}
    </>
  );
}
