/* api/customer/customer_order_pay.c - finishing an order that waits: api/order_pay.h as JSON. */
#include "api/order_pay.h"
#include "api/tables.h"
#include "serve/app.h"
#include "view/view_order.h"
#include "view/view_payment.h"

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

static enum err pay_write(struct request *req, struct paying *p)
{
    const struct pay_body *in = req->body;
    struct pay_wish wish = {.pay_with = in->pay_with, .success_url = in->success_url, .cancel_url = in->cancel_url};
    enum err e = order_pay_begin(req, req->param_id, &wish, p);
    return e ? e : answer(req, &p->pay);
}
REQUEST_STEP(pay_write);

static enum err post_pay(struct request *req)
{
    struct paying *p = arena_new(req->arena, struct paying);
    enum err e = request_step(req, TX_WRITE, pay_write, p);
    if (!e) e = pay_finish(req, &p->pay, answer, order_pay_undo);
    dispatcher_wake(req->app->dispatcher);
    return e;
}

static enum err post_cancel(struct request *req)
{
    struct order o;
    enum err e = order_give_up(req, req->param_id, &o);
    if (e) return e;
    view_order(&req->out, req->arena, req->app->shop_url, &o);
    dispatcher_wake(req->app->dispatcher);
    return OK;
}

const struct route customer_order_pay_routes[] = {
    {"POST", "/api/customer/orders/{id}/pay", SCOPE_CUSTOMER, TX_SELF, &pay_shape, post_pay, IDEMPOTENT | CALLS_OUT},
    {"POST", "/api/customer/orders/{id}/cancel", SCOPE_CUSTOMER, TX_WRITE, NULL, post_cancel, IDEMPOTENT},
    {0},
};
