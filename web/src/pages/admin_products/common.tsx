// What the pages about products share.
import { Badge } from '../../ui/basic';

export function ProductState({ of }: { of: { is_active: boolean; in_stock: boolean } }) {
  if (!of.is_active) return <Badge status="draft">Not on sale</Badge>;
  return of.in_stock ? <Badge status="active">On sale</Badge> : <Badge status="out_of_stock">Sold out</Badge>;
}
