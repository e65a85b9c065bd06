/* domain/payment_money.c - see payment_money.h. */
#include "domain/payment_money.h"

#include <assert.h>

#include "domain/ledger.h"
#include "domain/order.h"
#include "domain/payment_end.h"
#include "domain/review.h"
#include "domain/timeline.h"

static struct transfer transfer_of(struct db *db, const struct payment *p, enum ledger_kind kind, int64_t minor,
                                   const char *what, Time now)
{
    return (struct transfer){.kind = kind,
                             .amount = {minor},
                             .reference = p->id,
                             .description = str_printf(db_arena(db), "%s #%lld", what, (long long)p->id.v),
                             .at = now};
}

static enum err move(struct db *db, const struct payment *p, enum ledger_kind kind, Id from, Id to, int64_t minor,
                     const char *what, Time now)
{
    if (minor == 0) return OK;
    struct transfer t = transfer_of(db, p, kind, minor, what, now);
    return ledger_move(db, from, to, &t);
}

static int64_t least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

enum err payment_book_arrival(struct db *db, struct payment *p, Money total, Time now, bool *ret_changed)
{
    int64_t more = total.minor - p->received.minor;
    *ret_changed = false;
    /* Less than reported before: believed as long as the money has not been used. */
    if (more == 0 || -more > p->waiting.minor) return OK;
    enum err e = more > 0 ? move(db, p, LEDGER_RECEIVED_IN, LEDGER_CLEARING, LEDGER_RECEIVED, more, "Payment", now)
                          : move(db, p, LEDGER_RECEIVED_IN, LEDGER_RECEIVED, LEDGER_CLEARING, -more,
                                 "Correction of payment", now);
    if (e) return e;
    p->received.minor += more;
    p->waiting.minor += more;
    *ret_changed = true;
    e = payment_save(db, p);
    if (e) return e;
    return timeline_money(db, p, more > 0 ? TIMELINE_PAYMENT_RECEIVED : TIMELINE_PAYMENT_CORRECTED,
                          (Money){more > 0 ? more : -more}, p->payment_ref, now);
}

enum err payment_book_credit(struct db *db, struct payment *p, Money amount, Str why, Time now)
{
    assert(amount.minor >= 0 && amount.minor <= p->waiting.minor);
    if (amount.minor == 0) return OK;
    struct transfer t =
        transfer_of(db, p, LEDGER_TOPUP, amount.minor, id_is(p->order_id) ? "Payment credited" : "Top-up", now);
    enum err e = ledger_credit(db, p->account_id, LEDGER_RECEIVED, &t);
    if (e) return e;
    p->waiting.minor -= amount.minor;
    p->credited.minor += amount.minor;
    e = payment_save(db, p);
    return e ? e : timeline_money(db, p, TIMELINE_CREDITED, amount, why, now);
}

enum err payment_book_sale(struct db *db, struct payment *p, Money total, Time now)
{
    Money given;
    int64_t before = least(p->returned.minor, total.minor - least(p->waiting.minor, total.minor));
    enum err e =
        move(db, p, LEDGER_RETURNED, LEDGER_CLEARING, LEDGER_RECEIVED, before, "Given back before delivery", now);
    if (e) return e;
    p->waiting.minor += before;
    int64_t missing = total.minor - least(p->waiting.minor, total.minor);
    e = move(db, p, LEDGER_TOLERANCE, LEDGER_ADJUSTMENTS, LEDGER_RECEIVED, missing, "Accepted short payment", now);
    if (e) return e;
    p->waiting.minor += missing - total.minor;
    p->paid_order = true;
    e = payment_save(db, p);
    if (!e && missing) e = timeline_money(db, p, TIMELINE_SHORT_ACCEPTED, (Money){missing}, STR(""), now);
    return e || !before ? e : order_refund(db, p->order_id, (Money){before}, now, &given);
}

/* From the order: all of it when everything that arrived has gone back, including what the store had put in. */
static enum err return_sale(struct db *db, struct payment *p, bool is_all, int64_t *left, Time now)
{
    struct order o;
    Money given, target;
    enum err e = order_lock(db, p->order_id, &o);
    if (e) return e;
    target.minor = is_all ? o.total.minor : o.refunded_amount.minor + *left;
    e = order_refund(db, p->order_id, target, now, &given);
    if (e) return e;
    int64_t store = given.minor - least(given.minor, *left);
    *left -= given.minor - store;
    return move(db, p, LEDGER_TOLERANCE, LEDGER_CLEARING, LEDGER_ADJUSTMENTS, store, "Short payment given back", now);
}

enum err payment_book_return(struct db *db, struct payment *p, Time now)
{
    Money gone;
    if (!money_add(p->refunded_total, p->lost_total, &gone) || money_cmp(gone, p->received) > 0) gone = p->received;
    int64_t left = gone.minor - p->returned.minor;
    if (left <= 0) return payment_save(db, p);

    int64_t waiting = least(left, p->waiting.minor);
    enum err e = move(db, p, LEDGER_RETURNED, LEDGER_RECEIVED, LEDGER_CLEARING, waiting, "Payment given back", now);
    p->waiting.minor -= waiting;
    left -= waiting;
    if (!e && left && p->paid_order) e = return_sale(db, p, money_cmp(gone, p->received) == 0, &left, now);
    if (!e && left) {
        struct transfer t = transfer_of(db, p, LEDGER_TOPUP, left, "Top-up given back", now);
        e = ledger_recover(db, p->account_id, LEDGER_CLEARING, &t);
    }
    if (e) return e;
    p->returned = gone;
    e = payment_save(db, p);
    if (!e && waiting && !p->waiting.minor)
        e = review_settle_payment(db, p->id, REVIEW_ABOUT_MONEY, STR("the money went back"), now);
    bool is_all = money_cmp(gone, p->received) == 0;
    return e || !is_all || p->paid_order ? e : payment_order_over(db, p, now);
}

enum err payment_book_refund_failed(struct db *db, struct payment *p, Money amount, Time now)
{
    /* What a dispute has taken stays gone too. */
    int64_t refunded = p->refunded_total.minor - least(amount.minor, p->refunded_total.minor);
    int64_t back = p->returned.minor - least(p->received.minor, refunded + p->lost_total.minor);
    enum err e =
        move(db, p, LEDGER_REFUND_FAILED, LEDGER_CLEARING, LEDGER_RECEIVED, back, "Refund failed of payment", now);
    if (e) return e;
    p->returned.minor -= back;
    p->refunded_total.minor = refunded;
    p->waiting.minor += back;
    e = payment_save(db, p);
    return e || id_is(p->order_id) ? e : payment_book_credit(db, p, (Money){back}, STR(""), now);
}
