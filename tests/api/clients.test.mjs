// The programs of clients/: each gives the right verdict in every situation, against the same server, through a relay that cheats.
// runs: sqlite release
import assert from 'node:assert/strict';
import { createHash, generateKeyPairSync, sign } from 'node:crypto';
import fs from 'node:fs';
import http from 'node:http';
import os from 'node:os';
import path from 'node:path';
import { after, before, test } from 'node:test';
import { CLIENTS, prepareClient, runClient } from './lib/clients.mjs';
import { dataOf } from './lib/http.mjs';
import { openShop } from './lib/shop.mjs';

const DAY_S = 24 * 3600;
const HARDWARE = 'machine "1" \\ é'; // nothing that a client may forget to escape is missing

let shop, product, token, publicKey, dir, relay, relayUrl, closedUrl;
const licenses = {};
const ours = generateKeyPairSync('ed25519');
const ourKey = ours.publicKey.export({ type: 'spki', format: 'der' }).subarray(-32).toString('base64');

before(async () => {
  shop = await openShop();
  dir = fs.mkdtempSync(path.join(os.tmpdir(), 'souk-clients-'));
  product = shop.seed.product({ name: 'Editor', price: 100 });
  const ada = await shop.buyer({ balance: 1000000 });
  token = await shop.token(ada, ['verify']);
  publicKey = dataOf(await shop.souk.get('/api/v1/license/public-key')).public_key;
  for (const name of ['good', 'other', 'revoked', 'expired', 'elsewhere', 'auto']) {
    licenses[name] = await shop.license(ada, product);
  }
  shop.seed.update('license', licenses.revoked.id, { status: 'revoked' });
  shop.seed.update('license', licenses.expired.id, { expires_at: Date.now() - 1000 });
  dataOf(
    await shop.verify(ada, { license_key: licenses.elsewhere.key, product_id: product.id, hardware_id: 'another' }),
  );
  await startRelay();
});
after(async () => {
  relay?.closeAllConnections();
  relay?.close();
  if (dir) fs.rmSync(dir, { recursive: true, force: true });
  await shop?.stop();
});

/** What a relay between program and store does to the question {headers, body} and the answer {status, headers, body}. */
const TRICKS = {
  unsigned: { answer: (a) => ({ ...a, headers: { 'content-type': 'application/json' } }) },
  altered: { answer: (a) => ({ ...a, body: a.body.replace('"product_id":', '"product_id": ') }) },
  promoted: { answer: (a) => ({ ...a, status: 200 }) },
  swapped: {
    question: (q) => ({ ...q, body: q.body.replace(/"license_key":"[^"]*"/, `"license_key":"${licenses.other.key}"`) }),
  },
  replayed: { question: (q) => ({ ...q, headers: { ...q.headers, 'accept-signature': 'sig1=();nonce="last-year"' } }) },
  moved: { answer: () => ({ status: 307, headers: { location: `${shop.souk.url}/api/v1/license/verify` }, body: '' }) },
  failing: { answer: () => ({ status: 503, headers: {}, body: 'no' }) },
  silent: null,
  dripping: null,
};

/** A byte now and then: an answer that never ends, though it is never silent. */
function drip(res) {
  res.writeHead(200, { 'content-type': 'application/json' });
  const timer = setInterval(() => res.write(' '), 200);
  res.on('close', () => clearInterval(timer));
}

/** The relay's address with a trick's name as its first part. */
async function startRelay() {
  relay = http.createServer(async (req, res) => {
    const [, trick, ...rest] = req.url.split('/');
    if (trick === 'dripping') return drip(res);
    if (TRICKS[trick] === null) return; // never answers
    const chunks = [];
    for await (const chunk of req) chunks.push(chunk);
    const { authorization, 'content-type': type, 'accept-signature': accept } = req.headers;
    const asked = {
      headers: { authorization, 'content-type': type, 'accept-signature': accept },
      body: Buffer.concat(chunks).toString(),
    };
    const { question = (q) => q, answer = (a) => a } = TRICKS[trick];
    const { headers, body } = question(asked);
    const from = await fetch(`${shop.souk.url}/${rest.join('/')}`, { method: 'POST', headers, body });
    const got = Object.fromEntries(
      [...from.headers].filter(([name]) => /^(content-type|content-digest|signature.*)$/.test(name)),
    );
    const sent = answer({ status: from.status, headers: got, body: await from.text() });
    res.writeHead(sent.status, sent.headers).end(sent.body);
  });
  await new Promise((resolve) => relay.listen(0, '127.0.0.1', resolve));
  relayUrl = `http://127.0.0.1:${relay.address().port}`;
  const closed = http.createServer();
  await new Promise((resolve) => closed.listen(0, '127.0.0.1', resolve));
  closedUrl = `http://127.0.0.1:${closed.address().port}`;
  await new Promise((resolve) => closed.close(resolve));
}

/** A kept answer as a client writes it, signed by a key of our own: what was said `age_s` ago, seen last at `seen_s` from now. */
function craft(file, { age_s, seen_s = -age_s, expires_s = null, status = 200 }) {
  const now = Math.floor(Date.now() / 1000);
  const question = JSON.stringify({ license_key: 'K', product_id: 1, hardware_id: HARDWARE });
  const expires = expires_s === null ? null : new Date((now + expires_s) * 1000).toISOString().replace(/\.\d+/, '');
  const body = JSON.stringify({ status: 'success', data: { expires_at: expires, user_id: 1 } });
  const digest = (text) => `sha-256=:${createHash('sha256').update(text).digest('base64')}:`;
  const params = `("@status" "content-digest" "content-digest";req);created=${now - age_s};keyid="k";alg="ed25519";nonce="n"`;
  const text = `"@status": ${status}\n"content-digest": ${digest(body)}\n"content-digest";req: ${digest(question)}\n"@signature-params": ${params}`;
  const signature = sign(null, Buffer.from(text), ours.privateKey).toString('base64');
  fs.writeFileSync(file, [now + seen_s, question, status, params, signature, body].join('\n'));
}

/** Every situation: whom to ask about which licence, what was kept before, and the verdict. */
const SITUATIONS = [
  { what: 'valid', license: 'good', says: 'valid online', keeps: true },
  { what: 'valid for the machine itself', license: 'auto', hardware: 'auto', says: 'valid online' },
  { what: 'revoked', license: 'revoked', says: 'refused license_revoked' },
  {
    what: 'revoked since the last good answer',
    license: 'revoked',
    kept: {},
    says: 'refused license_revoked',
    keeps: false,
  },
  { what: 'expired', license: 'expired', says: 'refused license_expired' },
  { what: 'bound elsewhere', license: 'elsewhere', says: 'refused hardware_mismatch' },
  { what: 'no such key', license: null, says: 'refused not_found' },
  {
    what: 'a forged verdict without a signature',
    trick: 'unsigned',
    license: 'good',
    says: 'unknown unreachable',
    keeps: false,
  },
  { what: 'a verdict that was altered', trick: 'altered', license: 'good', says: 'unknown unreachable' },
  { what: 'a refusal that was promoted to 200', trick: 'promoted', license: 'revoked', says: 'unknown unreachable' },
  { what: 'the verdict on another key', trick: 'swapped', license: 'revoked', says: 'unknown unreachable' },
  { what: 'an old verdict', trick: 'replayed', license: 'good', says: 'unknown unreachable' },
  { what: 'a verdict of another store', license: 'good', key: ourKey, says: 'unknown unreachable' },
  { what: 'a redirection', trick: 'moved', license: 'good', says: 'unknown unreachable' },
  { what: 'the store down, nothing kept', down: true, license: 'good', says: 'unknown unreachable' },
  { what: 'the store down', down: true, kept: { age_s: 6 * DAY_S }, says: 'valid offline', keeps: true },
  { what: 'the store failing', trick: 'failing', kept: { age_s: 60 }, says: 'valid offline' },
  {
    what: 'the store down for longer than the grace',
    down: true,
    kept: { age_s: 8 * DAY_S },
    says: 'unknown grace_over',
  },
  {
    what: 'the store down, the licence over by now',
    down: true,
    kept: { age_s: 60, expires_s: -1 },
    says: 'refused license_expired',
  },
  {
    what: 'the store down, the licence good till tomorrow',
    down: true,
    kept: { age_s: 60, expires_s: DAY_S },
    says: 'valid offline',
  },
  { what: 'the clock before the verdict', down: true, kept: { age_s: -3600 }, says: 'unknown clock' },
  { what: 'the clock before the last check', down: true, kept: { age_s: 60, seen_s: 3600 }, says: 'unknown clock' },
  { what: 'another machine', down: true, kept: { age_s: 60 }, hardware: 'copy', says: 'unknown other_licence' },
  { what: 'a kept refusal', down: true, kept: { age_s: 60, status: 403 }, says: 'unknown bad_state' },
  { what: 'a kept answer of another store', down: true, kept: { age_s: 60 }, key: null, says: 'unknown bad_state' },
  { what: 'a kept answer that is cut off', down: true, kept: { age_s: 60 }, cut: 40, says: 'unknown bad_state' },
];

/** The arguments of a client in a situation, with what was kept before. */
function prepare(client, i, { license, kept, cut, key, trick, down, hardware = HARDWARE }) {
  const file = path.join(dir, `${client}-${i}`);
  if (kept) craft(file, { age_s: 60, ...kept });
  if (cut) fs.truncateSync(file, cut);
  const url = down ? closedUrl : trick ? `${relayUrl}/${trick}` : shop.souk.url;
  const crafted = kept && license === undefined;
  const asked = crafted ? 'K' : license === null ? '00000-00000-00000-00000-00000' : licenses[license].key;
  const known = key === null ? publicKey : (key ?? (crafted ? ourKey : publicKey));
  return { file, args: [url, token, known, asked, crafted ? '1' : String(product.id), hardware, file] };
}

const lacking = [];
for (const client of CLIENTS) {
  test(`${client} in ${SITUATIONS.length} situations`, async (t) => {
    const command = prepareClient(client);
    if (!command) {
      lacking.push(client);
      t.skip('this machine lacks the language');
      return;
    }
    const places = SITUATIONS.map((situation, i) => prepare(client, i, situation));
    // What it has kept itself is good when the store is down.
    const own = prepare(client, 0, { license: 'good', down: true });
    const said = await runClient(command, [...places.map((p) => p.args), own.args]);
    const found = SITUATIONS.map(({ what, keeps }, i) => {
      return { what, says: said[i], keeps: keeps === undefined ? undefined : fs.existsSync(places[i].file) };
    });
    assert.deepEqual(
      found,
      SITUATIONS.map(({ what, says, keeps }) => ({ what, says, keeps })),
    );
    assert.equal(said[SITUATIONS.length], 'valid offline');

    const lines = fs.readFileSync(own.file, 'utf8').split('\n');
    fs.writeFileSync(own.file, [Math.floor(Date.now() / 1000) + 3600, ...lines.slice(1)].join('\n'));
  });
}

test('a store that never answers, or never ends its answer, is not waited for, and a clock that was turned back is noticed', async () => {
  const present = CLIENTS.filter((client) => !lacking.includes(client));
  const said = await Promise.all(
    present.map((client) => {
      const [silent, dripping] = ['silent', 'dripping'].map((trick) =>
        prepare(client, trick, { trick, kept: { age_s: 60 } }),
      );
      const own = prepare(client, 0, { license: 'good', down: true });
      return runClient(prepareClient(client), [silent.args, dripping.args, own.args]);
    }),
  );
  assert.deepEqual(
    said,
    present.map(() => ['valid offline', 'valid offline', 'unknown clock']),
  );
});

test('C, JavaScript, PHP and Python are always among them', () => {
  for (const client of ['license.c', 'license.mjs', 'license.php', 'license.py']) {
    assert.ok(!lacking.includes(client), `${client} was not run: ./dev test installs what it needs`);
  }
});
