import { post } from '../../api';
import { go, href } from '../../route';
import { Card, Page } from '../../ui/basic';
import { Form } from '../../ui/form';
import { toast } from '../../ui/toast';
import { ProductFields, productBody } from './fields';

export function ProductNew() {
  return (
    <Page title="New product" back={[href('/products'), 'Products']}>
      <Card>
        <Form
          submit="Add product"
          onCancel={() => go('/products')}
          onSubmit={async (v) => {
            const { data } = await post('/api/admin/products', { body: productBody(v), once: v.key });
            toast(`${data.name} was added.`);
            go(`/products/${data.id}`);
          }}
        >
          <ProductFields />
        </Form>
      </Card>
    </Page>
  );
}
