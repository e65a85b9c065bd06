/* api/admin/admin_coupons.c - coupons. The value of a percent coupon has two decimals; that of a fixed coupon is money.
 */
#include "api/admin/audit_trail.h"
#include "api/tables.h"
#include "domain/coupon.h"
#include "domain/settings.h"

#define PRODUCTS_MAX 1000
#define USES_MAX 1000000000

struct coupon_view {
    const struct coupon *coupon;
    const Id *products;
    size_t product_count;
};

static void kv_opt_int(struct json_writer *w, const char *key, int64_t v)
{
    if (v)
        json_kv_int(w, key, v);
    else
        json_kv_null(w, key);
}

static void view_coupon(struct json_writer *w, const void *thing)
{
    const struct coupon_view *view = thing;
    const struct coupon *c = view->coupon;
    json_begin_object(w);
    json_kv_id(w, "id", c->id);
    json_kv_str(w, "code", c->code);
    json_kv_cstr(w, "kind", coupon_kind_names[c->kind]);
    json_key(w, "value");
    if (c->kind == COUPON_FIXED) {
        json_money(w, (Money){c->value});
    } else {
        char text[MONEY_TEXT_MAX];
        size_t n = money_format((Money){c->value}, 2, text);
        json_raw(w, (Str){text, n});
    }
    json_key(w, "product_ids");
    json_begin_array(w);
    for (size_t i = 0; i < view->product_count; i++) json_id(w, view->products[i]);
    json_end_array(w);
    json_kv_money(w, "min_total", c->min_total);
    json_kv_time(w, "starts_at", c->starts_at);
    json_kv_time(w, "expires_at", c->expires_at);
    kv_opt_int(w, "max_uses", c->max_uses);
    kv_opt_int(w, "max_uses_per_customer", c->max_uses_per_customer);
    json_kv_bool(w, "is_active", c->is_active);
    json_kv_int(w, "uses", c->uses);
    json_kv_time(w, "created_at", c->created_at);
    json_kv_int(w, "version", c->version);
    json_end_object(w);
}

static enum err view_of(struct request *req, const struct coupon *c, struct coupon_view *ret)
{
    Id *products;
    size_t count;
    enum err e = coupon_products(req->db, c->id, &products, &count);
    if (!e) *ret = (struct coupon_view){c, products, count};
    return e;
}

static enum err show_coupon(struct request *req, const void *coupon)
{
    struct coupon_view view;
    enum err e = view_of(req, coupon, &view);
    if (!e) view_coupon(&req->out, &view);
    return e;
}

static const struct list coupon_rows = {LIST_ROWS(struct coupon, id), .show = show_coupon};

static enum err get_coupons(struct request *req)
{
    struct list_page page;
    struct coupon *coupons;
    enum err e = request_page(req, &page);
    if (!e) e = coupon_list(req->db, page.after_id, page.ask, &coupons, &page.found);
    return e ? e : request_list(req, &page, &coupon_rows, coupons);
}

static enum err get_coupon(struct request *req)
{
    struct coupon c;
    struct coupon_view view;
    enum err e = coupon_find(req->db, req->param_id, &c);
    if (!e) e = view_of(req, &c, &view);
    if (e) return e;
    request_etag_version(req, c.version);
    view_coupon(&req->out, &view);
    return OK;
}

struct coupon_body {
    Str code;
    int kind;
    Str value; /* the literal: its meaning depends on kind */
    struct id_list product_ids;
    Money min_total;
    Time starts_at, expires_at;
    int64_t max_uses, max_uses_per_customer;
    bool is_active;
    bool has_code, has_kind, has_value, has_product_ids, has_min_total, has_starts_at, has_expires_at, has_max_uses,
        has_per_customer, has_is_active;
};

#define BODY(member) offsetof(struct coupon_body, member)
#define COUPON_FIELDS(needed)                                                                                          \
    {"code", FIELD_LINE, needed, BODY(code), .min = 1, .max = 64, .has = BODY(has_code)},                              \
        {"kind", FIELD_CHOICE, needed, BODY(kind), .choices = coupon_kind_names, .has = BODY(has_kind)},               \
        {"value", FIELD_NUMBER, needed, BODY(value), .has = BODY(has_value)},                                          \
        {"product_ids", FIELD_IDS, OPTIONAL, BODY(product_ids), .max = PRODUCTS_MAX, .has = BODY(has_product_ids)},    \
        {"min_total",                                                                                                  \
         FIELD_MONEY,                                                                                                  \
         OPTIONAL,                                                                                                     \
         BODY(min_total),                                                                                              \
         .min = 0,                                                                                                     \
         .max = INT64_MAX / 1000,                                                                                      \
         .has = BODY(has_min_total)},                                                                                  \
        {"starts_at", FIELD_TIME, NULLABLE, BODY(starts_at), .has = BODY(has_starts_at)},                              \
        {"expires_at", FIELD_TIME, NULLABLE, BODY(expires_at), .has = BODY(has_expires_at)},                           \
        {"max_uses", FIELD_INT, NULLABLE, BODY(max_uses), .min = 1, .max = USES_MAX, .has = BODY(has_max_uses)},       \
        {"max_uses_per_customer",      FIELD_INT, NULLABLE, BODY(max_uses_per_customer), .min = 1, .max = USES_MAX,    \
         .has = BODY(has_per_customer)},                                                                               \
    {                                                                                                                  \
        "is_active", FIELD_BOOL, OPTIONAL, BODY(is_active), .has = BODY(has_is_active)                                 \
    }

static const struct field coupon_fields[] = {COUPON_FIELDS(REQUIRED), {0}};
static const struct shape coupon_shape = {coupon_fields, sizeof(struct coupon_body)};
static const struct field coupon_patch_fields[] = {COUPON_FIELDS(OPTIONAL), {0}};
static const struct shape coupon_patch = {coupon_patch_fields, sizeof(struct coupon_body)};

static enum err apply_value(struct request *req, struct coupon *c, Str text)
{
    Money v;
    bool percent = c->kind == COUPON_PERCENT;
    switch (money_parse(text, percent ? 2 : req->settings->exponent, &v)) {
    case MONEY_OK: break;
    case MONEY_TOO_PRECISE: return request_bad_field(req, "value", ERR_FIELD_TOO_PRECISE);
    default: return request_bad_field(req, "value", ERR_FIELD_RANGE);
    }
    if (v.minor <= 0) return request_bad_field(req, "value", ERR_FIELD_NOT_POSITIVE);
    if (percent && v.minor > 10000) return request_bad_field(req, "value", ERR_FIELD_RANGE);
    c->value = v.minor;
    return OK;
}

static enum err coupon_apply(struct request *req, struct coupon *c, const struct coupon_body *in)
{
    enum err e = OK;
    if (in->has_code && !coupon_code_normalise(req->arena, in->code, &c->code))
        e = request_bad_field(req, "code", ERR_FIELD_CHARACTERS);
    if (in->has_kind) c->kind = (enum coupon_kind)in->kind;
    /* A value has another meaning under another kind, so a new kind needs a new value. */
    if (in->has_kind && !in->has_value) e = request_bad_field(req, "value", ERR_FIELD_REQUIRED);
    if (in->has_value) {
        enum err bad = apply_value(req, c, in->value);
        if (bad) e = bad;
    }
    if (in->has_min_total) c->min_total = in->min_total;
    if (in->has_starts_at) c->starts_at = in->starts_at;
    if (in->has_expires_at) c->expires_at = in->expires_at;
    if (in->has_max_uses) c->max_uses = in->max_uses;
    if (in->has_per_customer) c->max_uses_per_customer = in->max_uses_per_customer;
    if (in->has_is_active) c->is_active = in->is_active;
    if (time_is(c->starts_at) && time_is(c->expires_at) && c->expires_at.ms <= c->starts_at.ms)
        e = request_bad_field(req, "expires_at", ERR_FIELD_RANGE);
    return e;
}

/* Attaches the domain's error to its field. */
static enum err coupon_refused(struct request *req, enum err e)
{
    if (e == ERR_FIELD_NOT_FOUND) return request_bad_field(req, "product_ids", e);
    if (e == ERR_FIELD_RANGE) return request_bad_field(req, "max_uses", e);
    return e;
}

static enum err post_coupon(struct request *req)
{
    const struct coupon_body *in = req->body;
    struct coupon want = {.is_active = true, .max_uses_per_customer = 1}, made;
    struct coupon_view view;
    enum err e = coupon_apply(req, &want, in);
    if (e) return e;
    e = coupon_create(req->db, &want, in->product_ids.items, in->product_ids.count, req->now, &made);
    if (e) return coupon_refused(req, e);
    e = view_of(req, &made, &view);
    if (e) return e;
    request_etag_version(req, made.version);
    view_coupon(&req->out, &view);
    request_created(req, "/api/admin/coupons", made.id);
    return admin_audit(req, "coupon.create", made.id, made.code, (Str){0}, admin_json(req, view_coupon, &view));
}

static enum err patch_coupon(struct request *req)
{
    static const Id none[1];
    const struct coupon_body *in = req->body;
    struct coupon before, want, after;
    struct coupon_view before_view, after_view;
    enum err e = coupon_find(req->db, req->param_id, &before);
    if (!e) e = request_if_match(req, before.version);
    if (!e) e = view_of(req, &before, &before_view);
    if (e) return e;
    want = before;
    e = coupon_apply(req, &want, in);
    if (e) return e;
    const Id *products = !in->has_product_ids ? NULL : in->product_ids.count ? in->product_ids.items : none;
    e = coupon_update(req->db, &want, products, in->product_ids.count, &after);
    if (e) return coupon_refused(req, e);
    e = view_of(req, &after, &after_view);
    if (e) return e;
    request_etag_version(req, after.version);
    view_coupon(&req->out, &after_view);
    return admin_audit(req, "coupon.update", after.id, after.code, admin_json(req, view_coupon, &before_view),
                       admin_json(req, view_coupon, &after_view));
}

static enum err delete_coupon(struct request *req)
{
    struct coupon before;
    struct coupon_view view;
    bool deleted;
    enum err e = coupon_find(req->db, req->param_id, &before);
    if (!e) e = request_if_match(req, before.version);
    if (!e) e = view_of(req, &before, &view);
    if (!e) e = coupon_delete(req->db, req->param_id, &deleted);
    if (e) return e;
    json_begin_object(&req->out);
    json_kv_bool(&req->out, "deleted", deleted);
    json_end_object(&req->out);
    return admin_audit(req, deleted ? "coupon.delete" : "coupon.disable", before.id, before.code,
                       admin_json(req, view_coupon, &view), (Str){0});
}

const struct route admin_coupons_routes[] = {
    {"GET", "/api/admin/coupons", SCOPE_ADMIN, TX_READ, NULL, get_coupons, .query = &list_query_shape},
    {"POST", "/api/admin/coupons", SCOPE_ADMIN, TX_WRITE, &coupon_shape, post_coupon, IDEMPOTENT},
    {"GET", "/api/admin/coupons/{id}", SCOPE_ADMIN, TX_READ, NULL, get_coupon},
    {"PATCH", "/api/admin/coupons/{id}", SCOPE_ADMIN, TX_WRITE, &coupon_patch, patch_coupon},
    {"DELETE", "/api/admin/coupons/{id}", SCOPE_ADMIN, TX_WRITE, NULL, delete_coupon},
    {0},
};
