// tests/web/lib/hostile.mjs - a store full of hostile text, and all pages of the panel in it.
import { dataOf } from '../../api/lib/http.mjs';
import { together } from '../../api/lib/souk.mjs';
import { NAUGHTY } from './naughty.mjs';
import { openPanel } from './panel.mjs';

/** Gives {panel, page, ids}: an owner is logged in. */
export async function openHostileStore() {
  const panel = await openPanel();
  await panel.makeOwner();
  const page = await panel.newPage();
  const ids = await fill(panel);
  await panel.logIn(page);
  return { panel, page, ids };
}

/** A store in which every text that somebody else may choose is naughty. */
async function fill(panel) {
  const eve = await panel.souk.customer('<img src=x onerror=alert(1)>');
  await panel.admin('POST', `/customers/${eve.id}/wallet`, { amount: 500, description: '<script>alert(1)</script>' });
  const department = await panel.admin('POST', '/departments', { name: '<b>Help</b>' }, 201);
  const as = async (method, target, body, status) =>
    dataOf(await panel.souk.request(method, target, { token: eve.token, body }), status);
  const products = await together(NAUGHTY.length, 4, (i) =>
    panel.admin(
      'POST',
      '/products',
      {
        name: NAUGHTY[i],
        slug: `p-${i}`,
        description: NAUGHTY[i],
        price: i,
        delivery_type: i === 1 ? 'serial_code' : 'license_key',
        is_active: true,
      },
      201,
    ),
  );
  await panel.admin('POST', `/products/${products[1].id}/variants`, { name: '<i>One</i>', price: 3 }, 201);
  await panel.admin('POST', `/products/${products[1].id}/serials`, { codes: ['<script>alert(1)</script>', 'B'] });
  const tickets = await together(NAUGHTY.length, 4, (i) =>
    as('POST', '/api/customer/tickets', {
      department_id: department.id,
      subject: NAUGHTY[i],
      message: `${NAUGHTY[i]}\n${NAUGHTY.join('\n')}`,
    }),
  );
  await as('POST', `/api/customer/wallet/withdraw`, { amount: 5 });
  const order = await as('POST', '/api/v1/order/create', { product_id: products[2].id });
  await panel.souk.post(
    '/api/v1/license/verify',
    { license_key: order.delivery.value, product_id: products[2].id, hardware_id: '<svg/onload=alert(1)>' },
    { token: eve.token },
  );
  await panel.admin('POST', '/coupons', { code: 'NAUGHTY', kind: 'percent', value: 10 }, 201);
  await panel.admin('PUT', '/gateways/card_gateway_a', { is_enabled: true, secrets: ['whsec_hostile'] });
  await panel.stripeTells('whsec_hostile', { id: 'evt_<b>1</b>', order: '<script>alert(1)</script>', amount: 500 });
  const [event] = await panel.admin('GET', '/webhook-events');
  const [review] = await panel.admin('GET', '/reviews');
  const [license] = await panel.admin('GET', '/licenses');
  await panel.souk.request('PATCH', '/api/admin/settings', {
    token: panel.ownerToken,
    body: { store_name: '<u>Shop</u>' },
  });
  const hook = { url: 'https://events.example/x', events: ['ping'], description: '<b>ERP</b>' };
  const endpoint = await panel.admin('POST', '/webhook-endpoints', hook, 201);
  const { delivery_id } = await panel.admin('POST', `/webhook-endpoints/${endpoint.id}/test`);
  const text = NAUGHTY.join('\n\n');
  const own = await panel.admin('POST', '/pages', { slug: 'own', title: '<b>Terms</b>', body: text }, 201);
  await panel.admin('POST', `/orders/${order.order_id}/notes`, { note: text.slice(0, 2000) }, 201);
  return {
    own: own.id,
    customer: eve.id,
    product: products[1].id,
    order: order.order_id,
    license: license.id,
    ticket: tickets[0].id,
    endpoint: endpoint.id,
    delivery: delivery_id,
    event: event.id,
    review: review.id,
  };
}

/** The address of every page. Of the long list a part: axe looks at each row. */
export function pagesOf(ids) {
  return [
    '/',
    '/orders',
    `/orders/${ids.order}`,
    '/customers',
    `/customers/${ids.customer}`,
    '/withdrawals',
    '/reviews',
    `/reviews/${ids.review}`,
    '/products?q=svg',
    '/products/new',
    `/products/${ids.product}`,
    '/coupons',
    '/licenses',
    `/licenses/${ids.license}`,
    '/tickets',
    `/tickets/${ids.ticket}`,
    '/departments',
    '/shop',
    '/pages',
    `/pages/${ids.own}`,
    '/gateways',
    '/events',
    `/events/${ids.event}`,
    '/outbox',
    '/webhooks',
    `/webhooks/${ids.endpoint}`,
    `/deliveries/${ids.delivery}`,
    '/mail-texts',
    '/mail-texts?kind=order&language=en',
    '/settings',
    '/staff',
    '/audit?action=settings',
    '/account',
    '/nowhere',
  ];
}

/** Goes to an address and waits until all of it is there. */
export async function openAt(panel, page, hash) {
  await page.goto(`${panel.souk.url}/admin/#${hash}`);
  await page.waitForFunction((path) => location.hash === `#${path}`, hash);
  await page.getByRole('heading', { level: 1 }).waitFor();
  await panel.settled(page);
}
