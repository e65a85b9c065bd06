// A free cart as full as it may be, and somebody else's small order beside it.
import { setTimeout as sleep } from 'node:timers/promises';

export default {
  name: 'cart',
  what: "a free cart with as many units as it takes, and another customer's order beside it",
  async prepare({ owner, product, customer }, size) {
    const products = [];
    for (let i = 0; i < (size === 'full' ? 100 : 3); i++) products.push((await product({ price: 0 })).id);
    const greedy = await customer();
    for (const id of products) await greedy.post('/api/store/cart/add', { product_id: id, quantity: 1000 });
    return { greedy, modest: await customer(), product: products[0], owner };
  },
  async run({ greedy, modest, product }) {
    const checkout = greedy.post('/api/store/cart/checkout', { pay_with: 'wallet' });
    await sleep(20);
    const started = performance.now();
    const order = await modest.post('/api/v1/order/create', { product_id: product, quantity: 1 });
    const waited = performance.now() - started;
    const { status } = await checkout;
    return { 'checkout status': status, 'other order': order.status, 'other order ms': waited };
  },
};
