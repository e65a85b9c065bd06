// souk check, and the tests' own checker: sound data passes, and each planted damage is found and named by both.
// spares: tsan
// release: pg
import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import fs from 'node:fs';
import path from 'node:path';
import { after, before, test } from 'node:test';
import { findProblems } from '../lib/checker.mjs';
import { copyDatabase, dropDatabase, withDatabase } from '../lib/pg.mjs';
import { execute } from '../lib/sql.mjs';
import { command, startStore } from '../lib/store.mjs';
import { ENGINE, runSouk } from './lib/souk.mjs';

const IS_PG = ENGINE === 'pg';
const blob = (hex) => (IS_PG ? `'\\x${hex}'` : `x'${hex}'`);

/** Two customers (accounts 1 and 2, wallets 8 and 9) and one of everything that is checked. */
const SOUND = `
  INSERT INTO withdrawal (account_id, amount, status, requested_at, decided_at) VALUES
    (1, 500, 'pending', 10, NULL), (1, 300, 'approved', 10, 20), (1, 200, 'rejected', 10, 20);
  INSERT INTO transfer (debit_id, credit_id, amount, kind, reference_id, description, created_at) VALUES
    (8, 3, 500, 'withdrawal', 1, 'w', 10), (8, 3, 300, 'withdrawal', 2, 'w', 10), (8, 3, 200, 'withdrawal', 3, 'w', 10),
    (3, 4, 300, 'withdrawal_approved', 2, 'w', 20), (3, 8, 200, 'withdrawal_rejected', 3, 'w', 20);
  UPDATE ledger_account SET balance = balance - 800 WHERE id = 8;

  INSERT INTO product (slug, name, price, delivery_type, is_active, created_at, updated_at) VALUES
    ('codes', 'Codes', 100, 'serial_code', 1, 1, 1), ('keys', 'Keys', 250, 'license_key', 1, 1, 1);
  INSERT INTO coupon (code, kind, value, max_uses, max_uses_per_customer, uses, created_at) VALUES ('TEN', 'fixed', 50, 2, 1, 2, 1);
  INSERT INTO orders (account_id, status, channel, paid_with, subtotal, discount, total, coupon_id, coupon_code, created_at, confirmed_at) VALUES
    (1, 'confirmed', 'api', 'wallet', 200, 50, 150, 1, 'TEN', 30, 30),
    (2, 'confirmed', 'cart', 'card_gateway_a', 250, 50, 200, 1, 'TEN', 31, 31),
    (2, 'pending', 'cart', '', 250, 0, 250, NULL, '', 32, NULL);
  INSERT INTO order_item (order_id, product_id, name, delivery_type, quantity, unit_price, subtotal) VALUES
    (1, 1, 'Codes', 'serial_code', 2, 100, 200), (2, 2, 'Keys', 'license_key', 1, 250, 250), (3, 2, 'Keys', 'license_key', 1, 250, 250);
  INSERT INTO coupon_use (order_id, coupon_id, account_id, created_at) VALUES (1, 1, 1, 30), (2, 1, 2, 31);
  INSERT INTO transfer (debit_id, credit_id, amount, kind, reference_id, description, created_at) VALUES
    (8, 1, 150, 'order', 1, 'o', 30), (2, 6, 200, 'received', 1, 'p', 31), (6, 1, 200, 'payment', 2, 'o', 31);
  UPDATE ledger_account SET balance = balance - 150 WHERE id = 8;
  INSERT INTO payment (gateway_id, account_id, order_id, reference, status, amount, currency, received, waiting, credited, refunded_total, returned,
    paid_order, created_at, ended_at) VALUES
    (1, 2, 2, 'r1', 'succeeded', 200, 'USD', 200, 0, 0, 0, 0, 1, 31, 31), (1, 2, NULL, 'r2', 'succeeded', 500, 'USD', 500, 0, 500, 100, 100, 0, 31, 31),
    (1, 2, 3, 'r3', 'open', 250, 'USD', 0, 0, 0, 0, 0, 0, 32, NULL), (1, 1, NULL, 'r4', 'open', 300, 'USD', 250, 250, 0, 0, 0, 0, 33, NULL);
  INSERT INTO outbox (kind, payment_id, due_at, created_at) VALUES ('ask', 3, 99, 32), ('ask', 4, 99, 33);
  INSERT INTO refund (payment_id, amount, status, requested_at, done_at) VALUES (2, 100, 'done', 32, 32);
  INSERT INTO review (kind, payment_id, amount, reason, created_at) VALUES ('amount', 4, 250, 'x', 33);
  INSERT INTO dispute (payment_id, ref, status, amount, opened_at, closed_at) VALUES (1, 'dp', 'won', 200, 32, 33);
  INSERT INTO transfer (debit_id, credit_id, amount, kind, reference_id, description, created_at) VALUES
    (2, 6, 500, 'received', 2, 't', 31), (6, 9, 500, 'topup', 2, 't', 31), (9, 2, 100, 'topup', 2, 't', 32), (2, 6, 250, 'received', 4, 't', 33);
  UPDATE ledger_account SET balance = balance + 400 WHERE id = 9;
  INSERT INTO serial (product_id, code_hash, sealed_code, taken_by, taken_at) VALUES
    (1, ${blob('0a')}, ${blob('00')}, 1, 30), (1, ${blob('0b')}, ${blob('00')}, 1, 30), (1, ${blob('0c')}, ${blob('00')}, NULL, NULL);
  INSERT INTO license (sealed_key, key_hash, product_id, account_id, order_item_id, created_at) VALUES
    (${blob('00')}, ${blob('01')}, 2, 2, 2, 31);
  INSERT INTO delivery (order_item_id, unit, type, serial_id, license_id, created_at) VALUES
    (1, 1, 'serial_code', 1, NULL, 30), (1, 2, 'serial_code', 2, NULL, 30), (2, 1, 'license_key', NULL, 1, 31);
  INSERT INTO ticket (account_id, department_id, subject, created_at, last_reply_at) VALUES (1, 1, 's', 5, 6);
  INSERT INTO ticket_message (ticket_id, author, author_id, body, created_at) VALUES (1, 'customer', 1, 'm', 5), (1, 'customer', 1, 'm', 6)`;

/** Lets damage be planted that the schema refuses. SQLite's checks are switched off by execute(). */
const DROP_CONSTRAINTS = `DO $$ DECLARE r record; BEGIN
  FOR r IN SELECT conrelid::regclass AS t, conname FROM pg_constraint WHERE contype IN ('c', 'f', 'u') AND connamespace = 'public'::regnamespace
  LOOP EXECUTE format('ALTER TABLE %s DROP CONSTRAINT IF EXISTS %I CASCADE', r.t, r.conname); END LOOP; END $$; DROP INDEX delivery_serial, delivery_license`;

/** [what was done, SQL, lines of souk check that must be among the output, what the checker must say | null, 'pg' if only there] */
const DAMAGE = [
  [
    'a balance is one cent too high',
    'UPDATE ledger_account SET balance = balance + 1 WHERE id = 9',
    ['wallet_balance: .*\\(account 2\\)', 'ledger_sum: .*'],
    /^I2: the wallet of account 2 .*|I1: the ledger sums to 1/,
  ],
  [
    'two balances are wrong, and their sum is right',
    `UPDATE ledger_account SET balance = balance + 1 WHERE id = 9;
    UPDATE ledger_account SET balance = balance - 1 WHERE id = 8`,
    ['wallet_balance: .*\\(account 1, 2\\)'],
    /^I2: the wallet of account 1/,
  ],
  [
    'a transfer is gone',
    "DELETE FROM transfer WHERE kind = 'adjustment' AND credit_id = 9",
    ['wallet_balance: .*\\(account 2\\)', 'ledger_sum: .*'],
    /^I2/,
  ],
  [
    'a transfer is doubled',
    `INSERT INTO transfer (debit_id, credit_id, amount, kind, description, created_at)
    SELECT debit_id, credit_id, amount, kind, description, created_at FROM transfer WHERE kind = 'adjustment' AND credit_id = 8`,
    ['wallet_balance: .*\\(account 1\\)'],
    /^I2/,
  ],
  [
    'an amount is negative',
    "UPDATE transfer SET amount = -amount WHERE kind = 'order'",
    ['transfer: .*\\(transfer \\d+\\)'],
    /^I1: transfer \d+ has the amount -150/,
  ],
  [
    'a transfer goes to an account that does not exist',
    "UPDATE transfer SET credit_id = 999 WHERE kind = 'payment'",
    ['transfer: .*'],
    /^I1: transfer/,
  ],
  [
    'a transfer comes from an account that does not exist',
    "UPDATE transfer SET debit_id = 999 WHERE kind = 'payment'",
    ['transfer: .*'],
    /^I1: transfer/,
  ],
  [
    'an order belongs to nobody',
    'UPDATE orders SET account_id = 99 WHERE id = 3',
    ['order_owner: .*\\(order 3\\)'],
    null,
  ],
  [
    'an item belongs to no order',
    'UPDATE order_item SET order_id = 99 WHERE id = 3',
    ['item_order: .*\\(order item 3\\)'],
    null,
  ],
  ['a licence is for no product', 'UPDATE license SET product_id = 99', ['license_refers: .*\\(license 1\\)'], null],
  ['a licence belongs to nobody', 'UPDATE license SET account_id = 99', ['license_refers: .*\\(license 1\\)'], null],
  [
    'a licence comes from nowhere',
    'UPDATE license SET order_item_id = 99',
    ['license_refers: .*\\(license 1\\)', 'license_delivered: .*'],
    null,
  ],
  [
    'a delivery belongs to no item',
    'UPDATE delivery SET order_item_id = 99 WHERE id = 3',
    ['delivery_item: .*\\(delivery 3\\)'],
    null,
  ],
  ['a delivered code is gone', 'DELETE FROM serial WHERE id = 1', ['serial_taken: .*\\(delivery 1\\)'], null],
  [
    'a wallet is below its credit limit',
    `UPDATE ledger_account SET balance = -1 WHERE id = 9;
    INSERT INTO transfer (debit_id, credit_id, amount, kind, description, created_at) VALUES (9, 5, 10401, 'adjustment', 'x', 1)`,
    ['wallet_limit: .*\\(account 2\\)'],
    /^I2: the wallet of account 2 is at -1, its limit is 0/,
  ],
  [
    'a system account keeps a balance',
    'UPDATE ledger_account SET balance = 5 WHERE id = 1',
    ['system_accounts: .*\\(ledger account 1\\)'],
    /^I1: the system account sales/,
  ],
  ['a system account is gone', 'DELETE FROM ledger_account WHERE id = 5', ['system_accounts: .*'], null],
  [
    'a wallet belongs to nobody',
    'UPDATE ledger_account SET owner_id = 77 WHERE id = 9',
    ['wallet_owner: .*\\(ledger account 9\\)'],
    null,
  ],
  [
    'somebody has two wallets',
    "INSERT INTO ledger_account (kind, owner_id) VALUES ('wallet', 2)",
    ['wallet_owner: .*\\(ledger account 9, \\d+\\)'],
    null,
    'pg',
  ],
  [
    'a pending withdrawal is gone',
    'DELETE FROM withdrawal WHERE id = 1',
    ['held_sum: .*', 'withdrawal_transfer: .*'],
    /^I2: 500 is held, 0 is pending/,
  ],
  [
    'a withdrawal was never held',
    `DELETE FROM transfer WHERE kind = 'withdrawal' AND reference_id = 1;
    UPDATE ledger_account SET balance = balance + 500 WHERE id = 8`,
    ['withdrawal_held: .*\\(withdrawal 1\\)', 'held_sum: .*'],
    /^I2: withdrawal 1 is pending/,
  ],
  [
    'a withdrawal took another amount',
    'UPDATE withdrawal SET amount = 501 WHERE id = 1',
    ['withdrawal_held: .*\\(withdrawal 1\\)'],
    /^I2: withdrawal 1/,
  ],
  [
    'a withdrawal was approved and nothing was paid',
    "UPDATE withdrawal SET status = 'approved', decided_at = 1 WHERE id = 1",
    ['withdrawal_decided: .*\\(withdrawal 1\\)', 'held_sum: .*'],
    /^I2: withdrawal 1 is approved/,
  ],
  [
    'an approval was paid twice',
    `INSERT INTO transfer (debit_id, credit_id, amount, kind, reference_id, description, created_at)
    VALUES (3, 4, 300, 'withdrawal_approved', 2, 'w', 21)`,
    ['withdrawal_decided: .*\\(withdrawal 2\\)', 'held_sum: .*'],
    /^I2: withdrawal 2/,
  ],
  [
    'a rejection was given to somebody else',
    `UPDATE transfer SET credit_id = 9 WHERE kind = 'withdrawal_rejected';
    UPDATE ledger_account SET balance = balance + 200 WHERE id = 9; UPDATE ledger_account SET balance = balance - 200 WHERE id = 8`,
    ['withdrawal_decided: .*\\(withdrawal 3\\)'],
    /^I2: withdrawal 3/,
  ],
  [
    'a sold serial is back in the pool',
    'UPDATE serial SET taken_by = NULL WHERE id = 1',
    ['serial_taken: .*\\(delivery 1\\)'],
    /^I3: serial 1 is in the pool/,
  ],
  [
    'a serial was taken and not delivered',
    'UPDATE serial SET taken_by = 1 WHERE id = 3',
    ['serial_delivered: .*\\(serial 3\\)'],
    /^I3: serial 3/,
  ],
  [
    'a code is reserved for an order that does not wait',
    "UPDATE serial SET taken_by = 2, status = 'reserved' WHERE id = 3",
    ['serial_reserved: .*\\(serial 3\\)'],
    null,
  ],
  [
    'a reserved code was delivered',
    "UPDATE serial SET status = 'reserved' WHERE id = 1",
    ['serial_reserved: .*\\(serial 1\\)'],
    /^I3: serial 1 is reserved/,
  ],
  [
    'an order says that codes are kept for it, and none are',
    'UPDATE orders SET reserved_until = 99 WHERE id = 1',
    ['order_reserved: .*\\(order 1\\)'],
    null,
  ],
  [
    'a serial was delivered twice',
    'UPDATE delivery SET serial_id = 1 WHERE id = 2',
    ['serial_twice: .*\\(serial 1\\)', 'serial_delivered: .*\\(serial 1, 2\\)'],
    /^I3: serial 2/,
    'pg',
  ],
  ['a delivered licence is gone', 'DELETE FROM license', ['license_delivered: .*\\(delivery 3\\)'], /^I5: delivery 3/],
  [
    'a unit was not delivered',
    'DELETE FROM delivery WHERE id = 2; UPDATE serial SET taken_by = NULL WHERE id = 2',
    ['order_delivered: .*\\(order 1\\)'],
    /^I5: order 1/,
  ],
  [
    'a unit too many was delivered',
    `INSERT INTO delivery (order_item_id, unit, type, created_at) VALUES (2, 2, 'download_url', 1)`,
    ['order_delivered: .*\\(order 2\\)'],
    /^I5: order 2/,
  ],
  [
    'a confirmed order is empty',
    `DELETE FROM delivery WHERE id = 3; DELETE FROM license; DELETE FROM order_item WHERE id = 2`,
    ['order_delivered: .*\\(order 2\\)', 'order_sum: .*\\(order 2\\)'],
    /^I5: order 2 is empty/,
  ],
  [
    'an unpaid order was delivered',
    `INSERT INTO delivery (order_item_id, unit, type, created_at) VALUES (3, 1, 'download_url', 1)`,
    ['order_not_delivered: .*\\(order 3\\)'],
    /^I8: order 3 is pending and was delivered/,
  ],
  [
    'an order was confirmed without payment',
    `UPDATE orders SET status = 'confirmed', confirmed_at = 40, paid_with = 'wallet' WHERE id = 3;
    INSERT INTO delivery (order_item_id, unit, type, created_at) VALUES (3, 1, 'download_url', 1)`,
    ['order_paid: .*\\(order 3\\)'],
    /^I8: order 3 over 250 is confirmed and was paid 0 times/,
  ],
  [
    'an order was paid with too little',
    `UPDATE transfer SET amount = 149 WHERE kind = 'order';
    UPDATE ledger_account SET balance = balance + 1 WHERE id = 8`,
    ['order_paid: .*\\(order 1\\)'],
    /^I8: order 1/,
  ],
  [
    "an order was paid from somebody else's wallet",
    `UPDATE transfer SET debit_id = 9 WHERE kind = 'order';
    UPDATE ledger_account SET balance = balance + 150 WHERE id = 8; UPDATE ledger_account SET balance = balance - 150 WHERE id = 9`,
    ['order_paid: .*\\(order 1\\)'],
    /^I8: order 1/,
  ],
  [
    'a wallet paid for an order that does not exist',
    `INSERT INTO transfer (debit_id, credit_id, amount, kind, reference_id, description, created_at)
    VALUES (9, 1, 10, 'order', 99, 'o', 1); UPDATE ledger_account SET balance = balance - 10 WHERE id = 9`,
    ['order_transfer: .*\\(transfer \\d+\\)'],
    /^I8: transfer \d+ is for order 99/,
  ],
  [
    'an order was paid twice',
    `INSERT INTO transfer (debit_id, credit_id, amount, kind, reference_id, description, created_at)
    VALUES (6, 1, 200, 'payment', 2, 'o', 40)`,
    ['order_paid: .*\\(order 2\\)'],
    /^I8: order 2 over 200 is confirmed and was paid 2 times/,
  ],
  [
    'an order that still waits has taken money',
    `INSERT INTO transfer (debit_id, credit_id, amount, kind, reference_id, description, created_at)
    VALUES (6, 1, 250, 'payment', 3, 'o', 40)`,
    ['order_transfer: .*'],
    /^I8: order 3 over 250 is pending and was paid/,
  ],
  [
    'a refund was given and not noted',
    `INSERT INTO transfer (debit_id, credit_id, amount, kind, reference_id, description, created_at)
    VALUES (1, 8, 50, 'refund', 1, 'r', 40); UPDATE ledger_account SET balance = balance + 50 WHERE id = 8`,
    ['order_refunded: .*\\(order 1\\)'],
    /^I8: order 1 says that 0 was refunded, it was 50/,
  ],
  [
    'a refund was noted and not given',
    'UPDATE orders SET refunded_amount = 50 WHERE id = 2',
    ['order_refunded: .*\\(order 2\\)'],
    /^I8: order 2 says that 50 was refunded, it was 0/,
  ],
  [
    'a refund went to somebody else',
    `UPDATE orders SET refunded_amount = 50 WHERE id = 1;
    INSERT INTO transfer (debit_id, credit_id, amount, kind, reference_id, description, created_at) VALUES (1, 9, 50, 'refund', 1, 'r', 40);
    UPDATE ledger_account SET balance = balance + 50 WHERE id = 9`,
    ['order_refunded: .*\\(order 1\\)'],
    /^I8: the refund of order 1 went elsewhere/,
  ],
  [
    'an order is refunded in name only',
    "UPDATE orders SET status = 'refunded' WHERE id = 1",
    ['order_refunded: .*\\(order 1\\)'],
    /^I8: order 1 over 150 is refunded/,
  ],
  [
    "an order's total is wrong",
    'UPDATE orders SET total = 251, subtotal = 251 WHERE id = 3',
    ['order_sum: .*\\(order 3\\)'],
    /^I8: order 3 does not add up/,
  ],
  [
    'an order was confirmed by a payment that did not succeed',
    "UPDATE payment SET status = 'failed' WHERE order_id = 2",
    ['gateway_paid: .*\\(order 2\\)'],
    /^I8: order 2 was confirmed by card_gateway_a, its payment is failed/,
  ],
  [
    'an order was confirmed by no payment',
    'UPDATE payment SET paid_order = 0 WHERE order_id = 2',
    ['gateway_paid: .*\\(order 2\\)', 'payment_waiting: .*\\(payment 1\\)'],
    /^I8: order 2 was confirmed by card_gateway_a, its payment is not there/,
  ],
  [
    'money came and was not booked',
    'UPDATE payment SET received = 250, waiting = 250 WHERE id = 3',
    ['payment_received: .*\\(payment 3\\)', 'payment_waiting: .*', 'received_sum: .*'],
    /^I8: payment 3 received 250, 0 was booked/,
  ],
  [
    'a refund of the gateway was not booked',
    'UPDATE payment SET refunded_total = 50 WHERE id = 1',
    ['payment_gone: .*\\(payment 1\\)', 'payment_refunds: .*\\(payment 1\\)'],
    /^I8: payment 1 gave back 50/,
  ],
  [
    'a refund of the gateway was not booked on its order',
    `UPDATE payment SET refunded_total = 50, returned = 50 WHERE id = 1;
    INSERT INTO refund (payment_id, order_id, amount, status, requested_at, done_at) VALUES (1, 2, 50, 'done', 40, 40)`,
    ['payment_returned: .*\\(payment 1\\)'],
    /^I8: payment 1 gave back 50, 0 was booked/,
  ],
  [
    'a refund is called done and was not booked',
    "INSERT INTO refund (payment_id, order_id, amount, status, requested_at, done_at) VALUES (1, 2, 50, 'done', 40, 40)",
    ['payment_refunds: .*\\(payment 1\\)'],
    /^I8: payment 1 gave back 0, its refunds 50/,
  ],
  [
    'a refund that nobody asks for',
    "INSERT INTO refund (payment_id, order_id, amount, status, requested_at) VALUES (1, 2, 50, 'requested', 40)",
    ['refund_forgotten: .*\\(refund \\d+\\)'],
    null,
  ],
  [
    'a refund that failed and nobody was told',
    "INSERT INTO refund (payment_id, order_id, amount, status, requested_at) VALUES (1, 2, 50, 'failed', 40)",
    ['refund_forgotten: .*\\(refund \\d+\\)'],
    null,
  ],
  [
    'a partial loss and its reversal were both counted',
    `UPDATE dispute SET status = 'lost', lost = 60 WHERE id = 1;
    INSERT INTO reversal (payment_id, ref, amount, at) VALUES (1, 'REV1', 60, 40); UPDATE payment SET lost_total = 120 WHERE id = 1`,
    ['payment_lost: .*\\(payment 1\\)', 'payment_gone: .*\\(payment 1\\)'],
    /^I8: payment 1 lost 120, its disputes 60/,
  ],
  [
    'a reversal was counted as a refund',
    `INSERT INTO webhook_event (gateway_id, event_id, type, kind, status, payment_id, refund_ref, body, body_hash, received_at)
    VALUES (1, 'ev9', 't', 'reversed', 'handled', 2, 'REV9', ${blob('00')}, ${blob('00')}, 40); UPDATE refund SET refund_ref = 'REV9'`,
    ['payment_reversed: .*\\(payment 2\\)'],
    null,
  ],
  [
    'a lost dispute was not booked',
    "UPDATE dispute SET status = 'lost', lost = 200 WHERE id = 1",
    ['payment_lost: .*\\(payment 1\\)'],
    /^I8: payment 1 lost 0, its disputes 200/,
  ],
  [
    'a lost dispute was counted twice',
    "UPDATE dispute SET status = 'lost', lost = 60 WHERE id = 1; UPDATE payment SET lost_total = 120 WHERE id = 1",
    ['payment_lost: .*\\(payment 1\\)', 'payment_gone: .*\\(payment 1\\)'],
    /^I8: payment 1 lost 120, its disputes 60/,
  ],
  [
    'a disputed order was delivered and is not on hold',
    "UPDATE dispute SET status = 'open' WHERE id = 1",
    ['order_hold: .*\\(order 2\\)'],
    null,
  ],
  [
    'a licence of a disputed order is not on hold',
    "UPDATE dispute SET status = 'open' WHERE id = 1; UPDATE orders SET on_hold = 1 WHERE id = 2",
    ['order_hold: .*\\(order 2\\)'],
    null,
  ],
  [
    'a disputed top-up froze nothing',
    "INSERT INTO dispute (payment_id, ref, amount, frozen, opened_at) VALUES (2, 'dt', 500, 500, 40)",
    ['wallet_frozen: .*\\(account 2\\)'],
    null,
  ],
  ['a debt is forgotten', 'UPDATE ledger_account SET debt = 5 WHERE id = 9', ['wallet_debt: .*\\(account 2\\)'], null],
  [
    'a paid order is hidden: its money waits and nobody looks',
    'DELETE FROM review',
    ['payment_stuck: .*\\(payment 4\\)'],
    null,
  ],
  [
    'events of what is not there',
    `INSERT INTO event (type, resource_id, created_at) VALUES ('order.created', 999, 1), ('license.bound', 999, 1), ('wallet.credited', 999, 1),
    ('withdrawal.approved', 999, 1), ('ticket.closed', 999, 1), ('payment.review', 999, 1), ('stock.low', 999, 1)`,
    ['event_resource: .*\\(event \\d+(, \\d+){5}\\)'],
    null,
  ],
  [
    'a delivery of another type than its event, which has ended and waits',
    `INSERT INTO event (type, resource_id, created_at) VALUES ('ping', 1, 1);
    INSERT INTO webhook_endpoint (url, events, secret, cursor, created_at, updated_at) VALUES ('https://x', 1, ${blob('00')}, 0, 1, 1);
    INSERT INTO webhook_delivery (endpoint_id, event_id, type, due_at, created_at, done_at)
    SELECT MAX(p.id), (SELECT MAX(id) FROM event), 'order.created', 1, 1, 1 FROM webhook_endpoint p`,
    ['webhook_delivery_parts: .*\\(delivery \\d+\\)', 'webhook_delivery_state: .*\\(delivery \\d+\\)'],
    null,
  ],
  ['a payment stays open for ever', 'DELETE FROM outbox', ['payment_forgotten: .*\\(payment 3, 4\\)'], null],
  [
    'a top-up that failed was credited',
    'UPDATE payment SET received = 0, credited = 0 WHERE id = 2',
    ['payment_credited: .*\\(payment 2\\)', 'payment_received: .*\\(payment 2\\)'],
    /^I8: payment 2 received 0, 500 was booked/,
  ],
  [
    'a top-up was credited twice',
    `INSERT INTO transfer (debit_id, credit_id, amount, kind, reference_id, description, created_at)
    VALUES (6, 9, 500, 'topup', 2, 't', 33); UPDATE ledger_account SET balance = balance + 500 WHERE id = 9`,
    ['payment_credited: .*\\(payment 2\\)', 'received_sum: .*'],
    /^I8: payment 2 credited 500, the wallet got 1000/,
  ],
  [
    'a top-up was given back and not taken',
    'UPDATE payment SET refunded_total = 200, returned = 200 WHERE id = 2; UPDATE refund SET amount = 200',
    ['payment_returned: .*\\(payment 2\\)'],
    /^I8: payment 2 gave back 200, 100 was booked/,
  ],
  [
    'a top-up that does not exist was credited',
    `UPDATE transfer SET reference_id = 99 WHERE kind = 'topup' AND credit_id = 9`,
    ['payment_transfer: .*\\(transfer \\d+\\)', 'payment_credited: .*\\(payment 2\\)'],
    /^I8: transfer \d+ is for payment 99/,
  ],
  [
    'a top-up is gone',
    'DELETE FROM payment WHERE id = 2',
    ['payment_transfer: .*'],
    /^I8: transfer \d+ is for payment 2/,
  ],
  [
    'a coupon was used by orders that do not count',
    `UPDATE coupon_use SET released_at = 40 WHERE order_id = 2; UPDATE coupon SET uses = 1, max_uses = 1`,
    ['coupon_limit: .*\\(coupon 1\\)', 'coupon_uses: .*\\(coupon 1\\)', 'coupon_order: .*\\(order 2\\)'],
    /^I6: coupon 1 is used by 2 orders/,
  ],
  [
    'a coupon was given back while its payment can succeed',
    `UPDATE orders SET status = 'cancelled', coupon_id = 1 WHERE id = 3;
    INSERT INTO coupon_use (order_id, coupon_id, account_id, created_at, released_at) VALUES (3, 1, 2, 32, 33)`,
    ['coupon_order: .*\\(order 3\\)'],
    null,
  ],
  [
    'a coupon was used too often',
    'UPDATE coupon SET max_uses = 1',
    ['coupon_limit: .*\\(coupon 1\\)'],
    /^I6: coupon 1 was used 2 times/,
  ],
  [
    'a coupon counts wrongly',
    'UPDATE coupon SET uses = 1',
    ['coupon_uses: .*\\(coupon 1\\)'],
    /^I6: coupon 1 counts 1 uses, there are 2/,
  ],
  [
    'a customer used a coupon twice',
    'UPDATE coupon_use SET account_id = 1',
    ['coupon_customer: .*\\(coupon 1\\)'],
    /^I6: account 1 used coupon 1 2 times/,
  ],
  [
    "a ticket's last message is gone",
    'DELETE FROM ticket_message WHERE id = 2',
    ['ticket_activity: .*\\(ticket 1\\)'],
    null,
  ],
  [
    'a key was used up twice',
    [1, 2]
      .map(
        (account) =>
          `INSERT INTO idempotency (id, account_id, key_hash, request_hash, status, created_at)
          VALUES (${account}, ${account}, ${IS_PG ? "'\\x61'" : "x'61'"}, ${IS_PG ? "'\\x62'" : "x'62'"}, 200, 1)`,
      )
      .join(';'),
    ['key_once: .*\\(idempotency row 2\\)'],
    null,
  ],
  [
    'two orders have one key',
    `UPDATE orders SET key_hash = ${blob('61')}, request_hash = ${blob('61')}, created_at = 1 WHERE id IN (1, 2)`,
    ['order_key_once: .*\\(order 2\\)'],
    null,
  ],
  [
    'the key of an order is kept elsewhere, too',
    `UPDATE orders SET key_hash = ${blob('61')}, request_hash = ${blob('61')}, created_at = 1 WHERE id = 1;
     INSERT INTO idempotency (id, account_id, key_hash, request_hash, status, created_at)
       VALUES (1, 1, ${blob('61')}, ${blob('61')}, 200, 2591999999)`,
    ['order_key_once: .*\\(order 1\\)'],
    null,
  ],
];

/** The tables that SOUND fills, and how PostgreSQL gets them back into that state. */
const TABLES = [
  'account',
  'coupon',
  'coupon_use',
  'delivery',
  'department',
  'dispute',
  'event',
  'idempotency',
  'ledger_account',
  'license',
  'order_item',
  'orders',
  'outbox',
  'payment',
  'product',
  'refund',
  'reversal',
  'review',
  'serial',
  'ticket',
  'ticket_message',
  'transfer',
  'webhook_delivery',
  'webhook_endpoint',
  'webhook_event',
  'webhook_try',
  'withdrawal',
];
const KEEP = ['CREATE SCHEMA sound', ...TABLES.map((t) => `CREATE TABLE sound.${t} AS TABLE public.${t}`)].join(';\n');
const RESTORE = [
  `TRUNCATE ${TABLES.join(', ')}`,
  ...TABLES.map((t) => `INSERT INTO ${t} OVERRIDING SYSTEM VALUE SELECT * FROM sound.${t}`),
].join(';\n');

let store, victim;
before(async () => {
  store = await startStore({ customers: { ada: '100.00', bob: '100.00' }, departments: ['Sales'] });
  await store.souk.stop();
  execute(store.database.dbArg, SOUND);
  if (!IS_PG) return;
  victim = {
    ...store.database,
    dbArg: copyDatabase(withDatabase(store.database.dbArg, 'postgres'), store.database.dbArg),
  };
  execute(victim.dbArg, `${DROP_CONSTRAINTS};\n${KEEP}`);
});
after(() => {
  if (victim) dropDatabase(victim.dbArg);
  store?.database.remove();
});

/** A copy of the sound database with this done to it. */
function damaged(sql) {
  if (IS_PG) {
    execute(victim.dbArg, `${RESTORE};\n${sql}`);
    return victim;
  }
  const { database } = store;
  const file = path.join(database.dir, `${randomBytes(6).toString('hex')}.db`);
  fs.copyFileSync(database.dbArg, file);
  fs.cpSync(`${database.dbArg}.d`, `${file}.d`, { recursive: true });
  execute(file, sql);
  return { ...database, dbArg: file };
}

const check = (database) => runSouk(['check', '--db', database.dbArg], { cwd: database.dir, env: database.env });

test('sound data passes', async () => {
  const run = await check(store.database);
  assert.equal(run.code, 0, run.stdout + run.stderr);
  assert.equal(run.stdout, '');
  assert.match(run.stderr, /all \d+ checks passed/);
  assert.deepEqual(findProblems(store.database.dbArg), []);
});

for (const [what, sql, lines, problem, only] of DAMAGE) {
  test(`found: ${what}`, { skip: only === 'pg' && !IS_PG }, async () => {
    const database = damaged(sql);
    const run = await check(database);
    assert.equal(run.code, 1, run.stdout + run.stderr);
    for (const line of lines) assert.match(run.stdout, new RegExp(`^${line}$`, 'm'));
    assert.match(run.stderr, /\d+ of \d+ checks are broken/);
    if (!problem) return;
    const problems = findProblems(database.dbArg);
    assert.ok(
      problems.some((p) => problem.test(p)),
      problems.join('\n'),
    );
  });
}

test('every check is broken by some damage of this file', () => {
  const source = fs.readFileSync(new URL('../../src/domain/invariant.c', import.meta.url), 'utf8');
  const names = [...source.matchAll(/^ {4}\{\n {8}"([a-z_]+)",$/gm)].map((m) => m[1]);
  assert.ok(names.length > 20, `${names.length} names found`);
  const planted = new Set(DAMAGE.flatMap(([, , lines]) => lines.map((l) => l.split(':')[0])));
  assert.deepEqual(
    names.filter((n) => !planted.has(n)),
    [],
  );
});

test('a long list of offenders is cut', async () => {
  const database = damaged(
    Array.from(
      { length: 30 },
      (_, i) =>
        `INSERT INTO ticket (account_id, department_id, subject, created_at, last_reply_at) VALUES (1, 1, 's', ${i}, ${i})`,
    ).join(';\n'),
  );
  const run = await check(database);
  assert.match(run.stdout, /^ticket_activity: .* \(ticket \d+(, \d+){9} and more\)$/m);
});

test('a coupon whose limit was lowered later is in order', async () => {
  const database = damaged(
    'UPDATE coupon_use SET account_id = 1; UPDATE orders SET account_id = 1 WHERE id = 2; UPDATE coupon SET version = 2',
  );
  const run = await check(database);
  assert.equal(run.code, 0, run.stdout);
  assert.deepEqual(findProblems(database.dbArg), []);
});

test('a key that is used again when its 30 days are over is in order', async () => {
  const database = damaged(`UPDATE orders SET key_hash = ${blob('61')}, request_hash = ${blob('62')},
      created_at = CASE id WHEN 1 THEN 1 ELSE 2592000001 END WHERE id IN (1, 2);
    INSERT INTO idempotency (id, account_id, key_hash, request_hash, status, created_at)
      VALUES (1, 1, ${blob('61')}, ${blob('62')}, 200, 5184000001)`);
  const run = await check(database);
  assert.equal(run.code, 0, run.stdout);
});

test('a database that is not there, or not ours, is said in words', async () => {
  const run = await runSouk(['check', '--db', path.join(store.database.dir, 'nothing.db')], {
    cwd: store.database.dir,
  });
  assert.equal(run.code, 1);
  assert.notEqual(run.stderr, '');
  assert.ok(!fs.existsSync(path.join(store.database.dir, 'nothing.db')));
});

test('check runs beside a server', async () => {
  const busy = await startStore({ customers: { ada: '10.00' } });
  try {
    const run = await busy.souk.cli(['check']);
    assert.equal(run.code, 0, run.stderr);
    await command(busy.database, ['check']);
  } finally {
    await busy.stop();
  }
});
