/* outbox/payment_errand.c - the errands of payments: make one at its gateway, capture it, refund it, ask what became of
 * it. */
#include "domain/account.h"
#include "domain/notification.h"
#include "domain/payment_apply.h"
#include "domain/payment_end.h"
#include "domain/payment_refund.h"
#include "outbox/errand.h"

#define KEY_MARGIN_MS TIME_HOUR /* clocks differ, and a call takes its time */
#define SILENCE_DAYS 7          /* how long a gateway that does not answer keeps a payment from ending */
#define SILENT_ASKS 10          /* and how many times it must have been asked: the server may have been down */

static enum err read_payment(struct errand *x, struct db *db)
{
    struct account account = {0};
    enum err e = payment_find(db, x->item->payment, &x->payment);
    if (!e) e = gateway_config_find_id(db, x->payment.gateway_id, &x->gateway);
    if (!e) e = settings_load(db, &x->settings);
    if (!e) e = account_find(db, x->payment.account_id, &account);
    if (!e) x->email = account.email;
    return e;
}

struct pay_request pay_request_of(struct arena *a, const struct payment *p, const char *store_name, Str email,
                                  const char *base_url, Time now)
{
    struct pay_request r = {
        .reference = p->reference,
        .order_ref = payment_order_ref(a, p),
        .description = payment_description(a, p, store_name),
        .amount = p->amount,
        .currency = p->currency,
        .email = email,
        .success_url = p->success_url,
        .cancel_url = p->cancel_url,
        .now = now,
        .expires_at = p->expires_at,
    };
    /* Some providers insist on an address to go back to. */
    if (!r.success_url.len) r.success_url = str_printf(a, "%s/", base_url);
    return r;
}

static bool is_open(const struct payment *p)
{
    return p->status == PAYMENT_OPEN || p->status == PAYMENT_FAILED;
}

static enum err mail_staff(struct errand *x, struct db *db)
{
    struct mail_draft m;
    if (!mail_is_enabled()) return OK;
    enum err e = mail_begin_staff(db, MAIL_staff_gateway_failed, &m);
    if (e) return e;
    m.values.of[PARAM_what] = mail_what(&m, x->payment.order_id, x->payment.id);
    m.values.of[PARAM_gateway] = x->gateway.label;
    m.values.of[PARAM_reason] = str_from(x->error);
    m.values.of[PARAM_link] = mail_address(&m, "/admin/#/outbox");
    return mail_queue(db, &m, x->now);
}

/* A refund that failed waits on the review desk, which has written already. */
static enum err give_up(struct errand *x, struct db *db, const char *what)
{
    struct notification n = {
        .kind = STR("gateway_failed"),
        .message = str_printf(db_arena(db), "%s of payment #%lld at %.*s failed: %s.", what, (long long)x->payment.id.v,
                              STR_FMT(x->gateway.label), x->error),
        .reference = x->payment.id,
    };
    enum err e = notification_add_staff(db, &n, x->now);
    if (!e && x->item->kind != OUTBOX_REFUND) e = mail_staff(x, db);
    return e ? e : errand_fail(x, db);
}

static void run(struct errand *x)
{
    if (x->is_settled) return;
    x->op.in_background = true;
    x->reply = link_run(x->options->link, &x->gateway, &x->op, x->arena);
    x->error = x->op.failure ? x->op.failure : "";
}

/* The gateway's answer to a question counts like an event, once. */
static enum err apply(struct errand *x, struct db *db)
{
    struct payment_event e = x->op.event;
    struct payment_outcome outcome;
    e.event_id = str_printf(db_arena(db), "%s-%lld-%s-%lld", outbox_kind_names[x->item->kind],
                            (long long)x->payment.id.v, payment_event_kind_names[e.kind], (long long)e.amount.minor);
    return payment_receive(db, &x->gateway, &e, x->op.body, x->now, &outcome);
}

static void create(struct errand *x)
{
    const struct payment *p = &x->payment;
    x->is_settled = p->status != PAYMENT_OPEN || p->url.len;
    x->op = (struct gateway_op){.kind = OP_CREATE, .may_exist = true, .stored = x->item->payload};
    x->op.pay = pay_request_of(x->arena, p, x->settings.store_name, x->email, x->options->shop_url, x->now);
    run(x);
}

static enum err record_create(struct errand *x, struct db *db)
{
    enum err e = OK;
    if (x->reply == REPLY_OK) {
        const struct pay_page *page = &x->op.page;
        e = payment_set_page(db, &x->gateway, x->payment.id, page->group_ref, page->payment_ref, page->url,
                             page->expires_at, x->now);
        return e ? e : outbox_done(db, x->item->id, x->now);
    }
    struct payment now;
    e = payment_find(db, x->payment.id, &now);
    if (e) return e;
    if (now.url.len) return outbox_done(db, x->item->id, x->now); /* another attempt has made the payment */
    bool too_late = time_is(x->payment.expires_at) && x->now.ms > x->payment.expires_at.ms;
    if (x->reply != REPLY_REFUSED && !too_late && errand_again(x, db, &e)) return e;
    e = payment_give_up(db, x->payment.id, x->now);
    return e ? e : give_up(x, db, "Creation");
}

static void capture(struct errand *x)
{
    const struct payment *p = &x->payment;
    x->is_settled = !is_open(p);
    x->op = (struct gateway_op){.kind = OP_CAPTURE, .group_ref = p->group_ref};
    /* The same for every attempt of this errand; after a decline the customer agrees again, which is another errand. */
    x->op.reference = str_printf(x->arena, "%.*s-%lld", STR_FMT(p->reference), (long long)x->item->id.v);
    run(x);
}

/* A refused capture may have been made already, or the card was declined: the gateway is asked which. */
static enum err record_capture(struct errand *x, struct db *db)
{
    enum err e = OK;
    if (x->reply == REPLY_OK) {
        e = apply(x, db);
        return e ? e : outbox_done(db, x->item->id, x->now);
    }
    if (x->reply != REPLY_REFUSED && errand_again(x, db, &e)) return e;
    e = outbox_add(db, &(struct outbox_item){.kind = OUTBOX_ASK, .payment = x->payment.id}, x->now, x->now, NULL);
    if (e) return e;
    return x->reply == REPLY_REFUSED ? outbox_fail(db, x->item->id, str_from(x->error), x->now)
                                     : give_up(x, db, "Capture");
}

static enum err read_refund(struct errand *x, struct db *db)
{
    enum err e = read_payment(x, db);
    return e ? e : refund_find(db, x->item->refund, &x->refund);
}

/* The same for every attempt; a new one when staff try again after the gateway has refused. */
static Str refund_key(struct errand *x)
{
    const struct refund *r = &x->refund;
    Str key = str_printf(x->arena, "%.*s-r%lld", STR_FMT(x->payment.reference), (long long)r->id.v);
    return r->tries ? str_printf(x->arena, "%.*s-%lld", STR_FMT(key), (long long)r->tries) : key;
}

static void refund(struct errand *x)
{
    const struct payment *p = &x->payment;
    int64_t key_ms = gateway_of(x->gateway.provider)->refund_key_ms;
    x->is_settled = x->refund.status != REFUND_REQUESTED;
    x->op.kind = OP_REFUND;
    /* Where the provider does not recognise a repeated refund, or no longer does, we look for an earlier one before
     * asking again. */
    x->op.may_exist = x->item->attempts > 1 && time_since(x->item->created_at, x->now) >= key_ms - KEY_MARGIN_MS;
    x->op.refund = (struct refund_request){
        .reference = refund_key(x),
        .payment_ref = p->payment_ref,
        .group_ref = p->group_ref,
        .amount = x->item->amount,
        .paid = p->received,
        .currency = p->currency,
    };
    run(x);
}

static enum err record_refund(struct errand *x, struct db *db)
{
    enum err e = OK;
    Id id = x->refund.id;
    if (x->reply == REPLY_OK) {
        e = payment_refund_done(db, id, x->op.refunded.refund_ref, x->op.refunded.url, x->now);
        return e ? e : outbox_done(db, x->item->id, x->now);
    }
    if (x->reply != REPLY_REFUSED && errand_again(x, db, &e)) return e;
    e = payment_refund_failed(db, id, str_from(x->error), x->reply == REPLY_REFUSED, x->now);
    return e ? e : give_up(x, db, "Refund");
}

/* A payment that has no page yet, or that we cannot ask about, only waits for its end. */
static void ask(struct errand *x)
{
    const struct payment *p = &x->payment;
    x->is_settled = time_is(p->ended_at);
    x->op = (struct gateway_op){.kind = OP_ASK, .group_ref = p->group_ref, .event.kind = EVENT_PENDING};
    x->reply = REPLY_OK;
    if (p->group_ref.len && x->gateway.api_key.len) run(x);
}

/* At growing intervals, and once at its end. */
static int64_t asking_delay(const struct errand *x)
{
    static const int64_t minutes[] = {5, 10, 30, 60, 180, 360};
    size_t last = sizeof minutes / sizeof *minutes - 1, i = (size_t)x->item->attempts - 1;
    int64_t delay = minutes[i < last ? i : last] * TIME_MINUTE, left = x->payment.ends_at.ms - x->now.ms;
    return left > 0 && left < delay ? left : delay;
}

/* The payment's time is over and the gateway has been asked: what it did not report did not happen. */
static bool is_over(const struct errand *x)
{
    Time end = x->payment.ends_at;
    if (!time_is(end) || x->now.ms < end.ms) return false;
    bool is_silent = x->reply != REPLY_OK && x->reply != REPLY_REFUSED;
    bool is_being_captured = x->reply == REPLY_OK && x->op.event.kind == EVENT_APPROVED && is_open(&x->payment);
    bool is_given_up = x->now.ms > end.ms + SILENCE_DAYS * TIME_DAY && x->item->attempts >= SILENT_ASKS;
    return (!is_silent && !is_being_captured) || is_given_up;
}

static enum err record_ask(struct errand *x, struct db *db)
{
    enum payment_event_kind kind = x->op.event.kind;
    enum err e = x->reply == REPLY_OK && kind != EVENT_PENDING ? apply(x, db) : OK;
    if (e) return e;
    /* Approved: the capture that was queued ends the payment. Failed: the page may be open for another attempt. */
    bool is_dead = x->reply == REPLY_OK && kind == EVENT_FAILED && gateway_of(x->gateway.provider)->expires;
    struct payment p;
    if (is_dead || is_over(x)) e = payment_end(db, x->payment.id, x->now);
    if (!e) e = payment_find(db, x->payment.id, &p);
    if (e) return e;
    if (time_is(p.ended_at)) return outbox_done(db, x->item->id, x->now);
    x->delay_ms = asking_delay(x);
    errand_again(x, db, &e);
    return e;
}

/* A page that cannot be closed was paid in the meantime or has ended already: the gateway is asked which. */
static void close_page(struct errand *x)
{
    const struct payment *p = &x->payment;
    x->is_settled = time_is(p->ended_at) || !p->group_ref.len;
    x->op = (struct gateway_op){.kind = OP_CLOSE, .group_ref = p->group_ref, .reference = p->reference};
    if (!gateway_of(x->gateway.provider)->close_call) return;
    run(x);
    if (x->is_settled || x->reply != REPLY_REFUSED) return;
    x->op = (struct gateway_op){.kind = OP_ASK, .group_ref = p->group_ref};
    run(x);
}

/* Whether the page can no longer be paid. Where nothing is paid unless we capture it, not capturing is enough. */
static bool is_closed(const struct errand *x)
{
    const struct gateway *g = gateway_of(x->gateway.provider);
    return g->close_call ? x->op.kind == OP_CLOSE && x->reply == REPLY_OK : g->capture_call != NULL;
}

static enum err record_close(struct errand *x, struct db *db)
{
    enum err e = OK;
    bool is_silent = x->reply == REPLY_RETRY || x->reply == REPLY_UNAUTHORIZED;
    if (gateway_of(x->gateway.provider)->close_call && is_silent)
        return errand_again(x, db, &e) ? e : errand_fail(x, db);
    if (is_closed(x)) e = payment_end(db, x->payment.id, x->now);
    if (x->op.kind == OP_ASK && x->reply == REPLY_OK && x->op.event.kind != EVENT_PENDING) e = apply(x, db);
    return e ? e : outbox_done(db, x->item->id, x->now);
}

const struct errand_kind errand_create = {read_payment, create, record_create};
const struct errand_kind errand_capture = {read_payment, capture, record_capture};
const struct errand_kind errand_refund = {read_refund, refund, record_refund};
const struct errand_kind errand_ask = {read_payment, ask, record_ask};
const struct errand_kind errand_close = {read_payment, close_page, record_close};
