/* domain/payment_refund.c - see payment_refund.h. */
#include "domain/payment_refund.h"

#include "domain/order.h"
#include "domain/outbox.h"
#include "domain/payment_money.h"
#include "domain/receipt.h"
#include "domain/review.h"
#include "domain/timeline.h"

#define NOT_CALLED "the gateway has no API key, so nothing was called: give the money back there, then settle it here"

enum err payment_refundable(struct db *db, const struct payment *p, Money *ret)
{
    struct order o;
    Money asked, sum = p->waiting;
    enum err e = refund_sum_requested(db, p->id, &asked);
    if (!e && p->paid_order) {
        e = order_lock(db, p->order_id, &o);
        if (!e) sum.minor += o.total.minor - o.refunded_amount.minor;
    }
    if (e) return e;
    int64_t most = p->received.minor - p->returned.minor;
    if (sum.minor > most) sum.minor = most;
    sum.minor -= asked.minor;
    ret->minor = sum.minor > 0 ? sum.minor : 0;
    return OK;
}

static enum err ask_gateway(struct db *db, const struct refund *r, Time now)
{
    struct outbox_item item = {.kind = OUTBOX_REFUND, .payment = r->payment_id, .refund = r->id, .amount = r->amount};
    return outbox_add(db, &item, now, now, NULL);
}

static enum err open_review(struct db *db, const struct payment *p, const struct refund *r, Time now)
{
    Id ignored;
    struct review want = {.kind = REVIEW_REFUND_FAILED,
                          .payment_id = p->id,
                          .order_id = p->order_id,
                          .account_id = p->account_id,
                          .refund_id = r->id,
                          .amount = r->amount,
                          .currency = p->currency,
                          .reason = r->error};
    return review_open(db, &want, now, &ignored);
}

enum err payment_refund_request(struct db *db, struct payment *p, Money amount, Str reason, Id by, Time now,
                                struct refund *ret)
{
    struct gateway_config gateway;
    enum err e = gateway_config_find_id(db, p->gateway_id, &gateway);
    if (e) return e;
    bool calls = gateway.api_key.len != 0;
    struct refund want = {.payment_id = p->id,
                          .order_id = p->order_id,
                          .amount = amount,
                          .status = calls ? REFUND_REQUESTED : REFUND_FAILED,
                          .reason = reason,
                          .error = calls ? STR("") : STR(NOT_CALLED),
                          .requested_by = by};
    e = refund_add(db, &want, now, ret);
    if (e) return e;
    if (calls) return ask_gateway(db, ret, now);
    e = timeline_refund(db, ret, TIMELINE_REFUND_FAILED, (Id){0}, ret->error, now);
    return e ? e : open_review(db, p, ret, now);
}

/* The payment of a refund, locked, and the refund as it is then. */
static enum err lock(struct db *db, Id refund, struct payment *p, struct refund *r)
{
    enum err e = refund_find(db, refund, r);
    if (e) return e;
    if (!id_is(r->payment_id)) return ERR_INVALID_STATE;
    e = payment_lock(db, r->payment_id, p);
    return e ? e : refund_find(db, refund, r);
}

static enum err finish(struct db *db, struct payment *p, struct refund *r, enum timeline_kind how, Id by, Time now)
{
    r->status = REFUND_DONE;
    r->error = STR("");
    r->done_at = now;
    enum err e = refund_save(db, r);
    if (!e) e = timeline_refund(db, r, how, by, r->note, now);
    if (!e) e = review_settle_refund(db, r->id, STR("the money was given back"), now);
    return e ? e : receipt_refund(db, p, r, now);
}

enum err payment_refund_done(struct db *db, Id refund, Str refund_ref, Str claim_url, Time now)
{
    struct payment p;
    struct refund r;
    enum err e = lock(db, refund, &p, &r);
    if (e) return e;
    if (refund_ref.len) r.refund_ref = refund_ref;
    if (claim_url.len) r.claim_url = claim_url;
    if (r.status != REFUND_REQUESTED) return refund_save(db, &r); /* the gateway's event was faster */
    p.refunded_total.minor += r.amount.minor;
    e = payment_book_return(db, &p, now);
    return e ? e : finish(db, &p, &r, TIMELINE_REFUND_DONE, (Id){0}, now);
}

static enum err fail(struct db *db, const struct payment *p, struct refund *r, Str why, Time now)
{
    r->status = REFUND_FAILED;
    r->error = why;
    r->done_at = (Time){0};
    enum err e = refund_save(db, r);
    if (!e) e = timeline_refund(db, r, TIMELINE_REFUND_FAILED, (Id){0}, why, now);
    return e ? e : open_review(db, p, r, now);
}

enum err payment_refund_failed(struct db *db, Id refund, Str why, bool is_refused, Time now)
{
    struct payment p;
    struct refund r;
    enum err e = lock(db, refund, &p, &r);
    if (e || r.status != REFUND_REQUESTED) return e;
    if (is_refused)
        r.tries++; /* the next call gets a new key; an unknown outcome is asked for with the same key again */
    return fail(db, &p, &r, why, now);
}

enum err payment_refund_retry(struct db *db, Id refund, Id by, Time now, struct refund *ret)
{
    struct payment p;
    struct gateway_config gateway;
    Money left;
    enum err e = lock(db, refund, &p, ret);
    if (e) return e;
    if (ret->status != REFUND_FAILED) return ERR_INVALID_STATE;
    e = gateway_config_find_id(db, p.gateway_id, &gateway);
    if (!e) e = payment_refundable(db, &p, &left);
    if (e) return e;
    if (!gateway.api_key.len || money_cmp(ret->amount, left) > 0) return ERR_INVALID_STATE;
    ret->status = REFUND_REQUESTED;
    ret->error = STR("");
    e = refund_save(db, ret);
    if (!e) e = timeline_refund(db, ret, TIMELINE_REFUND_RETRIED, by, STR(""), now);
    if (!e) e = review_settle_refund(db, ret->id, STR("tried again"), now);
    return e ? e : ask_gateway(db, ret, now);
}

enum err payment_refund_settle(struct db *db, Id refund, Str note, Id by, Time now, struct refund *ret)
{
    struct payment p;
    Money left;
    enum err e = lock(db, refund, &p, ret);
    if (e) return e;
    if (ret->status != REFUND_FAILED) return ERR_INVALID_STATE;
    e = payment_refundable(db, &p, &left);
    if (e) return e;
    if (money_cmp(ret->amount, left) > 0) return ERR_INVALID_STATE; /* it has gone back another way in the meantime */
    ret->note = note;
    p.refunded_total.minor += ret->amount.minor;
    e = payment_book_return(db, &p, now);
    return e ? e : finish(db, &p, ret, TIMELINE_REFUND_SETTLED, by, now);
}

/* The highest total that events of this payment gave. */
static enum err highest_total(struct db *db, const struct payment *p, Money *ret)
{
    static const char find[] = "SELECT CAST(COALESCE(MAX(refunded_total), 0) AS BIGINT) FROM webhook_event"
                               " WHERE payment_id = $1 AND kind = 'refunded'";

    struct stmt *st = db_prepare(db, find);
    bind_id(st, p->id);
    *ret = db_step(st) ? col_money(st) : (Money){0};
    return db_done(st);
}

/* PayPal's total may include what it took back (EVENT_REVERSED), which is not a refund: its refunds are counted one by
 * one, each name once, and the totals only bound the sum. */
enum err payment_refund_so_far(struct db *db, const struct gateway_config *gateway, const struct payment *p,
                               const struct payment_event *e, Money *ret)
{
    Money most, sum;
    struct refund r;
    *ret = e->refunded_total;
    if (gateway->provider != PROVIDER_PAYPAL || !e->has_amount || !e->refund_ref.len) return OK;
    enum err err = highest_total(db, p, &most);
    if (err) return err;
    if (money_cmp(most, *ret) < 0) most = *ret;
    err = refund_find_ref(db, p->id, e->refund_ref, &r);
    if (err && err != ERR_NOT_FOUND) return err;
    bool is_known = !err && r.status == REFUND_DONE;
    if (!money_add(p->refunded_total, is_known ? (Money){0} : e->amount, &sum)) return OK;
    *ret = money_cmp(sum, most) < 0 ? sum : most;
    return OK;
}

/* The gateway most likely means a refund that we asked for: the one with this name, then the oldest.
 */
static enum err attribute(struct db *db, struct payment *p, int64_t *more, Str refund_ref, Time now)
{
    struct refund *all;
    size_t count;
    enum err e = refund_list_payment(db, p->id, &all, &count);
    for (int pass = 0; !e && pass < 2; pass++) {
        for (size_t i = 0; !e && i < count; i++) {
            struct refund *r = &all[i];
            bool is_named = refund_ref.len && str_eq(r->refund_ref, refund_ref);
            /* One that came back is not what another name speaks of, unless it was made again somewhere else. */
            bool is_other = r->status == REFUND_FAILED && r->refund_ref.len && refund_ref.len && !is_named;
            if ((pass == 0 && !is_named) || (is_other && r->amount.minor != *more)) continue;
            if (r->status == REFUND_DONE || r->is_outside || r->amount.minor > *more) continue;
            *more -= r->amount.minor;
            if (is_other || !r->refund_ref.len) r->refund_ref = refund_ref;
            e = finish(db, p, r, TIMELINE_REFUND_DONE, (Id){0}, now);
        }
    }
    return e;
}

enum err payment_refund_told(struct db *db, struct payment *p, Money total, Str refund_ref, Time now)
{
    if (money_cmp(total, p->received) > 0) total = p->received;
    int64_t more = total.minor - p->refunded_total.minor;
    if (more <= 0) return OK;
    p->refunded_total = total;
    enum err e = payment_book_return(db, p, now);
    if (!e) e = attribute(db, p, &more, refund_ref, now);
    if (e || more == 0) return e;
    struct refund r, outside = {.payment_id = p->id,
                                .order_id = p->order_id,
                                .amount = {more},
                                .status = REFUND_DONE,
                                .reason = STR("at the gateway"),
                                .refund_ref = refund_ref,
                                .is_outside = true};
    e = refund_add(db, &outside, now, &r);
    if (!e) e = timeline_refund(db, &r, TIMELINE_REFUND_DONE, (Id){0}, r.reason, now);
    return e ? e : receipt_refund(db, p, &r, now);
}

/* The refund that the gateway means: by its name, else the latest successful one of this amount. */
static enum err find_meant(struct db *db, const struct payment *p, Str refund_ref, bool has_amount, Money amount,
                           struct refund *ret)
{
    struct refund *all;
    size_t count;
    enum err e = refund_find_ref(db, p->id, refund_ref, ret);
    if (e != ERR_NOT_FOUND) return e;
    e = refund_list_payment(db, p->id, &all, &count);
    if (e) return e;
    for (size_t i = count; i > 0; i--) {
        struct refund *r = &all[i - 1];
        if (r->status == REFUND_FAILED || (has_amount && money_cmp(r->amount, amount) != 0)) continue;
        *ret = *r;
        return OK;
    }
    return ERR_NOT_FOUND;
}

enum err payment_refund_undone(struct db *db, struct payment *p, Str refund_ref, bool has_amount, Money amount,
                               Time now, bool *ret_known)
{
    struct refund r;
    enum err e = find_meant(db, p, refund_ref, has_amount, amount, &r);
    *ret_known = !e && r.status != REFUND_FAILED;
    if (e == ERR_NOT_FOUND) return OK;
    if (e || !*ret_known) return e;
    if (r.status == REFUND_DONE) e = payment_book_refund_failed(db, p, r.amount, now);
    if (e) return e;
    if (!r.refund_ref.len) r.refund_ref = refund_ref;
    r.tries++;
    return fail(db, p, &r, STR("the gateway says that the refund failed"), now);
}
