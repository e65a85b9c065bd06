/* domain/vitals.c - see vitals.h. */
#include "domain/vitals.h"

#include "domain/backup_record.h"
#include "domain/ledger.h"
#include "domain/outbox.h"
#include "domain/review.h"

#define SETTLED_MS (10 * TIME_SECOND) /* after which no lower number is committed any more */

/* The first rows alone: a figure that stops counting is worth more than one that takes longer and longer. */
static enum err read_open(struct db *db, struct vitals *v)
{
    static const char counts[] =
        "SELECT (SELECT COUNT(*) FROM (SELECT 1 FROM orders WHERE status = 'pending' LIMIT 10000) x),"
        " (SELECT COUNT(*) FROM (SELECT 1 FROM orders WHERE on_hold = 1 LIMIT 10000) x),"
        " (SELECT COUNT(*) FROM (SELECT 1 FROM payment WHERE ended_at IS NULL LIMIT 10000) x),"
        " (SELECT COUNT(*) FROM (SELECT 1 FROM refund WHERE status <> 'done' AND status = 'requested' LIMIT 10000) x),"
        " (SELECT COUNT(*) FROM (SELECT 1 FROM refund WHERE status <> 'done' AND status = 'failed' LIMIT 10000) x),"
        " (SELECT COUNT(*) FROM (SELECT 1 FROM dispute WHERE status = 'open' LIMIT 10000) x),"
        " (SELECT COUNT(*) FROM (SELECT 1 FROM withdrawal WHERE status = 'pending' LIMIT 10000) x),"
        " (SELECT COUNT(*) FROM (SELECT 1 FROM ticket WHERE status = 'open' LIMIT 10000) x),"
        " (SELECT COUNT(*) FROM (SELECT 1 FROM webhook_event WHERE status = 'unmatched' LIMIT 10000) x),"
        " (SELECT COUNT(*) FROM (SELECT 1 FROM webhook_event WHERE status = 'review' LIMIT 10000) x),"
        " CAST((SELECT COALESCE(SUM(waiting), 0) FROM (SELECT waiting FROM payment WHERE waiting > 0 LIMIT 10000) x) "
        "AS BIGINT),"
        " CAST((SELECT COALESCE(SUM(amount), 0) FROM (SELECT amount FROM refund WHERE status <> 'done' LIMIT 10000) x) "
        "AS BIGINT),"
        " CAST((SELECT COALESCE(SUM(amount), 0) FROM (SELECT amount FROM withdrawal WHERE status = 'pending' LIMIT "
        "10000) x) AS BIGINT)";

    int64_t *const into[] = {&v->orders_pending,     &v->orders_on_hold, &v->payments_open,       &v->refunds_requested,
                             &v->refunds_failed,     &v->disputes_open,  &v->withdrawals_pending, &v->tickets_open,
                             &v->webhooks_unmatched, &v->webhooks_review};
    struct stmt *st = db_prepare(db, counts);
    if (db_step(st)) {
        for (size_t i = 0; i < sizeof into / sizeof *into; i++) *into[i] = col_int(st);
        v->money_waiting = col_money(st);
        v->money_refunding = col_money(st);
        v->money_withdrawing = col_money(st);
    }
    return db_done(st);
}

static enum err read_reviews(struct db *db, struct vitals *v)
{
    static const char counts[] =
        "SELECT kind, COUNT(*) FROM (SELECT kind FROM review WHERE status = 'open' LIMIT 10000) x"
        " GROUP BY kind";

    struct stmt *st = db_prepare(db, counts);
    while (db_step(st)) {
        unsigned kind = col_choice(st, review_kind_names);
        v->reviews_open[kind] = col_int(st);
    }
    return db_done(st);
}

static enum err read_outbox(struct db *db, struct vitals *v)
{
    static const char counts[] =
        "SELECT kind, CASE WHEN status = 'failed' THEN 1 ELSE 0 END, COUNT(*)"
        " FROM (SELECT kind, status FROM outbox WHERE status <> 'done' LIMIT 10000) x GROUP BY 1, 2";

    struct stmt *st = db_prepare(db, counts);
    while (db_step(st)) {
        unsigned kind = col_choice(st, outbox_kind_names);
        int64_t *into = col_bool(st) ? v->outbox_failed : v->outbox_waiting;
        into[kind] = col_int(st);
    }
    enum err e = db_done(st);
    return e ? e : outbox_next(db, &v->outbox_due);
}

/* At most one row for each gateway. */
static enum err read_reconciliations(struct db *db, struct vitals *v)
{
    static const char oldest[] = "SELECT MIN(ran_at), CAST(COALESCE(SUM(differences), 0) AS BIGINT),"
                                 " CAST(COALESCE(SUM(CASE WHEN error <> '' THEN 1 ELSE 0 END), 0) AS BIGINT)"
                                 " FROM reconciliation";

    struct stmt *st = db_prepare(db, oldest);
    if (db_step(st)) {
        v->reconciled_at = col_time(st);
        v->differences = col_int(st);
        v->unreconciled = col_int(st);
    }
    return db_done(st);
}

enum err vitals_read(struct db *db, struct vitals *ret)
{
    struct vitals v = {0};
    enum err e = read_open(db, &v);
    if (!e) e = read_reviews(db, &v);
    if (!e) e = read_outbox(db, &v);
    if (!e) e = read_reconciliations(db, &v);
    if (!e) e = backup_record_last(db, &v.backup_made, &v.backup_verified);
    if (!e) *ret = v;
    return e;
}

static enum err begin(struct db *db, struct vitals_flow *f)
{
    static const char last[] =
        "SELECT COALESCE((SELECT MAX(id) FROM orders), 0), COALESCE((SELECT MAX(id) FROM transfer), 0)";

    int64_t order = 0, transfer = 0;
    struct stmt *st = db_prepare(db, last);
    if (db_step(st)) {
        order = col_int(st);
        transfer = col_int(st);
    }
    enum err e = db_done(st);
    if (e) return e;
    f->order = order;
    f->transfer = transfer;
    f->has_begun = true;
    return OK;
}

static enum err follow_orders(struct db *db, Time until, int64_t limit, struct vitals_flow *f)
{
    static const char next[] = "SELECT id, created_at FROM orders WHERE id > $1 ORDER BY id LIMIT $2";

    struct stmt *st = db_prepare(db, next);
    bind_int(st, f->order);
    bind_int(st, limit);
    while (db_step(st)) {
        int64_t id = col_int(st);
        if (col_time(st).ms > until.ms) break;
        f->order = id;
        f->orders_placed++;
    }
    return db_done(st);
}

static enum err follow_transfers(struct db *db, Time until, int64_t limit, struct vitals_flow *f)
{
    static const char next[] = "SELECT id, created_at, kind, amount FROM transfer WHERE id > $1 ORDER BY id LIMIT $2";

    struct stmt *st = db_prepare(db, next);
    bind_int(st, f->transfer);
    bind_int(st, limit);
    while (db_step(st)) {
        int64_t id = col_int(st);
        if (col_time(st).ms > until.ms) break;
        unsigned kind = col_choice(st, ledger_kind_names);
        Money amount = col_money(st), sum;
        f->transfer = id;
        f->transfers[kind]++;
        if (money_add(f->money[kind], amount, &sum)) f->money[kind] = sum;
    }
    return db_done(st);
}

enum err vitals_follow(struct db *db, Time now, int64_t limit, struct vitals_flow *flow)
{
    Time until = time_add(now, -SETTLED_MS);
    if (!flow->has_begun) return begin(db, flow);
    enum err e = follow_orders(db, until, limit, flow);
    return e ? e : follow_transfers(db, until, limit, flow);
}
