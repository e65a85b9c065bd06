/* api/v1/v1_order.c - orders of integrations: placed, paid from the wallet and delivered in one answer. */
#include "api/tables.h"
#include "domain/ledger.h"
#include "serve/app.h"
#include "serve/request.h"
#include "view/view_placed.h"

struct order_body {
    Id product_id, variant_id;
    int64_t quantity;
    Str coupon_code;
};

static const struct field order_fields[] = {
    {"product_id", FIELD_ID, REQUIRED, offsetof(struct order_body, product_id)},
    {"variant_id", FIELD_ID, OPTIONAL, offsetof(struct order_body, variant_id)},
    {"quantity", FIELD_INT, OPTIONAL, offsetof(struct order_body, quantity), .min = 1, .max = ORDER_QUANTITY_MAX},
    {"coupon_code", FIELD_LINE, OPTIONAL, offsetof(struct order_body, coupon_code), .min = 1, .max = 255},
    {0},
};
static const struct shape order_shape = {order_fields, sizeof(struct order_body)};

static enum err find_coupon(struct request *req, Str text, struct coupon *ret)
{
    Str code;
    if (!coupon_code_normalise(req->arena, text, &code)) return ERR_COUPON_INVALID;
    return coupon_find_code(req->db, code, ret);
}

static void ask_ahead(struct request *req, struct db *db)
{
    const struct order_body *in = req->body;
    catalog_offer_ahead(db, in->product_id, in->variant_id);
    wallet_covers_ahead(db, req->account);
}

static enum err post_order(struct request *req)
{
    const struct order_body *in = req->body;
    struct order_line line = {.quantity = in->quantity ? in->quantity : 1};
    enum err e = catalog_offer(req->db, in->product_id, in->variant_id, VARIANT_DEFAULT, &line.offer);
    if (e == ERR_FIELD_NOT_FOUND || e == ERR_FIELD_CONFLICT) return request_bad_field(req, "variant_id", e);
    if (e) return e;
    line.unit_price = line.offer.price;

    struct coupon coupon;
    bool has_coupon = in->coupon_code.len > 0;
    if (has_coupon) {
        e = find_coupon(req, in->coupon_code, &coupon);
        if (e) return e;
    }
    struct order_draft draft = {.account = req->account,
                                .channel = CHANNEL_API,
                                .lines = &line,
                                .line_count = 1,
                                .units_max = req->settings->order_units_max,
                                .coupon = has_coupon ? &coupon : NULL};
    if (!db_is_postgres(req->db) && view_placed_follows(&line)) {
        draft.key = req->key;
        req->key = NULL;
    }
    struct order order;
    struct order_shortfall shortfall;
    e = order_place(req->db, &draft, req->now, &order, &shortfall);
    if (e == ERR_FIELD_RANGE) return request_bad_field(req, "quantity", e);
    if (e == ERR_INSUFFICIENT_BALANCE) {
        request_error_money(req, "required", shortfall.required);
        request_error_money(req, "available", shortfall.available);
    }
    if (e) return e;
    req->message = PLACED_MESSAGE;
    view_placed(&req->out, req->arena, req->app->shop_url, &order);
    return OK;
}

const struct route v1_order_routes[] = {
    {"POST", "/api/v1/order/create", SCOPE_ORDER, TX_WRITE, &order_shape, post_order,
     IDEMPOTENT | CHECKS_FIRST | PROVEN_EMAIL | GROUPED, .ahead = ask_ahead},
    {0},
};
