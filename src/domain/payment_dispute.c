/* domain/payment_dispute.c - see payment_dispute.h. */
#include "domain/payment_dispute.h"

#include "domain/ledger.h"
#include "domain/order.h"
#include "domain/payment_money.h"
#include "domain/review.h"

/* What was disputed or taken back: at most what is not gone some other way. */
static Money at_most(const struct payment *p, const struct payment_event *e, Money gone)
{
    bool says = e->has_amount && str_eq(e->currency, p->currency);
    Money left = {p->received.minor - p->refunded_total.minor - gone.minor};
    if (left.minor < 0) left.minor = 0;
    return says && money_cmp(e->amount, left) < 0 ? e->amount : left;
}

static enum err disputed(struct db *db, const struct payment *p, const struct payment_event *e, Money *ret)
{
    Money lost, reversed;
    enum err err = dispute_sums(db, p->id, &lost, &reversed);
    if (!err) *ret = at_most(p, e, lost);
    return err;
}

/* Disputes and reversals tell of the same money: the larger sum is what is gone. */
static enum err book_loss(struct db *db, struct payment *p, Time now)
{
    Money lost, reversed;
    enum err e = dispute_sums(db, p->id, &lost, &reversed);
    if (e) return e;
    p->lost_total = money_cmp(lost, reversed) > 0 ? lost : reversed;
    return payment_book_return(db, p, now);
}

static enum err hold(struct db *db, struct payment *p, bool on, Time now)
{
    p->is_disputed = on;
    enum err e = payment_save(db, p);
    return e || !id_is(p->order_id) ? e : order_set_hold(db, p->order_id, on, now);
}

static enum err add(struct db *db, struct payment *p, const struct payment_event *e, Time now, struct dispute *ret)
{
    struct dispute want = {.payment_id = p->id, .ref = e->refund_ref, .due_at = e->due_at};
    enum err err = disputed(db, p, e, &want.amount);
    if (err) return err;
    if (!id_is(p->order_id)) want.frozen = want.amount;
    err = dispute_add(db, &want, now, ret);
    if (!err && want.frozen.minor) err = wallet_freeze(db, p->account_id, want.frozen);
    return err ? err : hold(db, p, true, now);
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

static enum err end_hold(struct db *db, struct payment *p, const struct dispute *d, Time now)
{
    int64_t open;
    enum err e = d->frozen.minor ? wallet_freeze(db, p->account_id, (Money){-d->frozen.minor}) : OK;
    if (!e) e = dispute_count_open(db, p->id, &open);
    return e || open ? e : hold(db, p, false, now);
}

enum err payment_dispute_close(struct db *db, struct payment *p, const struct payment_event *e, Time now,
                               struct dispute *ret, bool *ret_is_first)
{
    enum err err = dispute_find(db, p->id, e->refund_ref, ret);
    if (err == ERR_NOT_FOUND) err = add(db, p, e, now, ret);
    if (err) return err;
    *ret_is_first = ret->status == DISPUTE_IS_OPEN;
    if (!*ret_is_first) return OK;
    Money lost = {0};
    if (e->outcome == DISPUTE_LOST) err = disputed(db, p, e, &lost);
    if (!err) err = dispute_close(db, ret->id, e->outcome, lost, now);
    if (!err) err = end_hold(db, p, ret, now);
    if (!err) err = review_settle_dispute(db, ret->id, str_from(dispute_outcome_names[e->outcome]), now);
    return err ? err : book_loss(db, p, now);
}

enum err payment_reverse(struct db *db, struct payment *p, const struct payment_event *e, Time now, bool *ret_is_new)
{
    Money lost, reversed;
    enum err err = dispute_sums(db, p->id, &lost, &reversed);
    if (!err) err = dispute_add_reversal(db, p->id, e->refund_ref, at_most(p, e, reversed), now, ret_is_new);
    return err || !*ret_is_new ? err : book_loss(db, p, now);
}

enum err payment_reversed_more(struct db *db, const struct payment *p, bool *ret)
{
    Money lost, reversed;
    enum err e = dispute_sums(db, p->id, &lost, &reversed);
    if (!e) *ret = money_cmp(reversed, lost) > 0;
    return e;
}
