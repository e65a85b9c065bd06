// Lists as tables; on small screens each row becomes a card (the roles keep them tables for screen readers).
import type { ComponentChildren } from 'preact';
import type { Listed } from '../load';
import { Button, Loading, Problem } from './basic';

export interface Column<T> {
  head: string;
  cell: (row: T) => ComponentChildren;
  /** Figures are aligned right. */
  right?: boolean;
  /** Buttons of the row. */
  actions?: boolean;
}

interface TableProps<T> {
  label: string;
  columns: Column<T>[];
  rows: T[];
  /** The row's own page; its first cell becomes the link. */
  to?: (row: T) => string;
  keyOf?: (row: T) => string | number;
}

export function Table<T>({ label, columns, rows, to, keyOf }: TableProps<T>) {
  const classOf = (c: Column<T>) => `${c.right ? 'right' : ''} ${c.actions ? 'row-actions' : ''}`;
  return (
    <table role="table" aria-label={label} class={to ? 'linked' : ''}>
      <thead role="rowgroup">
        <tr role="row">
          {columns.map((c) => (
            <th key={c.head} role="columnheader" scope="col" class={classOf(c)}>
              {c.actions ? <span class="hidden">{c.head}</span> : c.head}
            </th>
          ))}
        </tr>
      </thead>
      <tbody role="rowgroup">
        {rows.map((row, i) => (
          <tr key={keyOf?.(row) ?? i} role="row">
            {columns.map((c, at) =>
              at === 0 ? (
                <th key={c.head} role="rowheader" scope="row">
                  {to ? (
                    <a class="row-link" href={to(row)}>
                      {c.cell(row)}
                    </a>
                  ) : (
                    c.cell(row)
                  )}
                </th>
              ) : (
                <td key={c.head} role="cell" class={classOf(c)} data-label={c.actions ? undefined : c.head}>
                  <div class="cell">{c.cell(row)}</div>
                </td>
              ),
            )}
          </tr>
        ))}
      </tbody>
    </table>
  );
}

/** A list from the server with all its states. */
export function List<T extends { id: number }>({
  of,
  empty,
  ...table
}: Omit<TableProps<T>, 'rows'> & { of: Listed<T>; empty: ComponentChildren }) {
  if (!of.rows) return of.error ? <Problem error={of.error} retry={of.reload} /> : <Loading />;
  return (
    <div class="list" aria-busy={of.busy}>
      {of.rows.length === 0 ? empty : <Table {...table} rows={of.rows} keyOf={(row) => row.id} />}
      {of.error && <Problem error={of.error} retry={of.more ?? of.reload} />}
      {of.more && (
        <div class="more">
          <Button onClick={of.more} disabled={of.busy}>
            {of.busy ? 'Loading…' : 'Load more'}
          </Button>
        </div>
      )}
    </div>
  );
}
