/* domain/payment_end.c - see payment_end.h. */
#include "domain/payment_end.h"

#include "domain/order.h"
#include "domain/outbox.h"
#include "domain/timeline.h"

#define GRACE_MS TIME_HOUR
#define CRYPTO_GRACE_MS                                                                                                \
    (25 * TIME_HOUR) /* coins may be on their way when an invoice expires, so it is watched for a day */

Time payment_ends_at(enum provider provider, Time expires_at)
{
    return time_add(expires_at, provider == PROVIDER_BTCPAY ? CRYPTO_GRACE_MS : GRACE_MS);
}

static bool may_be_paid(const struct payment *p)
{
    return p->status == PAYMENT_OPEN || p->status == PAYMENT_FAILED;
}

/* Whether another payment may still pay for the order, or has. */
static enum err is_paid_otherwise(struct db *db, const struct payment *p, bool *ret)
{
    static const char find[] = "SELECT 1 FROM payment WHERE order_id = $1 AND id <> $2"
                               " AND (status = 'open' OR waiting > 0) LIMIT 1";

    struct stmt *st = db_prepare(db, find);
    bind_id(st, p->order_id);
    bind_id(st, p->id);
    bool found = db_step(st);
    enum err e = db_done(st);
    if (!e) *ret = found || p->waiting.minor > 0;
    return e;
}

/* A failure never undoes a confirmation, not even a manual one. */
enum err payment_order_over(struct db *db, const struct payment *p, Time now)
{
    bool changed, otherwise = false;
    if (!id_is(p->order_id)) return OK;
    enum err e = is_paid_otherwise(db, p, &otherwise);
    if (!e && !otherwise) e = order_cancel(db, p->order_id, (Id){0}, now, &changed);
    if (e == ERR_INVALID_STATE) e = OK;
    return e ? e : order_release_coupon(db, p->order_id, now);
}

static enum err end_as(struct db *db, struct payment *p, enum payment_status status, Time now)
{
    bool was_closed = p->status == PAYMENT_CLOSED;
    if (!was_closed) p->status = status;
    p->ended_at = now;
    enum err e = payment_save(db, p);
    if (!e && !was_closed)
        e = timeline_payment(db, p, status == PAYMENT_EXPIRED ? TIMELINE_PAYMENT_EXPIRED : TIMELINE_PAYMENT_REFUSED,
                             now);
    return e ? e : payment_order_over(db, p, now);
}

enum err payment_end(struct db *db, Id payment, Time now)
{
    struct payment p;
    enum err e = payment_lock(db, payment, &p);
    if (e || time_is(p.ended_at)) return e;
    return end_as(db, &p, PAYMENT_EXPIRED, now);
}

enum err payment_give_up(struct db *db, Id payment, Time now)
{
    struct payment p;
    enum err e = payment_lock(db, payment, &p);
    if (e || time_is(p.ended_at)) return e;
    return end_as(db, &p, PAYMENT_FAILED, now);
}

enum err payment_fail(struct db *db, struct payment *p, Time now)
{
    p->status = PAYMENT_FAILED;
    enum err e = payment_save(db, p);
    if (!e) e = timeline_payment(db, p, TIMELINE_PAYMENT_FAILED, now);
    return e ? e : payment_order_over(db, p, now);
}

enum err payment_close(struct db *db, struct payment *p, Time now)
{
    if (!may_be_paid(p)) return OK;
    p->status = PAYMENT_CLOSED;
    enum err e = payment_save(db, p);
    if (!e) e = timeline_payment(db, p, TIMELINE_PAYMENT_CLOSED, now);
    if (e || !p->group_ref.len) return e;
    return outbox_add(db, &(struct outbox_item){.kind = OUTBOX_CLOSE, .payment = p->id}, now, now, NULL);
}

enum err payment_close_others(struct db *db, const struct payment *p, Time now)
{
    struct payment *all;
    size_t count;
    enum err e = payment_list_order(db, p->order_id, &all, &count);
    for (size_t i = 0; !e && i < count; i++)
        if (!id_eq(all[i].id, p->id)) e = payment_close(db, &all[i], now);
    return e;
}
