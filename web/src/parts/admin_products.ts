// All products, for pages that choose among them.
import { get, type Row } from '../api';
import { readAll } from '../load';

export type ProductRow = Row<'/api/admin/products'>;

/** The catalogue is short and has no search of its own: it is read whole and filtered here. */
export const readProducts = (): Promise<ProductRow[]> =>
  readAll((cursor) => get('/api/admin/products', { query: { limit: 100, cursor } }));
