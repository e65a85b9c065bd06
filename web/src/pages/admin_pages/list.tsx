// The merchant's own pages: terms, privacy, imprint, about.
import { get } from '../../api';
import { useLoad } from '../../load';
import { href } from '../../route';
import { Badge, Card, Empty, LinkButton, Load, Page, Time } from '../../ui/basic';
import { Table } from '../../ui/table';

export function OwnPages() {
  const pages = useLoad(async () => (await get('/api/admin/pages')).data, []);
  const add = (
    <LinkButton to={href('/pages/new')} kind="primary" icon="plus">
      Add page
    </LinkButton>
  );
  return (
    <Page
      title="Own pages"
      lead="Terms, privacy, imprint, about: whatever your buyers should be able to read."
      back={[href('/shop'), 'Shop']}
      actions={add}
    >
      <Card flush>
        <Load of={pages}>
          {(all) =>
            all.length === 0 ? (
              <Empty title="No pages yet" action={add}>
                Most countries want terms, an imprint and a word about privacy.
              </Empty>
            ) : (
              <Table
                label="Own pages"
                rows={all}
                to={(p) => href(`/pages/${p.id}`)}
                columns={[
                  {
                    head: 'Title',
                    cell: (p) => (
                      <>
                        {p.title}
                        <span class="sub">/page/{p.slug}</span>
                      </>
                    ),
                  },
                  {
                    head: 'Footer',
                    cell: (p) =>
                      p.in_footer ? <Badge status="active">Linked</Badge> : <Badge status="off">Not linked</Badge>,
                  },
                  { head: 'Changed', cell: (p) => <Time at={p.updated_at} /> },
                ]}
              />
            )
          }
        </Load>
      </Card>
    </Page>
  );
}
