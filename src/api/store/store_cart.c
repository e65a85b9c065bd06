/* api/store/store_cart.c - the cart of the token that calls. Every change answers with the resulting cart. */
#include "api/cart_body.h"
#include "api/tables.h"
#include "view/view_store.h"

static const struct field add_fields[] = {CART_LINE_FIELDS(1), {0}};
static const struct shape add_body = {add_fields, sizeof(struct cart_line_body)};

/* The answer to a change of a line: the cart, or the field that is wrong. */
static enum err answer_line(struct request *req, enum err e, const struct cart *cart)
{
    if (e) return cart_line_error(req, e);
    view_cart(&req->out, cart);
    return OK;
}

static enum err answer_cart(struct request *req, enum err e, const struct cart *cart)
{
    if (!e) view_cart(&req->out, cart);
    return e;
}

static enum err get_cart(struct request *req)
{
    struct cart cart;
    return answer_cart(req, cart_read(req->db, req->token_id, req->account, req->now, &cart), &cart);
}

static enum err post_add(struct request *req)
{
    const struct cart_line_body *in = req->body;
    struct cart cart;
    enum err e =
        cart_add(req->db, req->token_id, req->account, in->product_id, in->variant_id, in->quantity, req->now, &cart);
    return answer_line(req, e, &cart);
}

static enum err patch_item(struct request *req)
{
    const struct cart_line_body *in = req->body;
    struct cart cart;
    enum err e =
        cart_set(req->db, req->token_id, req->account, in->product_id, in->variant_id, in->quantity, req->now, &cart);
    return answer_line(req, e, &cart);
}

static enum err delete_cart(struct request *req)
{
    struct cart cart;
    enum err e = cart_clear(req->db, req->token_id, req->now);
    if (e) return e;
    return answer_cart(req, cart_read(req->db, req->token_id, req->account, req->now, &cart), &cart);
}

static enum err post_coupon(struct request *req)
{
    const struct cart_coupon_body *in = req->body;
    struct cart cart;
    return answer_cart(req, cart_apply_coupon(req->db, req->token_id, req->account, in->code, req->now, &cart), &cart);
}

static enum err delete_coupon(struct request *req)
{
    struct cart cart;
    return answer_cart(req, cart_drop_coupon(req->db, req->token_id, req->account, req->now, &cart), &cart);
}

const struct route store_cart_routes[] = {
    {"GET", "/api/store/cart", SCOPE_STORE, TX_READ, NULL, get_cart},
    {"DELETE", "/api/store/cart", SCOPE_STORE, TX_WRITE, NULL, delete_cart},
    {"POST", "/api/store/cart/add", SCOPE_STORE, TX_WRITE, &add_body, post_add, IDEMPOTENT},
    {"PATCH", "/api/store/cart/items", SCOPE_STORE, TX_WRITE, &cart_set_body, patch_item},
    {"POST", "/api/store/cart/coupon", SCOPE_STORE, TX_WRITE, &cart_coupon_body, post_coupon},
    {"DELETE", "/api/store/cart/coupon", SCOPE_STORE, TX_WRITE, NULL, delete_coupon},
    {0},
};
