// The store's settings. All staff can read them, owners can change them.
import { ApiError, get, patch } from '../api';
import { useLoad } from '../load';
import { isOwner, settings } from '../session';
import { explainConflict } from '../parts/conflict';
import { Card, Facts, Load, Page } from '../ui/basic';
import { ExportButton } from '../ui/export';
import { Form, TextField, bad } from '../ui/form';
import { toast } from '../ui/toast';
import { Limits } from './admin_settings/limits';

export function SettingsPage() {
  const loaded = useLoad(async () => {
    const { data, etag } = await get('/api/admin/settings');
    return { ...data, etag };
  }, []);
  return (
    <Page title="Settings">
      <Load of={loaded}>
        {(s) => (
          <div class="columns">
            <Card title="Store">
              {isOwner() ? (
                <Form
                  key={s.etag}
                  submit="Save settings"
                  onSubmit={async (v) => {
                    const currency = v.trimmed('currency').toUpperCase();
                    const { data, etag } = await patch('/api/admin/settings', {
                      ifMatch: s.etag,
                      body: {
                        store_name: v.trimmed('store_name'),
                        rate_v1: v.requiredCount('rate_v1'),
                        rate_customer: v.requiredCount('rate_customer'),
                        order_units_max: v.requiredCount('order_units_max'),
                        reserve_minutes: v.requiredCount('reserve_minutes'),
                        reserve_codes_max: v.requiredCount('reserve_codes_max'),
                        ...(currency !== s.currency ? { currency } : {}),
                      },
                    }).catch((e: unknown) => {
                      if (e instanceof ApiError && e.status === 409)
                        throw bad(
                          'currency',
                          'There are prices or money already: the currency can no longer be changed',
                        );
                      return explainConflict(e);
                    });
                    settings.value = data;
                    loaded.set({ ...data, etag });
                    toast('The settings were saved.');
                  }}
                >
                  <TextField name="store_name" label="Name of the store" value={s.store_name} />
                  <TextField
                    name="currency"
                    label="Currency"
                    value={s.currency}
                    hint="Three letters, as in EUR. It can be changed until there are prices or money."
                  />
                  <div class="pair">
                    <TextField
                      name="rate_v1"
                      label="v1 API: requests a minute"
                      numeric
                      value={s.rate_v1}
                      hint="Per token and network. 0: no limit."
                    />
                    <TextField
                      name="rate_customer"
                      label="Other API: requests a minute"
                      numeric
                      value={s.rate_customer}
                      hint="Per caller. 0: no limit."
                    />
                  </div>
                  <TextField
                    name="order_units_max"
                    label="Units in one order, at most"
                    numeric
                    value={s.order_units_max}
                  />
                  <div class="pair">
                    <TextField
                      name="reserve_minutes"
                      label="Minutes that codes are kept for an open payment"
                      numeric
                      value={s.reserve_minutes}
                      hint="Serial codes of an order that waits are not sold to others. 0: off."
                    />
                    <TextField
                      name="reserve_codes_max"
                      label="Codes kept for one customer, at most"
                      numeric
                      value={s.reserve_codes_max}
                    />
                  </div>
                </Form>
              ) : (
                <Facts
                  of={[
                    ['Name', s.store_name],
                    ['Currency', s.currency],
                    ['v1 API, a minute', s.rate_v1],
                    ['Other API, a minute', s.rate_customer],
                    ['Units in one order', s.order_units_max],
                    ['Codes are kept, minutes', s.reserve_minutes],
                  ]}
                />
              )}
            </Card>
            <Card title="How long things are kept">
              {isOwner() ? (
                <Form
                  key={s.etag}
                  submit="Save days"
                  onSubmit={async (v) => {
                    const { data, etag } = await patch('/api/admin/settings', {
                      ifMatch: s.etag,
                      body: {
                        keep_audit_days: v.requiredCount('keep_audit_days'),
                        keep_notification_days: v.requiredCount('keep_notification_days'),
                        keep_webhook_body_days: v.requiredCount('keep_webhook_body_days'),
                        keep_outbox_days: v.requiredCount('keep_outbox_days'),
                      },
                    }).catch(explainConflict);
                    settings.value = data;
                    loaded.set({ ...data, etag });
                    toast('The days were saved.');
                  }}
                >
                  <p class="muted">In days. 0: for ever. Money, orders, licences and tickets always stay.</p>
                  <div class="pair">
                    <TextField name="keep_audit_days" label="Audit trail" numeric value={s.keep_audit_days} />
                    <TextField
                      name="keep_notification_days"
                      label="Notifications of customers"
                      numeric
                      value={s.keep_notification_days}
                    />
                  </div>
                  <div class="pair">
                    <TextField
                      name="keep_webhook_body_days"
                      label="Messages of gateways"
                      numeric
                      value={s.keep_webhook_body_days}
                      hint="Afterwards their facts remain."
                    />
                    <TextField
                      name="keep_outbox_days"
                      label="Finished work in the outbox"
                      numeric
                      value={s.keep_outbox_days}
                    />
                  </div>
                </Form>
              ) : (
                <Facts
                  of={[
                    ['Audit trail, days', s.keep_audit_days || 'for ever'],
                    ['Notifications, days', s.keep_notification_days || 'for ever'],
                    ['Messages of gateways, days', s.keep_webhook_body_days || 'for ever'],
                    ['Finished work in the outbox, days', s.keep_outbox_days || 'for ever'],
                  ]}
                />
              )}
            </Card>
            <Limits of={s} onSave={loaded.set} />
            <Card title="Ledger">
              <p class="muted">Every movement of money, for your bookkeeping.</p>
              <div class="form-actions">
                <ExportButton what="ledger" />
              </div>
            </Card>
          </div>
        )}
      </Load>
    </Page>
  );
}
