// A customer's API tokens.
import { useState } from 'preact/hooks';
import { get, post, remove, type Row, type Schemas } from '../../api';
import { useList } from '../../load';
import { Button, Card, Empty, Secret, Time } from '../../ui/basic';
import { Dialog, ask } from '../../ui/dialog';
import { Check, Form, TextField } from '../../ui/form';
import { List } from '../../ui/table';
import { toast } from '../../ui/toast';

type Token = Row<'/api/admin/customers/{id}/tokens'>;
const SCOPES: [Schemas['Scope'], string][] = [
  ['customer', 'Wallet, orders, tickets'],
  ['store', 'Cart'],
  ['catalog', 'Product list'],
  ['verify', 'Check licences'],
  ['order', 'Place orders'],
];

export function CustomerTokens({ id }: { id: number }) {
  const tokens = useList(
    (cursor) => get('/api/admin/customers/{id}/tokens', { path: { id }, query: { cursor } }),
    [id],
  );
  const [open, setOpen] = useState(false);
  const [made, setMade] = useState('');
  const close = () => {
    setOpen(false);
    setMade('');
  };
  const revoke = (t: Token) =>
    ask({
      title: t.kind === 'login' ? 'End this login?' : `Revoke ${t.name}?`,
      text: 'Programs that use it are refused from now on. This cannot be undone.',
      action: 'Revoke',
      danger: true,
      run: async () => {
        await remove('/api/admin/customers/{id}/tokens/{token_id}', { path: { id, token_id: t.id } });
        toast('The token was revoked.');
        tokens.reload();
      },
    });
  return (
    <Card
      title="Tokens"
      flush
      actions={
        <Button small icon="plus" onClick={() => setOpen(true)}>
          Make token
        </Button>
      }
    >
      <List
        label="Tokens"
        of={tokens}
        empty={<Empty title="No tokens">Programs use tokens to order and to check licences.</Empty>}
        columns={[
          {
            head: 'Token',
            cell: (t) => (
              <>
                {t.kind === 'login' ? 'Login' : t.name}{' '}
                <span class="sub">
                  …{t.hint},{' '}
                  {t.expires_at ? (
                    <>
                      ends <Time at={t.expires_at} />
                    </>
                  ) : (
                    'never ends'
                  )}
                </span>
                <span class="sub">{t.scopes.join(', ')}</span>
              </>
            ),
          },
          {
            head: 'Actions',
            actions: true,
            cell: (t) => (
              <Button small label={`Revoke ${t.kind === 'login' ? 'login' : t.name}`} onClick={() => revoke(t)}>
                Revoke
              </Button>
            ),
          },
        ]}
      />
      {open && (
        <Dialog title={made ? 'The new token' : 'New token'} onClose={close}>
          {made ? (
            <div class="stack">
              <p>Copy it now: it is shown only once.</p>
              <Secret text={made} label="Token" />
              <div class="form-actions">
                <Button kind="primary" onClick={close}>
                  Done
                </Button>
              </div>
            </div>
          ) : (
            <Form
              submit="Make token"
              onCancel={close}
              onSubmit={async (v) => {
                const scopes = v.all('scopes') as Schemas['Scope'][];
                const { data } = await post('/api/admin/customers/{id}/tokens', {
                  path: { id },
                  once: v.key,
                  body: {
                    name: v.trimmed('name'),
                    scopes: scopes.length > 0 ? scopes : null,
                    expires_at: v.time('expires_at'),
                  },
                });
                setMade(data.token);
                tokens.reload();
              }}
            >
              <TextField name="name" label="Name" hint="What it is used for." />
              <fieldset>
                <legend>May be used for</legend>
                {SCOPES.map(([scope, text]) => (
                  <Check key={scope} name="scopes" value={scope} label={text} checked />
                ))}
              </fieldset>
              <TextField name="expires_at" label="Ends" optional type="datetime-local" />
            </Form>
          )}
        </Dialog>
      )}
    </Card>
  );
}
