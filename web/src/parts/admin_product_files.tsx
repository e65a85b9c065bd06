// The file that a product delivers.
import { useState } from 'preact/hooks';
import { proveFor, remove, upload, urlOf, type Schemas } from '../api';
import { bytes } from '../format';
import { Button, Card } from '../ui/basic';
import { ask } from '../ui/dialog';
import { FileField, Form, bad } from '../ui/form';
import { toast } from '../ui/toast';

type Product = Schemas['AdminProduct'];

export function ProductFile({ product, onChange }: { product: Product & { etag: string }; onChange: () => void }) {
  const [progress, setProgress] = useState<number | null>(null);
  const takeAway = () =>
    ask({
      title: 'Remove the file?',
      text: 'Links that customers have bought stop working until there is another file.',
      action: 'Remove file',
      danger: true,
      run: async () => {
        await remove('/api/admin/products/{id}/file', { path: { id: product.id }, ifMatch: product.etag });
        toast('The file was removed.');
        onChange();
      },
    });
  return (
    <Card
      title="File"
      actions={
        product.file_name && (
          <Button small onClick={takeAway}>
            Remove
          </Button>
        )
      }
    >
      <p>
        {product.file_name ? (
          <>
            <strong>{product.file_name}</strong> <span class="muted">{bytes(product.file_bytes)}</span>
          </>
        ) : (
          <span class="muted">No file yet. Upload what buyers will get.</span>
        )}
      </p>
      <Form
        submit={product.file_name ? 'Replace file' : 'Upload file'}
        onSubmit={async (v) => {
          const file = v.file('file');
          if (!file) throw bad('file', 'Choose a file');
          const url = urlOf('/api/admin/products/{id}/file', { id: product.id }, { name: file.name });
          await proveFor('PUT', url);
          setProgress(0);
          try {
            await upload('PUT', url, file, 'application/octet-stream', {
              ifMatch: product.etag,
              onProgress: setProgress,
            });
          } finally {
            setProgress(null);
          }
          v.element.reset();
          toast(`${file.name} was uploaded.`);
          onChange();
        }}
      >
        <FileField name="file" label="Choose a file" />
        {progress !== null && (
          <progress aria-label="Progress of the upload" max={1} value={progress < 1 ? progress : undefined} />
        )}
      </Form>
    </Card>
  );
}
