// One product: its fields, variants, and what it delivers. Changes carry the version they are based on, so that two
// people cannot overwrite each other unseen.
import { useRef } from 'preact/hooks';
import { get, patch, remove } from '../../api';
import { useLoad } from '../../load';
import { go, href, type PageProps } from '../../route';
import { Images } from '../../parts/admin_images';
import { ProductFile } from '../../parts/admin_product_files';
import { Serials } from '../../parts/admin_serials';
import { explainConflict } from '../../parts/conflict';
import { HistoryButton } from '../../parts/history';
import { Button, Card, Load, Page, Time } from '../../ui/basic';
import { ask } from '../../ui/dialog';
import { Form } from '../../ui/form';
import { toast } from '../../ui/toast';
import { ProductState } from './common';
import { ProductFields, productBody } from './fields';
import { Variants } from './variants';

/**
 * When the form starts over: whenever the product has changed, except through a step of our own outside the form (a
 * variant, a file), which must not discard what is being typed.
 */
function useFormKey(version: number | undefined): { key: number; expectStep: () => void } {
  const at = useRef({ key: 0, version, steps: 0 });
  const { current } = at;
  if (version !== current.version) {
    const left = current.steps - ((version ?? 0) - (current.version ?? 0)); // several steps may have been read as one
    const isOurs = version !== undefined && current.version !== undefined && left >= 0;
    at.current = { key: isOurs ? current.key : current.key + 1, version, steps: isOurs ? left : 0 };
  }
  return {
    key: at.current.key,
    expectStep: () => {
      at.current.steps += 1;
    },
  };
}

export function Product({ id }: PageProps) {
  const product = useLoad(async () => {
    const { data, etag } = await get('/api/admin/products/{id}', { path: { id } });
    return { ...data, etag };
  }, [id]);
  const p = product.data;
  const form = useFormKey(p?.version);
  const changedBeside = () => {
    form.expectStep();
    product.reload();
  };
  const removeIt = () =>
    p &&
    ask({
      title: `Delete ${p.name}?`,
      text: 'A product that was ever sold is taken off sale instead, and stays in your orders.',
      action: 'Delete product',
      danger: true,
      run: async () => {
        const { data } = await remove('/api/admin/products/{id}', { path: { id }, ifMatch: p.etag }).catch(
          explainConflict,
        );
        toast(data.deleted ? `${p.name} was deleted.` : `${p.name} was sold before, so it is now off sale.`);
        if (data.deleted) go('/products');
        else product.reload();
      },
    });
  return (
    <Page
      title={p?.name ?? 'Product'}
      back={[href('/products'), 'Products']}
      lead={
        p && (
          <>
            <ProductState of={p} /> changed <Time at={p.updated_at} />
          </>
        )
      }
      actions={
        p && (
          <>
            <HistoryButton of="product" id={id} />
            <Button onClick={removeIt}>Delete</Button>
          </>
        )
      }
    >
      <Load of={product}>
        {(data) => (
          <div class="columns">
            <Card title="Details">
              <Form
                key={form.key}
                submit="Save changes"
                onSubmit={async (v) => {
                  const saved = await patch('/api/admin/products/{id}', {
                    path: { id },
                    body: productBody(v),
                    ifMatch: data.etag,
                  }).catch(explainConflict);
                  product.set({ ...saved.data, etag: saved.etag });
                  toast('Saved.');
                }}
              >
                <ProductFields product={data} />
              </Form>
            </Card>
            <div class="stack">
              <Images product={data} />
              <Variants product={data} onChange={changedBeside} />
              {data.delivery_type === 'serial_code' && <Serials product={data} onChange={changedBeside} />}
              {data.delivery_type === 'download_url' && <ProductFile product={data} onChange={changedBeside} />}
            </div>
          </div>
        )}
      </Load>
    </Page>
  );
}
