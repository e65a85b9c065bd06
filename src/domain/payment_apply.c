/* domain/payment_apply.c - see payment_apply.h. Everything runs with the payment's row locked, so that of any number of
 * concurrent events each sees what the ones before it did. */
#include "domain/payment_apply.h"

#include <assert.h>

#include "domain/outbox.h"
#include "domain/payment_dispute.h"
#include "domain/payment_end.h"
#include "domain/payment_match.h"
#include "domain/payment_money.h"
#include "domain/payment_refund.h"
#include "domain/payment_settle.h"
#include "domain/review.h"

struct act {
    struct db *db;
    const struct gateway_config *gateway;
    const struct payment_event *event;
    struct payment *payment; /* locked */
    Time now;
    enum webhook_status status;
    const char *reason;
    enum review_kind kind; /* WEBHOOK_REVIEW */
    Id dispute;            /* that the review is about */
};

static enum err review(struct act *a, enum review_kind kind, const char *why)
{
    a->status = WEBHOOK_REVIEW;
    a->kind = kind;
    a->reason = why;
    return OK;
}

static enum err handled(struct act *a, const char *what)
{
    a->status = WEBHOOK_HANDLED;
    a->reason = what;
    return OK;
}

/* Success. */

static enum err settle(struct act *a, bool has_news)
{
    struct settlement s;
    enum err e = payment_settle(a->db, a->gateway, a->payment, has_news, a->now, &s);
    if (e) return e;
    return s.needs_review ? review(a, s.kind, s.reason) : handled(a, s.reason);
}

/* A second payment at the gateway for a payment of ours: its money is booked as a payment of its own, which can be
 * refunded under its own name. */
static enum err second_payment(struct act *a)
{
    const struct payment_event *e = a->event;
    struct payment *p = a->payment, other, want = *p;
    bool changed;
    if (!e->has_amount || e->amount.minor <= 0 || !str_eq(e->currency, p->currency))
        return review(a, REVIEW_DUPLICATE, "not the payment that was made or has succeeded");
    want.payment_ref = e->payment_ref;
    want.amount = e->amount;
    enum err err = payment_create(a->db, &want, a->now, &other);
    if (!err) err = payment_book_arrival(a->db, &other, e->amount, a->now, &changed);
    if (!err) err = payment_mark_succeeded(a->db, &other, a->now);
    if (err) return err;
    *a->payment = other;
    return review(a, REVIEW_DUPLICATE, "not the payment that was made or has succeeded");
}

static enum err on_succeeded(struct act *a)
{
    const struct payment_event *e = a->event;
    struct payment *p = a->payment;
    bool changed, other = e->payment_ref.len && p->payment_ref.len && !str_eq(e->payment_ref, p->payment_ref);
    if (other) return second_payment(a);
    if (!str_eq(e->currency, p->currency)) return review(a, REVIEW_AMOUNT, "the currency is not the payment's");
    if (!e->has_amount) return review(a, REVIEW_AMOUNT, "the event has no amount");
    if (!p->payment_ref.len) p->payment_ref = e->payment_ref;
    if (!p->group_ref.len) p->group_ref = e->group_ref;
    enum err err = payment_book_arrival(a->db, p, e->amount, a->now, &changed);
    if (!err && !changed) err = payment_save(a->db, p);
    return err ? err : settle(a, changed);
}

/* Failure. */

static bool contradicts(Str ours, Str theirs)
{
    return ours.len && theirs.len && !str_eq(ours, theirs);
}

static bool agrees(Str ours, Str theirs)
{
    return ours.len && str_eq(ours, theirs);
}

/* Our own reference in the event is not enough: anybody's payment may carry an order's number. */
static bool is_about(const struct payment_event *e, const struct payment *p)
{
    if (contradicts(p->group_ref, e->group_ref) || contradicts(p->payment_ref, e->payment_ref)) return false;
    if (agrees(p->group_ref, e->group_ref) || agrees(p->payment_ref, e->payment_ref)) return true;
    return e->has_amount && money_cmp(e->amount, p->amount) == 0 && str_eq(e->currency, p->currency);
}

static enum err not_believed(struct act *a)
{
    a->status = WEBHOOK_IGNORED;
    a->reason = "it names neither the payment nor its amount";
    return OK;
}

static enum err on_failed(struct act *a)
{
    if (!is_about(a->event, a->payment)) return not_believed(a);
    if (a->payment->status != PAYMENT_OPEN) return handled(a, "no longer changes anything");
    handled(a, "");
    return payment_fail(a->db, a->payment, a->now);
}

static enum err on_expired(struct act *a)
{
    if (!is_about(a->event, a->payment)) return not_believed(a);
    if (time_is(a->payment->ended_at)) return handled(a, "no longer changes anything");
    handled(a, "");
    return payment_end(a->db, a->payment->id, a->now);
}

/* The rest. */

/* The customer agreed: the money must now be captured, unless the payment is no longer wanted. The call's reference
 * makes capturing twice harmless. */
static enum err on_approved(struct act *a)
{
    const struct payment *p = a->payment;
    Id waiting;
    if (p->status == PAYMENT_SUCCEEDED) return handled(a, "known already");
    if (p->status == PAYMENT_CLOSED || p->status == PAYMENT_EXPIRED)
        return handled(a, "not captured: the payment was closed");
    enum err e = outbox_find(a->db, OUTBOX_CAPTURE, p->id, &waiting);
    if (e) return e;
    handled(a, "");
    if (id_is(waiting)) return OK;
    return outbox_add(a->db, &(struct outbox_item){.kind = OUTBOX_CAPTURE, .payment = p->id}, a->now, a->now, NULL);
}

static enum err on_refunded(struct act *a)
{
    const struct payment_event *e = a->event;
    struct payment *p = a->payment;
    if (!e->has_refunded_total || !str_eq(e->currency, p->currency))
        return review(a, REVIEW_AMOUNT, "a refund without a total, or in another currency");
    if (contradicts(p->payment_ref, e->payment_ref))
        return review(a, REVIEW_DUPLICATE, "a refund of another payment than the one that succeeded");
    Money total;
    enum err err = payment_refund_so_far(a->db, a->gateway, p, e, &total);
    if (err) return err;
    handled(a, money_cmp(total, p->refunded_total) > 0 ? "" : "already given back");
    return payment_refund_told(a->db, p, total, e->refund_ref, a->now);
}

static enum err on_reversed(struct act *a)
{
    const struct payment_event *e = a->event;
    struct payment *p = a->payment;
    bool is_new;
    if (!e->has_amount || !str_eq(e->currency, p->currency))
        return review(a, REVIEW_AMOUNT, "a reversal without an amount, or in another currency");
    if (contradicts(p->payment_ref, e->payment_ref))
        return review(a, REVIEW_DUPLICATE, "a reversal of another payment than the one that succeeded");
    enum err err = payment_reverse(a->db, p, e, a->now, &is_new);
    return err ? err : handled(a, is_new ? "" : "known already");
}

static enum err on_refund_failed(struct act *a)
{
    const struct payment_event *e = a->event;
    bool known;
    enum err err = payment_refund_undone(a->db, a->payment, e->refund_ref, e->has_amount, e->amount, a->now, &known);
    return err ? err : handled(a, known ? "the refund failed" : "no refund of ours");
}

static enum err on_disputed(struct act *a)
{
    struct dispute d;
    bool is_open;
    enum err e = payment_dispute_open(a->db, a->payment, a->event, a->now, &d, &is_open);
    if (e) return e;
    if (!is_open) return handled(a, "this dispute was closed already");
    a->dispute = d.id;
    return review(a, REVIEW_DISPUTE,
                  id_is(a->payment->order_id) ? "the payment is disputed; what was delivered is on hold"
                                              : "the top-up is disputed; what it brought is frozen");
}

static enum err on_dispute_closed(struct act *a)
{
    struct dispute d;
    bool is_first, is_gone = false;
    const char *outcome = dispute_outcome_names[a->event->outcome];
    enum err e = payment_dispute_close(a->db, a->payment, a->event, a->now, &d, &is_first);
    if (!e && is_first && a->event->outcome != DISPUTE_LOST) e = payment_reversed_more(a->db, a->payment, &is_gone);
    if (e) return e;
    if (is_first && !is_gone) return handled(a, outcome);
    if (is_gone) {
        a->dispute = d.id;
        return review(a, REVIEW_DISPUTE,
                      "the dispute was not lost, but money was taken back: see whether it came again");
    }
    if (str_eq(str_from(dispute_status_names[d.status]), str_from(outcome))) return handled(a, "known already");
    a->dispute = d.id;
    return review(a, REVIEW_DISPUTE, "the dispute was decided differently before");
}

/* For events about money that has not arrived yet. */
static bool comes_too_early(const struct act *a)
{
    switch (a->event->kind) {
    case EVENT_REFUNDED:
    case EVENT_REVERSED:
    case EVENT_REFUND_FAILED:
    case EVENT_DISPUTED:
    case EVENT_DISPUTE_CLOSED: return a->payment->received.minor == 0;
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
    case EVENT_FAILED: return on_failed(a);
    case EVENT_EXPIRED: return on_expired(a);
    case EVENT_APPROVED: return on_approved(a);
    case EVENT_REFUNDED: return on_refunded(a);
    case EVENT_REVERSED: return on_reversed(a);
    case EVENT_REFUND_FAILED: return on_refund_failed(a);
    case EVENT_DISPUTED: return on_disputed(a);
    case EVENT_DISPUTE_CLOSED: return on_dispute_closed(a);
    case EVENT_PENDING: return handled(a, "not final yet");
    case EVENT_IGNORED: break;
    }
    assert(false); /* ignored events do not get here */
    return ERR_INTERNAL;
}

/* Decides without touching a payment, where possible. */
static bool decided_early(const struct gateway_config *gateway, const struct payment_event *e, struct act *a)
{
    a->status = WEBHOOK_IGNORED;
    a->reason = "";
    if (e->kind == EVENT_IGNORED) return true;
    a->reason = "test money at a live gateway";
    if (e->mode == EVENT_MODE_TEST && gateway->is_live) return true;
    review(a, REVIEW_UNMATCHED, "real money at a gateway in test mode");
    if (e->mode == EVENT_MODE_LIVE && !gateway->is_live) return true;
    review(a, REVIEW_AMOUNT, e->review);
    return e->review != NULL;
}

/* The event now fits its payment, so nobody has to look for one, whatever else needs a look. */
static enum err settle_unmatched(struct act *a, Id event)
{
    bool is_unmatched = a->status == WEBHOOK_UNMATCHED || (a->status == WEBHOOK_REVIEW && a->kind == REVIEW_UNMATCHED);
    return is_unmatched ? OK : review_settle_event(a->db, event, STR("it was matched"), a->now);
}

/* Staff are told what waits for them. */
static enum err open_review(struct act *a, Id event)
{
    const struct payment_event *e = a->event;
    const struct payment *p = a->payment;
    Id ignored;
    bool is_unmatched = a->status == WEBHOOK_UNMATCHED;
    if (!is_unmatched && a->status != WEBHOOK_REVIEW) return OK;
    struct review want = {.kind = is_unmatched ? REVIEW_UNMATCHED : a->kind,
                          .event_id = event,
                          .dispute_id = a->dispute,
                          .amount = e->has_amount ? e->amount : (Money){0},
                          .currency = e->currency,
                          .reason = str_from(a->reason),
                          .due_at = e->due_at};
    if (p && !is_unmatched) {
        want.payment_id = p->id;
        want.order_id = p->order_id;
        want.account_id = p->account_id;
    }
    return review_open(a->db, &want, a->now, &ignored);
}

/* Applies one event; its row exists already and gets the verdict. */
static enum err apply(struct db *db, const struct gateway_config *gateway, Id event, const struct payment_event *e,
                      Time now, struct payment_outcome *ret)
{
    struct act a = {.db = db, .gateway = gateway, .event = e, .now = now};
    struct payment p;
    bool clash, early = decided_early(gateway, e, &a);
    Id id;
    enum err err = payment_lock_names(db, gateway->id, e->payment_ref, e->group_ref);
    if (!err) err = payment_match(db, gateway->id, e, &id, &clash);
    if (err) return err;
    if (early) {
        /* Nothing to do. A case that the provider is unsure of opens one review per payment, however often it is
         * reported. */
        bool is_known = a.status == WEBHOOK_REVIEW && a.kind == REVIEW_AMOUNT && id_is(id) && !clash;
        if (is_known) err = payment_find(db, id, &p);
        if (err) return err;
        if (is_known) a.payment = &p;
    } else if (clash) {
        review(&a, REVIEW_UNMATCHED, "its references belong to different payments");
    } else if (!id_is(id)) {
        a.status = WEBHOOK_UNMATCHED;
        a.reason = "it fits no payment";
    } else {
        a.payment = &p;
        err = payment_lock(db, id, &p);
        if (!err) err = act_on(&a);
        if (err) return err;
        id = p.id;
    }
    err = settle_unmatched(&a, event);
    if (!err) err = webhook_event_settle(db, event, e, a.status, str_from(a.reason), id);
    if (!err) err = open_review(&a, event);
    if (!err) *ret = (struct payment_outcome){event, a.status, a.reason, id};
    return err;
}

/* The payment has been given its names: events that waited for them are applied now, in the order they arrived. */
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

static enum err apply_all(struct db *db, const struct gateway_config *gateway, Id event, const struct payment_event *e,
                          Time now, struct payment_outcome *ret)
{
    struct payment_outcome o;
    enum err err = apply(db, gateway, event, e, now, &o);
    if (!err && e->kind == EVENT_SUCCEEDED && id_is(o.payment)) err = apply_waiting(db, gateway, o.payment, now);
    if (!err) *ret = o;
    return err;
}

enum err payment_receive(struct db *db, const struct gateway_config *gateway, const struct payment_event *e, Str body,
                         Time now, struct payment_outcome *ret)
{
    Id id;
    enum err err = webhook_event_add(db, gateway->id, e, body, now, &id);
    if (err) return err;
    if (!id_is(id)) {
        *ret = (struct payment_outcome){.status = WEBHOOK_HANDLED, .reason = "a duplicate"};
        return OK;
    }
    return apply_all(db, gateway, id, e, now, ret);
}

enum err payment_replay(struct db *db, const struct gateway_config *gateway, Id event, const struct payment_event *e,
                        Time now, struct payment_outcome *ret)
{
    static const char lock[] =
        "UPDATE webhook_event SET status = status WHERE id = $1 AND status IN ('unmatched', 'review')"
        " RETURNING id";

    struct stmt *st = db_prepare(db, lock);
    bind_id(st, event);
    bool found = db_step(st);
    enum err err = db_done(st);
    if (err) return err;
    return found ? apply_all(db, gateway, event, e, now, ret) : ERR_INVALID_STATE;
}

enum err payment_set_page(struct db *db, const struct gateway_config *gateway, Id payment, Str group_ref,
                          Str payment_ref, Str url, Time expires_at, Time now)
{
    static const char set[] =
        "UPDATE payment SET group_ref = COALESCE(group_ref, $2), payment_ref = COALESCE(payment_ref, $3), url = $4,"
        " expires_at = COALESCE($5, expires_at), ends_at = COALESCE($6, ends_at) WHERE id = $1";

    struct payment p;
    enum err e = payment_lock_names(db, gateway->id, payment_ref, group_ref);
    if (!e) e = payment_lock(db, payment, &p);
    if (e) return e;
    struct stmt *st = db_prepare(db, set);
    bind_id(st, payment);
    bind_opt_text(st, group_ref);
    bind_opt_text(st, payment_ref);
    bind_text(st, url);
    bind_opt_time(st, expires_at);
    bind_opt_time(st, time_is(expires_at) ? payment_ends_at(gateway->provider, expires_at) : (Time){0});
    e = db_run(st);
    /* The customer pays on the latest page. */
    if (!e && id_is(p.order_id) && p.status == PAYMENT_OPEN) e = payment_close_others(db, &p, now);
    /* Closed while the gateway was making the payment. */
    if (!e && p.status == PAYMENT_CLOSED)
        e = outbox_add(db, &(struct outbox_item){.kind = OUTBOX_CLOSE, .payment = payment}, now, now, NULL);
    return e ? e : apply_waiting(db, gateway, payment, now);
}
