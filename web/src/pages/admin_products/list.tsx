// All products, in the order in which customers see them.
import { useState } from 'preact/hooks';
import { words } from '../../format';
import { useLoad } from '../../load';
import { href } from '../../route';
import { readProducts, type ProductRow } from '../../parts/admin_products';
import { Button, Card, Empty, LinkButton, Load, Money, Page } from '../../ui/basic';
import { SearchFilter, SelectFilter, filterValue } from '../../ui/filter';
import { Table } from '../../ui/table';
import { ProductState } from './common';

const SHOWN_AT_ONCE = 100;

export function Products() {
  const [shown, setShown] = useState(SHOWN_AT_ONCE);
  const products = useLoad(readProducts, []);
  const text = filterValue('q').toLowerCase();
  const state = filterValue('state');
  const matches = (p: ProductRow) =>
    `${p.name} ${p.slug}`.toLowerCase().includes(text) &&
    (state === '' || state === (!p.is_active ? 'off' : p.in_stock ? 'on' : 'sold_out'));
  const add = (
    <LinkButton to={href('/products/new')} kind="primary" icon="plus">
      Add product
    </LinkButton>
  );
  return (
    <Page title="Products" actions={add}>
      <Card flush>
        <div class="filters">
          <SearchFilter label="Filter by name" />
          <SelectFilter
            label="State"
            name="state"
            options={[
              ['on', 'On sale'],
              ['off', 'Not on sale'],
              ['sold_out', 'Sold out'],
            ]}
          />
        </div>
        <Load of={products}>
          {(all) => {
            const rows = all.filter(matches);
            if (all.length === 0)
              return (
                <Empty title="No products yet" action={add}>
                  Add the first thing that you sell: licence keys, serial codes or downloads.
                </Empty>
              );
            if (rows.length === 0) return <Empty title="No product matches">Change the filter to see others.</Empty>;
            return (
              <>
                <Table
                  label="Products"
                  rows={rows.slice(0, shown)}
                  keyOf={(p) => p.id}
                  to={(p) => href(`/products/${p.id}`)}
                  columns={[
                    {
                      head: 'Name',
                      cell: (p) => (
                        <>
                          {p.name}
                          <span class="sub">{p.slug}</span>
                        </>
                      ),
                    },
                    { head: 'Delivers', cell: (p) => words(p.delivery_type) },
                    { head: 'State', cell: (p) => <ProductState of={p} /> },
                    { head: 'Price', right: true, cell: (p) => <Money amount={p.price} /> },
                  ]}
                />
                {rows.length > shown && (
                  <div class="more">
                    <Button onClick={() => setShown(shown + SHOWN_AT_ONCE)}>Load more</Button>
                  </div>
                )}
              </>
            );
          }}
        </Load>
      </Card>
    </Page>
  );
}
