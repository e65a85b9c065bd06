// The fields of a product, for a new one and for changing one.
import { useState } from 'preact/hooks';
import type { Schemas } from '../../api';
import { plainMoney } from '../../format';
import { currency } from '../../session';
import { Check, Select, TextArea, TextField, type Values } from '../../ui/form';

type Product = Schemas['AdminProduct'];
export type Delivery = Product['delivery_type'];

const DELIVERY: [Delivery, string][] = [
  ['license_key', 'Licence keys, made by the store'],
  ['serial_code', 'Serial codes from a list of yours'],
  ['download_url', 'A file to download'],
];

export function ProductFields({ product }: { product?: Product }) {
  const [delivery, setDelivery] = useState<string>(product?.delivery_type ?? 'license_key');
  return (
    <>
      <TextField name="name" label="Name" value={product?.name} />
      <TextArea name="description" label="Description" optional value={product?.description} />
      <div class="pair">
        <TextField
          name="price"
          label={`Price in ${currency()}`}
          numeric
          value={plainMoney(product?.price)}
          hint={product?.variants.length ? 'Customers see the default variant’s price.' : undefined}
        />
        <Select name="delivery_type" label="Delivers" options={DELIVERY} value={delivery} onChange={setDelivery} />
      </div>
      {delivery === 'license_key' && (
        <div class="pair">
          <TextField
            name="license_days"
            label="Licences are valid for (days)"
            optional
            numeric
            value={product?.license_days}
            hint="Empty: for ever."
          />
          <TextField
            name="key_prefix"
            label="Key prefix"
            optional
            value={product?.key_prefix}
            hint="Capital letters and digits."
          />
        </div>
      )}
      {delivery === 'download_url' && (
        <>
          <TextField
            name="download_url"
            label="Address of the file"
            optional
            type="url"
            value={product?.download_url}
            hint="Only when the file is kept elsewhere; otherwise upload it after saving."
          />
          <div class="pair">
            <TextField
              name="download_limit"
              label="Downloads per sale"
              optional
              numeric
              value={product?.download_limit}
            />
            <TextField
              name="download_days"
              label="Link is valid for (days)"
              optional
              numeric
              value={product?.download_days}
            />
          </div>
        </>
      )}
      <div class="pair">
        <TextField
          name="slug"
          label="Slug"
          optional={!product}
          value={product?.slug}
          hint="The product's name in addresses; made from its name when empty."
        />
        <TextField
          name="position"
          label="Position"
          optional
          numeric
          value={product?.position}
          hint="Smaller numbers come first."
        />
      </div>
      <Check
        name="is_active"
        label="On sale"
        checked={product?.is_active ?? true}
        hint="Products that are not on sale are hidden from customers."
      />
    </>
  );
}

/** What the fields say, as a body. Fields that the kind of delivery does not show are left unchanged. */
export function productBody(v: Values) {
  const delivery = v.text('delivery_type') as Delivery;
  return {
    name: v.trimmed('name'),
    description: v.text('description').trim(),
    price: v.requiredAmount('price'),
    delivery_type: delivery,
    is_active: v.bool('is_active'),
    ...(v.optional('slug') ? { slug: v.trimmed('slug') } : {}),
    ...(v.optional('position') ? { position: v.requiredCount('position') } : {}),
    ...(delivery === 'license_key'
      ? { license_days: v.count('license_days'), key_prefix: v.trimmed('key_prefix') }
      : {}),
    ...(delivery === 'download_url'
      ? {
          download_url: v.trimmed('download_url'),
          download_limit: v.count('download_limit'),
          download_days: v.count('download_days'),
        }
      : {}),
  };
}
