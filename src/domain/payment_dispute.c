/* domain/payment_dispute.c - see payment_dispute.h. */
#include "domain/payment_dispute.h"

#include "domain/ledger.h"
#include "domain/order.h"
#include "domain/payment_money.h"
#include "domain/review.h"

/* At most what is still here. */
static Money disputed(const struct payment *p, const struct payment_event *e)
{
    bool says = e->has_amount && str_eq(e->currency, p->currency);
    Money left = {p->received.minor - p->returned.minor};
    return says && money_cmp(e->amount, left) < 0 ? e->amount : left;
}

static enum err hold(struct db *db, struct payment *p, bool on)
{
    p->is_disputed = on;
    enum err e = payment_save(db, p);
    return e || !id_is(p->order_id) ? e : order_set_hold(db, p->order_id, on);
}

static enum err add(struct db *db, struct payment *p, const struct payment_event *e, Time now, struct dispute *ret)
{
    struct dispute want = {.payment_id = p->id, .ref = e->refund_ref, .amount = disputed(p, e), .due_at = e->due_at};
    if (!id_is(p->order_id)) want.frozen = want.amount;
    enum err err = dispute_add(db, &want, now, ret);
    if (!err && want.frozen.minor) err = wallet_freeze(db, p->account_id, want.frozen);
    return err ? err : hold(db, p, true);
}

enum err payment_dispute_open(struct db *db, struct payment *p, const struct payment_event *e, Time now,
                              struct dispute *ret, bool *ret_is_open)
{
    enum err err = dispute_find(db, p->id, e->refund_ref, ret);
    if (err == ERR_NOT_FOUND)
        err = add(db, p, e, now, ret);
    else if (!err)
        err = dispute_set_due(db, ret->id, e->due_at);
    if (!err) *ret_is_open = ret->status == DISPUTE_IS_OPEN;
    return err;
}

static enum err end_hold(struct db *db, struct payment *p, const struct dispute *d)
{
    int64_t open;
    enum err e = d->frozen.minor ? wallet_freeze(db, p->account_id, (Money){-d->frozen.minor}) : OK;
    if (!e) e = dispute_count_open(db, p->id, &open);
    return e || open ? e : hold(db, p, false);
}

enum err payment_dispute_close(struct db *db, struct payment *p, const struct payment_event *e, Time now,
                               struct dispute *ret, bool *ret_is_first)
{
    enum err err = dispute_find(db, p->id, e->refund_ref, ret);
    if (err == ERR_NOT_FOUND) err = add(db, p, e, now, ret);
    if (err) return err;
    *ret_is_first = ret->status == DISPUTE_IS_OPEN;
    if (!*ret_is_first) return OK;
    Money lost = e->outcome == DISPUTE_LOST ? disputed(p, e) : (Money){0};
    err = dispute_close(db, ret->id, e->outcome, lost, now);
    if (!err) err = end_hold(db, p, ret);
    if (!err) err = review_settle_dispute(db, ret->id, str_from(dispute_outcome_names[e->outcome]), now);
    if (err) return err;
    p->lost_total.minor += lost.minor;
    return payment_book_return(db, p, now);
}
