// The pictures of a product: dragged in or chosen, made smaller here, put in order, and said in words.
import { useState } from 'preact/hooks';
import { get, patch, remove, send, urlOf, type Row } from '../api';
import { useLoad } from '../load';
import { Button, Card, Empty, Load } from '../ui/basic';
import { ask } from '../ui/dialog';
import { Form, TextField } from '../ui/form';
import { attempt, toast } from '../ui/toast';
import { PICTURES, shrunk } from './picture';

type Image = Row<'/api/admin/products/{id}/images'>;
const SIDE = 1600;

export function Images({ product }: { product: { id: number; name: string } }) {
  const path = { id: product.id };
  const images = useLoad(async () => (await get('/api/admin/products/{id}/images', { path })).data, [product.id]);
  const [busy, setBusy] = useState(false);
  const [over, setOver] = useState(false);
  const add = (files: Iterable<File>) =>
    attempt(async () => {
      setBusy(true);
      try {
        for (const file of files) {
          const blob = await shrunk(file, SIDE);
          const url = urlOf('/api/admin/products/{id}/images', path, { alt: product.name });
          await send('POST', url, { body: blob, headers: { 'Content-Type': 'application/octet-stream' } });
        }
        toast('The pictures were added.');
      } finally {
        setBusy(false);
        images.reload();
      }
    });
  /** Changes places with its neighbour. */
  const swap = (a: Image, b: Image) =>
    attempt(async () => {
      await patch('/api/admin/images/{id}', { path: { id: a.id }, body: { position: b.position } });
      await patch('/api/admin/images/{id}', { path: { id: b.id }, body: { position: a.position } });
      images.reload();
    });
  const takeAway = (image: Image) =>
    ask({
      title: 'Remove this picture?',
      text: image.alt || 'The shop does not show it any more.',
      action: 'Remove picture',
      danger: true,
      run: async () => {
        await remove('/api/admin/images/{id}', { path: { id: image.id } });
        images.reload();
        toast('The picture was removed.');
      },
    });
  return (
    <Card title="Pictures">
      <div
        class={`drop ${over ? 'over' : ''}`}
        onDragOver={(e) => {
          e.preventDefault();
          setOver(true);
        }}
        onDragLeave={() => setOver(false)}
        onDrop={(e) => {
          e.preventDefault();
          setOver(false);
          void add([...(e.dataTransfer?.files ?? [])]);
        }}
      >
        <label class="button">
          {busy ? 'One moment…' : 'Add pictures'}
          <input
            type="file"
            class="hidden"
            multiple
            accept={PICTURES}
            disabled={busy}
            onChange={(e) => {
              const files = [...(e.currentTarget.files ?? [])];
              e.currentTarget.value = '';
              void add(files);
            }}
          />
        </label>
        <span class="muted">or drag them here: PNG, JPEG, WebP or AVIF. Large ones are made smaller.</span>
      </div>
      <Load of={images}>
        {(all) =>
          all.length === 0 ? (
            <Empty title="No pictures yet">
              Products with pictures sell better. The first one is in the catalogue.
            </Empty>
          ) : (
            <ol class="pictures">
              {all.map((image, i) => (
                <li key={image.id}>
                  <img src={image.url} alt="" />
                  <Form
                    submit="Save"
                    inline
                    onSubmit={async (v) => {
                      const body = { alt: v.trimmed('alt') };
                      await patch('/api/admin/images/{id}', { path: { id: image.id }, body });
                      toast('Saved.');
                    }}
                  >
                    <TextField name="alt" label={`What picture ${i + 1} shows`} value={image.alt} optional />
                  </Form>
                  <div class="form-actions">
                    <Button
                      small
                      label={`Move picture ${i + 1} forward`}
                      disabled={i === 0}
                      onClick={() => swap(image, all[i - 1] as Image)}
                    >
                      ↑
                    </Button>
                    <Button
                      small
                      label={`Move picture ${i + 1} back`}
                      disabled={i === all.length - 1}
                      onClick={() => swap(image, all[i + 1] as Image)}
                    >
                      ↓
                    </Button>
                    <Button small label={`Remove picture ${i + 1}`} onClick={() => takeAway(image)}>
                      Remove
                    </Button>
                  </div>
                </li>
              ))}
            </ol>
          )
        }
      </Load>
    </Card>
  );
}
