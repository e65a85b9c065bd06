// What staff note about an order, for each other.
import { post, type Data } from '../../api';
import { Form, TextArea } from '../../ui/form';
import { toast } from '../../ui/toast';

type OrderData = Data<'/api/admin/orders/{id}'>;

export function Note({ order, onChange }: { order: OrderData; onChange: (order: OrderData) => void }) {
  return (
    <Form
      submit="Add note"
      onSubmit={async (v) => {
        const body = { note: v.text('note') };
        onChange((await post('/api/admin/orders/{id}/notes', { path: { id: order.id }, body, once: v.key })).data);
        v.element.reset();
        toast('The note was added.');
      }}
    >
      <TextArea name="note" label="Note" rows={2} hint="For staff; the customer does not see it." />
    </Form>
  );
}
