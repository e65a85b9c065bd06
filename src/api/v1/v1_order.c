/* api/v1/v1_order.c - orders of integrations: placed, paid from the wallet and delivered in one answer. */
#include "api/tables.h"
#include "domain/ledger.h"
#include "serve/app.h"
#include "serve/request.h"
#include "view/view_order.h"

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

/* `delivery` is what a client looks at first; with several units its value has one line for each. */
static void view_receipt(struct request *req, const struct order *o)
{
    struct json_writer *w = &req->out;
    const char *base_url = req->app->shop_url;
    const struct order_item *item = &o->items[0];
    struct buf values;
    buf_init(&values, req->arena, SIZE_MAX);
    for (size_t i = 0; i < item->delivery_count; i++) {
        if (i) buf_char(&values, '\n');
        buf_append(&values, delivery_text(req->arena, base_url, &item->deliveries[i]));
    }

    json_begin_object(w);
    json_kv_id(w, "order_id", o->id);
    json_kv_cstr(w, "status", order_status_names[o->status]);
    json_kv_money(w, "total", o->total);
    json_key(w, "delivery");
    json_begin_object(w);
    json_kv_cstr(w, "type", delivery_type_names[item->delivery_type]);
    json_kv_str(w, "value", buf_str(&values));
    json_end_object(w);
    json_key(w, "deliveries");
    json_begin_array(w);
    for (size_t i = 0; i < item->delivery_count; i++) view_delivery(w, req->arena, base_url, &item->deliveries[i]);
    json_end_array(w);
    json_end_object(w);
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
    struct order order;
    struct order_shortfall shortfall;
    e = order_place(req->db, &draft, req->now, &order, &shortfall);
    if (e == ERR_FIELD_RANGE) return request_bad_field(req, "quantity", e);
    if (e == ERR_INSUFFICIENT_BALANCE) {
        request_error_money(req, "required", shortfall.required);
        request_error_money(req, "available", shortfall.available);
    }
    if (e) return e;
    req->message = "Order confirmed";
    view_receipt(req, &order);
    return OK;
}

const struct route v1_order_routes[] = {
    {"POST", "/api/v1/order/create", SCOPE_ORDER, TX_WRITE, &order_shape, post_order,
     IDEMPOTENT | CHECKS_FIRST | PROVEN_EMAIL | GROUPED, .ahead = ask_ahead},
    {0},
};
