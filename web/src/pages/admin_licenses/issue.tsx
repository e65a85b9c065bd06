// A licence without an order.
import { useEffect, useRef, useState } from 'preact/hooks';
import { get, post } from '../../api';
import { useLoad } from '../../load';
import { go } from '../../route';
import { readProducts } from '../../parts/admin_products';
import { Empty, Load } from '../../ui/basic';
import { Dialog } from '../../ui/dialog';
import { Form, Select, TextField, bad } from '../../ui/form';
import { toast } from '../../ui/toast';

const TYPING_MS = 250;

async function customerWith(email: string): Promise<number> {
  const found = (await get('/api/admin/customers', { query: { q: email, limit: 100 } })).data;
  const match = found.find((c) => c.email.toLowerCase() === email.toLowerCase());
  if (!match) throw bad('customer_id', 'No customer has this e-mail address');
  return match.id;
}

/** Suggests e-mail addresses while typing. */
function CustomerField() {
  const [found, setFound] = useState<string[]>([]);
  const timer = useRef(0);
  useEffect(() => () => clearTimeout(timer.current), []);
  const typed = (q: string) => {
    clearTimeout(timer.current);
    timer.current = setTimeout(async () => {
      if (q.length < 2) return;
      setFound(
        (await get('/api/admin/customers', { query: { q, limit: 10 } }).catch(() => ({ data: [] }))).data.map(
          (c) => c.email,
        ),
      );
    }, TYPING_MS);
  };
  return (
    <>
      <TextField name="customer_id" label="Customer’s e-mail address" list="customer-emails" onInput={typed} />
      <datalist id="customer-emails">
        {found.map((email) => (
          <option key={email} value={email} />
        ))}
      </datalist>
    </>
  );
}

export function IssueDialog({ onClose }: { onClose: () => void }) {
  const products = useLoad(async () => (await readProducts()).filter((p) => p.delivery_type === 'license_key'), []);
  const [picked, setPicked] = useState<number | null>(null);
  const productId = picked ?? products.data?.[0]?.id ?? null;
  const variants = useLoad(
    async () =>
      productId === null ? [] : (await get('/api/admin/products/{id}', { path: { id: productId } })).data.variants,
    [productId],
  );
  return (
    <Dialog title="Issue a licence" onClose={onClose}>
      <Load of={products}>
        {(all) =>
          all.length === 0 ? (
            <Empty title="No product delivers licence keys">Add one first.</Empty>
          ) : (
            <Form
              submit="Issue licence"
              onCancel={onClose}
              onSubmit={async (v) => {
                const customer = await customerWith(v.trimmed('customer_id'));
                const variant = v.optional('variant_id');
                const { data } = await post('/api/admin/licenses', {
                  body: {
                    product_id: Number(v.text('product_id')),
                    customer_id: customer,
                    variant_id: variant ? Number(variant) : null,
                    expires_at: v.time('expires_at'),
                  },
                  once: v.key,
                });
                toast('The licence was issued.');
                onClose();
                go(`/licenses/${data.id}`);
              }}
            >
              <Select
                name="product_id"
                label="Product"
                options={all.map((p) => [String(p.id), p.name])}
                onChange={(id) => setPicked(Number(id))}
              />
              {(variants.data?.length ?? 0) > 0 && (
                <Select
                  name="variant_id"
                  label="Variant"
                  options={(variants.data ?? []).map((x) => [String(x.id), x.name])}
                />
              )}
              <CustomerField />
              <TextField
                name="expires_at"
                label="Expires"
                optional
                type="datetime-local"
                hint="Empty: as the product says."
              />
            </Form>
          )
        }
      </Load>
    </Dialog>
  );
}
