/* api/pay.c - see pay.h. */
#include "api/pay.h"

#include "base/log.h"
#include "domain/account.h"
#include "domain/outbox.h"
#include "domain/payment_apply.h"
#include "domain/payment_end.h"
#include "serve/app.h"

#define CALL_TIMEOUT_MS 15000
#define CALL_LEASE_MS (60 * TIME_SECOND) /* after this the outbox takes over: longer than the call can last */
#define PAGE_HOURS 24
#define CRYPTO_PAGE_MINUTES 60 /* the exchange rate is promised for as long */

enum err pay_gateway(struct db *db, Str label, struct gateway_config *ret)
{
    enum err e = gateway_config_find(db, label, ret);
    if (e == ERR_NOT_FOUND || (!e && !ret->is_enabled)) return ERR_FIELD_VALUE;
    return e;
}

enum err pay_begin(struct request *req, struct pay *pay, const struct payment *want)
{
    struct account account;
    bool calls = pay->gateway.api_key.len != 0;
    struct payment p = *want;
    p.gateway_id = pay->gateway.id;
    p.currency = str_from(req->settings->currency);
    int64_t lasts =
        pay->gateway.provider == PROVIDER_BTCPAY ? CRYPTO_PAGE_MINUTES * TIME_MINUTE : PAGE_HOURS * TIME_HOUR;
    if (calls) p.expires_at = time_add(req->now, lasts);
    p.ends_at = calls ? payment_ends_at(pay->gateway.provider, p.expires_at)
                      : time_add(req->now, PAYMENT_WAITS_DAYS * TIME_DAY);
    enum err e = payment_create(req->db, &p, req->now, &pay->payment);
    if (!e) e = account_find(req->db, want->account_id, &account);
    if (e) return e;
    pay->errand = (Id){0};
    if (!calls) return OK;
    const struct app *app = req->app;
    pay->op = (struct gateway_op){.kind = OP_CREATE, .timeout_ms = CALL_TIMEOUT_MS};
    pay->op.pay =
        pay_request_of(req->arena, &pay->payment, req->settings->store_name, account.email, app->shop_url, req->now);
    pay->op.stored = link_create_body(req->arena, &pay->gateway, &pay->op.pay);
    struct outbox_item create = {.kind = OUTBOX_CREATE, .payment = pay->payment.id, .payload = pay->op.stored};
    return outbox_add(req->db, &create, time_add(req->now, CALL_LEASE_MS), req->now, &pay->errand);
}

static enum err store_page(struct request *req, struct pay *pay)
{
    const struct pay_page *page = &pay->op.page;
    Time now = time_now();
    enum err e = payment_set_page(req->db, &pay->gateway, pay->payment.id, page->group_ref, page->payment_ref,
                                  page->url, page->expires_at, now);
    if (!e) e = outbox_done(req->db, pay->errand, now);
    return e ? e : payment_find(req->db, pay->payment.id, &pay->payment);
}

struct retry {
    Id errand;
    Str why;
};

static enum err release_errand(void *arg, struct db *db)
{
    const struct retry *r = arg;
    return outbox_retry(db, r->errand, time_now(), outbox_delay_ms(1), r->why);
}

static enum err give_up(struct request *req, struct pay *pay)
{
    enum err e = payment_give_up(req->db, pay->payment.id, req->now);
    return e ? e : outbox_fail(req->db, pay->errand, str_from(pay->op.failure), req->now);
}

static enum err finish_made(struct request *req, struct pay *pay)
{
    enum err e = store_page(req, pay);
    return e ? e : pay->again(req, pay);
}
REQUEST_STEP(finish_made);

static enum err finish_refused(struct request *req, struct pay *pay)
{
    enum err e = give_up(req, pay);
    return e ? e : pay->undo(req, pay);
}
REQUEST_STEP(finish_refused);

/* What was begun is committed: when the database fails now, an error would say that nothing had happened. The first
 * answer stays instead, a payment without an address yet, and the outbox goes on. */
enum err pay_finish(struct request *req, struct pay *pay, pay_step *again, pay_step *undo)
{
    if (!id_is(pay->errand)) return OK;
    struct app *app = req->app;
    pay->again = again;
    pay->undo = undo;
    pay->reply = link_run(app->link, &pay->gateway, &pay->op, req->arena);
    if (pay->reply == REPLY_OK) {
        (void)request_step_finish(req, false, finish_made, pay);
        return OK;
    }
    if (pay->reply == REPLY_RETRY) {
        struct retry r = {pay->errand, str_from(pay->op.failure)};
        (void)tx_call(app->database, TX_WRITE, release_errand, &r, req->arena); /* or its lease ends by itself */
        dispatcher_wake(app->dispatcher);
        return OK;
    }
    return request_step_finish(req, true, finish_refused, pay) ? OK : ERR_GATEWAY_FAILED;
}
