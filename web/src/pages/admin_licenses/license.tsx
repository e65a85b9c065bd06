// One licence: whom it belongs to, what it is bound to, and whether it works.
import { useState } from 'preact/hooks';
import { get, patch, post } from '../../api';
import { number, toLocalInput } from '../../format';
import { useLoad } from '../../load';
import { href, type PageProps } from '../../route';
import { HistoryButton } from '../../parts/history';
import { Button, Card, Facts, Load, Page, Secret, Time } from '../../ui/basic';
import { Dialog, ask } from '../../ui/dialog';
import { Form, TextArea, TextField } from '../../ui/form';
import { attempt, toast } from '../../ui/toast';
import { LicenseState, type LicenseRow } from './common';

export function License({ id }: PageProps) {
  const license = useLoad(async () => (await get('/api/admin/licenses/{id}', { path: { id } })).data, [id]);
  const [open, setOpen] = useState<'revoke' | 'extend' | null>(null);
  const close = () => setOpen(null);
  const l = license.data;
  const reinstate = () =>
    ask({
      title: 'Reinstate this licence?',
      text: 'It works again, until it expires.',
      action: 'Reinstate',
      run: async () => {
        license.set((await post('/api/admin/licenses/{id}/reinstate', { path: { id } })).data);
        toast('The licence works again.');
      },
    });
  const clear = () =>
    ask({
      title: 'Clear the hardware?',
      text: 'The licence is free, and binds to the next machine that checks it.',
      action: 'Clear hardware',
      run: async () => {
        license.set((await post('/api/admin/licenses/{id}/clear-hardware', { path: { id } })).data);
        toast('The hardware was cleared.');
      },
    });
  const replace = () =>
    ask({
      title: 'Replace the key?',
      text: 'The old key stops working at once. The customer finds the new one in the account.',
      action: 'Replace key',
      danger: true,
      run: async () => {
        license.set((await post('/api/admin/licenses/{id}/replace-key', { path: { id } })).data);
        toast('The licence has a new key.');
      },
    });
  const actions = l && (
    <>
      <HistoryButton of="license" id={id} />
      {l.status !== 'refunded' && <Button onClick={() => setOpen('extend')}>Change expiry</Button>}
      {l.hardware_id !== null && <Button onClick={clear}>Clear hardware</Button>}
      {l.status === 'active' && <Button onClick={replace}>Replace key</Button>}
      {l.status === 'active' && <Button onClick={() => setOpen('revoke')}>Revoke</Button>}
      {l.status === 'revoked' && (
        <Button kind="primary" onClick={reinstate}>
          Reinstate
        </Button>
      )}
    </>
  );
  return (
    <Page
      title={`Licence #${id}`}
      back={[href('/licenses'), 'Licences']}
      lead={
        l && (
          <>
            <LicenseState of={l} /> {l.product_name}
          </>
        )
      }
      actions={actions}
    >
      <Load of={license}>
        {(data) => (
          <Details
            license={data}
            reveal={() =>
              attempt(async () => license.set((await post('/api/admin/licenses/{id}/reveal', { path: { id } })).data))
            }
          />
        )}
      </Load>
      {l && open === 'revoke' && (
        <Dialog title="Revoke this licence?" onClose={close}>
          <Form
            submit="Revoke licence"
            danger
            onCancel={close}
            onSubmit={async (v) => {
              license.set(
                (
                  await post('/api/admin/licenses/{id}/revoke', {
                    path: { id },
                    body: { reason: v.optional('reason') },
                  })
                ).data,
              );
              toast('The licence was revoked.');
              close();
            }}
          >
            <p>Every check of it is refused from now on. You can reinstate it later.</p>
            <TextArea name="reason" label="Reason" optional rows={2} hint="For staff." />
          </Form>
        </Dialog>
      )}
      {l && open === 'extend' && (
        <Dialog title="Change expiry" onClose={close}>
          <Form
            submit="Save"
            onCancel={close}
            onSubmit={async (v) => {
              license.set(
                (await patch('/api/admin/licenses/{id}', { path: { id }, body: { expires_at: v.time('expires_at') } }))
                  .data,
              );
              toast('Saved.');
              close();
            }}
          >
            <TextField
              name="expires_at"
              label="Expires"
              optional
              type="datetime-local"
              value={toLocalInput(l.expires_at)}
              hint="Your local time. Empty: never."
            />
          </Form>
        </Dialog>
      )}
    </Page>
  );
}

function Details({ license: l, reveal }: { license: LicenseRow; reveal: () => void }) {
  return (
    <div class="columns">
      <Card title="Licence">
        {l.license_key.startsWith('*') ? (
          <p>
            <code>{l.license_key}</code> <Button onClick={reveal}>Reveal key</Button>
          </p>
        ) : (
          <Secret text={l.license_key} label="Key" />
        )}
        <Facts
          of={[
            ['Product', <a href={href(`/products/${l.product_id}`)}>{l.product_name}</a>],
            ['Owner', <a href={href(`/customers/${l.customer_id}`)}>{l.email}</a>],
            [
              'Order',
              l.order_id === null ? 'Issued by staff' : <a href={href(`/orders/${l.order_id}`)}>#{l.order_id}</a>,
            ],
            ['Made', <Time at={l.created_at} />],
            ['Expires', <Time at={l.expires_at} none="Never" />],
            ['Reason', l.reason],
          ]}
        />
      </Card>
      <Card title="Use">
        <Facts
          of={[
            ['Hardware', l.hardware_id === null ? <span class="muted">Not bound</span> : <code>{l.hardware_id}</code>],
            ['Bound', l.bound_at && <Time at={l.bound_at} />],
            ['Last checked', <Time at={l.last_seen_at} none="Never" />],
            ['Checks', number(l.seen_count)],
          ]}
        />
      </Card>
    </div>
  );
}
