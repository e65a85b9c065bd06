// tests/lib/checker.mjs - are the books in order? Reads the database itself and shares nothing with the server: not its
// queries, not its way of adding up. Amounts are BigInts of minor units.
import assert from 'node:assert/strict';
import { isPostgres, selectAll } from './sql.mjs';

const HELD = 'held';
const PAID_OUT = 'paid_out';

/** What is read: the columns that are numbers (BigInt; NULL is null), then those that are texts. */
const TABLES = {
  ledger_account: [['id', 'owner_id', 'balance', 'credit_limit'], ['kind']],
  transfer: [['id', 'debit_id', 'credit_id', 'amount', 'reference_id'], ['kind']],
  withdrawal: [['id', 'account_id', 'amount'], ['status']],
  orders: [
    ['id', 'account_id', 'coupon_id', 'subtotal', 'discount', 'total', 'refunded_amount', 'confirmed_at'],
    ['status', 'paid_with'],
  ],
  order_item: [['id', 'order_id', 'quantity', 'unit_price', 'subtotal'], []],
  delivery: [['id', 'order_item_id', 'unit', 'license_id', 'serial_id'], ['type']],
  serial: [['id', 'product_id', 'taken_by'], ['status']],
  license: [['id', 'order_item_id'], []],
  gateway: [['id'], ['label']],
  payment: [
    [
      'id',
      'gateway_id',
      'account_id',
      'order_id',
      'amount',
      'received',
      'waiting',
      'credited',
      'refunded_total',
      'lost_total',
      'returned',
      'paid_order',
    ],
    ['status'],
  ],
  refund: [['id', 'payment_id', 'amount'], ['status']],
  dispute: [['id', 'payment_id', 'lost'], ['status']],
  reversal: [['id', 'payment_id', 'amount'], []],
  coupon: [['id', 'uses', 'max_uses', 'max_uses_per_customer', 'version'], []],
  coupon_use: [['order_id', 'coupon_id', 'account_id', 'released_at'], []],
};

/** All tables as lists of objects, in the order of their first column, seen in one snapshot. */
function readTables(dbArg) {
  const names = Object.keys(TABLES);
  const results = selectAll(
    dbArg,
    names.map((name) => `SELECT ${TABLES[name].flat().join(', ')} FROM ${name} ORDER BY 1`),
  );
  return Object.fromEntries(
    names.map((name, n) => {
      const [numbers, texts] = TABLES[name];
      return [
        name,
        results[n].map((row) =>
          Object.fromEntries(
            [...numbers, ...texts].map((column, i) => [
              column,
              row[i] === null || i >= numbers.length ? row[i] : BigInt(row[i]),
            ]),
          ),
        ),
      ];
    }),
  );
}

function byId(rows) {
  return new Map(rows.map((r) => [r.id, r]));
}

function groups(rows, key) {
  const map = new Map();
  for (const r of rows) {
    const k = r[key];
    if (k === null) continue;
    if (!map.has(k)) map.set(k, []);
    map.get(k).push(r);
  }
  return map;
}

/** All that is wrong, as sentences that start with the invariant's number. */
export function findProblems(dbArg) {
  const problems = [];
  const problem = (text) => problems.push(text);
  const tables = readTables(dbArg);
  const { ledger_account: ledger, transfer: transfers, withdrawal: withdrawals } = tables;
  const accountOf = byId(ledger);
  const walletOf = new Map(ledger.filter((a) => a.owner_id !== null).map((a) => [a.owner_id, a]));
  checkLedger({ ledger, transfers, accountOf, problem });
  checkWithdrawals({ withdrawals, transfers, accountOf, walletOf, problem });
  checkOrders({ tables, problem });
  checkPayments({ tables, transfers, accountOf, walletOf, problem });
  checkGateways({ tables, transfers, accountOf, walletOf, problem });
  checkDeliveries({ tables, problem });
  checkCoupons({ tables, problem });
  return problems;
}

export function assertInvariants(dbArg) {
  const problems = findProblems(dbArg);
  assert.deepEqual(problems, [], `the data of ${isPostgres(dbArg) ? 'PostgreSQL' : 'SQLite'} is broken`);
}

/** I1, I2: walks through every transfer in order. */
function checkLedger({ ledger, transfers, accountOf, problem }) {
  const running = new Map(ledger.map((a) => [a.id, 0n]));
  for (const t of transfers) {
    if (t.amount <= 0n) problem(`I1: transfer ${t.id} has the amount ${t.amount}`);
    if (!accountOf.has(t.debit_id) || !accountOf.has(t.credit_id)) {
      problem(`I1: transfer ${t.id} is between ${t.debit_id} and ${t.credit_id}, which are not both there`);
      continue;
    }
    running.set(t.debit_id, running.get(t.debit_id) - t.amount);
    running.set(t.credit_id, running.get(t.credit_id) + t.amount);
  }
  let sum = 0n;
  for (const a of ledger) {
    const isWallet = a.kind === 'wallet';
    sum += isWallet ? a.balance : running.get(a.id);
    if (isWallet && a.balance !== running.get(a.id)) {
      problem(`I2: the wallet of account ${a.owner_id} says ${a.balance}, its entries say ${running.get(a.id)}`);
    }
    if (isWallet && a.balance < -a.credit_limit)
      problem(`I2: the wallet of account ${a.owner_id} is at ${a.balance}, its limit is ${a.credit_limit}`);
    if (!isWallet && a.balance !== 0n) problem(`I1: the system account ${a.kind} keeps a balance of ${a.balance}`);
  }
  if (sum !== 0n) problem(`I1: the ledger sums to ${sum}`);
}

function checkWithdrawals({ withdrawals, transfers, accountOf, walletOf, problem }) {
  const kindOf = (id) => accountOf.get(id)?.kind;
  const known = byId(withdrawals);
  const moves = groups(
    transfers.filter((t) => t.kind.startsWith('withdrawal')),
    'reference_id',
  );
  let pending = 0n;
  for (const w of withdrawals) {
    const wallet = walletOf.get(w.account_id);
    const got = (moves.get(w.id) ?? []).map((t) => {
      const name = (id) =>
        wallet && id === wallet.id ? 'wallet' : kindOf(id) === 'wallet' ? `wallet ${id}` : kindOf(id);
      return `${name(t.debit_id)}>${name(t.credit_id)} ${t.amount}`;
    });
    const want = [`wallet>${HELD} ${w.amount}`];
    if (w.status === 'approved') want.push(`${HELD}>${PAID_OUT} ${w.amount}`);
    if (['rejected', 'cancelled'].includes(w.status)) want.push(`${HELD}>wallet ${w.amount}`);
    if (w.status === 'pending') pending += w.amount;
    if (got.join() !== want.join())
      problem(`I2: withdrawal ${w.id} is ${w.status}, its money went ${got.join() || 'nowhere'}`);
  }
  for (const id of moves.keys())
    if (!known.has(id)) problem(`I2: money moved for withdrawal ${id}, which is not there`);
  let held = 0n;
  for (const t of transfers) {
    if (kindOf(t.credit_id) === HELD) held += t.amount;
    if (kindOf(t.debit_id) === HELD) held -= t.amount;
  }
  if (held !== pending) problem(`I2: ${held} is held, ${pending} is pending`);
}

/** I5, and that orders add up. */
function checkOrders({ tables, problem }) {
  const itemsOf = groups(tables.order_item, 'order_id');
  const deliveriesOf = groups(tables.delivery, 'order_item_id');
  for (const o of tables.orders) {
    const items = itemsOf.get(o.id) ?? [];
    if (items.length === 0) problem(`I5: order ${o.id} is empty`);
    let subtotal = 0n;
    for (const i of items) {
      if (i.subtotal !== i.unit_price * i.quantity) problem(`I8: item ${i.id} of order ${o.id} has a wrong subtotal`);
      subtotal += i.subtotal;
      const units = (deliveriesOf.get(i.id) ?? []).map((d) => d.unit).sort((x, y) => (x < y ? -1 : 1));
      const all = Array.from({ length: Number(i.quantity) }, (_, n) => BigInt(n + 1));
      if (isPaid(o) && units.join() !== all.join()) {
        problem(
          `I5: order ${o.id} is ${o.status}, of item ${i.id} (${i.quantity}) the units ${units.join() || 'none'} were delivered`,
        );
      }
      if (units.length > 0 && (!isPaid(o) || o.confirmed_at === null))
        problem(`I8: order ${o.id} is ${o.status} and was delivered`);
    }
    if (subtotal !== o.subtotal || o.total !== subtotal - o.discount || o.total < 0n)
      problem(`I8: order ${o.id} does not add up`);
  }
}

const isPaid = (order) => ['confirmed', 'refunded'].includes(order.status);

/** I8: each paid order was paid once, from where it says, and what was given back went there again. */
function checkPayments({ tables, transfers, accountOf, walletOf, problem }) {
  const idOf = new Map([...accountOf.values()].filter((a) => a.kind !== 'wallet').map((a) => [a.kind, a.id]));
  const ofOrders = transfers.filter((t) => ['order', 'payment', 'refund'].includes(t.kind));
  const movesOf = groups(ofOrders, 'reference_id');
  for (const o of tables.orders) {
    const byWallet = o.paid_with === 'wallet';
    const of = (other) =>
      byWallet ? walletOf.get(o.account_id)?.id : idOf.get(o.paid_with === 'manual' ? 'adjustments' : other);
    const source = of('received');
    const moves = movesOf.get(o.id) ?? [];
    const paid = moves.filter((t) => t.kind !== 'refund');
    const good = paid.filter(
      (t) =>
        t.amount === o.total &&
        t.kind === (byWallet ? 'order' : 'payment') &&
        t.debit_id === source &&
        t.credit_id === idOf.get('sales'),
    );
    const wanted = isPaid(o) && o.total > 0n ? 1 : 0;
    if (paid.length !== wanted || good.length !== wanted)
      problem(`I8: order ${o.id} over ${o.total} is ${o.status} and was paid ${good.length} times`);
    let back = 0n;
    for (const t of moves.filter((m) => m.kind === 'refund')) {
      if (t.credit_id !== of('clearing') || t.debit_id !== idOf.get('sales'))
        problem(`I8: the refund of order ${o.id} went elsewhere`);
      back += t.amount;
    }
    if (back !== o.refunded_amount || back > o.total)
      problem(`I8: order ${o.id} says that ${o.refunded_amount} was refunded, it was ${back}`);
    const isWhole = back === o.total && o.total > 0n;
    if (o.total > 0n && isWhole !== (o.status === 'refunded'))
      problem(`I8: order ${o.id} over ${o.total} is ${o.status} and ${back} was refunded`);
  }
  const known = new Set(tables.orders.map((o) => o.id));
  for (const t of ofOrders) {
    if (!known.has(t.reference_id)) problem(`I8: transfer ${t.id} is for order ${t.reference_id}, which is not there`);
  }
}

/** I8: what came through gateways is what orders and wallets got, what went back and what waits. */
function checkGateways({ tables, transfers, accountOf, walletOf, problem }) {
  const labelOf = new Map(tables.gateway.map((g) => [g.id, g.label]));
  const labels = new Set(labelOf.values());
  const orderOf = byId(tables.orders);
  const paying = new Map(tables.payment.filter((p) => p.paid_order === 1n).map((p) => [p.order_id, p]));
  for (const o of tables.orders.filter((x) => isPaid(x) && labels.has(x.paid_with))) {
    const p = paying.get(o.id);
    if (!p || labelOf.get(p.gateway_id) !== o.paid_with || p.status !== 'succeeded') {
      problem(`I8: order ${o.id} was confirmed by ${o.paid_with}, its payment is ${p?.status ?? 'not there'}`);
    }
  }
  const kindOf = (id) => accountOf.get(id)?.kind;
  const ofPayments = transfers.filter(
    (t) =>
      ['received', 'returned', 'refund_failed', 'tolerance', 'topup'].includes(t.kind) ||
      (t.kind === 'debt' && kindOf(t.debit_id) === 'debts'),
  );
  const moves = groups(ofPayments, 'reference_id');
  const done = groups(
    tables.refund.filter((r) => r.status === 'done'),
    'payment_id',
  );
  const reversals = groups(tables.reversal, 'payment_id');
  const lost = groups(
    tables.dispute.filter((d) => d.status === 'lost'),
    'payment_id',
  );
  const sum = (rows, key) => rows.reduce((n, r) => n + r[key], 0n);
  for (const p of tables.payment) {
    const wallet = walletOf.get(p.account_id)?.id;
    const total = (kind, from, to) =>
      sum(
        (moves.get(p.id) ?? []).filter(
          (t) =>
            t.kind === kind &&
            (from === 'own' ? t.debit_id === wallet : kindOf(t.debit_id) === from) &&
            (to === 'own' ? t.credit_id === wallet : kindOf(t.credit_id) === to),
        ),
        'amount',
      );
    const came = total('received', 'clearing', 'received') - total('received', 'received', 'clearing');
    const credited = total('topup', 'received', 'own');
    const before = total('returned', 'received', 'clearing') - total('returned', 'clearing', 'received');
    const again = total('refund_failed', 'clearing', 'received');
    const sale = p.paid_order === 1n ? orderOf.get(p.order_id) : null;
    const back =
      before -
      again +
      total('topup', 'own', 'clearing') +
      total('debt', 'debts', 'clearing') +
      (sale?.refunded_amount ?? 0n) -
      total('tolerance', 'clearing', 'adjustments');
    const waits =
      came + again + total('tolerance', 'adjustments', 'received') - before - credited - (sale?.total ?? 0n);
    const refunds = sum(done.get(p.id) ?? [], 'amount');
    const disputes = [sum(lost.get(p.id) ?? [], 'lost'), sum(reversals.get(p.id) ?? [], 'amount')].reduce((a, b) =>
      a > b ? a : b,
    ); // the same money, told twice
    if (p.received !== came) problem(`I8: payment ${p.id} received ${p.received}, ${came} was booked`);
    if (p.credited !== credited) problem(`I8: payment ${p.id} credited ${p.credited}, the wallet got ${credited}`);
    if (p.waiting !== waits || waits < 0n) problem(`I8: of payment ${p.id} ${p.waiting} waits, it should be ${waits}`);
    if (p.returned !== back) problem(`I8: payment ${p.id} gave back ${p.returned}, ${back} was booked`);
    if (p.refunded_total !== refunds)
      problem(`I8: payment ${p.id} gave back ${p.refunded_total}, its refunds ${refunds}`);
    if (p.lost_total !== disputes) problem(`I8: payment ${p.id} lost ${p.lost_total}, its disputes ${disputes}`);
    const gone = p.refunded_total + p.lost_total;
    if (p.returned !== (gone < p.received ? gone : p.received))
      problem(`I8: payment ${p.id} gave back ${gone} of ${p.received} and booked ${p.returned}`);
  }
  const known = new Set(tables.payment.map((p) => p.id));
  for (const [id, list] of moves)
    if (!known.has(id)) problem(`I8: transfer ${list[0].id} is for payment ${id}, which is not there`);
}

/** I3: what was delivered is what was taken, once. */
function checkDeliveries({ tables, problem }) {
  const { delivery: deliveries, serial: serials } = tables;
  const licenses = byId(tables.license);
  const soldAs = groups(deliveries, 'serial_id');
  for (const s of serials) {
    const sold = soldAs.get(s.id) ?? [];
    if (s.taken_by === null && sold.length > 0) problem(`I3: serial ${s.id} is in the pool and was delivered`);
    if (s.status === 'reserved') {
      if (s.taken_by === null || sold.length > 0)
        problem(`I3: serial ${s.id} is reserved for nobody, or was delivered`);
      continue;
    }
    if (s.status === 'replaced') {
      if (s.taken_by === null || sold.length > 0) problem(`I3: serial ${s.id} was replaced and is still sold`);
      continue;
    }
    if (s.taken_by !== null && (sold.length !== 1 || sold[0].order_item_id !== s.taken_by)) {
      problem(`I3: serial ${s.id} was taken by item ${s.taken_by} and delivered ${sold.length} times`);
    }
  }
  const serialIds = new Set(serials.map((s) => s.id));
  const keys = new Set();
  for (const d of deliveries) {
    if (d.type === 'serial_code' && !serialIds.has(d.serial_id))
      problem(`I3: delivery ${d.id} is of a serial that is not there`);
    if (d.type !== 'license_key') continue;
    if (licenses.get(d.license_id)?.order_item_id !== d.order_item_id)
      problem(`I5: delivery ${d.id} is of a licence that is not its item's`);
    if (keys.has(d.license_id)) problem(`I5: the licence of delivery ${d.id} was delivered twice`);
    keys.add(d.license_id);
  }
}

/** I6. */
function checkCoupons({ tables, problem }) {
  const uses = groups(
    tables.coupon_use.filter((u) => u.released_at === null),
    'coupon_id',
  );
  const useOf = new Map(tables.coupon_use.map((u) => [u.order_id, u]));
  const orders = groups(
    tables.orders.filter((o) => o.status !== 'cancelled' || useOf.get(o.id)?.released_at === null),
    'coupon_id',
  );
  for (const c of tables.coupon) {
    const own = uses.get(c.id) ?? [];
    const using = (orders.get(c.id) ?? []).length;
    const counted = c.max_uses === null ? own.length : Number(c.uses); // without a limit nothing is counted in the row
    if (c.max_uses === null && c.uses !== 0n) problem(`I6: coupon ${c.id} has no limit and counts ${c.uses} uses`);
    if (using !== counted || (c.max_uses !== null && BigInt(using) > c.max_uses)) {
      problem(`I6: coupon ${c.id} is used by ${using} orders, counts ${counted} and allows ${c.max_uses}`);
    }
    if (own.length !== counted) problem(`I6: coupon ${c.id} counts ${counted} uses, there are ${own.length}`);
    if (c.max_uses !== null && BigInt(own.length) > c.max_uses)
      problem(`I6: coupon ${c.id} was used ${own.length} times, at most ${c.max_uses} are allowed`);
    // A limit that was lowered later does not make earlier uses wrong.
    if (c.max_uses_per_customer === null || c.version !== 1n) continue;
    for (const [account, n] of groups(own, 'account_id')) {
      if (BigInt(n.length) > c.max_uses_per_customer)
        problem(`I6: account ${account} used coupon ${c.id} ${n.length} times`);
    }
  }
}
