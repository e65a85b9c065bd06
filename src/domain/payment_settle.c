/* domain/payment_settle.c - see payment_settle.h. */
#include "domain/payment_settle.h"

#include "domain/order.h"
#include "domain/payment_end.h"
#include "domain/payment_money.h"
#include "domain/payment_refund.h"
#include "domain/receipt.h"
#include "domain/timeline.h"
#include "page/words.h"

struct settling {
    struct db *db;
    const struct gateway_config *gateway;
    struct payment *payment;
    struct order order; /* locked; of a top-up: empty */
    Money free;         /* waits, and is not being given back */
    bool has_news;
    Time now;
    struct settlement *ret;
};

static enum err review(struct settling *s, enum review_kind kind, const char *reason)
{
    *s->ret = (struct settlement){.needs_review = true, .kind = kind, .reason = reason};
    return OK;
}

static enum err done(struct settling *s, const char *what)
{
    *s->ret = (struct settlement){.reason = what};
    return OK;
}

enum err payment_mark_succeeded(struct db *db, struct payment *p, Time now)
{
    p->status = PAYMENT_SUCCEEDED;
    if (!time_is(p->succeeded_at)) p->succeeded_at = now;
    bool ends = !time_is(p->ended_at);
    if (ends) p->ended_at = now;
    enum err e = payment_save(db, p);
    /* Of an order that was cancelled and cannot be delivered now: the money is left to a person, the coupon to others.
     */
    return e || !ends || !id_is(p->order_id) ? e : order_release_coupon(db, p->order_id, now);
}

enum err payment_sell(struct db *db, struct payment *p, Time now, bool *ret_changed)
{
    struct order o;
    enum err e = order_lock(db, p->order_id, &o);
    if (!e) e = order_confirm(db, p->order_id, p->gateway_label, now, ret_changed);
    if (e || !*ret_changed) return e;
    e = payment_book_sale(db, p, o.total, now);
    if (!e) e = payment_mark_succeeded(db, p, now);
    if (!e) e = payment_close_others(db, p, now);
    if (!e) e = review_settle_payment(db, p->id, REVIEW_ABOUT_MONEY, STR("the order was confirmed"), now);
    return e ? e : receipt_order(db, p->order_id, now);
}

/* The money is not used for its order. */
static enum err turn_away(struct settling *s, enum payment_policy how, Money amount, enum word why)
{
    struct payment *p = s->payment;
    struct refund r;
    Str reason = words_text(LANG_en, why);
    bool credits = how == POLICY_CREDIT || !s->gateway->api_key.len;
    enum err e = payment_mark_succeeded(s->db, p, s->now);
    if (!e)
        e = credits ? payment_book_credit(s->db, p, amount, reason, s->now)
                    : payment_refund_request(s->db, p, amount, reason, (Id){0}, s->now, &r);
    if (!e) e = review_settle_payment(s->db, p->id, REVIEW_ABOUT_MONEY, reason, s->now);
    if (!e) e = receipt_trouble(s->db, p, amount, why, credits, s->now);
    return e;
}

/* All of it: nobody is waiting for the order now. */
static enum err turn_all_away(struct settling *s, enum payment_policy how, enum review_kind kind, enum word why)
{
    bool changed;
    const char *reason = words_text(LANG_en, why).ptr; /* of the tables: it ends with a NUL */
    if (how == POLICY_REVIEW) return review(s, kind, reason);
    enum err e = turn_away(s, how, s->free, why);
    if (!e && id_is(s->order.id) && s->order.status == ORDER_PENDING)
        e = order_cancel(s->db, s->order.id, (Id){0}, s->now, &changed);
    return e ? e : done(s, reason);
}

static bool within_tolerance(const struct settling *s, int64_t off)
{
    Money allowed;
    if (!money_percent(s->payment->amount, s->gateway->tolerance, &allowed)) return false;
    return (off < 0 ? -off : off) <= allowed.minor;
}

/* What is left over after the order: credited or given back. */
static enum err over(struct settling *s)
{
    Money rest = s->payment->waiting;
    if (rest.minor == 0) return OK;
    return turn_away(s, s->gateway->overpaid == POLICY_REFUND ? POLICY_REFUND : POLICY_CREDIT, rest, WORD_trouble_over);
}

static enum err sell(struct settling *s, bool is_late)
{
    bool changed;
    struct payment *p = s->payment;
    enum err e = payment_sell(s->db, p, s->now, &changed);
    if (e == ERR_OUT_OF_STOCK) {
        e = payment_mark_succeeded(s->db, p, s->now);
        return e ? e : review(s, REVIEW_STOCK, "paid, but it cannot be delivered: out of stock");
    }
    if (!e && is_late) e = timeline_payment(s->db, p, TIMELINE_LATE_ACCEPTED, s->now);
    if (!e) e = over(s);
    return e ? e : done(s, "");
}

static enum err settle_order(struct settling *s)
{
    const struct gateway_config *g = s->gateway;
    const struct payment *p = s->payment;
    bool released;
    enum err e = coupon_is_released(s->db, s->order.id, &released);
    if (e) return e;
    if (released) return review(s, REVIEW_LATE, "paid after the coupon of the order was given back");
    bool is_late = s->order.status == ORDER_CANCELLED || p->status == PAYMENT_EXPIRED || p->status == PAYMENT_CLOSED;
    if (is_late && g->late != POLICY_ACCEPT) return turn_all_away(s, g->late, REVIEW_LATE, WORD_trouble_late);
    /* What was paid and has gone back since is a refund of the order, not too little. */
    int64_t off = s->free.minor + p->returned.minor - s->order.total.minor;
    if (off != 0 && !within_tolerance(s, off)) {
        if (off < 0) return turn_all_away(s, g->underpaid, REVIEW_AMOUNT, WORD_trouble_under);
        if (g->overpaid == POLICY_REVIEW) return review(s, REVIEW_AMOUNT, "more was paid than was asked for");
    }
    return sell(s, is_late);
}

/* The order is already paid: with this payment, which has brought more since; with another; or another way. */
static enum err settle_paid(struct settling *s)
{
    struct payment *p = s->payment;
    struct payment other;
    if (!s->has_news) return done(s, "known already");
    if (p->paid_order) return turn_all_away(s, s->gateway->overpaid, REVIEW_AMOUNT, WORD_trouble_more);
    enum err e = payment_mark_succeeded(s->db, p, s->now);
    if (!e) e = payment_find_paying(s->db, p->order_id, &other);
    if (!e) return turn_all_away(s, POLICY_REFUND, REVIEW_DUPLICATE, WORD_trouble_twice);
    if (e != ERR_NOT_FOUND) return e;
    return review(s, REVIEW_DUPLICATE, "paid, although the order was confirmed another way");
}

static enum err settle_topup(struct settling *s)
{
    const struct gateway_config *g = s->gateway;
    struct payment *p = s->payment;
    int64_t off = s->free.minor + p->credited.minor - p->amount.minor;
    if (off != 0 && !within_tolerance(s, off)) {
        enum payment_policy how = off < 0 ? g->underpaid : g->overpaid;
        enum word why = off < 0 ? WORD_trouble_under : WORD_trouble_over;
        return turn_all_away(s, how, REVIEW_AMOUNT, why);
    }
    enum err e = payment_mark_succeeded(s->db, p, s->now);
    if (!e) e = payment_book_credit(s->db, p, s->free, STR(""), s->now);
    if (!e) e = review_settle_payment(s->db, p->id, REVIEW_ABOUT_MONEY, STR("it was credited"), s->now);
    if (!e) e = receipt_topup(s->db, p, s->now);
    return e ? e : done(s, "");
}

enum err payment_settle(struct db *db, const struct gateway_config *gateway, struct payment *p, bool has_news, Time now,
                        struct settlement *ret)
{
    struct settling s = {.db = db, .gateway = gateway, .payment = p, .has_news = has_news, .now = now, .ret = ret};
    Money asked;
    enum err e = refund_sum_requested(db, p->id, &asked);
    if (!e && id_is(p->order_id)) e = order_lock(db, p->order_id, &s.order);
    if (e) return e;
    s.free.minor = p->waiting.minor - asked.minor;
    if (s.free.minor <= 0) return done(&s, "known already");
    if (!id_is(p->order_id)) return settle_topup(&s);
    bool is_paid = s.order.status == ORDER_CONFIRMED || s.order.status == ORDER_REFUNDED;
    return is_paid ? settle_paid(&s) : settle_order(&s);
}
