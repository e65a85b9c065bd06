// Payments when things go wrong, for as long as it takes: every sequence of six events against the model, on both engines
// (tests/unit/test_payment_sequences.c), then random ones of up to twenty through a real server and its sandbox, with staff in between.
// ./dev soak sequences
//
//     node bench/sequences.soak.mjs [LENGTH] [MINUTES]      6 events and 5 minutes on each engine; a LENGTH of 0 leaves the first part out
//
// SOUK_SEED repeats the random part. What fails is made as short as it can be, and told with its seed.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { startCluster, stopCluster } from '../tests/lib/pg.mjs';
import { generator } from '../tests/lib/random.mjs';

const LENGTH = Number(process.argv[2] ?? 6);
const MINUTES = Number(process.argv[3] ?? 5);
const EVENTS_MAX = 20;
const AMOUNT = 4999;
const KEY = 'sbx_key_for_tests_only';
const root = fileURLToPath(new URL('..', import.meta.url));

const UNPAID = ['pay', 'pay', 'fail', 'expire'];
const PAID = ['refund_part', 'refund_part', 'refund', 'refund_returned', 'dispute', 'dispute'];
const DISPUTED = [
  'refund_part',
  'refund',
  'refund_returned',
  'dispute_won',
  'dispute_lost',
  'dispute_lost_part',
  'dispute_withdrawn',
];
const STAFF = ['staff_refund', 'staff_refund_part', 'staff_cancel'];
const KINDS = { 'order, in stock': {}, 'order, sold out': { sold_out: true }, 'top-up': { topup: true } };

/** Mostly what is possible when it comes; one in ten is anything. */
function randomSequence(random) {
  const names = Object.keys(KINDS);
  const kind = names[random(names.length)];
  const staff = KINDS[kind].topup ? [] : STAFF;
  let [paid, disputed] = [false, false];
  const events = Array.from({ length: 1 + random(EVENTS_MAX) }, () => {
    const likely = random(10) === 0 ? [...UNPAID, ...PAID, ...DISPUTED] : disputed ? DISPUTED : paid ? PAID : UNPAID;
    const plays = random(5) === 0 && staff.length ? staff : likely;
    const play = plays[random(plays.length)];
    paid ||= play === 'pay';
    disputed = play === 'dispute' ? paid : disputed && !play.startsWith('dispute_');
    return { play, twice: random(4) === 0 };
  });
  return { kind, events };
}

const story = ({ kind, events }) => `${kind}: ${events.map((e) => e.play + (e.twice ? ' (twice)' : '')).join(', ')}`;

/** Without whatever it fails without. */
async function shrink(sequence, fails) {
  let { events } = sequence;
  for (let i = 0; i < events.length;) {
    const shorter = events.filter((_, n) => n !== i);
    if (await fails({ ...sequence, events: shorter })) {
      events = shorter;
      i = 0;
    } else i += 1;
  }
  return { ...sequence, events };
}

async function playSequences() {
  const { openPaidShop } = await import('../tests/api/lib/gateways.mjs');
  const { dataOf } = await import('../tests/api/lib/http.mjs');
  const { Model } = await import('./lib/sandbox_model.mjs');
  const shop = await openPaidShop();
  const editor = shop.seed.product({ name: 'Editor', price: AMOUNT });
  const codes = shop.seed.product({ name: 'Codes', price: AMOUNT, delivery_type: 'serial_code' });
  await shop.connect('sandbox', { api_key: KEY });
  const count = { sequences: 0, events: 0, impossible: 0 };

  const list = async (path, token) => dataOf(await shop.souk.get(path, { token }));

  async function begin({ topup, sold_out }) {
    if (sold_out) shop.seed.serials(codes, [`C-${count.sequences}-${Math.random()}`]);
    const buyer = topup ? await shop.buyer({ balance: 0 }) : await shop.buyerWith([[sold_out ? codes : editor, 1]]);
    const made = topup
      ? dataOf(
          await shop.souk.post(
            '/api/customer/wallet/topup',
            { amount: AMOUNT / 100, gateway: 'sandbox' },
            { token: buyer.token },
          ),
          201,
        )
      : await shop.checkout(buyer, 'sandbox');
    if (sold_out) shop.seed.sql(`DELETE FROM serial WHERE taken_by IS NULL AND product_id = ${codes.id};`);
    return { buyer, id: made.order_id, ref: new URL(made.payment.url).pathname.split('/').pop() };
  }

  async function now({ buyer, id }) {
    const order = id ? await list(`/api/customer/orders/${id}`, buyer.token) : null;
    const payments = (await list(`/api/admin/payments?limit=5${id ? `&order_id=${id}` : ''}`, shop.owner)).filter(
      (p) => p.account_id === buyer.id,
    );
    assert.equal(payments.length, 1, 'one payment');
    const [p] = payments;
    const wallet = await shop.wallet(buyer);
    return {
      order: order && order.status,
      payment: p.status,
      held: order?.on_hold ?? false,
      delivered: order ? order.items.reduce((n, i) => n + (i.deliveries?.length ?? 0), 0) : 0,
      received: p.received,
      waiting: p.waiting,
      credited: p.credited,
      returned: p.returned,
      refunded: order?.refunded_amount ?? 0,
      wallet: wallet.balance,
      frozen: wallet.frozen ?? 0,
      debt: wallet.debt ?? 0,
    };
  }

  /** Everything was told, and what it made us ask for was done. */
  const quiet = () =>
    shop.until(
      () =>
        shop.seed.number(
          "SELECT COUNT(*) FROM outbox WHERE status = 'waiting' AND kind IN ('sandbox', 'refund', 'close')",
        ) === 0,
      'all was told',
    );

  /** False: not possible now, so that nothing happens. */
  async function act(deal, model, { play, twice }) {
    if (play.startsWith('staff_refund')) {
      const amount = play === 'staff_refund_part' ? 1000 : undefined;
      const answer = await shop.admin(
        'POST',
        `/api/admin/orders/${deal.id}/refund`,
        amount ? { amount: amount / 100 } : {},
      );
      const possible = model.refundable() > 0 && (amount ?? 0) <= model.refundable();
      assert.equal(answer.status === 200, possible, `${play}: ${answer.status} ${answer.text}`);
      if (possible) model.staff_refund(amount);
      return possible;
    }
    if (play === 'staff_cancel') {
      const answer = await shop.admin('POST', `/api/admin/orders/${deal.id}/cancel`, {});
      assert.equal(answer.status === 200, model.order === 'pending', `${play}: ${answer.status} ${answer.text}`);
      model.staff_cancel();
      return answer.status === 200;
    }
    const answer = await shop.souk.request('POST', `/sandbox/api/payments/${deal.ref}/play`, {
      unchecked: true,
      headers: { Authorization: `Sandbox ${KEY}` },
      body: { action: play, twice },
    });
    if (answer.status === 409) return false;
    dataOf(answer);
    model[play]();
    return true;
  }

  /** null, or how the store and the model differ. */
  async function differs(sequence) {
    const kind = KINDS[sequence.kind];
    const deal = await begin(kind);
    const model = new Model({ amount: AMOUNT, ...kind });
    try {
      for (const event of sequence.events) {
        count.events += 1;
        if (!(await act(deal, model, event))) {
          count.impossible += 1;
          continue;
        }
        await quiet();
        assert.deepEqual(await now(deal), model.seen());
      }
      return null;
    } catch (e) {
      return e;
    }
  }

  // A model that forgets what was frozen must be seen, else this proves nothing.
  const won = Model.prototype.dispute_won;
  Model.prototype.dispute_won = function forget() {
    const { frozen, held } = this;
    won.call(this);
    Object.assign(this, { frozen, held });
  };
  assert.ok(
    await differs({ kind: 'top-up', events: ['pay', 'dispute', 'dispute_won'].map((play) => ({ play })) }),
    'the control was not seen',
  );
  Model.prototype.dispute_won = won;

  const first = Number(process.env.SOUK_SEED ?? Date.now() % 1e9);
  console.log(`${process.env.SOUK_ENGINE}: SOUK_SEED=${first}`);
  const random = generator(first);
  const end = Date.now() + MINUTES * 60000;
  let failed = false;
  try {
    while (Date.now() < end && !failed) {
      const sequence = randomSequence(random);
      count.sequences += 1;
      const difference = await differs(sequence);
      if (difference) {
        failed = true;
        console.log(`${story(sequence)}\nSOUK_SEED=${first}, sequence ${count.sequences}: ${difference.message}`);
        console.log(`at the shortest: ${story(await shrink(sequence, async (s) => (await differs(s)) !== null))}`);
      }
      if (count.sequences % 50 === 0) await shop.check();
    }
    await quiet();
    await shop.check();
  } finally {
    await shop.stop();
  }
  console.log(
    `${process.env.SOUK_ENGINE}: ${count.sequences} sequences, ${count.events} events, ${count.impossible} of them not possible when they came; souk check is content`,
  );
  process.exitCode = failed ? 1 : 0;
}

if (process.env.SOUK_SEQUENCES_CHILD) {
  await playSequences();
} else {
  const cluster = startCluster();
  let failed = false;
  try {
    const run = (program, args, more) => {
      const out = spawnSync(program, args, {
        cwd: root,
        stdio: 'inherit',
        env: { ...process.env, SOUK_TEST_PG: cluster.url, ...more },
      });
      failed ||= out.status !== 0;
    };
    if (LENGTH > 0)
      run('build/tests/unit/test_payment_sequences', [], {
        SOUK_SEQUENCES: String(LENGTH),
        SOUK_RANDOM_SEQUENCES: '2000',
      });
    for (const engine of MINUTES > 0 ? ['sqlite', 'pg'] : [])
      run(process.execPath, ['bench/sequences.soak.mjs', ...process.argv.slice(2)], {
        SOUK_ENGINE: engine,
        SOUK_SEQUENCES_CHILD: '1',
      });
  } finally {
    stopCluster(cluster.dir);
  }
  process.exitCode = failed ? 1 : 0;
}
