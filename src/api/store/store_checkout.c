/* api/store/store_checkout.c - from a cart to an order, paid out of the wallet or through a gateway.
 *
 * The cart is emptied, the coupon redeemed and the order made in one transaction. By wallet (or for nothing) the order
 * is confirmed and delivered in the answer; by gateway it waits for the payment. */
#include "api/pay.h"
#include "api/tables.h"
#include "domain/cart.h"
#include "domain/order.h"
#include "domain/receipt.h"
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

struct checkout {
    struct pay pay; /* first */
    struct order order;
};

static struct checkout *checkout_of(struct pay *pay)
{
    return (struct checkout *)pay;
}

/* What the cart holds, as it is sold now: prices are the cart's, everything else is today's. */
static enum err lines_of(struct request *req, const struct cart *cart, struct order_line **ret)
{
    struct order_line *lines = arena_array(req->arena, struct order_line, cart->count);
    for (size_t i = 0; i < cart->count; i++) {
        const struct cart_line *l = &cart->lines[i];
        enum err e = catalog_offer(req->db, l->product_id, l->variant_id, VARIANT_REQUIRED, &lines[i].offer);
        if (e == ERR_PRODUCT_NOT_FOUND || e == ERR_FIELD_NOT_FOUND || e == ERR_FIELD_REQUIRED ||
            e == ERR_FIELD_CONFLICT) {
            request_error_str(req, "product", l->name);
            return request_bad_field(req, "items", ERR_FIELD_NOT_FOUND);
        }
        if (e) return e;
        lines[i].unit_price = l->unit_price;
        lines[i].quantity = l->quantity;
    }
    *ret = lines;
    return OK;
}

static void view_deliveries(struct request *req, const struct order *o)
{
    struct json_writer *w = &req->out;
    json_key(w, "deliveries");
    json_begin_array(w);
    for (size_t i = 0; i < o->item_count; i++)
        for (size_t n = 0; n < o->items[i].delivery_count; n++)
            view_delivery(w, req->arena, req->app->options.base_url, &o->items[i].deliveries[n]);
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

static enum err pay_now(struct request *req, struct checkout *c, const struct order_draft *draft)
{
    struct order_shortfall shortfall;
    enum err e = order_place(req->db, draft, req->now, &c->order, &shortfall);
    if (e == ERR_INSUFFICIENT_BALANCE) {
        request_error_money(req, "required", shortfall.required);
        request_error_money(req, "available", shortfall.available);
    }
    return e ? e : receipt_order(req->db, c->order.id, req->now);
}

static enum err pay_later(struct request *req, struct checkout *c, const struct order_draft *draft)
{
    const struct checkout_body *in = req->body;
    enum err e = order_create(req->db, draft, req->now, &c->order);
    if (e) return e;
    struct payment want = {.account_id = req->account,
                           .order_id = c->order.id,
                           .amount = c->order.total,
                           .success_url = in->success_url,
                           .cancel_url = in->cancel_url};
    return pay_begin(req, &c->pay, &want);
}

static enum err checkout_write(struct request *req, struct checkout *c)
{
    const struct checkout_body *in = req->body;
    struct order_line *lines = NULL;
    struct cart cart;
    *c = (struct checkout){0};
    bool by_wallet = str_eq(in->pay_with, STR(PAID_WITH_WALLET));
    enum err e = by_wallet ? OK : pay_gateway(req, in->pay_with, &c->pay.gateway);
    if (e == ERR_FIELD_VALUE) return request_bad_field(req, "pay_with", e);
    if (!e) e = cart_lock(req->db, req->token_id, req->account, req->now, &cart);
    if (!e) e = lines_of(req, &cart, &lines);
    if (e) return e;
    struct order_draft draft = {.account = req->account,
                                .channel = CHANNEL_CART,
                                .lines = lines,
                                .line_count = cart.count,
                                .coupon = cart.has_coupon ? &cart.coupon : NULL};
    e = by_wallet || cart.total.minor == 0 ? pay_now(req, c, &draft) : pay_later(req, c, &draft);
    if (!e) e = cart_clear(req->db, req->token_id, req->now);
    return e ? e : answer(req, &c->pay);
}
REQUEST_STEP(checkout_write);

/* The order was cancelled, which gave the coupon back: the customer can choose another way to pay. */
static enum err undo(struct request *req, struct pay *pay)
{
    const struct checkout *c = checkout_of(pay);
    return cart_refill(req->db, req->token_id, c->order.id, req->now);
}

static enum err post_checkout(struct request *req)
{
    struct checkout *c = arena_new(req->arena, struct checkout);
    enum err e = request_step(req, TX_WRITE, checkout_write, c);
    if (!e) e = pay_finish(req, &c->pay, answer, undo);
    dispatcher_wake(req->app->dispatcher);
    return e;
}

const struct route store_checkout_routes[] = {
    {"POST", "/api/store/cart/checkout", SCOPE_STORE, TX_SELF, &checkout_shape, post_checkout,
     IDEMPOTENT | CALLS_OUT | PROVEN_EMAIL},
    {0},
};
