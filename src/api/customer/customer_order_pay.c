/* api/customer/customer_order_pay.c - finishing an order that waits: pay it anew or another way, or give it up.
 *
 * The old payment stays open until the new one has a page, so that a gateway that refuses leaves the customer with the
 * way to pay that they had. */
#include "api/pay.h"
#include "api/tables.h"
#include "domain/ledger.h"
#include "domain/payment_desk.h"
#include "domain/payment_end.h"
#include "serve/app.h"
#include "view/view_order.h"
#include "view/view_payment.h"

/* At most so many payments for one order: nobody needs more. */
#define PAYMENTS_MAX 20

struct pay_body {
    Str pay_with, success_url, cancel_url;
};
static const struct field pay_fields[] = {
    {"pay_with", FIELD_LINE, REQUIRED, offsetof(struct pay_body, pay_with), .min = 1, .max = 40},
    {"success_url", FIELD_URL, OPTIONAL, offsetof(struct pay_body, success_url)},
    {"cancel_url", FIELD_URL, OPTIONAL, offsetof(struct pay_body, cancel_url)},
    {0},
};
static const struct shape pay_shape = {pay_fields, sizeof(struct pay_body)};

struct paying {
    struct pay pay; /* first */
    struct order order;
};

static enum err answer(struct request *req, struct pay *pay)
{
    const struct paying *p = (const struct paying *)pay;
    struct json_writer *w = &req->out;
    struct order o;
    enum err e = order_find(req->db, req->account, p->order.id, &o);
    if (e) return e;
    bool is_pending = o.status == ORDER_PENDING;
    if (is_pending) request_created(req, "/api/customer/orders", o.id);
    json_begin_object(w);
    json_kv_id(w, "order_id", o.id);
    json_kv_cstr(w, "status", order_status_names[o.status]);
    json_kv_money(w, "total", o.total);
    json_key(w, "payment");
    if (is_pending)
        view_order_payment(w, &pay->payment);
    else
        json_null(w);
    json_end_object(w);
    return OK;
}

static enum err pay_by_wallet(struct request *req, const struct order *o)
{
    struct wallet w;
    enum err e = wallet_find(req->db, req->account, &w);
    if (e) return e;
    e = payment_pay_from_wallet(req->db, o->id, req->now);
    if (e == ERR_INSUFFICIENT_BALANCE) {
        request_error_money(req, "required", o->total);
        request_error_money(req, "available", w.balance);
    }
    return e;
}

static enum err pay_by_gateway(struct request *req, struct paying *p)
{
    const struct pay_body *in = req->body;
    struct payment *all, locked;
    size_t count;
    bool waiting;
    enum err e = payment_list_order(req->db, p->order.id, &all, &count);
    if (!e && count) e = payment_lock(req->db, all[0].id, &locked);
    if (!e) e = order_lock(req->db, p->order.id, &p->order);
    if (!e) e = payment_has_waiting(req->db, p->order.id, &waiting);
    if (e) return e;
    if (p->order.status != ORDER_PENDING || waiting || count >= PAYMENTS_MAX) return ERR_INVALID_STATE;
    struct payment want = {.account_id = req->account,
                           .order_id = p->order.id,
                           .amount = p->order.total,
                           .success_url = in->success_url,
                           .cancel_url = in->cancel_url};
    e = pay_begin(req, &p->pay, &want);
    /* Without a page there is nothing to wait for. */
    return e || id_is(p->pay.errand) ? e : payment_close_others(req->db, &p->pay.payment, req->now);
}

static enum err pay_write(struct request *req, struct paying *p)
{
    const struct pay_body *in = req->body;
    *p = (struct paying){0};
    bool by_wallet = str_eq(in->pay_with, STR(PAID_WITH_WALLET));
    enum err e = order_find(req->db, req->account, req->param_id, &p->order);
    if (!e && !by_wallet) e = pay_gateway(req, in->pay_with, &p->pay.gateway);
    if (e == ERR_FIELD_VALUE) return request_bad_field(req, "pay_with", e);
    if (!e) e = by_wallet ? pay_by_wallet(req, &p->order) : pay_by_gateway(req, p);
    return e ? e : answer(req, &p->pay);
}
REQUEST_STEP(pay_write);

static enum err undo(struct request *req, struct pay *pay)
{
    (void)req, (void)pay;
    return OK;
}

static enum err post_pay(struct request *req)
{
    struct paying *p = arena_new(req->arena, struct paying);
    enum err e = request_step(req, TX_WRITE, pay_write, p);
    if (!e) e = pay_finish(req, &p->pay, answer, undo);
    dispatcher_wake(req->app->dispatcher);
    return e;
}

static enum err post_cancel(struct request *req)
{
    struct order o;
    Money back;
    bool waiting, changed;
    enum err e = order_find(req->db, req->account, req->param_id, &o);
    if (!e) e = payment_has_waiting(req->db, o.id, &waiting);
    if (e) return e;
    if (waiting) return ERR_INVALID_STATE; /* it is paid: that is for staff to sort out */
    e = payment_cancel_order(req->db, o.id, SPARE_REFUND, req->account, req->now, &changed, &back);
    if (!e && !changed) e = ERR_INVALID_STATE;
    if (!e) e = order_find(req->db, req->account, o.id, &o);
    if (e) return e;
    view_order(&req->out, req->arena, req->app->options.base_url, &o);
    dispatcher_wake(req->app->dispatcher);
    return OK;
}

const struct route customer_order_pay_routes[] = {
    {"POST", "/api/customer/orders/{id}/pay", SCOPE_CUSTOMER, TX_SELF, &pay_shape, post_pay, IDEMPOTENT | CALLS_OUT},
    {"POST", "/api/customer/orders/{id}/cancel", SCOPE_CUSTOMER, TX_WRITE, NULL, post_cancel, IDEMPOTENT},
    {0},
};
