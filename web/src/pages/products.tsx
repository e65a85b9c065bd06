// All products, in the order in which customers see them.
import { useState } from 'preact/hooks';
import { get, type Row } from '../api';
import { words } from '../format';
import { readAll, useLoad } from '../load';
import { href } from '../route';
import { Badge, Button, Card, Empty, LinkButton, Load, Money, Page } from '../ui/basic';
import { SearchFilter, SelectFilter, filterValue } from '../ui/filter';
import { Table } from '../ui/table';

export type ProductRow = Row<'/api/admin/products'>;

/** The catalogue is short and has no search of its own: it is read whole and filtered here. */
export const readProducts = (): Promise<ProductRow[]> => readAll((cursor) => get('/api/admin/products', { query: { limit: 100, cursor } }));

export function ProductState({ of }: { of: { is_active: boolean; in_stock: boolean } }) {
  if (!of.is_active) return <Badge status="draft">Not on sale</Badge>;
  return of.in_stock ? <Badge status="active">On sale</Badge> : <Badge status="out_of_stock">Sold out</Badge>;
}

const SHOWN_AT_ONCE = 100;

export function Products() {
  const [shown, setShown] = useState(SHOWN_AT_ONCE);
  const products = useLoad(readProducts, []);
  const text = filterValue('q').toLowerCase();
  const state = filterValue('state');
  const matches = (p: ProductRow) => `${p.name} ${p.slug}`.toLowerCase().includes(text) &&
    (state === '' || state === (!p.is_active ? 'off' : p.in_stock ? 'on' : 'sold_out'));
  const add = <LinkButton to={href('/products/new')} kind="primary" icon="plus">Add product</LinkButton>;
  return (
    <Page title="Products" actions={add}>
      <Card flush>
        <div class="filters">
          <SearchFilter label="Filter by name" />
          <SelectFilter label="State" name="state" options={[['on', 'On sale'], ['off', 'Not on sale'], ['sold_out', 'Sold out']]} />
        </div>
        <Load of={products}>
          {(all) => {
            const rows = all.filter(matches);
            if (all.length === 0) return <Empty title="No products yet" action={add}>Add the first thing that you sell: licence keys, serial codes or downloads.</Empty>;
            if (rows.length === 0) return <Empty title="No product matches">Change the filter to see others.</Empty>;
            return (
              <>
              <Table label="Products" rows={rows.slice(0, shown)} keyOf={(p) => p.id} to={(p) => href(`/products/${p.id}`)} columns={[
                { head: 'Name', cell: (p) => <>{p.name}<span class="sub">{p.slug}</span></> },
                { head: 'Delivers', cell: (p) => words(p.delivery_type) },
                { head: 'State', cell: (p) => <ProductState of={p} /> },
                { head: 'Price', right: true, cell: (p) => <Money amount={p.price} /> },
              ]} />
              {rows.length > shown && <div class="more"><Button onClick={() => setShown(shown + SHOWN_AT_ONCE)}>Load more</Button></div>}
              </>
            );
          }}
        </Load>
      </Card>
    </Page>
  );
}
