// Who changed what.
import { get, type Row } from '../api';
import { words } from '../format';
import { readAll, useList, useLoad } from '../load';
import { href, setQuery } from '../route';
import { isOwner } from '../session';
import { Button, Card, Empty, Loading, Page, Problem, Time } from '../ui/basic';
import { SearchFilter, SelectFilter, filterValue } from '../ui/filter';

type Entry = Row<'/api/admin/audit'>;

/** The page of the object that an action changed. */
const PLACES: Record<string, string> = {
  product: '/products',
  customer: '/customers',
  order: '/orders',
  license: '/licenses',
  ticket: '/tickets',
};
const KINDS: [string, string][] = [
  ['product', 'Products'],
  ['variant', 'Variants'],
  ['serial', 'Serial codes'],
  ['coupon', 'Coupons'],
  ['customer', 'Customers'],
  ['order', 'Orders'],
  ['license', 'Licences'],
  ['withdrawal', 'Withdrawals'],
  ['ticket', 'Tickets'],
  ['department', 'Departments'],
  ['gateway', 'Gateways'],
  ['settings', 'Settings'],
  ['staff', 'Staff'],
];

const plain = (value: unknown): string => (typeof value === 'string' ? value : JSON.stringify(value));

/** Only the members in which two objects differ. */
function changes(from: Entry['before'], to: Entry['after']): string[] {
  const before = from as Record<string, unknown> | null;
  const after = to as Record<string, unknown> | null;
  const names = Object.keys(before ?? {});
  return names
    .filter((n) => !after || plain(before?.[n]) !== plain(after[n]))
    .map((n) => `${n}: ${plain(before?.[n])}`);
}

function Side({ title, lines }: { title: string; lines: string[] }) {
  return (
    <div>
      <span class="muted">{title}</span>
      <pre>{lines.length > 0 ? lines.join('\n') : '–'}</pre>
    </div>
  );
}

function Line({ of: e }: { of: Entry }) {
  const [kind = '', verb = ''] = e.action.split('.');
  const place = PLACES[kind];
  const label = e.label || (e.resource_id === null ? '' : `#${e.resource_id}`);
  return (
    <li>
      <div class="entry-head">
        <strong>
          {words(kind)}: {verb.replaceAll('_', ' ')}
        </strong>
        {place && e.resource_id !== null ? (
          <a href={href(`${place}/${e.resource_id}`)}>{label}</a>
        ) : (
          <span>{label}</span>
        )}
        {e.resource_id !== null && filterValue('resource') === '' && (
          <a class="aside" href={href('/audit', { action: kind, resource: String(e.resource_id) })}>
            Its other changes
          </a>
        )}
      </div>
      <div class="entry-head muted">
        <span>{e.actor_email ?? 'Command line'}</span>
        <Time at={e.created_at} />
        {e.address && <span>{e.address}</span>}
      </div>
      {(e.before !== null || e.after !== null) && (
        <details>
          <summary>Before and after</summary>
          <div class="diff">
            <Side title="Before" lines={changes(e.before, e.after)} />
            <Side title="After" lines={changes(e.after, e.before)} />
          </div>
        </details>
      )}
    </li>
  );
}

/** Who may have changed something: all staff for owners, else the people in the entries read so far. */
function useActors(rows: Entry[] | undefined): [string, string][] {
  const staff = useLoad(
    async () => (isOwner() ? readAll((cursor) => get('/api/admin/staff', { query: { limit: 100, cursor } })) : []),
    [],
  );
  const actors = new Map((staff.data ?? []).map((m) => [String(m.id), m.name ? `${m.name}, ${m.email}` : m.email]));
  for (const e of rows ?? []) {
    const id = String(e.actor_id);
    if (e.actor_email && !actors.has(id)) actors.set(id, e.actor_email);
  }
  return [...actors];
}

export function Audit() {
  const action = filterValue('action');
  const q = filterValue('q');
  const actor = Number(filterValue('actor')) || undefined;
  const resource = Number(filterValue('resource')) || undefined;
  const list = useList(
    (cursor) => get('/api/admin/audit', { query: { q, action, actor_id: actor, resource_id: resource, cursor } }),
    [q, action, actor, resource],
  );
  const actors = useActors(list.rows);
  const isFiltered = q !== '' || action !== '' || actor !== undefined || resource !== undefined;
  const lead = resource
    ? `Every change of ${list.rows?.[0]?.label || `number ${resource}`}, newest first.`
    : 'Every change that staff made, newest first.';
  return (
    <Page title="Audit" lead={lead}>
      <Card flush>
        <div class="filters">
          <SearchFilter label="Search objects or people" />
          {!resource && <SelectFilter label="About" name="action" options={KINDS} />}
          <SelectFilter label="By" name="actor" options={actors} />
          {isFiltered && (
            <Button onClick={() => setQuery({ q: '', action: '', actor: '', resource: '' })}>Show all</Button>
          )}
        </div>
        {list.error && <Problem error={list.error} retry={list.reload} />}
        {!list.rows ? (
          <Loading />
        ) : list.rows.length === 0 ? (
          <Empty title={isFiltered ? 'Nothing matches' : 'Nothing yet'}>
            {isFiltered ? 'Change the filters to see more.' : 'Changes are recorded here automatically.'}
          </Empty>
        ) : (
          <ul class="entries" aria-label="Changes">
            {list.rows.map((e) => (
              <Line key={e.id} of={e} />
            ))}
          </ul>
        )}
        {list.more && (
          <div class="more">
            <Button onClick={list.more} disabled={list.busy}>
              Load more
            </Button>
          </div>
        )}
      </Card>
    </Page>
  );
}
