/* api/store/store_cart.c - the cart of the token that calls. Every change answers with the resulting cart. */
#include "api/tables.h"
#include "serve/request.h"
#include "view/view_store.h"

struct line_body {
    Id product_id, variant_id;
    int64_t quantity;
};

static const struct field add_fields[] = {
    {"product_id", FIELD_ID, REQUIRED, offsetof(struct line_body, product_id)},
    {"variant_id", FIELD_ID, OPTIONAL, offsetof(struct line_body, variant_id)},
    {"quantity", FIELD_INT, REQUIRED, offsetof(struct line_body, quantity), .min = 1, .max = CART_QUANTITY_MAX},
    {0},
};
static const struct shape add_body = {add_fields, sizeof(struct line_body)};

static const struct field set_fields[] = {
    {"product_id", FIELD_ID, REQUIRED, offsetof(struct line_body, product_id)},
    {"variant_id", FIELD_ID, OPTIONAL, offsetof(struct line_body, variant_id)},
    {"quantity", FIELD_INT, REQUIRED, offsetof(struct line_body, quantity), .min = 0, .max = CART_QUANTITY_MAX},
    {0},
};
static const struct shape set_body = {set_fields, sizeof(struct line_body)};

struct cart_coupon_body {
    Str code;
};

static const struct field coupon_fields[] = {
    {"code", FIELD_LINE, REQUIRED, offsetof(struct cart_coupon_body, code), .min = 1, .max = 255},
    {0},
};
static const struct shape coupon_shape = {coupon_fields, sizeof(struct cart_coupon_body)};

/* The answer to a change of a line: the cart, or the field that is wrong. */
static enum err answer_line(struct request *req, enum err e, const struct cart *cart)
{
    switch (e) {
    case OK: view_cart(&req->out, cart); return OK;
    case ERR_PRODUCT_NOT_FOUND:
    case ERR_NOT_FOUND: return request_bad_field(req, "product_id", ERR_FIELD_NOT_FOUND);
    case ERR_FIELD_REQUIRED:
    case ERR_FIELD_NOT_FOUND:
    case ERR_FIELD_CONFLICT: return request_bad_field(req, "variant_id", e);
    case ERR_LINE_LIMIT:
    case ERR_FIELD_RANGE: return request_bad_field(req, "quantity", e);
    default: return e;
    }
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
    const struct line_body *in = req->body;
    struct cart cart;
    enum err e =
        cart_add(req->db, req->token_id, req->account, in->product_id, in->variant_id, in->quantity, req->now, &cart);
    return answer_line(req, e, &cart);
}

static enum err patch_item(struct request *req)
{
    const struct line_body *in = req->body;
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
    {"PATCH", "/api/store/cart/items", SCOPE_STORE, TX_WRITE, &set_body, patch_item},
    {"POST", "/api/store/cart/coupon", SCOPE_STORE, TX_WRITE, &coupon_shape, post_coupon},
    {"DELETE", "/api/store/cart/coupon", SCOPE_STORE, TX_WRITE, NULL, delete_coupon},
    {0},
};
