// A product's variants: tiers, seats, plans, each with a price of its own.
import { useState } from 'preact/hooks';
import { patch, post, remove, type Schemas } from '../../api';
import { plainMoney } from '../../format';
import { currency } from '../../session';
import { Badge, Button, Card, Empty, Money } from '../../ui/basic';
import { Dialog, ask } from '../../ui/dialog';
import { Check, Form, TextField } from '../../ui/form';
import { Table } from '../../ui/table';
import { toast } from '../../ui/toast';

type Variant = Schemas['AdminVariant'];

export function Variants({ product, onChange }: { product: Schemas['AdminProduct']; onChange: () => void }) {
  const [edited, setEdited] = useState<Variant | 'new' | null>(null);
  const add = (
    <Button icon="plus" small onClick={() => setEdited('new')}>
      Add variant
    </Button>
  );
  const removeIt = (v: Variant) =>
    ask({
      title: `Delete the variant ${v.name}?`,
      text: 'A variant that was ever sold is switched off instead.',
      action: 'Delete variant',
      danger: true,
      run: async () => {
        const { data } = await remove('/api/admin/variants/{id}', { path: { id: v.id } });
        toast(data.deleted ? `${v.name} was deleted.` : `${v.name} was sold before, so it is now switched off.`);
        onChange();
      },
    });
  return (
    <Card title="Variants" flush actions={add}>
      {product.variants.length === 0 ? (
        <Empty title="No variants">Add some when this is sold in tiers, plans or numbers of seats.</Empty>
      ) : (
        <Table
          label="Variants"
          rows={product.variants}
          keyOf={(v) => v.id}
          columns={[
            {
              head: 'Name',
              cell: (v) => (
                <>
                  {v.name} {v.is_default && <Badge status="active">Default</Badge>}
                  {!v.is_active && <Badge status="off" />}
                </>
              ),
            },
            { head: 'Price', right: true, cell: (v) => <Money amount={v.price} /> },
            {
              head: 'Actions',
              actions: true,
              cell: (v) => (
                <>
                  <Button small onClick={() => setEdited(v)} label={`Edit ${v.name}`}>
                    Edit
                  </Button>
                  <Button small onClick={() => removeIt(v)} label={`Delete ${v.name}`}>
                    Delete
                  </Button>
                </>
              ),
            },
          ]}
        />
      )}
      {edited && (
        <VariantDialog
          product={product}
          variant={edited === 'new' ? undefined : edited}
          onClose={() => setEdited(null)}
          onChange={onChange}
        />
      )}
    </Card>
  );
}

function VariantDialog({
  product,
  variant,
  onClose,
  onChange,
}: {
  product: Schemas['AdminProduct'];
  variant: Variant | undefined;
  onClose: () => void;
  onChange: () => void;
}) {
  return (
    <Dialog title={variant ? `Variant ${variant.name}` : 'New variant'} onClose={onClose}>
      <Form
        submit={variant ? 'Save variant' : 'Add variant'}
        onCancel={onClose}
        onSubmit={async (v) => {
          const body = {
            name: v.trimmed('name'),
            price: v.requiredAmount('price'),
            is_active: v.bool('is_active'),
            ...(v.bool('is_default') ? { is_default: true } : {}),
            ...(product.delivery_type === 'license_key' ? { license_days: v.count('license_days') } : {}),
          };
          if (variant) await patch('/api/admin/variants/{id}', { path: { id: variant.id }, body });
          else await post('/api/admin/products/{id}/variants', { path: { id: product.id }, body, once: v.key });
          toast(`${body.name} was saved.`);
          onClose();
          onChange();
        }}
      >
        <TextField name="name" label="Name" value={variant?.name} />
        <TextField name="price" label={`Price in ${currency()}`} numeric value={plainMoney(variant?.price)} />
        {product.delivery_type === 'license_key' && (
          <TextField
            name="license_days"
            label="Licences are valid for (days)"
            optional
            numeric
            value={variant?.license_days}
            hint="Empty: as the product says."
          />
        )}
        <Check
          name="is_default"
          label="Default variant"
          checked={variant?.is_default}
          hint="What the v1 API sells when an order names no variant. In the shop, customers always choose one."
        />
        <Check name="is_active" label="On sale" checked={variant?.is_active ?? true} />
      </Form>
    </Dialog>
  );
}
