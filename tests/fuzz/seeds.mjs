// Writes the seeds of fuzz_server: a request for every route of the API and of the shop. After a change of routes:
//
//     ./dev build && node tests/fuzz/seeds.mjs
import fs from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { openapi, plausibleRequests } from '../lib/plausible.mjs';

const folder = fileURLToPath(new URL('corpus/server', import.meta.url));
/** The bytes of macro.h. */
const M = {
  staff: '\x01',
  customer: '\x02',
  browser: '\x04',
  length: '\x05',
  key: '\x06',
  signed: '\x07',
  license: '\x08',
  csrf: '\x0b',
  start: '\x0c',
  json: '\x0e',
  reference: '\x0f',
  next: '\x1e',
};
const ORDINARY = ' '; // the first byte: macros, the first address, a client that stays

const PAGES = [
  '/',
  '/account',
  '/account/licenses',
  '/account/notifications',
  '/account/orders',
  '/account/orders/1',
  '/account/settings',
  '/account/tickets',
  '/account/tickets/1',
  '/account/wallet',
  '/cart',
  '/checkout',
  '/login',
  '/forgot',
  '/p/editor',
  '/?q=ed&page=2',
  '/page/terms',
  `/pay/${M.reference}`,
  '/register',
  '/reset?token=x',
  '/robots.txt',
  '/sitemap.xml',
  '/verify-email?token=x',
];
const FORMS = {
  '/account/licenses/1/move': '',
  '/account/notifications/read': '',
  '/account/orders/1/cancel': '',
  '/account/orders/1/pay': 'payment_method=card_gateway_a',
  '/account/settings/email': 'email=new@customer.example&password=secret-password',
  '/account/settings/password': 'current_password=old-password&new_password=new-password-1',
  '/account/settings/profile': 'name=Ada',
  '/account/settings/tokens': 'name=ci&scopes=store',
  '/account/settings/tokens/1/revoke': '',
  '/account/tickets': 'department_id=1&subject=Help&message=It+is+broken',
  '/account/tickets/1/reply': 'message=More',
  '/account/wallet/topup': 'amount=12.50&payment_method=card_gateway_a',
  '/account/wallet/withdraw': 'amount=5.00',
  '/cart/add': 'product_id=1&quantity=1',
  '/cart/coupon': 'code=TENTH',
  '/cart/coupon/remove': '',
  '/cart/update': 'product_id=3&quantity=2',
  '/checkout': 'payment_method=wallet',
  '/forgot': 'email=c0@customer.example',
  '/login': 'email=c0@customer.example&password=wrong-password',
  '/logout': '',
  '/register': 'name=Eve&email=eve@customer.example&password=long-enough-1',
  '/verify-email': 'token=x',
};
const EVENT = JSON.stringify({
  id: 'evt_1',
  object: 'event',
  created: 1790000000,
  livemode: false,
  type: 'payment_intent.succeeded',
  data: {
    object: {
      id: 'pi_0',
      object: 'payment_intent',
      amount: 2500,
      amount_received: 2500,
      currency: 'usd',
      metadata: { order_id: M.reference },
    },
  },
});

fs.mkdirSync(folder, { recursive: true });
for (const old of fs.readdirSync(folder)) fs.rmSync(path.join(folder, old));

function write(name, text) {
  fs.writeFileSync(path.join(folder, name.replace(/[^a-z0-9]+/gi, '_').toLowerCase()), ORDINARY + text, 'latin1');
}

function request(r) {
  const lines = [M[r.who] ?? '', r.takesKey ? M.key : ''];
  if (r.body !== undefined) lines.push(r.type === 'application/json' ? M.json : '', M.length);
  const body = (r.body ?? '').replace(/"license_key":"[^"]*"/, `"license_key":"${M.license}"`);
  return `${r.method} ${r.target}${M.start}${lines.join('')}\r\n${body}`;
}

for (const r of plausibleRequests(openapi(), { slug: 'editor', reference: M.reference })) {
  if (r.route !== 'POST /webhook/{gateway}') write(r.route, request(r));
}
write('webhook', `POST /webhook/card_gateway_a${M.start}${M.json}${M.signed}${M.length}\r\n${EVENT}`);
for (const page of PAGES) write(`page ${page}`, `GET ${page}${M.start}${M.browser}\r\n`);
for (const [target, fields] of Object.entries(FORMS)) {
  write(
    `form ${target}`,
    `POST ${target}${M.start}${M.browser}${M.length}\r\ncsrf=${M.csrf}&once=${'a'.repeat(22)}${fields && '&'}${fields}`,
  );
}
write('two', `GET /api/store/products${M.start}\r\n${M.next}GET /api/customer/wallet${M.start}${M.customer}\r\n`);
write(
  'chunked',
  `POST /api/store/cart/add${M.start}${M.customer}${M.json}Transfer-Encoding: chunked\r\n\r\n1f\r\n{"product_id":3,"quantity":1}   \r\n0\r\n\r\n`,
);
