// The pools of serial codes of a product, and importing more.
import { useState } from 'preact/hooks';
import { get, upload, urlOf, type Data, type Schemas } from '../api';
import { number } from '../format';
import { useLoad } from '../load';
import { Badge, Button, Card, Empty, Load } from '../ui/basic';
import { Dialog } from '../ui/dialog';
import { FileField, Form, Select, TextArea, bad, type Values } from '../ui/form';
import { Table } from '../ui/table';
import { toast } from '../ui/toast';

type Product = Schemas['AdminProduct'];
type Imported = Data<'/api/admin/products/{id}/serials', 'post'>;
const BYTES_MAX = 16 * 1024 * 1024;

export function Serials({ product, onChange }: { product: Product; onChange: () => void }) {
  const [open, setOpen] = useState(false);
  const serials = useLoad(
    async () => (await get('/api/admin/products/{id}/serials', { path: { id: product.id }, query: { limit: 1 } })).data,
    [product.id],
  );
  const add = (
    <Button icon="plus" small onClick={() => setOpen(true)}>
      Import codes
    </Button>
  );
  return (
    <Card title="Serial codes" flush actions={add}>
      <Load of={serials}>
        {({ pools }) =>
          pools.every((p) => p.free + p.reserved + p.taken + p.refunded === 0) ? (
            <Empty title="No codes yet">Import the codes that you sell, one per line. Each is sold once.</Empty>
          ) : (
            <Table
              label="Pools of serial codes"
              rows={pools}
              keyOf={(p) => p.variant_id ?? 0}
              columns={[
                { head: 'For', cell: (p) => p.variant_name || 'Every variant' },
                {
                  head: 'Left',
                  right: true,
                  cell: (p) => (p.free === 0 ? <Badge status="out_of_stock">0</Badge> : number(p.free)),
                },
                { head: 'Reserved', right: true, cell: (p) => number(p.reserved) },
                { head: 'Sold', right: true, cell: (p) => number(p.taken) },
                { head: 'Refunded', right: true, cell: (p) => number(p.refunded) },
              ]}
            />
          )
        }
      </Load>
      {open && (
        <ImportDialog
          product={product}
          onClose={() => setOpen(false)}
          onDone={() => {
            serials.reload();
            onChange();
          }}
        />
      )}
    </Card>
  );
}

async function codesOf(v: Values): Promise<Blob> {
  const file = v.file('file');
  const typed = v.text('codes').trim();
  if (!file && !typed) throw bad('codes', 'Paste some codes, or choose a file');
  const parts = [...(typed ? [`${typed}\n`] : []), ...(file ? [await file.arrayBuffer()] : [])];
  const all = new Blob(parts, { type: 'text/plain' });
  if (all.size > BYTES_MAX) throw bad(file ? 'file' : 'codes', 'At most 16 MB at once: split the list');
  return all;
}

function ImportDialog({ product, onClose, onDone }: { product: Product; onClose: () => void; onDone: () => void }) {
  const [progress, setProgress] = useState<number | null>(null);
  return (
    <Dialog title="Import serial codes" onClose={onClose}>
      <Form
        submit="Import"
        onCancel={onClose}
        onSubmit={async (v) => {
          const url = urlOf(
            '/api/admin/products/{id}/serials',
            { id: product.id },
            { variant_id: v.optional('variant_id') },
          );
          const codes = await codesOf(v);
          setProgress(0);
          try {
            const { added, duplicates } = await upload<Imported>('POST', url, codes, 'text/plain', {
              once: v.key,
              onProgress: setProgress,
            });
            toast(
              `${number(added)} codes were imported${duplicates ? `; ${number(duplicates)} were there already` : ''}.`,
            );
          } finally {
            setProgress(null);
          }
          onClose();
          onDone();
        }}
      >
        <TextArea name="codes" label="Codes" rows={8} hint="One per line. All of them are imported, or none." />
        <FileField name="file" label="Or a text file" optional accept=".txt,.csv,text/plain" />
        {product.variants.length > 0 && (
          <Select
            name="variant_id"
            label="For"
            options={[['', 'Every variant'], ...product.variants.map((x): [string, string] => [String(x.id), x.name])]}
          />
        )}
        {progress !== null && (
          <progress aria-label="Progress of the import" max={1} value={progress < 1 ? progress : undefined} />
        )}
      </Form>
    </Dialog>
  );
}
