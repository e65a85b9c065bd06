// What a new store still needs before it can sell; gone as soon as all of it is done.
import { get, patch, type Data } from '../api';
import { useLoad } from '../load';
import { href } from '../route';
import { isOwner } from '../session';
import { Badge, Button, Card } from '../ui/basic';
import { attempt } from '../ui/toast';

type Item = Data<'/api/admin/checklist'>[number];

/** What to do, why, and where. Without a place it is done where the program is started. */
const TEXTS: Record<Item['item'], { what: string; why: string; to?: string }> = {
  name: { what: 'Give your store a name', why: 'It stands on every page and mail.', to: '/settings' },
  currency: { what: 'Choose the currency', why: 'It cannot be changed once there are prices.', to: '/settings' },
  product: { what: 'Put the first product on sale', why: 'With a price, and something to deliver.', to: '/products' },
  gateway: { what: 'Connect a payment gateway', why: 'The sandbox takes no money.', to: '/gateways' },
  mail: {
    what: 'Set up mail',
    why: 'Keys, receipts and new passwords are sent by mail: start souk with --smtp-url and --mail-from.',
  },
  address: {
    what: 'Tell souk its address',
    why: 'Mails and gateways lead there: start souk with --base-url https://your.shop.',
  },
  backup: {
    what: 'Set up backups',
    why: 'Start souk with --backup-folder: it makes one every day and restores it to see that it is good.',
  },
};

export function Checklist() {
  const list = useLoad(async () => (await get('/api/admin/checklist')).data, []);
  const open = (list.data ?? []).filter((c) => !c.is_done);
  if (open.length === 0) return null;
  const done = (list.data ?? []).length - open.length;
  const tick = (item: Item['item']) =>
    attempt(async () => list.set((await patch('/api/admin/checklist', { body: { item, is_done: true } })).data));
  return (
    <Card
      title="Before you sell"
      actions={<Badge status="pending">{`${done} of ${list.data?.length ?? 0} done`}</Badge>}
    >
      <ul class="checklist">
        {open.map(({ item }) => {
          const { what, why, to } = TEXTS[item];
          return (
            <li key={item}>
              <div>
                {to ? <a href={href(to)}>{what}</a> : <strong>{what}</strong>}
                <span class="sub">{why}</span>
              </div>
              {isOwner() && (
                <Button small label={`${what}: done in another way`} onClick={() => tick(item)}>
                  Done
                </Button>
              )}
            </li>
          );
        })}
      </ul>
    </Card>
  );
}
