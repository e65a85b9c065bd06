/* api/store/store_checkout.c - from a cart to an order: what api/checkout.h does, as JSON. */
#include "api/checkout.h"
#include "api/tables.h"
#include "serve/app.h"
#include "view/view_order.h"
#include "view/view_payment.h"

struct checkout_body {
    Str pay_with, success_url, cancel_url;
};

static const struct field checkout_fields[] = {
    {"pay_with", FIELD_LINE, REQUIRED, offsetof(struct checkout_body, pay_with), .min = 1, .max = 40},
    {"success_url", FIELD_URL, OPTIONAL, offsetof(struct checkout_body, success_url)},
    {"cancel_url", FIELD_URL, OPTIONAL, offsetof(struct checkout_body, cancel_url)},
    {0},
};
static const struct shape checkout_shape = {checkout_fields, sizeof(struct checkout_body)};

static void view_deliveries(struct request *req, const struct order *o)
{
    struct json_writer *w = &req->out;
    json_key(w, "deliveries");
    json_begin_array(w);
    for (size_t i = 0; i < o->item_count; i++)
        for (size_t n = 0; n < o->items[i].delivery_count; n++)
            view_delivery(w, req->arena, req->app->shop_url, &o->items[i].deliveries[n]);
    json_end_array(w);
}

static enum err answer(struct request *req, struct pay *pay)
{
    const struct checkout *c = checkout_of(pay);
    struct json_writer *w = &req->out;
    bool is_pending = c->order.status == ORDER_PENDING;
    request_created(req, "/api/customer/orders", c->order.id);
    json_begin_object(w);
    json_kv_id(w, "order_id", c->order.id);
    json_kv_cstr(w, "status", order_status_names[c->order.status]);
    json_kv_money(w, "total", c->order.total);
    json_key(w, "payment");
    if (is_pending)
        view_pay_page(w, &c->pay.payment);
    else
        json_null(w);
    if (!is_pending) view_deliveries(req, &c->order);
    json_end_object(w);
    return OK;
}

static enum err checkout_write(struct request *req, struct checkout *c)
{
    const struct checkout_body *in = req->body;
    struct checkout_wish wish = {
        .pay_with = in->pay_with, .success_url = in->success_url, .cancel_url = in->cancel_url};
    enum err e = checkout_begin(req, &wish, c);
    return e ? e : answer(req, &c->pay);
}
REQUEST_STEP(checkout_write);

static enum err post_checkout(struct request *req)
{
    struct checkout *c = arena_new(req->arena, struct checkout);
    enum err e = request_step(req, TX_WRITE, checkout_write, c);
    if (!e) e = pay_finish(req, &c->pay, answer, checkout_undo);
    dispatcher_wake(req->app->dispatcher);
    return e;
}

const struct route store_checkout_routes[] = {
    {"POST", "/api/store/cart/checkout", SCOPE_STORE, TX_SELF, &checkout_shape, post_checkout,
     IDEMPOTENT | CALLS_OUT | PROVEN_EMAIL},
    {0},
};
