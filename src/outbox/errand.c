/* outbox/errand.c - see errand.h.
 *
 * Every errand is: read what it is about, stop when that has settled itself, call, record. Calls carry references of
 * ours that make repeating them harmless, because any of them may have been made by a worker that died. */
#include "outbox/errand.h"

#include "base/log.h"
#include "domain/account.h"
#include "domain/mail.h"
#include "domain/notification.h"
#include "domain/password_reset.h"
#include "domain/payment_apply.h"
#include "domain/settings.h"
#include "gateway/sandbox.h"
#include "gateway/signature.h"
#include "outbound/smtp.h"

#define ASKING_DAYS 4 /* how long we go on asking about a payment that is not settled */

struct errand {
    const struct dispatch_options *options;
    const struct outbox_item *item;
    struct arena *arena;
    Time now;
    struct payment payment;
    struct gateway_config gateway;
    struct settings settings;
    Str email;
    struct gateway_op op;
    /* How it went. */
    enum reply reply;
    const char *error;
    int64_t delay_ms; /* of the next attempt, instead of the table's; 0: the table's */
    bool is_settled;  /* nothing to do any more */
};

static enum err read_payment(void *arg, struct db *db)
{
    struct errand *x = arg;
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
    return p->status == PAYMENT_PENDING || p->status == PAYMENT_FAILED;
}

static void prepare(struct errand *x)
{
    const struct payment *p = &x->payment;
    struct gateway_op *op = &x->op;
    switch (x->item->kind) {
    case OUTBOX_CREATE:
        x->is_settled = p->status != PAYMENT_PENDING || p->url.len;
        op->kind = OP_CREATE;
        op->may_exist = true;
        op->pay = pay_request_of(
            x->arena, p, x->settings.store_name, x->email,
            *x->options->base_url ? x->options->base_url : str_cstr(x->arena, x->options->self_url), x->now);
        break;
    case OUTBOX_CAPTURE:
        x->is_settled = !is_open(p);
        op->kind = OP_CAPTURE;
        op->group_ref = p->group_ref;
        op->reference = p->reference;
        break;
    case OUTBOX_REFUND:
        op->kind = OP_REFUND;
        op->refund = (struct refund_request){
            .reference = str_printf(x->arena, "%.*s-r%lld", STR_FMT(p->reference), (long long)x->item->id.v),
            .payment_ref = p->payment_ref,
            .group_ref = p->group_ref,
            .amount = x->item->amount,
            .paid = p->amount,
            .currency = p->currency,
        };
        break;
    default:
        x->is_settled = !is_open(p) || !p->group_ref.len || x->now.ms > p->created_at.ms + ASKING_DAYS * TIME_DAY;
        op->kind = OP_ASK;
        op->group_ref = p->group_ref;
    }
}

/* ---- recording ---- */

static enum err give_up(struct errand *x, struct db *db, const char *what)
{
    struct notification n = {
        .kind = STR("gateway_failed"),
        .message = str_printf(db_arena(db), "%s of payment #%lld at %.*s failed: %s.", what, (long long)x->payment.id.v,
                              STR_FMT(x->gateway.label), x->error),
        .reference = x->payment.id,
    };
    enum err e = notification_add_staff(db, &n, x->now);
    return e ? e : outbox_fail(db, x->item->id, str_from(x->error), x->now);
}

/* Again later; false when it has been tried often enough. */
static bool again(struct errand *x, struct db *db, enum err *ret)
{
    int64_t delay = x->delay_ms ? x->delay_ms : outbox_delay_ms(x->item->attempts);
    if (!delay) return false;
    if (x->op.retry_after_s > 0 && x->op.retry_after_s < 3600 && delay < x->op.retry_after_s * TIME_SECOND)
        delay = x->op.retry_after_s * TIME_SECOND;
    *ret = outbox_retry(db, x->item->id, time_add(x->now, delay), str_from(x->error));
    return true;
}

/* What the gateway told us when we asked counts like an event, once. */
static enum err apply(struct errand *x, struct db *db)
{
    struct payment_event e = x->op.event;
    struct payment_outcome outcome;
    e.event_id = str_printf(db_arena(db), "%s-%lld-%s", outbox_kind_text(x->item->kind), (long long)x->payment.id.v,
                            payment_event_kind_text(e.kind));
    return payment_receive(db, &x->gateway, &e, x->op.body, x->now, &outcome);
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
    bool too_late = time_is(x->payment.expires_at) && x->now.ms > x->payment.expires_at.ms;
    if (x->reply != REPLY_REFUSED && !too_late && again(x, db, &e)) return e;
    e = payment_give_up(db, x->payment.id, x->now);
    return e ? e : give_up(x, db, "Creation");
}

/* A capture that is refused may have been made already: asking will tell. */
static enum err record_capture(struct errand *x, struct db *db)
{
    enum err e = OK;
    if (x->reply == REPLY_OK) {
        e = apply(x, db);
        return e ? e : outbox_done(db, x->item->id, x->now);
    }
    if (x->reply != REPLY_REFUSED && again(x, db, &e)) return e;
    e = outbox_add(db, &(struct outbox_item){.kind = OUTBOX_ASK, .payment = x->payment.id}, x->now, x->now, NULL);
    return e ? e : give_up(x, db, "Capture");
}

static enum err record_refund(struct errand *x, struct db *db)
{
    enum err e = OK;
    if (x->reply == REPLY_OK) return outbox_done(db, x->item->id, x->now);
    if (x->reply != REPLY_REFUSED && again(x, db, &e)) return e;
    return give_up(x, db, "Refund");
}

/* Rarer and rarer. */
static int64_t asking_delay(int64_t attempts)
{
    static const int64_t minutes[] = {5, 10, 30, 60, 180, 360};
    size_t last = sizeof minutes / sizeof *minutes - 1, i = (size_t)attempts - 1;
    return minutes[i < last ? i : last] * TIME_MINUTE;
}

static enum err record_ask(struct errand *x, struct db *db)
{
    enum err e = OK;
    if (x->reply == REPLY_OK && x->op.event.kind != EVENT_PENDING) {
        e = apply(x, db);
        if (e) return e;
        /* Approved: the capture that this has queued ends it. Failed: the page may be open for another attempt. */
        bool is_last = x->op.event.kind == EVENT_SUCCEEDED ||
                       (x->op.event.kind == EVENT_FAILED && gateway_of(x->gateway.provider)->expires);
        if (is_last) return outbox_done(db, x->item->id, x->now);
    }
    if (x->reply == REPLY_REFUSED) return outbox_fail(db, x->item->id, str_from(x->error), x->now);
    x->delay_ms = asking_delay(x->item->attempts);
    again(x, db, &e);
    return e;
}

static enum err record_mail(struct errand *x, struct db *db)
{
    enum err e = OK;
    if (x->reply == REPLY_OK) return outbox_done(db, x->item->id, x->now);
    if (x->reply != REPLY_REFUSED && again(x, db, &e)) return e;
    return outbox_fail(db, x->item->id, str_from(x->error), x->now);
}

static Str shop_url(const struct errand *x)
{
    return *x->options->base_url ? str_from(x->options->base_url) : x->options->self_url;
}

static enum err record_reset(struct errand *x, struct db *db)
{
    Id account;
    Str token;
    enum err e = password_reset_begin(db, x->item->payload, x->now, &account, &token);
    if (!e && token.len) {
        Str text = str_printf(db_arena(db),
                              "Somebody, hopefully you, asked for a new password for your account.\n\n"
                              "Choose it here within %d minutes:\n%.*s/reset#token=%.*s\n\n"
                              "If it was not you, there is nothing to do.\n",
                              PASSWORD_RESET_MINUTES, STR_FMT(shop_url(x)), STR_FMT(token));
        e = mail_queue(db, account, STR("Your new password"), text, x->now);
    }
    return e ? e : outbox_done(db, x->item->id, x->now);
}

static enum err record(void *arg, struct db *db)
{
    struct errand *x = arg;
    if (x->is_settled) return outbox_done(db, x->item->id, x->now);
    switch (x->item->kind) {
    case OUTBOX_CREATE: return record_create(x, db);
    case OUTBOX_CAPTURE: return record_capture(x, db);
    case OUTBOX_REFUND: return record_refund(x, db);
    case OUTBOX_ASK: return record_ask(x, db);
    case OUTBOX_MAIL:
    case OUTBOX_SANDBOX: return record_mail(x, db);
    case OUTBOX_RESET: return record_reset(x, db);
    }
    return ERR_INTERNAL;
}

/* ---- the errands that are no gateway operation ---- */

static enum err read_settings(void *arg, struct db *db)
{
    struct errand *x = arg;
    enum err e = settings_load(db, &x->settings);
    if (!e && x->item->kind == OUTBOX_SANDBOX) e = gateway_config_find(db, STR("sandbox"), &x->gateway);
    return e;
}

static void send_mail(struct errand *x)
{
    const struct mail_options *o = &x->options->mail;
    struct queued_mail queued;
    Str bytes;
    x->reply = REPLY_REFUSED;
    x->error = "the message can not be sent as it is";
    if (!*o->url || !queued_mail_unpack(x->item->payload, &queued)) return;
    Str from = str_from(o->from), user, domain;
    if (!str_cut(from, '@', &user, &domain)) return;
    struct mail m = {
        .from_name = str_from(x->settings.store_name),
        .from_address = from,
        .to_address = queued.to,
        .subject = queued.subject,
        .text = queued.text,
        /* The same for every attempt: a receiver that got it twice can tell. */
        .message_id = str_printf(x->arena, "souk.%lld.%lld@%.*s", (long long)x->item->id.v,
                                 (long long)x->item->created_at.ms, STR_FMT(domain)),
        .date = x->item->created_at,
    };
    if (!mail_message(x->arena, &m, &bytes)) return;
    struct outbound_mail mail = {.url = str_from(o->url),
                                 .is_plain = o->is_plain,
                                 .user = str_from(o->user),
                                 .password = str_from(o->password),
                                 .from = from,
                                 .to = queued.to,
                                 .bytes = bytes};
    struct outbound_job job = {.mail = &mail, .arena = x->arena, .timeout_ms = 60000};
    outbound_call(x->options->outbound, &job);
    x->reply = !job.failure                                        ? REPLY_OK
               : job.reply.status >= 500 && job.reply.status < 600 ? REPLY_REFUSED
                                                                   : REPLY_RETRY;
    x->error = job.failure ? job.failure : "";
}

static void send_sandbox(struct errand *x)
{
    x->reply = REPLY_REFUSED;
    x->error = "the sandbox is switched off";
    struct sandbox_message message;
    if (!x->gateway.is_enabled || !x->gateway.secret_count) return;
    if (!sandbox_message_unpack(x->item->payload, &message)) return;
    Str base = x->gateway.base_url.len ? x->gateway.base_url : x->options->self_url;
    struct http_call call = {.method = "POST", .body = sandbox_body(x->arena, &message)};
    call.url = str_printf(x->arena, "%.*s/webhook/%.*s", STR_FMT(base), STR_FMT(x->gateway.label));
    call_header(&call, STR("Content-Type"), STR("application/json"));
    call_header(&call, STR(SANDBOX_SIGNATURE), stamped_sign(x->arena, x->gateway.secrets[0], call.body, x->now));
    struct outbound_job job = {.call = &call, .base_url = base, .arena = x->arena};
    outbound_call(x->options->outbound, &job);
    x->reply = job.failure ? REPLY_RETRY : reply_of_status(job.reply.status);
    x->error = job.failure ? job.failure : x->reply == REPLY_OK ? "" : "the webhook was not taken";
}

/* ---- */

static void carry_out(struct errand *x)
{
    enum outbox_kind kind = x->item->kind;
    if (kind == OUTBOX_MAIL) {
        send_mail(x);
    } else if (kind == OUTBOX_SANDBOX) {
        send_sandbox(x);
    } else if (kind != OUTBOX_RESET) {
        prepare(x);
        if (x->is_settled) return;
        x->reply = link_run(x->options->link, &x->gateway, &x->op, x->arena);
        x->error = x->op.failure ? x->op.failure : "";
    }
}

void errand_run(const struct dispatch_options *options, const struct outbox_item *item, struct arena *a)
{
    struct errand x = {.options = options, .item = item, .arena = a, .now = time_now(), .error = ""};
    bool is_payment = id_is(item->payment);
    enum err e = tx_call(options->database, TX_READ, is_payment ? read_payment : read_settings, &x, a);
    if (!e) {
        carry_out(&x);
        x.now = time_now();
        e = tx_call(options->database, TX_WRITE, record, &x, a);
    }
    if (e)
        log_event(LOG_WARN, "errand_not_recorded", LOGC("kind", outbox_kind_text(item->kind)), LOGI("id", item->id.v),
                  LOGC("code", err_info(e)->code));
}
