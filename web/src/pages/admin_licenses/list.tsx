// All licences, found by key or by their owner's e-mail address.
import { useState } from 'preact/hooks';
import { get } from '../../api';
import { useList } from '../../load';
import { href } from '../../route';
import { Button, Card, Empty, Page, Time } from '../../ui/basic';
import { SearchFilter, filterValue } from '../../ui/filter';
import { List } from '../../ui/table';
import { LicenseState } from './common';
import { IssueDialog } from './issue';

export function Licenses() {
  const q = filterValue('q');
  const licenses = useList((cursor) => get('/api/admin/licenses', { query: { q, cursor } }), [q]);
  const [open, setOpen] = useState(false);
  return (
    <Page
      title="Licences"
      actions={
        <Button kind="primary" icon="plus" onClick={() => setOpen(true)}>
          Issue licence
        </Button>
      }
    >
      <Card flush>
        <div class="filters">
          <SearchFilter label="Search whole key or e-mail" />
        </div>
        <List
          label="Licences"
          of={licenses}
          to={(l) => href(`/licenses/${l.id}`)}
          empty={
            q ? (
              <Empty title="No licence matches">
                Search for the whole key, or a part of the owner’s e-mail address.
              </Empty>
            ) : (
              <Empty title="No licences yet">They are made when somebody buys, or issued by you.</Empty>
            )
          }
          columns={[
            {
              head: 'Key',
              cell: (l) => (
                <>
                  <code>{l.license_key}</code>
                  <span class="sub">{l.email}</span>
                </>
              ),
            },
            { head: 'Product', cell: (l) => l.product_name },
            { head: 'State', cell: (l) => <LicenseState of={l} /> },
            { head: 'Expires', cell: (l) => <Time at={l.expires_at} none="Never" /> },
          ]}
        />
      </Card>
      {open && <IssueDialog onClose={() => setOpen(false)} />}
    </Page>
  );
}
