/* domain/invariant.c - the table of checks; see invariant.h.
 *
 * A query gives the ids of the rows that break its rule, in order, each once; 0 stands for the whole. Sums of money are
 * made of two parts (billions and the rest), because one sum over all transfers may be larger than any balance and need
 * not fit into an int64: SQLite refuses such a SUM. */
#include "domain/invariant.h"

struct check {
    const char *name, *noun, *sentence, *sql;
    bool only_sqlite;
};

/* Every transfer seen from both of its accounts. */
#define ENTRIES                                                                                                        \
    "(SELECT credit_id AS ledger_id, amount / 1000000000 AS hi, amount % 1000000000 AS lo FROM transfer"               \
    " UNION ALL SELECT debit_id, -(amount / 1000000000), -(amount % 1000000000) FROM transfer)"

/* The wallet of the owner of `row`; any one where there are two, which is for another check to report. */
#define WALLET_OF(row) "(SELECT MIN(id) FROM ledger_account WHERE owner_id = " row ".account_id)"

/* Where the money of order `o` comes from and goes back to. */
#define PAID_FROM "CASE o.paid_with WHEN 'wallet' THEN " WALLET_OF("o") " WHEN 'manual' THEN 5 ELSE 6 END"
#define PAID_BACK "CASE o.paid_with WHEN 'wallet' THEN " WALLET_OF("o") " WHEN 'manual' THEN 5 ELSE 2 END"

/* What transfers of payment `p` say. */
#define MOVED(kind, debit, credit)                                                                                     \
    "(SELECT COALESCE(SUM(t.amount), 0) FROM transfer t WHERE t.kind = '" kind "' AND t.reference_id = p.id"           \
    " AND t.debit_id = " debit " AND t.credit_id = " credit ")"
#define OF_SALE(column) "COALESCE((SELECT o." column " FROM orders o WHERE o.id = p.order_id AND p.paid_order = 1), 0)"

/* The orders that use coupon `c`: cancelled ones while they may still be paid. */
#define COUPON_ORDERS                                                                                                  \
    "(SELECT COUNT(*) FROM orders o LEFT JOIN coupon_use u ON u.order_id = o.id WHERE o.coupon_id = c.id"              \
    " AND (o.status <> 'cancelled' OR u.released_at IS NULL))"

/* How many transfers say exactly this. */
#define TRANSFERS(kind, reference, amount, debit, credit)                                                              \
    "(SELECT COUNT(*) FROM transfer t WHERE t.kind = '" kind "' AND t.reference_id = " reference                       \
    " AND t.amount = " amount " AND t.debit_id = " debit " AND t.credit_id = " credit ")"

/* A key is used up for 30 days, in milliseconds. */
#define KEPT_FOR "2592000000"

/* Rows up to the mark that their owner's list does not have, and entries of the list that fit no row. Behind the mark
 * there may be entries, too: it goes back when rows are changed by hand. */
#define FILED_WRONGLY(list, table, owner, column, more)                                                                \
    "SELECT r.id FROM " table " r WHERE r.id <= (SELECT up_to FROM filing WHERE list = '" list "')" more               \
    " AND NOT EXISTS (SELECT 1 FROM " list "_filed f WHERE f." column " = " owner " AND f.id = r.id)"                  \
    " UNION SELECT f.id FROM " list "_filed f LEFT JOIN " table " r ON r.id = f.id AND " owner " = f." column          \
    " WHERE r.id IS NULL ORDER BY 1"

static const struct check checks[] = {
    {
        "ledger_sum",
        "",
        "the balances of all wallets and system accounts do not sum to 0",
        "SELECT CAST(0 AS BIGINT) FROM (SELECT SUM(hi) AS hi, SUM(lo) AS lo FROM ("
        "SELECT balance / 1000000000 AS hi, balance % 1000000000 AS lo FROM ledger_account WHERE kind = 'wallet'"
        " UNION ALL SELECT e.hi, e.lo FROM " ENTRIES " AS e JOIN ledger_account a ON a.id = e.ledger_id"
        " WHERE a.kind <> 'wallet') AS parts) AS total WHERE hi * 1000000000 + lo <> 0",
    },
    {
        "system_accounts",
        "ledger account",
        "the system accounts are not the seven that the ledger was made with, or one keeps a balance",
        "SELECT id FROM ledger_account WHERE kind <> 'wallet' AND (balance <> 0 OR credit_limit <> 0 OR id <> CASE kind"
        " WHEN 'sales' THEN 1 WHEN 'clearing' THEN 2 WHEN 'held' THEN 3 WHEN 'paid_out' THEN 4 WHEN 'adjustments' THEN "
        "5"
        " WHEN 'received' THEN 6 ELSE 7 END)"
        " UNION ALL SELECT CAST(0 AS BIGINT)"
        " WHERE (SELECT COUNT(*) FROM ledger_account WHERE kind <> 'wallet') <> 7 ORDER BY 1",
    },
    {
        "wallet_balance",
        "account",
        "the kept balance of a wallet is not the sum of its transfers",
        "SELECT a.owner_id FROM ledger_account a LEFT JOIN"
        " (SELECT ledger_id, SUM(hi) AS hi, SUM(lo) AS lo FROM " ENTRIES " AS e GROUP BY ledger_id) AS s"
        " ON s.ledger_id = a.id WHERE a.kind = 'wallet'"
        " AND (COALESCE(s.hi, 0) - a.balance / 1000000000) * 1000000000 + COALESCE(s.lo, 0) - a.balance % 1000000000 "
        "<> 0"
        " ORDER BY a.owner_id",
    },
    {
        "wallet_limit",
        "account",
        "a wallet is further below 0 than its credit limit",
        "SELECT owner_id FROM ledger_account WHERE kind = 'wallet' AND balance < -credit_limit ORDER BY owner_id",
    },
    {
        "wallet_owner",
        "ledger account",
        "a wallet belongs to nobody, or somebody has two",
        "SELECT w.id FROM ledger_account w LEFT JOIN account a ON a.id = w.owner_id WHERE w.kind = 'wallet'"
        " AND (a.id IS NULL OR EXISTS (SELECT 1 FROM ledger_account o WHERE o.owner_id = w.owner_id AND o.id <> w.id))"
        " ORDER BY w.id",
    },
    {
        "transfer",
        "transfer",
        "a transfer has no amount, stays in one account, or names an account that does not exist",
        "SELECT t.id FROM transfer t LEFT JOIN ledger_account d ON d.id = t.debit_id"
        " LEFT JOIN ledger_account c ON c.id = t.credit_id"
        " WHERE t.amount <= 0 OR t.debit_id = t.credit_id OR d.id IS NULL OR c.id IS NULL ORDER BY t.id",
    },
    {
        "held_sum",
        "",
        "the held account is not the sum of the pending withdrawals",
        "SELECT CAST(0 AS BIGINT) FROM (SELECT SUM(hi) AS hi, SUM(lo) AS lo FROM ("
        "SELECT -(amount / 1000000000) AS hi, -(amount % 1000000000) AS lo FROM withdrawal WHERE status = 'pending'"
        " UNION ALL SELECT e.hi, e.lo FROM " ENTRIES " AS e JOIN ledger_account a ON a.id = e.ledger_id"
        " WHERE a.kind = 'held') AS parts) AS total WHERE hi * 1000000000 + lo <> 0",
    },
    {
        "withdrawal_held",
        "withdrawal",
        "a withdrawal did not take its amount from its owner's wallet exactly once",
        "SELECT w.id FROM withdrawal w WHERE " TRANSFERS("withdrawal", "w.id", "w.amount", WALLET_OF("w"),
                                                         "3") " <> 1 ORDER BY w.id",
    },
    {
        "withdrawal_decided",
        "withdrawal",
        "a withdrawal's state does not agree with where its money went",
        "SELECT w.id FROM withdrawal w WHERE " TRANSFERS(
            "withdrawal_approved", "w.id", "w.amount", "3",
            "4") " <> CASE w.status WHEN 'approved' THEN 1 ELSE 0 END "
                 "OR " TRANSFERS("withdrawal_rejected", "w.id", "w.amount", "3",
                                 WALLET_OF("w")) " <> CASE WHEN w.status IN ('rejected', 'cancelled') THEN 1 ELSE 0 END"
                                                 " OR (w.decided_at IS NULL) <> "
                                                 "(w.status = 'pending') ORDER "
                                                 "BY w.id",
    },
    {
        "withdrawal_transfer",
        "transfer",
        "a transfer of a withdrawal fits no withdrawal",
        "SELECT t.id FROM transfer t LEFT JOIN withdrawal w ON w.id = t.reference_id AND w.amount = t.amount"
        " WHERE t.kind IN ('withdrawal', 'withdrawal_approved', 'withdrawal_rejected') AND w.id IS NULL ORDER BY t.id",
    },
    {
        "serial_delivered",
        "serial",
        "a serial that was taken was not delivered exactly once, to the order item that took it",
        "SELECT s.id FROM serial s WHERE s.taken_by IS NOT NULL AND s.status <> 'reserved' AND (SELECT COUNT(*) FROM "
        "delivery d WHERE d.serial_id = s.id AND d.order_item_id = s.taken_by)"
        " <> CASE WHEN s.status = 'replaced' THEN 0 ELSE 1 END ORDER BY s.id",
    },
    {
        "serial_reserved",
        "serial",
        "a serial is reserved for no order that waits with a reservation, or was delivered",
        "SELECT s.id FROM serial s LEFT JOIN order_item i ON i.id = s.taken_by LEFT JOIN orders o ON o.id = i.order_id"
        " WHERE s.status = 'reserved' AND (o.id IS NULL OR o.status <> 'pending' OR o.reserved_until IS NULL"
        " OR i.product_id <> s.product_id OR EXISTS (SELECT 1 FROM delivery d WHERE d.serial_id = s.id)) ORDER BY s.id",
    },
    {
        "order_reserved",
        "order",
        "an order with a reservation does not wait, or does not have all of its codes reserved",
        "SELECT DISTINCT o.id FROM orders o JOIN order_item i ON i.order_id = o.id WHERE o.reserved_until IS NOT NULL"
        " AND (o.status <> 'pending' OR (SELECT COUNT(*) FROM serial s WHERE s.taken_by = i.id AND s.status = "
        "'reserved')"
        " <> CASE i.delivery_type WHEN 'serial_code' THEN i.quantity ELSE 0 END) ORDER BY o.id",
    },
    {
        "serial_taken",
        "delivery",
        "a delivered serial is not marked as taken by its order item",
        "SELECT d.id FROM delivery d LEFT JOIN serial s ON s.id = d.serial_id"
        " WHERE (d.type = 'serial_code' OR d.serial_id IS NOT NULL)"
        " AND (s.id IS NULL OR s.taken_by IS NULL OR s.taken_by <> d.order_item_id) ORDER BY d.id",
    },
    {
        "serial_twice",
        "serial",
        "one serial was delivered more than once",
        "SELECT serial_id FROM delivery WHERE serial_id IS NOT NULL GROUP BY serial_id HAVING COUNT(*) > 1"
        " ORDER BY serial_id",
    },
    {
        "license_delivered",
        "delivery",
        "a delivered licence does not exist or belongs to another order item",
        "SELECT d.id FROM delivery d LEFT JOIN license l ON l.id = d.license_id"
        " WHERE (d.type = 'license_key' OR d.license_id IS NOT NULL)"
        " AND (l.id IS NULL OR l.order_item_id IS NULL OR l.order_item_id <> d.order_item_id) ORDER BY d.id",
    },
    /* What PostgreSQL does not look after itself: @checked in the schema. */
    {
        "order_owner",
        "order",
        "an order belongs to nobody",
        "SELECT o.id FROM orders o LEFT JOIN account a ON a.id = o.account_id WHERE a.id IS NULL ORDER BY o.id",
    },
    {
        "item_order",
        "order item",
        "an order item belongs to no order",
        "SELECT i.id FROM order_item i LEFT JOIN orders o ON o.id = i.order_id WHERE o.id IS NULL ORDER BY i.id",
    },
    {
        "license_refers",
        "license",
        "a licence is for no product, belongs to nobody, or comes from an order item that does not exist",
        "SELECT l.id FROM license l LEFT JOIN product p ON p.id = l.product_id LEFT JOIN account a ON a.id = "
        "l.account_id"
        " LEFT JOIN order_item i ON i.id = l.order_item_id"
        " WHERE p.id IS NULL OR a.id IS NULL OR (l.order_item_id IS NOT NULL AND i.id IS NULL) ORDER BY l.id",
    },
    {
        "delivery_item",
        "delivery",
        "a delivery belongs to no order item",
        "SELECT d.id FROM delivery d LEFT JOIN order_item i ON i.id = d.order_item_id WHERE i.id IS NULL ORDER BY d.id",
    },
    {
        "order_delivered",
        "order",
        "an order was not delivered exactly once for each unit",
        "SELECT DISTINCT o.id FROM orders o LEFT JOIN order_item i ON i.order_id = o.id"
        " WHERE o.status IN ('confirmed', 'refunded')"
        " AND (i.id IS NULL OR i.quantity <> (SELECT COUNT(*) FROM delivery d WHERE d.order_item_id = i.id)"
        " OR i.quantity <> (SELECT COUNT(DISTINCT d.unit) FROM delivery d WHERE d.order_item_id = i.id"
        " AND d.unit BETWEEN 1 AND i.quantity)) ORDER BY o.id",
    },
    {
        "order_not_delivered",
        "order",
        "an order that was never confirmed has deliveries",
        "SELECT DISTINCT o.id FROM delivery d JOIN order_item i ON i.id = d.order_item_id"
        " JOIN orders o ON o.id = i.order_id WHERE o.status IN ('pending', 'cancelled') OR o.confirmed_at IS NULL"
        " ORDER BY o.id",
    },
    {
        "order_sum",
        "order",
        "an order's amounts do not add up",
        "SELECT o.id FROM orders o WHERE o.total <> o.subtotal - o.discount"
        " OR o.subtotal <> (SELECT COALESCE(SUM(i.subtotal), 0) FROM order_item i WHERE i.order_id = o.id)"
        " OR EXISTS (SELECT 1 FROM order_item i WHERE i.order_id = o.id AND i.subtotal <> i.unit_price * i.quantity)"
        " ORDER BY o.id",
    },
    {
        "order_paid",
        "order",
        "an order was not paid exactly once, in full, by its owner's wallet or through its gateway",
        "SELECT o.id FROM orders o WHERE o.status IN ('confirmed', 'refunded')"
        " AND (SELECT COUNT(*) FROM transfer t WHERE t.kind IN ('order', 'payment') AND t.reference_id = o.id)"
        " + (SELECT COUNT(*) FROM transfer t WHERE t.kind = CASE o.paid_with WHEN 'wallet' THEN 'order' ELSE 'payment' "
        "END"
        " AND t.reference_id = o.id AND t.amount = o.total AND t.credit_id = 1 AND t.debit_id = " PAID_FROM
        ") <> CASE o.total WHEN 0 THEN 0 ELSE 2 END ORDER BY o.id",
    },
    {
        "order_refunded",
        "order",
        "what an order says was refunded is not what was given back to where the money came from",
        "SELECT o.id FROM orders o WHERE o.refunded_amount <> (SELECT COALESCE(SUM(t.amount), 0) FROM transfer t"
        " WHERE t.kind = 'refund' AND t.reference_id = o.id AND t.debit_id = 1 AND t.credit_id = " PAID_BACK ")"
        " OR (o.status = 'refunded' AND o.refunded_amount <> o.total)"
        " OR (o.status = 'confirmed' AND o.total > 0 AND o.refunded_amount = o.total)"
        " OR (o.status IN ('pending', 'cancelled') AND o.refunded_amount <> 0) ORDER BY o.id",
    },
    {
        "order_transfer",
        "transfer",
        "money moved for an order that does not exist or was never confirmed",
        "SELECT t.id FROM transfer t LEFT JOIN orders o ON o.id = t.reference_id"
        " AND o.status IN ('confirmed', 'refunded') WHERE t.kind IN ('order', 'payment', 'refund') AND o.id IS NULL"
        " ORDER BY t.id",
    },
    {
        "gateway_paid",
        "order",
        "an order was confirmed with a gateway and no payment there paid for it, or another way and one did",
        "SELECT o.id FROM orders o LEFT JOIN gateway g ON g.label = o.paid_with LEFT JOIN payment p ON p.order_id = "
        "o.id"
        " AND p.paid_order = 1 WHERE o.confirmed_at IS NOT NULL AND o.status IN ('confirmed', 'refunded')"
        " AND ((g.id IS NOT NULL AND (p.id IS NULL OR p.gateway_id <> g.id OR p.status <> 'succeeded'))"
        " OR (g.id IS NULL AND p.id IS NOT NULL)) ORDER BY o.id",
    },
    {
        "payment_received",
        "payment",
        "what came for a payment is not what was booked when it came",
        "SELECT p.id FROM payment p WHERE p.received <> " MOVED("received", "2", "6") " - " MOVED(
            "received", "6", "2") " OR (p.paid_order = 1 AND p.received = 0) ORDER BY p.id",
    },
    {
        "payment_waiting",
        "payment",
        "what waits of a payment is not what came less what became of it",
        "SELECT p.id FROM payment p WHERE p.waiting <> " MOVED("received", "2", "6") " - " MOVED("received", "6", "2") " + " MOVED(
            "tolerance", "5",
            "6") " + " MOVED("refund_failed", "2",
                             "6") " + " MOVED("returned", "2",
                                              "6") " - " MOVED("returned", "6",
                                                               "2") " - " MOVED("topup", "6",
                                                                                WALLET_OF(
                                                                                    "p")) " - " OF_SALE("total") " ORDE"
                                                                                                                 "R BY "
                                                                                                                 "p.id",
    },
    {
        "payment_credited",
        "payment",
        "what a payment put into its owner's wallet is not what it says",
        "SELECT p.id FROM payment p WHERE p.credited <> " MOVED("topup", "6", WALLET_OF("p")) " ORDER BY p.id",
    },
    {
        "payment_returned",
        "payment",
        "what went back of a payment is not what was booked",
        "SELECT p.id FROM payment p WHERE p.returned <> " MOVED("returned", "6", "2") " - " MOVED("returned", "2", "6") " + " MOVED(
            "topup", WALLET_OF("p"),
            "2") " + " MOVED("debt", "7",
                             "2") " + " OF_SALE("refunded_amount") " - " MOVED("refund_failed", "2",
                                                                               "6") " - " MOVED("tolerance", "2",
                                                                                                "5") " ORDER BY p.id",
    },
    {
        "payment_gone",
        "payment",
        "what the gateway gave back or took back of a payment is not booked",
        "SELECT p.id FROM payment p WHERE p.returned <> CASE WHEN p.refunded_total + p.lost_total < p.received"
        " THEN p.refunded_total + p.lost_total ELSE p.received END ORDER BY p.id",
    },
    {
        "payment_refunds",
        "payment",
        "the refunds of a payment that are called done are not what the gateway gave back",
        "SELECT p.id FROM payment p WHERE p.refunded_total <> (SELECT COALESCE(SUM(r.amount), 0) FROM refund r"
        " WHERE r.payment_id = p.id AND r.status = 'done') ORDER BY p.id",
    },
    {
        "payment_lost",
        "payment",
        "what a payment lost is not what its disputes or its reversals say, whichever is more",
        "SELECT x.id FROM (SELECT p.id, p.lost_total, (SELECT COALESCE(SUM(d.lost), 0) FROM dispute d"
        " WHERE d.payment_id = p.id AND d.status = 'lost') AS lost, (SELECT COALESCE(SUM(r.amount), 0) FROM reversal r"
        " WHERE r.payment_id = p.id) AS reversed FROM payment p) x"
        " WHERE x.lost_total <> CASE WHEN x.lost > x.reversed THEN x.lost ELSE x.reversed END ORDER BY x.id",
    },
    {
        "payment_reversed",
        "payment",
        "what the gateway took back is counted as a refund too, or not at all",
        "SELECT DISTINCT w.payment_id FROM webhook_event w WHERE w.kind = 'reversed' AND w.status = 'handled'"
        " AND w.payment_id IS NOT NULL AND (NOT EXISTS (SELECT 1 FROM reversal r WHERE r.payment_id = w.payment_id"
        " AND r.ref = w.refund_ref) OR EXISTS (SELECT 1 FROM refund f WHERE f.payment_id = w.payment_id"
        " AND f.refund_ref = w.refund_ref AND f.status = 'done')) ORDER BY 1",
    },
    {
        "payment_transfer",
        "transfer",
        "money moved for a payment that does not exist",
        "SELECT t.id FROM transfer t LEFT JOIN payment p ON p.id = t.reference_id WHERE p.id IS NULL"
        " AND (t.kind IN ('topup', 'received', 'returned', 'refund_failed', 'tolerance')"
        " OR (t.kind = 'debt' AND t.debit_id = 7)) ORDER BY t.id",
    },
    {
        "payment_stuck",
        "payment",
        "money of a payment waits, and neither a person nor the gateway was asked about it",
        "SELECT p.id FROM payment p WHERE p.waiting > (SELECT COALESCE(SUM(r.amount), 0) FROM refund r"
        " WHERE r.payment_id = p.id AND r.status = 'requested')"
        " AND NOT EXISTS (SELECT 1 FROM review v WHERE v.payment_id = p.id AND v.status = 'open') ORDER BY p.id",
    },
    {
        "event_resource",
        "event",
        "an event tells of something that does not exist",
        "SELECT e.id FROM event e WHERE (e.type LIKE 'order.%' AND NOT EXISTS (SELECT 1 FROM orders x"
        " WHERE x.id = e.resource_id)) OR (e.type LIKE 'license.%' AND NOT EXISTS (SELECT 1 FROM license x"
        " WHERE x.id = e.resource_id)) OR (e.type IN ('wallet.credited', 'customer.created') AND NOT EXISTS"
        " (SELECT 1 FROM account x WHERE x.id = e.resource_id)) OR (e.type LIKE 'withdrawal.%' AND NOT EXISTS"
        " (SELECT 1 FROM withdrawal x WHERE x.id = e.resource_id)) OR (e.type LIKE 'ticket.%' AND NOT EXISTS"
        " (SELECT 1 FROM ticket x WHERE x.id = e.resource_id)) OR (e.type = 'payment.review' AND NOT EXISTS"
        " (SELECT 1 FROM review x WHERE x.id = e.resource_id)) ORDER BY e.id",
    },
    {
        "webhook_delivery_parts",
        "delivery",
        "a delivery has no endpoint or no event, or is not of its event's type",
        "SELECT d.id FROM webhook_delivery d LEFT JOIN event e ON e.id = d.event_id"
        " LEFT JOIN webhook_endpoint p ON p.id = d.endpoint_id WHERE e.id IS NULL OR p.id IS NULL OR e.type <> d.type"
        " ORDER BY d.id",
    },
    {
        "webhook_delivery_state",
        "delivery",
        "a delivery is both waiting and over, or counts other tries than were recorded",
        "SELECT d.id FROM webhook_delivery d WHERE (d.status = 'pending') <> (d.done_at IS NULL)"
        " OR d.tries <> (SELECT COUNT(*) FROM webhook_try t WHERE t.delivery_id = d.id) ORDER BY d.id",
    },
    {
        "payment_forgotten",
        "payment",
        "a payment may still be paid, and nobody will ask what became of it",
        "SELECT p.id FROM payment p WHERE p.ended_at IS NULL AND NOT EXISTS (SELECT 1 FROM outbox x"
        " WHERE x.payment_id = p.id AND x.status = 'waiting' AND x.kind IN ('create', 'ask', 'capture')) ORDER BY p.id",
    },
    {
        "refund_forgotten",
        "refund",
        "a refund was requested and nobody asks the gateway for it, or it failed and nobody was told",
        "SELECT r.id FROM refund r WHERE (r.status = 'requested' AND NOT EXISTS (SELECT 1 FROM outbox x"
        " WHERE x.refund_id = r.id AND x.status = 'waiting')) OR (r.status = 'failed'"
        " AND NOT EXISTS (SELECT 1 FROM review v WHERE v.refund_id = r.id)) ORDER BY r.id",
    },
    {
        "order_hold",
        "order",
        "an order is on hold without an open dispute, or is disputed and not on hold, or what it delivered is not",
        "SELECT o.id FROM orders o WHERE o.on_hold <> CASE WHEN EXISTS (SELECT 1 FROM payment p JOIN dispute d"
        " ON d.payment_id = p.id WHERE p.order_id = o.id AND d.status = 'open') THEN 1 ELSE 0 END"
        " OR (o.on_hold = 1 AND EXISTS (SELECT 1 FROM order_item i JOIN license l ON l.order_item_id = i.id"
        " WHERE i.order_id = o.id AND l.on_hold = 0)) ORDER BY o.id",
    },
    {
        "wallet_frozen",
        "account",
        "what is frozen of a wallet is not what open disputes of top-ups froze",
        "SELECT a.owner_id FROM ledger_account a WHERE a.kind = 'wallet' AND a.frozen <> (SELECT "
        "COALESCE(SUM(d.frozen), 0)"
        " FROM payment p JOIN dispute d ON d.payment_id = p.id WHERE p.account_id = a.owner_id AND d.status = 'open')"
        " ORDER BY a.owner_id",
    },
    {
        "wallet_debt",
        "account",
        "what a customer owes is not what went back without being in the wallet, less what was repaid",
        "SELECT a.owner_id FROM ledger_account a WHERE a.kind = 'wallet' AND a.debt <> (SELECT COALESCE(SUM(t.amount), "
        "0)"
        " FROM payment p JOIN transfer t ON t.kind = 'debt' AND t.reference_id = p.id AND t.debit_id = 7"
        " WHERE p.account_id = a.owner_id) - (SELECT COALESCE(SUM(t.amount), 0) FROM transfer t WHERE t.kind = 'debt'"
        " AND t.debit_id = a.id AND t.credit_id = 7) ORDER BY a.owner_id",
    },
    {
        "received_sum",
        "",
        "the account of received money is not the sum of what waits of all payments",
        "SELECT CAST(0 AS BIGINT) FROM (SELECT SUM(hi) AS hi, SUM(lo) AS lo FROM ("
        "SELECT -(waiting / 1000000000) AS hi, -(waiting % 1000000000) AS lo FROM payment"
        " UNION ALL SELECT e.hi, e.lo FROM " ENTRIES " AS e JOIN ledger_account a ON a.id = e.ledger_id"
        " WHERE a.kind = 'received') AS parts) AS total WHERE hi * 1000000000 + lo <> 0",
    },
    {
        "coupon_limit",
        "coupon",
        "a coupon was used by more orders than it may be",
        "SELECT c.id FROM coupon c WHERE c.uses > c.max_uses OR " COUPON_ORDERS " > c.max_uses ORDER BY c.id",
    },
    {
        "coupon_uses",
        "coupon",
        "a coupon's count is not the number of orders that use it, or not 0 where there is no limit to count for",
        "SELECT c.id FROM coupon c WHERE c.uses <> CASE WHEN c.max_uses IS NULL THEN 0 ELSE " COUPON_ORDERS " END"
        " OR " COUPON_ORDERS " <> (SELECT COUNT(*) FROM coupon_use u"
        " WHERE u.coupon_id = c.id AND u.released_at IS NULL) ORDER BY c.id",
    },
    {
        "coupon_order",
        "order",
        "an order with a coupon has not redeemed it, or gave it back while it can be paid, or keeps it though it "
        "cannot",
        "SELECT o.id FROM orders o LEFT JOIN coupon_use u ON u.order_id = o.id WHERE o.coupon_id IS NOT NULL"
        " AND (u.order_id IS NULL OR u.coupon_id <> o.coupon_id OR (u.released_at IS NOT NULL) <>"
        " (o.status = 'cancelled' AND NOT EXISTS (SELECT 1 FROM payment p WHERE p.order_id = o.id"
        " AND p.ended_at IS NULL))) ORDER BY o.id",
    },
    /* Only while the coupon is unchanged: a limit that staff lowered later does not make earlier uses wrong. */
    {
        "coupon_customer",
        "coupon",
        "one customer used a coupon more often than it allows each",
        "SELECT DISTINCT c.id FROM coupon c JOIN coupon_use u ON u.coupon_id = c.id AND u.released_at IS NULL"
        " WHERE c.version = 1 AND c.max_uses_per_customer IS NOT NULL GROUP BY c.id, c.max_uses_per_customer, "
        "u.account_id"
        " HAVING COUNT(*) > c.max_uses_per_customer ORDER BY c.id",
    },
    {
        "ticket_activity",
        "ticket",
        "a ticket has no message, or its latest activity is not the time of its last message",
        "SELECT t.id FROM ticket t WHERE t.last_reply_at <> COALESCE((SELECT m.created_at FROM ticket_message m"
        " WHERE m.ticket_id = t.id ORDER BY m.id DESC LIMIT 1), -1) ORDER BY t.id",
    },
    {
        "key_once",
        "idempotency row",
        "one Idempotency-Key was used up twice",
        "SELECT MAX(id) FROM idempotency GROUP BY key_hash HAVING COUNT(*) > 1 ORDER BY 1",
    },
    {
        "order_key_once",
        "order",
        "an order has an Idempotency-Key that was used up already",
        "SELECT id FROM (SELECT id, created_at - LAG(created_at) OVER (PARTITION BY key_hash ORDER BY id) AS later"
        " FROM orders WHERE key_hash IS NOT NULL) k WHERE later < " KEPT_FOR
        " UNION SELECT o.id FROM orders o JOIN idempotency i ON i.key_hash = o.key_hash"
        " WHERE i.created_at - o.created_at < " KEPT_FOR " ORDER BY 1",
    },
    {"key_pages", "idempotency row", "a used-up Idempotency-Key would be free again after a start",
     "SELECT last FROM idempotency_page p WHERE last > (SELECT COALESCE(MAX(id), 0) FROM idempotency)"
     " OR length(keys) < 16 * (SELECT COUNT(*) FROM idempotency WHERE id BETWEEN p.first AND p.last) ORDER BY 1",
     true},
    {"order_key_pages", "order", "the used-up Idempotency-Key of an order would be free again after a start",
     "SELECT last FROM orders_key_page p WHERE last > (SELECT COALESCE(MAX(id), 0) FROM orders) OR first > 0 AND"
     " length(keys) < 16 * (SELECT COUNT(*) FROM orders WHERE key_hash IS NOT NULL AND id BETWEEN p.first AND p.last)"
     " ORDER BY 1",
     true},
    {"orders_filed", "order", "an order is not in its customer's list, or in somebody else's",
     FILED_WRONGLY("orders", "orders", "r.account_id", "account_id", ""), true},
    {"license_filed", "license", "a licence is not in its owner's list, or in somebody else's",
     FILED_WRONGLY("license", "license", "r.account_id", "account_id", ""), true},
    {"transfer_filed", "transfer",
     "a transfer is not in the history of the wallet that it was taken from, or in another's",
     FILED_WRONGLY("transfer", "transfer", "r.debit_id", "debit_id", " AND r.debit_id > 7"), true},
    {"license_key_filed", "license", "a licence is not found by its key",
     FILED_WRONGLY("license_key", "license", "substr(r.key_hash, 1, 8)", "key_start", ""), true},
    {"license_key_once", "license", "two licences have the same key",
     "SELECT MAX(id) FROM license GROUP BY key_hash HAVING COUNT(*) > 1 ORDER BY 1", true},
};

#define CHECK_COUNT (sizeof checks / sizeof checks[0])

static enum err run_one(struct db *db, const struct check *c, struct check_result *ret)
{
    struct check_result r = {.name = c->name, .sentence = c->sentence, .noun = c->noun};
    struct stmt *st = db_prepare(db, c->sql);
    while (!r.has_more && db_step(st)) {
        Id id = col_id(st);
        r.is_broken = true;
        if (!id_is(id)) continue;
        if (r.id_count == CHECK_IDS_MAX)
            r.has_more = true;
        else
            r.ids[r.id_count++] = id;
    }
    enum err e = db_done(st);
    if (e) return e;
    *ret = r;
    return OK;
}

enum err check_run(struct db *db, struct check_result **ret, size_t *ret_count)
{
    struct check_result *results = arena_array(db_arena(db), struct check_result, CHECK_COUNT);
    size_t count = 0;
    for (size_t i = 0; i < CHECK_COUNT; i++) {
        if (checks[i].only_sqlite && db_is_postgres(db)) continue;
        enum err e = run_one(db, &checks[i], &results[count++]);
        if (e) return e;
    }
    *ret = results;
    *ret_count = count;
    return OK;
}
