/* tests/unit/payment_state.h - what a store knows about the one payment in it, read without the help of domain/.
 *
 * Two readings: the figures that the model speaks of, and a text of every row that a further event can read or change.
 * In the text ids are places in the order of their table and keys are left out, so that two stores with the same text
 * differ in nothing but history: events that are done with, settled reviews, what people were told, single transfers
 * (their sums are there, which is all that `souk check` looks at). */
#pragma once

#include "base/str.h"
#include "db/db.h"

struct facts {
    Str payment, order; /* order: empty for a top-up */
    int64_t received, waiting, refunded, lost, returned, is_disputed;
    int64_t order_refunded, on_hold, delivered, is_closed;
    int64_t wallet, frozen, debt;
    int64_t asks_stock, asks_dispute, asks_refunds, asks_unmatched, asks_other;
    int64_t told_arrival, told_refunds;
};

#define OPEN_REVIEWS(kind) "(SELECT COUNT(*) FROM review WHERE status = 'open' AND kind " kind "),"
#define TOLD_CUSTOMER(kind)                                                                                            \
    "(SELECT COUNT(*) FROM notification n WHERE n.account_id = p.account_id AND n.kind IN (" kind "))"

static inline enum err facts_read(struct db *db, struct facts *ret)
{
    static const char find[] =
        "SELECT p.status, COALESCE(o.status, ''), p.received, p.waiting, p.refunded_total, p.lost_total, p.returned,"
        " p.is_disputed, COALESCE(o.refunded_amount, 0), COALESCE(o.on_hold, 0),"
        " (SELECT COUNT(*) FROM delivery),"
        " (SELECT COUNT(*) FROM license WHERE status <> 'active' OR on_hold = 1),"
        " COALESCE(w.balance, 0), COALESCE(w.frozen, 0), COALESCE(w.debt, 0)," OPEN_REVIEWS("= 'stock'")
            OPEN_REVIEWS("= 'dispute'") OPEN_REVIEWS("= 'refund_failed'") OPEN_REVIEWS("= 'unmatched'")
                OPEN_REVIEWS("NOT IN ('stock', 'dispute', 'refund_failed', 'unmatched')")
                    TOLD_CUSTOMER("'order_delivered', 'topup_credited'") "," TOLD_CUSTOMER(
                        "'refunded'") " FROM payment p LEFT JOIN orders o ON o.id = p.order_id"
                                      " LEFT JOIN ledger_account w ON w.owner_id = p.account_id";

    struct facts f = {0};
    struct stmt *st = db_prepare(db, find);
    if (db_step(st)) {
        f.payment = col_text(st);
        f.order = col_text(st);
        int64_t *const numbers[] = {&f.received,       &f.waiting,     &f.refunded,       &f.lost,
                                    &f.returned,       &f.is_disputed, &f.order_refunded, &f.on_hold,
                                    &f.delivered,      &f.is_closed,   &f.wallet,         &f.frozen,
                                    &f.debt,           &f.asks_stock,  &f.asks_dispute,   &f.asks_refunds,
                                    &f.asks_unmatched, &f.asks_other,  &f.told_arrival,   &f.told_refunds};
        for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) *numbers[i] = col_int(st);
    }
    enum err e = db_done(st);
    if (!e) *ret = f;
    return e;
}

/* ' ' and the column, or '-' for none; and the place of a row in its table. */
#define N(column) " || ' ' || COALESCE(CAST(" column " AS TEXT), '-')"
#define PLACE(table, id) N("(SELECT COUNT(*) FROM " table " x WHERE x.id <= " id ")")

/* Gives every row as a line to `line`. */
static inline enum err state_read(struct db *db, void (*line)(void *arg, Str text), void *arg)
{
    /* clang-format off */
    static const char list[] =
        "SELECT 1, id, status || COALESCE(payment_ref, '-') || COALESCE(group_ref, '-')"
        N("received") N("waiting") N("credited") N("refunded_total") N("lost_total") N("returned") N("paid_order")
        N("is_disputed") N("ended_at") N("succeeded_at") " FROM payment"
        " UNION ALL SELECT 2, id, status || paid_with"
        N("refunded_amount") N("on_hold") N("confirmed_at") N("closed_at") " FROM orders"
        " UNION ALL SELECT 3, id, type" N("is_revoked") PLACE("serial", "d.serial_id") " FROM delivery d"
        " UNION ALL SELECT 4, id, status" N("on_hold") " FROM license"
        " UNION ALL SELECT 5, id, status" PLACE("order_item", "s.taken_by") " FROM serial s"
        " UNION ALL SELECT 6, id, status || error || refund_ref" N("amount") N("tries") N("is_outside") " FROM refund"
        " UNION ALL SELECT 7, id, status || ref" N("amount") N("lost") N("frozen") " FROM dispute"
        " UNION ALL SELECT 8, id, kind || reason" N("amount") PLACE("payment", "r.payment_id")
        PLACE("refund", "r.refund_id") PLACE("dispute", "r.dispute_id")
        " || COALESCE((SELECT ' of ' || kind || status FROM webhook_event w WHERE w.id = r.event_id), '')"
        " FROM review r WHERE status = 'open'"
        " UNION ALL SELECT 9, id, kind || status || refund_ref || COALESCE(outcome, '-')"
        N("amount") N("refunded_total") " FROM webhook_event WHERE status IN ('unmatched', 'review')"
        " UNION ALL SELECT 10, id, kind" N("balance") N("frozen") N("debt")
        " FROM ledger_account WHERE kind = 'wallet'"
        " UNION ALL SELECT 11, id, kind || status FROM outbox WHERE kind <> 'mail'"
        " UNION ALL SELECT 12, MIN(t.id), t.kind || ' ' || d.kind || ' ' || c.kind" N("SUM(t.amount)")
        " || CASE WHEN t.kind IN ('order', 'payment') THEN ''" N("COUNT(*)") " ELSE '' END"
        " FROM transfer t JOIN ledger_account d ON d.id = t.debit_id JOIN ledger_account c ON c.id = t.credit_id"
        " GROUP BY t.kind, d.kind, c.kind"
        " UNION ALL SELECT 13, 0, ''" N("COUNT(*)") " FROM coupon_use WHERE released_at IS NULL"
        " ORDER BY 1, 2";
    /* clang-format on */

    struct stmt *st = db_prepare(db, list);
    while (db_step(st)) {
        int64_t part = col_int(st);
        (void)col_id(st);
        Str text = col_text(st);
        line(arg, str_printf(db_arena(db), "%lld %.*s\n", (long long)part, STR_FMT(text)));
    }
    return db_done(st);
}

/* How many rows of history there are: with the text above, whether anything at all was written. */
static inline enum err history_length(struct db *db, int64_t *ret)
{
    static const char count[] =
        "SELECT (SELECT COUNT(*) FROM webhook_event) + (SELECT COUNT(*) FROM notification)"
        " + (SELECT COUNT(*) FROM outbox) + (SELECT COUNT(*) FROM transfer) + (SELECT COUNT(*) FROM review)";

    struct stmt *st = db_prepare(db, count);
    int64_t n = db_step(st) ? col_int(st) : 0;
    enum err e = db_done(st);
    if (!e) *ret = n;
    return e;
}
