// Connecting a gateway. Secrets go in and never come out: only the last characters of stored ones are shown.
import { useState } from 'preact/hooks';
import { put } from '../../api';
import { explainConflict } from '../../parts/conflict';
import { Secret } from '../../ui/basic';
import { Dialog } from '../../ui/dialog';
import { Check, Form, Select, TextArea, TextField, bad, type Values } from '../../ui/form';
import { toast } from '../../ui/toast';
import { PROVIDERS, type Gateway } from './common';

const KEPT = 'Empty: unchanged.';
const kept = (end: string | null | undefined): string => (end ? `Ends with ${end}. ${KEPT}` : 'None yet.');

/** A member is sent only when something was typed, or, where the old value is shown, when it is another now. */
function bodyOf(v: Values, provider: Gateway['provider'], old: Gateway | undefined) {
  const secret = (name: string) => (v.text(name).trim() ? { [name]: v.trimmed(name) } : {});
  const shown = (name: 'webhook_id' | 'store_id' | 'base_url') =>
    v.optional(name) !== (old?.[name] ?? null) ? { [name]: v.optional(name) } : {};
  return {
    ...(old ? {} : { provider }),
    is_enabled: v.bool('is_enabled'),
    ...(provider === 'sandbox' ? {} : { mode: v.text('mode') as Gateway['mode'] }),
    ...secret('add_secret'),
    ...secret('api_key'),
    ...secret('api_secret'),
    ...secret('ca_bundle'),
    ...(provider === 'paypal' ? shown('webhook_id') : {}),
    ...(provider === 'btcpay' ? shown('store_id') : {}),
    ...(provider === 'sandbox' ? {} : shown('base_url')),
  };
}

export function GatewayDialog({
  gateway: old,
  onClose,
  onChange,
}: {
  gateway: Gateway | undefined;
  onClose: () => void;
  onChange: () => void;
}) {
  const [provider, setProvider] = useState<string>(old?.provider ?? 'stripe');
  const hasSecret = provider !== 'sandbox' && provider !== 'paypal';
  return (
    <Dialog title={old ? `Gateway ${old.label}` : 'New gateway'} onClose={onClose}>
      <Form
        submit="Save gateway"
        onCancel={onClose}
        fieldOf={{ secrets: 'add_secret' }}
        onSubmit={async (v) => {
          const label = old?.label ?? v.trimmed('label');
          if (!/^[a-z0-9_-]{1,40}$/.test(label)) throw bad('label', 'Small letters, digits, _ and - only, at most 40');
          const { data } = await put('/api/admin/gateways/{label}', {
            path: { label },
            body: bodyOf(v, provider as Gateway['provider'], old),
            ifMatch: old && `"${old.version}"`,
          }).catch(explainConflict);
          toast(data.is_enabled ? `${label} is on.` : `${label} was saved; it is off.`);
          onClose();
          onChange();
        }}
      >
        {!old && (
          <div class="pair">
            <TextField name="label" label="Label" hint="Its name in addresses, such as card_eu." />
            <Select name="provider" label="Provider" options={PROVIDERS} value={provider} onChange={setProvider} />
          </div>
        )}
        {old && provider !== 'sandbox' && (
          <div class="field">
            <p class="hint">Tell the provider to send its events to:</p>
            <Secret text={`${location.origin}/webhook/${old.label}`} label="Webhook address" />
          </div>
        )}
        {provider === 'sandbox' ? (
          <p class="muted">Pays without money, for trying the shop. It makes up its own secrets.</p>
        ) : (
          <>
            <Select
              name="mode"
              label="Money"
              value={old?.mode ?? 'test'}
              options={[
                ['test', 'Test: not real'],
                ['live', 'Live: real money'],
              ]}
            />
            <div class="pair">
              <TextField
                name="api_key"
                label={provider === 'paypal' ? 'Client ID' : 'API key'}
                optional
                hint={kept(old?.api_key)}
              />
              {(provider === 'paypal' || provider === 'razorpay') && (
                <TextField
                  name="api_secret"
                  label="API secret"
                  optional
                  type="password"
                  autocomplete="new-password"
                  hint={kept(old?.api_secret)}
                />
              )}
              {hasSecret && (
                <TextField
                  name="add_secret"
                  label="Signing secret of the webhook"
                  optional={!!old?.secrets.length}
                  type="password"
                  autocomplete="new-password"
                  hint={
                    old?.secrets.length
                      ? `In use: …${old.secrets.join(', …')}. A new one is added; the old stay good.`
                      : 'Copy it from the provider. Needed before the gateway can be switched on.'
                  }
                />
              )}
              {provider === 'paypal' && <TextField name="webhook_id" label="Webhook ID" value={old?.webhook_id} />}
              {provider === 'btcpay' && <TextField name="store_id" label="Store ID" value={old?.store_id} />}
            </div>
            <TextField
              name="base_url"
              label="Address of its API"
              optional={provider !== 'btcpay'}
              type="url"
              value={old?.base_url}
              hint={provider === 'btcpay' ? 'Of your BTCPay Server.' : 'Only when it is not the usual one.'}
            />
            {provider === 'paypal' && (
              <TextArea
                name="ca_bundle"
                label="Certificate authorities"
                optional
                rows={2}
                hint={`PEM. ${old?.has_ca_bundle ? KEPT : 'The authority that issues its message certificates.'}`}
              />
            )}
          </>
        )}
        <Check name="is_enabled" label="Switched on" checked={old?.is_enabled} hint="Customers can pay with it." />
      </Form>
    </Dialog>
  );
}
