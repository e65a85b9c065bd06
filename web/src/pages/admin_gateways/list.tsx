// Where payments come from.
import { useState } from 'preact/hooks';
import { get } from '../../api';
import { useLoad } from '../../load';
import { href } from '../../route';
import { isOwner } from '../../session';
import { Badge, Button, Card, Empty, LinkButton, Load, Page } from '../../ui/basic';
import { Table } from '../../ui/table';
import { PROVIDERS, type Gateway } from './common';
import { GatewayDialog } from './dialog';

export function Gateways() {
  const gateways = useLoad(async () => (await get('/api/admin/gateways')).data, []);
  const [edited, setEdited] = useState<Gateway | 'new' | null>(null);
  return (
    <Page
      title="Gateways"
      lead="How customers pay, besides their wallets."
      actions={
        <>
          <LinkButton to={href('/events')} icon="webhook">
            Events
          </LinkButton>
          {isOwner() && (
            <Button icon="plus" onClick={() => setEdited('new')}>
              Add gateway
            </Button>
          )}
        </>
      }
    >
      <Card flush>
        <Load of={gateways}>
          {(all) =>
            all.length === 0 ? (
              <Empty title="No gateways">Add one to take payments by card, PayPal or bitcoin.</Empty>
            ) : (
              <Table
                label="Gateways"
                rows={all}
                keyOf={(g) => g.label}
                columns={[
                  {
                    head: 'Gateway',
                    cell: (g) => (
                      <>
                        {PROVIDERS.find(([p]) => p === g.provider)?.[1]}
                        <span class="sub">{g.label}</span>
                      </>
                    ),
                  },
                  {
                    head: 'State',
                    cell: (g) => (
                      <>
                        {g.is_enabled ? <Badge status="active">On</Badge> : <Badge status="off" />}
                        {g.is_enabled && g.mode === 'test' && <Badge status="pending">Test money</Badge>}
                      </>
                    ),
                  },
                  {
                    head: 'Missing',
                    cell: (g) =>
                      g.problem ? <span class="muted">{g.problem}</span> : <span class="muted">Nothing</span>,
                  },
                  {
                    head: 'Actions',
                    actions: true,
                    cell: (g) =>
                      isOwner() && (
                        <Button small label={`Set up ${g.label}`} onClick={() => setEdited(g)}>
                          Set up
                        </Button>
                      ),
                  },
                ]}
              />
            )
          }
        </Load>
      </Card>
      {edited && (
        <GatewayDialog
          gateway={edited === 'new' ? undefined : edited}
          onClose={() => setEdited(null)}
          onChange={gateways.reload}
        />
      )}
    </Page>
  );
}
