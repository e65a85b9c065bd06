// tests/api/lib/events.mjs - a shop that sends events, and a receiver for them.
import { openPaidShop } from './gateways.mjs';
import { dataOf } from './http.mjs';
import { openReceiver } from './receiver.mjs';

export const ENDPOINTS = '/api/admin/webhook-endpoints';
export const DELIVERIES = '/api/admin/webhook-deliveries';

export async function openEvents() {
  const shop = await openPaidShop({ args: ['--webhook-private-ok'] });
  const receiver = await openReceiver();
  const tool = shop.seed.product({ name: 'Tool', price: 100 });
  return {
    shop,
    receiver,
    tool,
    async stop() {
      await shop.stop();
      await receiver.stop();
    },
    listen: async (path, events, more = {}) =>
      dataOf(await shop.admin('POST', ENDPOINTS, { url: receiver.url(path), events, ...more }), 201),
    drop: (endpoint) => shop.admin('DELETE', `${ENDPOINTS}/${endpoint.id}`),
    buy: async (buyer, body) => dataOf(await shop.souk.post('/api/v1/order/create', body, { token: buyer.token })),
    endpointNow: async ({ id }) => dataOf(await shop.admin('GET', `${ENDPOINTS}/${id}`)),
    deliveries: async (query) => dataOf(await shop.admin('GET', `${DELIVERIES}?limit=100&${query}`)),
    delivery: async (id) => dataOf(await shop.admin('GET', `${DELIVERIES}/${id}`)),
    come: (path, count, what = `${count} calls at ${path}`) =>
      shop.until(() => (receiver.got(path).length >= count ? receiver.got(path) : null), what),
    ping: async ({ id }) => dataOf(await shop.admin('POST', `${ENDPOINTS}/${id}/test`)).delivery_id,
    /** Makes what waits due at once, and ends the endpoints' rest. */
    hurry: () =>
      shop.seed.sql(
        "UPDATE webhook_delivery SET due_at = 1 WHERE status = 'pending'; UPDATE webhook_endpoint SET paused_until = 0;",
      ),
  };
}
