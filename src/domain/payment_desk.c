/* domain/payment_desk.c - see payment_desk.h. */
#include "domain/payment_desk.h"

#include "domain/order.h"
#include "domain/payment_end.h"
#include "domain/payment_money.h"
#include "domain/payment_refund.h"
#include "domain/payment_settle.h"
#include "domain/receipt.h"
#include "domain/timeline.h"

const char *const spare_money_names[] = {"refund", "credit", NULL};

/* The payment of an order that matters, locked with the order's other payments; *ret_has false: the order has none. */
static enum err lock_of(struct db *db, Id order, struct payment *ret, bool *ret_has)
{
    enum err e = payment_find_order(db, order, ret);
    *ret_has = !e;
    if (e == ERR_NOT_FOUND) return OK;
    return e ? e : payment_lock(db, ret->id, ret);
}

static enum err confirm_as(struct db *db, Id order, const struct payment *p, bool has, Str paid_with, Time now,
                           bool *ret_changed)
{
    struct payment first = {0};
    enum err e = order_confirm(db, order, paid_with, now, ret_changed);
    if (e || !*ret_changed) return e;
    if (has) {
        first = *p;
        e = payment_close(db, &first, now);
        if (!e) e = payment_close_others(db, &first, now);
    }
    return e ? e : receipt_order(db, order, now);
}

enum err payment_has_waiting(struct db *db, Id order, bool *ret)
{
    static const char find[] = "SELECT 1 FROM payment WHERE order_id = $1 AND waiting > 0 LIMIT 1";

    struct stmt *st = db_prepare(db, find);
    bind_id(st, order);
    bool found = db_step(st);
    enum err e = db_done(st);
    if (!e) *ret = found;
    return e;
}

enum err payment_pay_from_wallet(struct db *db, Id order, Time now)
{
    struct payment p;
    struct order o;
    bool has, changed, waiting;
    enum err e = lock_of(db, order, &p, &has);
    if (!e) e = order_lock(db, order, &o);
    if (!e) e = payment_has_waiting(db, order, &waiting);
    if (e) return e;
    if (o.status != ORDER_PENDING || waiting) return ERR_INVALID_STATE;
    return confirm_as(db, order, &p, has, STR(PAID_WITH_WALLET), now, &changed);
}

enum err payment_confirm_order(struct db *db, Id order, Id by, Time now, bool *ret_changed)
{
    struct payment p;
    bool has;
    enum err e = lock_of(db, order, &p, &has);
    if (e) return e;
    if (has && p.waiting.minor > 0 && !p.paid_order)
        e = payment_sell(db, &p, now, ret_changed);
    else
        e = confirm_as(db, order, &p, has, STR(PAID_BY_HAND), now, ret_changed);
    return e || !*ret_changed ? e : timeline_order(db, order, TIMELINE_CONFIRMED, by, now);
}

/* The money that waits and is not being given back. */
static enum err spare_of(struct db *db, const struct payment *p, Money *ret)
{
    Money asked;
    enum err e = refund_sum_requested(db, p->id, &asked);
    if (!e) ret->minor = p->waiting.minor > asked.minor ? p->waiting.minor - asked.minor : 0;
    return e;
}

static enum err give_spare(struct db *db, struct payment *p, enum spare_money how, Str why, Id by, Time now,
                           Money *ret_back)
{
    struct refund r;
    Money spare;
    enum err e = spare_of(db, p, &spare);
    if (e || spare.minor == 0) return e;
    ret_back->minor += spare.minor;
    if (p->status != PAYMENT_SUCCEEDED) e = payment_mark_succeeded(db, p, now);
    if (e) return e;
    e = how == SPARE_CREDIT ? payment_book_credit(db, p, spare, why, now)
                            : payment_refund_request(db, p, spare, why, by, now, &r);
    if (!e && how == SPARE_CREDIT) e = receipt_trouble(db, p, spare, WORD_trouble_cancelled, true, now);
    return e ? e
             : review_settle_payment(db, p->id, 1u << REVIEW_AMOUNT | 1u << REVIEW_LATE | 1u << REVIEW_STOCK,
                                     STR("the order was cancelled"), now);
}

enum err payment_cancel_order(struct db *db, Id order, enum spare_money how, Id by, Time now, bool *ret_changed,
                              Money *ret_back)
{
    struct payment p, *all;
    size_t count;
    bool has;
    *ret_back = (Money){0};
    enum err e = lock_of(db, order, &p, &has);
    if (!e) e = order_cancel(db, order, by, now, ret_changed);
    if (!e && *ret_changed) e = payment_list_order(db, order, &all, &count);
    if (e || !*ret_changed) return e;
    for (size_t i = 0; !e && i < count; i++) {
        e = give_spare(db, &all[i], how, STR("the order was cancelled"), by, now, ret_back);
        if (!e) e = payment_close(db, &all[i], now);
    }
    if (!e) e = order_release_coupon(db, order, now);
    return e ? e : receipt_cancelled(db, order, now);
}

/* Not paid through a gateway: the booking is all there is to do. */
static enum err refund_here(struct db *db, Id order, Money amount, Str reason, Id by, Time now, struct refund *ret)
{
    struct order o;
    Money given;
    *ret = (struct refund){0};
    enum err e = order_lock(db, order, &o);
    if (e) return e;
    if (o.status != ORDER_CONFIRMED) return ERR_INVALID_STATE;
    Money left = {o.total.minor - o.refunded_amount.minor};
    if (money_cmp(amount, left) > 0) return ERR_FIELD_RANGE;
    if (amount.minor == 0) amount = left;
    e = order_refund(db, order, (Money){o.refunded_amount.minor + amount.minor}, now, &given);
    if (e || given.minor == 0) return e;
    struct refund want = {
        .order_id = order, .amount = given, .status = REFUND_DONE, .reason = reason, .requested_by = by};
    e = refund_add(db, &want, now, ret);
    if (!e) e = timeline_refund(db, ret, TIMELINE_REFUND_DONE, (Id){0}, STR(""), now);
    return e ? e : receipt_refund_order(db, &o, given, now);
}

enum err payment_refund_order(struct db *db, Id order, Money amount, Str reason, Id by, Time now, struct refund *ret)
{
    struct payment p;
    Money left;
    bool has;
    enum err e = lock_of(db, order, &p, &has);
    if (e) return e;
    if (!has || (!p.paid_order && p.waiting.minor == 0)) return refund_here(db, order, amount, reason, by, now, ret);
    e = payment_refundable(db, &p, &left);
    if (e) return e;
    if (left.minor == 0) return ERR_INVALID_STATE;
    if (money_cmp(amount, left) > 0) return ERR_FIELD_RANGE;
    return payment_refund_request(db, &p, amount.minor ? amount : left, reason, by, now, ret);
}

/* ---- reviews ---- */

enum err payment_review_actions(struct db *db, const struct review *r, unsigned *ret)
{
    struct payment p;
    struct order o;
    Money spare;
    *ret = 1u << REVIEW_SETTLE;
    if (r->status != REVIEW_OPEN) *ret = 0;
    if (r->status != REVIEW_OPEN || !id_is(r->payment_id)) return OK;
    enum err e = payment_find(db, r->payment_id, &p);
    if (!e) e = spare_of(db, &p, &spare);
    if (e) return e;
    if (r->kind == REVIEW_REFUND_FAILED) *ret |= 1u << REVIEW_REFUND;
    if (spare.minor > 0) *ret |= 1u << REVIEW_REFUND | 1u << REVIEW_CREDIT;
    if (!id_is(p.order_id)) {
        if (spare.minor > 0) *ret |= 1u << REVIEW_CONFIRM;
        return OK;
    }
    e = order_find(db, (Id){0}, p.order_id, &o);
    if (e) return e;
    bool is_unpaid = o.status == ORDER_PENDING || o.status == ORDER_CANCELLED;
    if (is_unpaid && spare.minor > 0) *ret |= 1u << REVIEW_CONFIRM;
    if (o.status == ORDER_PENDING) *ret |= 1u << REVIEW_CANCEL;
    return OK;
}

static enum err confirm(struct db *db, struct payment *p, Time now)
{
    Money spare;
    bool changed = true;
    enum err e;
    if (id_is(p->order_id)) {
        e = payment_sell(db, p, now, &changed);
        if (!e && changed) e = spare_of(db, p, &spare);
        if (!e && changed) e = payment_book_credit(db, p, spare, STR("more was paid than was asked for"), now);
        return e ? e : changed ? OK : ERR_INVALID_STATE;
    }
    e = spare_of(db, p, &spare);
    if (!e) e = payment_mark_succeeded(db, p, now);
    if (!e) e = payment_book_credit(db, p, spare, STR(""), now);
    return e ? e : receipt_topup(db, p, now);
}

static enum err refund_or_retry(struct db *db, const struct review *r, struct payment *p, Str why, Id by, Time now)
{
    struct refund refund;
    Money ignored = {0};
    if (r->kind == REVIEW_REFUND_FAILED) return payment_refund_retry(db, r->refund_id, by, now, &refund);
    return give_spare(db, p, SPARE_REFUND, why, by, now, &ignored);
}

static enum err cancel(struct db *db, Id order, Id by, Time now)
{
    Money back;
    bool changed;
    enum err e = payment_cancel_order(db, order, SPARE_REFUND, by, now, &changed, &back);
    return e ? e : changed ? OK : ERR_INVALID_STATE;
}

/* Settled outside: the money that waits here went back another way. */
static enum err settle(struct db *db, const struct review *r, struct payment *p, Str note, Id by, Time now)
{
    struct refund refund;
    Money spare;
    enum err e = OK;
    if (r->kind == REVIEW_REFUND_FAILED) e = payment_refund_settle(db, r->refund_id, note, by, now, &refund);
    if (e && e != ERR_INVALID_STATE) return e; /* the refund may have gone through since */
    if (!id_is(p->id) || r->kind == REVIEW_DISPUTE) return OK;
    e = payment_find(db, p->id, p);
    if (!e) e = spare_of(db, p, &spare);
    if (e || spare.minor == 0) return e;
    struct refund want = {.payment_id = p->id,
                          .order_id = p->order_id,
                          .amount = spare,
                          .status = REFUND_DONE,
                          .note = note,
                          .is_outside = true,
                          .requested_by = by};
    e = refund_add(db, &want, now, &refund);
    if (!e) e = timeline_refund(db, &refund, TIMELINE_REFUND_SETTLED, by, note, now);
    p->refunded_total.minor += spare.minor;
    return e ? e : payment_book_return(db, p, now);
}

static enum err credit(struct db *db, const struct review *r, struct payment *p, Id by, Time now)
{
    Money back = {0};
    enum err e = give_spare(db, p, SPARE_CREDIT, STR(""), by, now, &back);
    if (e || r->kind != REVIEW_REFUND_FAILED) return e;
    return review_settle_refund(db, r->refund_id, STR("credited to the wallet instead"), now);
}

enum err payment_review_resolve(struct db *db, Id review, enum review_action action, Str note, Id by, Time now)
{
    struct review r;
    struct payment p = {0};
    unsigned possible;
    enum err e = review_find(db, review, &r);
    if (!e && id_is(r.payment_id)) e = payment_lock(db, r.payment_id, &p);
    if (!e) e = review_settle(db, review, str_from(review_action_names[action]), note, by, now);
    if (!e) e = payment_review_actions(db, &r, &possible);
    if (e) return e;
    if (!(possible & 1u << action)) return ERR_INVALID_STATE;
    switch (action) {
    case REVIEW_CONFIRM: return confirm(db, &p, now);
    case REVIEW_REFUND: return refund_or_retry(db, &r, &p, r.reason, by, now);
    case REVIEW_CREDIT: return credit(db, &r, &p, by, now);
    case REVIEW_CANCEL: return cancel(db, p.order_id, by, now);
    case REVIEW_SETTLE: return settle(db, &r, &p, note, by, now);
    case REVIEW_ACTION_COUNT: break;
    }
    return ERR_INVALID_STATE;
}
