import { useState } from 'preact/hooks';
import { patch, post, remove, type Row } from '../../api';
import { ZERO, isZero } from '../../amount';
import { decimal, plainMoney, toLocalInput } from '../../format';
import { useLoad } from '../../load';
import { currency } from '../../session';
import { readProducts } from '../../parts/admin_products';
import { explainConflict } from '../../parts/conflict';
import { Button, Load } from '../../ui/basic';
import { Dialog, ask } from '../../ui/dialog';
import { Check, Form, Select, TextField, type Values } from '../../ui/form';
import { toast } from '../../ui/toast';

export type Coupon = Row<'/api/admin/coupons'>;

/** Boxes that were never shown are ignored: `shown` is false while the products load, and the coupon keeps its own. */
function bodyOf(v: Values, coupon: Coupon | undefined, shown: boolean) {
  return {
    code: v.trimmed('code'),
    kind: v.text('kind') as Coupon['kind'],
    value: v.requiredAmount('value'),
    product_ids: shown ? v.all('product_ids').map(Number) : (coupon?.product_ids ?? []),
    min_total: v.amount('min_total') ?? ZERO,
    starts_at: v.time('starts_at'),
    expires_at: v.time('expires_at'),
    max_uses: v.count('max_uses'),
    max_uses_per_customer: v.count('max_uses_per_customer'),
    is_active: v.bool('is_active'),
  };
}

export function CouponDialog({
  coupon,
  onClose,
  onChange,
}: {
  coupon: Coupon | undefined;
  onClose: () => void;
  onChange: () => void;
}) {
  const products = useLoad(readProducts, []);
  const [kind, setKind] = useState<string>(coupon?.kind ?? 'percent');
  const ifMatch = coupon && `"${coupon.version}"`;
  const removeIt = () =>
    coupon &&
    ask({
      title: `Delete ${coupon.code}?`,
      text: 'A coupon that was ever used is switched off instead.',
      action: 'Delete coupon',
      danger: true,
      run: async () => {
        const { data } = await remove('/api/admin/coupons/{id}', { path: { id: coupon.id }, ifMatch }).catch(
          explainConflict,
        );
        toast(
          data.deleted ? `${coupon.code} was deleted.` : `${coupon.code} was used before, so it is now switched off.`,
        );
        onClose();
        onChange();
      },
    });
  return (
    <Dialog title={coupon ? `Coupon ${coupon.code}` : 'New coupon'} onClose={onClose}>
      <Form
        submit={coupon ? 'Save coupon' : 'Make coupon'}
        onCancel={onClose}
        onSubmit={async (v) => {
          const body = bodyOf(v, coupon, products.data !== undefined);
          const { data } = coupon
            ? await patch('/api/admin/coupons/{id}', { path: { id: coupon.id }, body, ifMatch }).catch(explainConflict)
            : await post('/api/admin/coupons', { body, once: v.key });
          toast(`${data.code} was saved.`);
          onClose();
          onChange();
        }}
      >
        <TextField name="code" label="Code" value={coupon?.code} hint="Letters, digits, - and _; not case-sensitive." />
        <div class="pair">
          <Select
            name="kind"
            label="Kind"
            value={kind}
            onChange={setKind}
            options={[
              ['percent', 'Percentage'],
              ['fixed', 'Amount'],
            ]}
          />
          <TextField
            name="value"
            label={kind === 'percent' ? 'Per cent off' : `Amount off in ${currency()}`}
            numeric
            value={coupon && (coupon.kind === 'percent' ? decimal(coupon.value) : plainMoney(coupon.value))}
          />
        </div>
        <div class="pair">
          <TextField
            name="starts_at"
            label="Starts"
            optional
            type="datetime-local"
            value={toLocalInput(coupon?.starts_at)}
          />
          <TextField
            name="expires_at"
            label="Ends"
            optional
            type="datetime-local"
            value={toLocalInput(coupon?.expires_at)}
          />
        </div>
        <div class="pair">
          <TextField
            name="max_uses"
            label="Uses in all"
            optional
            numeric
            value={coupon?.max_uses}
            hint="Empty: no limit."
          />
          <TextField
            name="max_uses_per_customer"
            label="Uses per customer"
            optional
            numeric
            value={coupon ? coupon.max_uses_per_customer : 1}
            hint="Empty: no limit."
          />
        </div>
        <TextField
          name="min_total"
          label={`From a total of, in ${currency()}`}
          optional
          numeric
          value={coupon && !isZero(coupon.min_total) ? plainMoney(coupon.min_total) : ''}
        />
        <Load of={products}>
          {(all) =>
            all.length === 0 ? null : (
              <fieldset>
                <legend>Only for these products</legend>
                <p class="hint">None chosen: for all products.</p>
                <div class="choices" role="group" aria-label="Products" tabIndex={0}>
                  {all.map((p) => (
                    <Check
                      key={p.id}
                      name="product_ids"
                      value={String(p.id)}
                      label={p.name}
                      checked={coupon?.product_ids.includes(p.id)}
                    />
                  ))}
                </div>
              </fieldset>
            )
          }
        </Load>
        <Check name="is_active" label="Switched on" checked={coupon?.is_active ?? true} />
      </Form>
      {coupon && (
        <p class="dialog-foot">
          <Button small kind="quiet" onClick={removeIt}>
            Delete this coupon
          </Button>
        </p>
      )}
    </Dialog>
  );
}
