// Where events are sent. Owners only.
import { useState } from 'preact/hooks';
import { get } from '../../api';
import { number } from '../../format';
import { useLoad } from '../../load';
import { go, href } from '../../route';
import { Button, Card, Empty, Load, Page, Secret, Time } from '../../ui/basic';
import { Dialog } from '../../ui/dialog';
import { Table } from '../../ui/table';
import { EndpointDialog } from './dialog';
import { State } from './state';

export function Webhooks() {
  const all = useLoad(async () => (await get('/api/admin/webhook-endpoints', {})).data, []);
  const [adding, setAdding] = useState(false);
  const [made, setMade] = useState<{ id: number; secret: string } | null>(null);
  const add = (
    <Button kind="primary" icon="plus" onClick={() => setAdding(true)}>
      Add endpoint
    </Button>
  );
  return (
    <Page title="Webhooks" lead="Your own systems are told what happens here, by signed HTTP calls." actions={add}>
      <Card flush>
        <Load of={all}>
          {(rows) =>
            rows.length === 0 ? (
              <Empty title="No endpoint yet" action={add}>
                Add the address of a system of yours that should know of orders, licences, tickets and more.
              </Empty>
            ) : (
              <Table
                label="Endpoints"
                rows={rows}
                keyOf={(e) => e.id}
                to={(e) => href(`/webhooks/${e.id}`)}
                columns={[
                  {
                    head: 'Address',
                    cell: (e) => (
                      <>
                        {e.url}
                        {e.description && <span class="sub">{e.description}</span>}
                      </>
                    ),
                  },
                  {
                    head: 'Events',
                    cell: (e) =>
                      e.events.includes('*') ? 'All' : e.events.length === 1 ? e.events[0] : `${e.events.length} types`,
                  },
                  { head: 'Health', cell: (e) => <State of={e} /> },
                  { head: 'Waiting', right: true, cell: (e) => number(e.pending) },
                  { head: 'Last success', cell: (e) => <Time at={e.succeeded_at} /> },
                ]}
              />
            )
          }
        </Load>
      </Card>
      {adding && (
        <EndpointDialog
          endpoint={undefined}
          onClose={() => setAdding(false)}
          onChange={(e) => e?.secret && setMade({ id: e.id, secret: e.secret })}
        />
      )}
      {made && (
        <Dialog
          title="The signing secret"
          onClose={() => {
            setMade(null);
            go(`/webhooks/${made.id}`);
          }}
        >
          <p>With it your system checks that a call is from this store. It is shown only now.</p>
          <Secret text={made.secret} label="Signing secret" />
        </Dialog>
      )}
    </Page>
  );
}
