/* domain/payment_apply.c - see payment_apply.h. Everything runs with the payment's row locked, so that of any number of
 * concurrent events each sees what the ones before it did. */
#include "domain/payment_apply.h"

#include <assert.h>

#include "domain/ledger.h"
#include "domain/notification.h"
#include "domain/order.h"
#include "domain/outbox.h"
#include "domain/receipt.h"

struct act {
    struct db *db;
    const struct gateway_config *gateway;
    const struct payment_event *event;
    struct payment *payment; /* locked */
    Time now;
    enum webhook_status status;
    const char *reason;
};

static enum err review(struct act *a, const char *why)
{
    a->status = WEBHOOK_REVIEW;
    a->reason = why;
    return OK;
}

static enum err handled(struct act *a, const char *what)
{
    a->status = WEBHOOK_HANDLED;
    a->reason = what;
    return OK;
}

/* Which payment? */

static enum err find_by(struct db *db, const char *sql, Id gateway, Str ref, Id *ret)
{
    *ret = (Id){0};
    if (!ref.len) return OK;
    struct stmt *st = db_prepare(db, sql);
    bind_id(st, gateway);
    bind_text(st, ref);
    if (db_step(st)) *ret = col_id(st);
    return db_done(st);
}

static enum err find_by_order_ref(struct db *db, Id gateway, Str ref, Id *ret)
{
    static const char by_order[] = "SELECT id FROM payment WHERE gateway_id = $1 AND order_id = $2";
    static const char by_id[] = "SELECT id FROM payment WHERE gateway_id = $1 AND id = $2 AND order_id IS NULL";

    bool is_topup;
    Id id;
    *ret = (Id){0};
    if (!ref.len || !payment_order_ref_parse(ref, &is_topup, &id)) return OK;
    struct stmt *st = db_prepare(db, is_topup ? by_id : by_order);
    bind_id(st, gateway);
    bind_id(st, id);
    if (db_step(st)) *ret = col_id(st);
    return db_done(st);
}

/* *ret is 0 when there is none; *ret_clash when the event's names are those of different payments. */
static enum err match(struct db *db, Id gateway, const struct payment_event *e, Id *ret, bool *ret_clash)
{
    static const char by_payment[] = "SELECT id FROM payment WHERE gateway_id = $1 AND payment_ref = $2";
    static const char by_group[] = "SELECT id FROM payment WHERE gateway_id = $1 AND group_ref = $2";

    Id found[3], first = {0};
    enum err err = find_by(db, by_payment, gateway, e->payment_ref, &found[0]);
    if (!err) err = find_by(db, by_group, gateway, e->group_ref, &found[1]);
    if (!err) err = find_by_order_ref(db, gateway, e->order_ref, &found[2]);
    if (err) return err;
    *ret_clash = false;
    for (size_t i = 0; i < 3; i++) {
        if (!id_is(found[i])) continue;
        if (id_is(first) && !id_eq(first, found[i])) *ret_clash = true;
        if (!id_is(first)) first = found[i];
    }
    *ret = first;
    return OK;
}

/* Refunds. */

static enum err refund_topup(struct act *a)
{
    struct payment *p = a->payment;
    struct transfer t = {.kind = LEDGER_TOPUP,
                         .amount = {p->refunded_total.minor - p->refunded_booked.minor},
                         .reference = p->id,
                         .description = str_printf(db_arena(a->db), "Top-up #%lld given back", (long long)p->id.v),
                         .at = a->now};
    if (t.amount.minor == 0) return OK;
    enum err e = ledger_debit(a->db, p->account_id, LEDGER_CLEARING, &t, false);
    if (e == ERR_EXCEEDS_BALANCE) return review(a, "refunded at the gateway, but the wallet's money is spent");
    return e;
}

static enum err refund_order(struct act *a)
{
    const struct payment *p = a->payment;
    struct order o;
    Money given;
    bool changed;
    enum err e = order_find(a->db, (Id){0}, p->order_id, &o);
    if (e) return e;
    bool is_full = money_cmp(p->refunded_total, p->amount) == 0;
    if (o.status == ORDER_PENDING || o.status == ORDER_CANCELLED) /* paid, but could not be delivered */
        return is_full ? order_cancel(a->db, p->order_id, a->now, &changed) : OK;
    if (!str_eq(o.paid_with, a->gateway->label))
        return review(a, "refunded at the gateway, but the order was paid otherwise");
    return order_refund(a->db, p->order_id, p->refunded_total, a->now, &given);
}

/* The gateway has given back this much in all: so do we, as far as that has not been done. */
static enum err refund_until(struct act *a, Money total)
{
    struct payment *p = a->payment;
    if (money_cmp(total, p->amount) > 0) total = p->amount;
    if (money_cmp(total, p->refunded_booked) <= 0) return handled(a, "given back already");
    if (money_cmp(total, p->refunded_total) > 0) p->refunded_total = total;
    handled(a, "");
    enum err e = id_is(p->order_id) ? refund_order(a) : refund_topup(a);
    if (e) return e;
    if (a->status != WEBHOOK_REVIEW) p->refunded_booked = p->refunded_total;
    if (money_cmp(p->refunded_total, p->amount) == 0) p->status = PAYMENT_REFUNDED;
    return payment_set_refunded(a->db, p);
}

static enum err on_refunded(struct act *a)
{
    const struct payment_event *e = a->event;
    const struct payment *p = a->payment;
    if (!e->has_refunded_total || !str_eq(e->currency, p->currency))
        return review(a, "a refund without a total, or in another currency");
    if (e->payment_ref.len && p->payment_ref.len && !str_eq(e->payment_ref, p->payment_ref))
        return review(a, "a refund of another payment than the one that succeeded");
    return refund_until(a, e->refunded_total);
}

/* Success. */

static enum err mark_succeeded(struct act *a)
{
    static const char mark[] =
        "UPDATE payment SET status = 'succeeded', succeeded_at = $2,"
        " payment_ref = COALESCE(payment_ref, $3), group_ref = COALESCE(group_ref, $4) WHERE id = $1";

    struct payment *p = a->payment;
    const struct payment_event *e = a->event;
    struct stmt *st = db_prepare(a->db, mark);
    bind_id(st, p->id);
    bind_time(st, a->now);
    bind_opt_text(st, e->payment_ref);
    bind_opt_text(st, e->group_ref);
    p->status = PAYMENT_SUCCEEDED;
    p->succeeded_at = a->now;
    if (!p->payment_ref.len) p->payment_ref = e->payment_ref;
    if (!p->group_ref.len) p->group_ref = e->group_ref;
    return db_run(st);
}

static enum err book_topup(struct act *a)
{
    const struct payment *p = a->payment;
    struct transfer t = {.kind = LEDGER_TOPUP,
                         .amount = p->amount,
                         .reference = p->id,
                         .description = str_printf(db_arena(a->db), "Top-up #%lld", (long long)p->id.v),
                         .at = a->now};
    enum err e = ledger_credit(a->db, p->account_id, LEDGER_CLEARING, &t);
    return e ? e : receipt_topup(a->db, p, a->now);
}

static enum err book_order(struct act *a)
{
    const struct payment *p = a->payment;
    bool changed = false;
    enum err e = order_confirm(a->db, p->order_id, a->gateway->label, a->now, &changed);
    if (e == ERR_OUT_OF_STOCK) return review(a, "paid, but it cannot be delivered: out of stock");
    if (e == ERR_INVALID_STATE) return review(a, "paid, but the order was refunded already");
    if (e) return e;
    if (!changed) return review(a, "paid, although the order was confirmed otherwise");
    return receipt_order(a->db, p->order_id, a->now);
}

static enum err on_succeeded(struct act *a)
{
    const struct payment_event *e = a->event;
    struct payment *p = a->payment;
    bool other = e->payment_ref.len && p->payment_ref.len && !str_eq(e->payment_ref, p->payment_ref);
    if (other) return review(a, "another payment than the one that was made or has succeeded");
    if (p->status == PAYMENT_SUCCEEDED || p->status == PAYMENT_REFUNDED) return handled(a, "known already");
    if (!e->has_amount || money_cmp(e->amount, p->amount) != 0) return review(a, "the amount is not the payment's");
    if (!str_eq(e->currency, p->currency)) return review(a, "the currency is not the payment's");

    handled(a, "");
    enum err err = mark_succeeded(a);
    if (err) return err;
    return id_is(p->order_id) ? book_order(a) : book_topup(a);
}

/* The rest. */

static enum err set_failed(struct db *db, Id payment)
{
    static const char fail[] = "UPDATE payment SET status = 'failed' WHERE id = $1 AND status = 'pending'";

    struct stmt *st = db_prepare(db, fail);
    bind_id(st, payment);
    return db_run(st);
}

/* A failure never undoes a confirmation, also not one by hand. */
static enum err cancel_order(struct db *db, Id order, Time now)
{
    bool changed;
    enum err e = id_is(order) ? order_cancel(db, order, now, &changed) : OK;
    return e == ERR_INVALID_STATE ? OK : e;
}

static enum err on_failed(struct act *a)
{
    const struct payment *p = a->payment;
    if (p->status != PAYMENT_PENDING) return handled(a, "changes nothing any more");
    handled(a, "");
    enum err e = set_failed(a->db, p->id);
    return e ? e : cancel_order(a->db, p->order_id, a->now);
}

/* The customer agreed: the money is still to be taken. The reference of the call makes taking it twice harmless. */
static enum err on_approved(struct act *a)
{
    const struct payment *p = a->payment;
    Id waiting;
    if (p->status == PAYMENT_SUCCEEDED || p->status == PAYMENT_REFUNDED) return handled(a, "known already");
    enum err e = outbox_find(a->db, OUTBOX_CAPTURE, p->id, &waiting);
    if (e) return e;
    handled(a, "");
    if (id_is(waiting)) return OK;
    return outbox_add(a->db, &(struct outbox_item){.kind = OUTBOX_CAPTURE, .payment = p->id}, a->now, a->now, NULL);
}

static enum err set_disputed(struct act *a, bool disputed)
{
    static const char set[] = "UPDATE payment SET is_disputed = $2 WHERE id = $1";

    struct payment *p = a->payment;
    struct stmt *st = db_prepare(a->db, set);
    bind_id(st, p->id);
    bind_bool(st, disputed);
    enum err e = db_run(st);
    p->is_disputed = disputed;
    return e || !id_is(p->order_id) ? e : order_set_hold(a->db, p->order_id, disputed);
}

static enum err on_disputed(struct act *a)
{
    bool closed;
    enum err e = webhook_event_dispute_is_closed(a->db, a->gateway->id, a->event->refund_ref, &closed);
    if (e) return e;
    if (closed) return handled(a, "this dispute was closed already");
    review(a, "the payment is disputed; what was delivered is on hold");
    return set_disputed(a, true);
}

/* Lost: the provider has taken the disputed amount back. */
static enum err on_dispute_closed(struct act *a)
{
    const struct payment_event *event = a->event;
    const struct payment *p = a->payment;
    handled(a, dispute_outcome_names[event->outcome]);
    enum err e = set_disputed(a, false);
    if (e || event->outcome != DISPUTE_LOST) return e;
    bool says = event->has_amount && str_eq(event->currency, p->currency);
    Money lost = says ? event->amount : p->amount, total;
    if (!money_add(p->refunded_total, lost, &total)) total = p->amount;
    return refund_until(a, total);
}

/* About money that we have not seen yet. */
static bool comes_too_early(const struct act *a)
{
    switch (a->event->kind) {
    case EVENT_REFUNDED:
    case EVENT_REFUND_FAILED:
    case EVENT_DISPUTED:
    case EVENT_DISPUTE_CLOSED: return a->payment->status == PAYMENT_PENDING || a->payment->status == PAYMENT_FAILED;
    default: return false;
    }
}

static enum err act_on(struct act *a)
{
    if (comes_too_early(a)) {
        a->status = WEBHOOK_UNMATCHED;
        a->reason = "kept until its payment succeeds";
        return OK;
    }
    switch (a->event->kind) {
    case EVENT_SUCCEEDED: return on_succeeded(a);
    case EVENT_FAILED:
    case EVENT_EXPIRED: return on_failed(a);
    case EVENT_APPROVED: return on_approved(a);
    case EVENT_REFUNDED: return on_refunded(a);
    case EVENT_REFUND_FAILED: return review(a, "a refund failed at the gateway");
    case EVENT_DISPUTED: return on_disputed(a);
    case EVENT_DISPUTE_CLOSED: return on_dispute_closed(a);
    case EVENT_PENDING: return handled(a, "not final yet");
    case EVENT_IGNORED: break;
    }
    assert(false && "ignored events do not get here");
    return ERR_INTERNAL;
}

/* Staff see what needs them in their list of notifications. */
static enum err tell_staff(struct db *db, Id event, const char *why, Time now)
{
    struct notification n = {
        .kind = STR("payment_review"),
        .message = str_printf(db_arena(db), "Payment event #%lld: %s.", (long long)event.v, why),
        .reference = event,
    };
    return notification_add_staff(db, &n, now);
}

/* Decides without touching a payment where that can be done. */
static bool decided_early(const struct gateway_config *gateway, const struct payment_event *e,
                          struct payment_outcome *o)
{
    o->status = WEBHOOK_IGNORED;
    o->reason = "";
    if (e->kind == EVENT_IGNORED) return true;
    o->reason = "test money at a live gateway";
    if (e->mode == EVENT_MODE_TEST && gateway->is_live) return true;
    o->status = WEBHOOK_REVIEW;
    o->reason = "real money at a gateway in test mode";
    if (e->mode == EVENT_MODE_LIVE && !gateway->is_live) return true;
    o->reason = e->review;
    return e->review != NULL;
}

/* What one event does; its row is there, and gets its verdict. */
static enum err apply(struct db *db, const struct gateway_config *gateway, Id event, const struct payment_event *e,
                      Time now, struct payment_outcome *ret)
{
    struct payment_outcome o = {.event = event};
    struct payment p;
    bool clash, early = decided_early(gateway, e, &o);
    enum err err = match(db, gateway->id, e, &o.payment, &clash);
    if (err) return err;
    if (early) {
        /* nothing to do */
    } else if (clash) {
        o.status = WEBHOOK_REVIEW;
        o.reason = "its references belong to different payments";
    } else if (!id_is(o.payment)) {
        o.status = WEBHOOK_UNMATCHED;
        o.reason = "it fits no payment";
    } else {
        err = payment_lock(db, o.payment, &p);
        struct act a = {.db = db, .gateway = gateway, .event = e, .payment = &p, .now = now};
        if (!err) err = act_on(&a);
        if (err) return err;
        o.status = a.status;
        o.reason = a.reason;
    }
    err = webhook_event_settle(db, event, e, o.status, str_from(o.reason), o.payment);
    if (!err && o.status == WEBHOOK_REVIEW) err = tell_staff(db, event, o.reason, now);
    if (!err) *ret = o;
    return err;
}

/* The payment has got names: events that were waiting for them can be acted on now, in the order in which they came. */
static enum err apply_waiting(struct db *db, const struct gateway_config *gateway, Id payment, Time now)
{
    struct payment p;
    struct webhook_event *waiting;
    size_t count;
    enum err e = payment_find(db, payment, &p);
    if (e) return e;
    struct payment_event names = {
        .payment_ref = p.payment_ref, .group_ref = p.group_ref, .order_ref = payment_order_ref(db_arena(db), &p)};
    e = webhook_event_unmatched(db, gateway->id, &names, &waiting, &count);
    for (size_t i = 0; !e && i < count; i++) {
        struct payment_outcome ignored;
        e = apply(db, gateway, waiting[i].id, &waiting[i].event, now, &ignored);
    }
    return e;
}

enum err payment_receive(struct db *db, const struct gateway_config *gateway, const struct payment_event *e, Str body,
                         Time now, struct payment_outcome *ret)
{
    struct payment_outcome o;
    Id id;
    enum err err = webhook_event_add(db, gateway->id, e, body, now, &id);
    if (err) return err;
    if (!id_is(id)) {
        *ret = (struct payment_outcome){.status = WEBHOOK_HANDLED, .reason = "a duplicate"};
        return OK;
    }
    err = apply(db, gateway, id, e, now, &o);
    if (!err && e->kind == EVENT_SUCCEEDED && id_is(o.payment)) err = apply_waiting(db, gateway, o.payment, now);
    if (!err) *ret = o;
    return err;
}

enum err payment_replay(struct db *db, const struct gateway_config *gateway, Id event, const struct payment_event *e,
                        Time now, struct payment_outcome *ret)
{
    static const char lock[] =
        "UPDATE webhook_event SET status = status WHERE id = $1 AND status IN ('unmatched', 'review')"
        " RETURNING id";

    struct payment_outcome o;
    struct stmt *st = db_prepare(db, lock);
    bind_id(st, event);
    bool found = db_step(st);
    enum err err = db_done(st);
    if (err) return err;
    if (!found) return ERR_INVALID_STATE;
    err = apply(db, gateway, event, e, now, &o);
    if (!err && e->kind == EVENT_SUCCEEDED && id_is(o.payment)) err = apply_waiting(db, gateway, o.payment, now);
    if (!err) *ret = o;
    return err;
}

#define FIRST_ASK_MS (5 * TIME_MINUTE)

enum err payment_set_page(struct db *db, const struct gateway_config *gateway, Id payment, Str group_ref,
                          Str payment_ref, Str url, Time expires_at, Time now)
{
    static const char set[] =
        "UPDATE payment SET group_ref = COALESCE(group_ref, $2), payment_ref = COALESCE(payment_ref, $3), url = $4,"
        " expires_at = COALESCE($5, expires_at) WHERE id = $1";

    struct payment p;
    Id asking;
    enum err e = payment_lock(db, payment, &p);
    if (e) return e;
    struct stmt *st = db_prepare(db, set);
    bind_id(st, payment);
    bind_opt_text(st, group_ref);
    bind_opt_text(st, payment_ref);
    bind_text(st, url);
    bind_opt_time(st, expires_at);
    e = db_run(st);
    if (!e) e = outbox_find(db, OUTBOX_ASK, payment, &asking);
    if (!e && !id_is(asking))
        e = outbox_add(db, &(struct outbox_item){.kind = OUTBOX_ASK, .payment = payment}, time_add(now, FIRST_ASK_MS),
                       now, NULL);
    return e ? e : apply_waiting(db, gateway, payment, now);
}

enum err payment_give_up(struct db *db, Id payment, Time now)
{
    struct payment p;
    enum err e = payment_lock(db, payment, &p);
    if (e || p.status != PAYMENT_PENDING) return e;
    e = set_failed(db, payment);
    return e ? e : cancel_order(db, p.order_id, now);
}
