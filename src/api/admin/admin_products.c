/* api/admin/admin_products.c - products and variants as staff see and change them. */
#include "api/admin/audit_trail.h"
#include "api/tables.h"
#include "base/text.h"
#include "domain/image.h"
#include "domain/product.h"
#include "serve/app.h"
#include "view/view_store.h"

#define DAYS_MAX 36500
#define POSITION_MAX 1000000000

static void kv_opt_int(struct json_writer *w, const char *key, int64_t v)
{
    if (v)
        json_kv_int(w, key, v);
    else
        json_kv_null(w, key);
}

static void view_variant(struct json_writer *w, const void *thing)
{
    const struct variant *v = thing;
    json_begin_object(w);
    json_kv_id(w, "id", v->id);
    json_kv_str(w, "name", v->name);
    json_kv_money(w, "price", v->price);
    json_kv_bool(w, "is_default", v->is_default);
    json_kv_bool(w, "is_active", v->is_active);
    kv_opt_int(w, "license_days", v->license_days);
    json_end_object(w);
}

static void product_members(struct json_writer *w, const struct product *p)
{
    json_kv_id(w, "id", p->id);
    json_kv_str(w, "slug", p->slug);
    json_kv_str(w, "name", p->name);
    json_kv_str(w, "description", p->description);
    json_kv_money(w, "price", p->own_price);
    json_kv_cstr(w, "delivery_type", delivery_type_names[p->delivery_type]);
    json_kv_bool(w, "is_active", p->is_active);
    json_kv_bool(w, "in_stock", p->in_stock);
    json_kv_int(w, "position", p->position);
    kv_opt_int(w, "license_days", p->license_days);
    json_kv_str(w, "key_prefix", p->key_prefix);
    json_kv_str(w, "download_url", p->download_url);
    kv_opt_int(w, "download_limit", p->download_limit);
    kv_opt_int(w, "download_days", p->download_days);
    json_kv_opt_str(w, "file_name", p->file_name);
    json_kv_int(w, "file_bytes", p->file_bytes);
    json_kv_time(w, "created_at", p->created_at);
    json_kv_time(w, "updated_at", p->updated_at);
    json_kv_int(w, "version", p->version);
    view_images(w, p);
}

static void view_product_listed(struct json_writer *w, const void *row)
{
    const struct product *p = row;
    json_begin_object(w);
    product_members(w, p);
    json_end_object(w);
}

static void view_product_full(struct json_writer *w, const void *thing)
{
    const struct product *p = thing;
    json_begin_object(w);
    product_members(w, p);
    json_key(w, "variants");
    json_begin_array(w);
    for (size_t i = 0; i < p->variant_count; i++) view_variant(w, &p->variants[i]);
    json_end_array(w);
    json_end_object(w);
}

static const struct list product_rows = {LIST_ROWS(struct product, id), .view = view_product_listed,
                                         .key_at = offsetof(struct product, position)};

static enum err get_products(struct request *req)
{
    struct list_page page;
    struct product *products;
    enum err e = request_page(req, &page);
    if (!e) e = product_list(req->db, page.after_key, page.after_id, page.ask, &products, &page.found);
    if (!e) e = image_attach(req->db, products, page.found);
    return e ? e : request_list(req, &page, &product_rows, products);
}

static enum err get_product(struct request *req)
{
    struct product p;
    enum err e = product_find(req->db, req->param_id, &p);
    if (!e) e = image_attach(req->db, &p, 1);
    if (e) return e;
    request_etag_version(req, p.version);
    view_product_full(&req->out, &p);
    return OK;
}

/* One struct for creating and changing; creating ignores the has_ flags, changing has no required fields. */
struct product_body {
    Str name, slug, description, key_prefix, download_url;
    Money price;
    int delivery_type;
    bool is_active;
    int64_t position, license_days, download_limit, download_days;
    bool has_name, has_slug, has_description, has_price, has_delivery_type, has_is_active, has_position, has_key_prefix,
        has_download_url;
    bool has_license_days, has_download_limit, has_download_days;
};

#define BODY(member) offsetof(struct product_body, member)
#define PRODUCT_FIELDS(needed)                                                                                         \
    {"name", FIELD_LINE, needed, BODY(name), .min = 1, .max = 200, .has = BODY(has_name)},                             \
        {"slug", FIELD_SLUG, OPTIONAL, BODY(slug), .has = BODY(has_slug)},                                             \
        {"description", FIELD_TEXT, OPTIONAL, BODY(description), .max = 20000, .has = BODY(has_description)},          \
        {"price", FIELD_MONEY, needed, BODY(price), .min = 0, .max = INT64_MAX / 1000, .has = BODY(has_price)},        \
        {"delivery_type",                                                                                              \
         FIELD_CHOICE,                                                                                                 \
         needed,                                                                                                       \
         BODY(delivery_type),                                                                                          \
         .choices = delivery_type_names,                                                                               \
         .has = BODY(has_delivery_type)},                                                                              \
        {"is_active", FIELD_BOOL, OPTIONAL, BODY(is_active), .has = BODY(has_is_active)}, {"position",                 \
                                                                                           FIELD_INT,                  \
                                                                                           OPTIONAL,                   \
                                                                                           BODY(position),             \
                                                                                           .min = -POSITION_MAX,       \
                                                                                           .max = POSITION_MAX,        \
                                                                                           .has = BODY(has_position)}, \
        {"license_days",                                                                                               \
         FIELD_INT,                                                                                                    \
         NULLABLE,                                                                                                     \
         BODY(license_days),                                                                                           \
         .min = 1,                                                                                                     \
         .max = DAYS_MAX,                                                                                              \
         .has = BODY(has_license_days)},                                                                               \
        {"key_prefix", FIELD_LINE, OPTIONAL, BODY(key_prefix), .max = 16, .has = BODY(has_key_prefix)},                \
        {"download_url", FIELD_LINE, OPTIONAL, BODY(download_url), .max = 2048, .has = BODY(has_download_url)},        \
        {"download_limit",                                                                                             \
         FIELD_INT,                                                                                                    \
         NULLABLE,                                                                                                     \
         BODY(download_limit),                                                                                         \
         .min = 1,                                                                                                     \
         .max = 1000000,                                                                                               \
         .has = BODY(has_download_limit)},                                                                             \
    {                                                                                                                  \
        "download_days", FIELD_INT, NULLABLE, BODY(download_days), .min = 1, .max = DAYS_MAX,                          \
                                                                   .has = BODY(has_download_days)                      \
    }

static const struct field product_fields[] = {PRODUCT_FIELDS(REQUIRED), {0}};
static const struct shape product_shape = {product_fields, sizeof(struct product_body)};
static const struct field product_patch_fields[] = {PRODUCT_FIELDS(OPTIONAL), {0}};
static const struct shape product_patch = {product_patch_fields, sizeof(struct product_body)};

/* What field types cannot express. An empty address removes the old one. */
static enum err product_check(struct request *req, const struct product_body *in)
{
    enum err e = OK;
    if (in->download_url.len && !url_is_web(in->download_url))
        e = request_bad_field(req, "download_url", ERR_FIELD_FORMAT);
    for (size_t i = 0; i < in->key_prefix.len; i++) {
        char c = in->key_prefix.ptr[i];
        if ((c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9')) continue;
        return request_bad_field(req, "key_prefix", ERR_FIELD_CHARACTERS);
    }
    return e;
}

/* The product as it will be: the given fields over the stored ones. */
static void product_apply(struct product *p, const struct product_body *in)
{
    if (in->has_name) p->name = in->name;
    if (in->has_slug) p->slug = in->slug;
    if (in->has_description) p->description = in->description;
    if (in->has_price) p->own_price = in->price;
    if (in->has_delivery_type) p->delivery_type = (enum delivery_type)in->delivery_type;
    if (in->has_is_active) p->is_active = in->is_active;
    if (in->has_position) p->position = in->position;
    if (in->has_key_prefix) p->key_prefix = in->key_prefix;
    if (in->has_download_url) p->download_url = in->download_url;
    if (in->has_license_days) p->license_days = in->license_days;
    if (in->has_download_limit) p->download_limit = in->download_limit;
    if (in->has_download_days) p->download_days = in->download_days;
}

static enum err post_product(struct request *req)
{
    const struct product_body *in = req->body;
    struct product want = {0}, made;
    enum err e = product_check(req, in);
    if (e) return e;
    product_apply(&want, in);
    e = product_create(req->db, &want, req->now, &made);
    if (e) return e;
    request_etag_version(req, made.version);
    view_product_full(&req->out, &made);
    request_created(req, "/api/admin/products", made.id);
    return admin_audit(req, "product.create", made.id, made.name, (Str){0}, admin_json(req, view_product_full, &made));
}

static enum err patch_product(struct request *req)
{
    const struct product_body *in = req->body;
    struct product before, want, after;
    enum err e = product_check(req, in);
    if (!e) e = product_find(req->db, req->param_id, &before);
    if (!e) e = request_if_match(req, before.version);
    /* What buyers download and run, as with a file of the store's own. */
    if (!e && in->has_download_url && !str_eq(in->download_url, before.download_url))
        e = request_is_confirmed(req, CONFIRMED);
    if (e) return e;
    want = before;
    product_apply(&want, in);
    e = product_update(req->db, &want, req->now, &after);
    if (!e) e = image_attach(req->db, &after, 1);
    if (e) return e;
    request_etag_version(req, after.version);
    view_product_full(&req->out, &after);
    return admin_audit(req, "product.update", after.id, after.name, admin_json(req, view_product_full, &before),
                       admin_json(req, view_product_full, &after));
}

static void view_deleted(struct json_writer *w, bool deleted)
{
    json_begin_object(w);
    json_kv_bool(w, "deleted", deleted);
    json_end_object(w);
}

static enum err delete_product(struct request *req)
{
    struct product before;
    bool deleted;
    enum err e = product_find(req->db, req->param_id, &before);
    if (!e) e = request_if_match(req, before.version);
    if (!e) e = product_delete(req->db, req->param_id, req->now, &deleted);
    if (e) return e;
    view_deleted(&req->out, deleted);
    return admin_audit(req, deleted ? "product.delete" : "product.disable", before.id, before.name,
                       admin_json(req, view_product_full, &before), (Str){0});
}

/* ---- variants ---- */

struct variant_body {
    Str name;
    Money price;
    bool is_default, is_active;
    int64_t license_days;
    bool has_name, has_price, has_is_default, has_is_active, has_license_days;
};

#define VARIANT(member) offsetof(struct variant_body, member)
#define VARIANT_FIELDS(needed)                                                                                         \
    {"name", FIELD_LINE, needed, VARIANT(name), .min = 1, .max = 100, .has = VARIANT(has_name)},                       \
        {"price", FIELD_MONEY, needed, VARIANT(price), .min = 0, .max = INT64_MAX / 1000, .has = VARIANT(has_price)},  \
        {"is_default", FIELD_BOOL, OPTIONAL, VARIANT(is_default), .has = VARIANT(has_is_default)},                     \
        {"is_active", FIELD_BOOL, OPTIONAL, VARIANT(is_active), .has = VARIANT(has_is_active)},                        \
    {                                                                                                                  \
        "license_days", FIELD_INT, NULLABLE, VARIANT(license_days), .min = 1, .max = DAYS_MAX,                         \
                                                                    .has = VARIANT(has_license_days)                   \
    }

static const struct field variant_fields[] = {VARIANT_FIELDS(REQUIRED), {0}};
static const struct shape variant_shape = {variant_fields, sizeof(struct variant_body)};
static const struct field variant_patch_fields[] = {VARIANT_FIELDS(OPTIONAL), {0}};
static const struct shape variant_patch = {variant_patch_fields, sizeof(struct variant_body)};

static void variant_apply(struct variant *v, const struct variant_body *in)
{
    if (in->has_name) v->name = in->name;
    if (in->has_price) v->price = in->price;
    if (in->has_is_default) v->is_default = in->is_default;
    if (in->has_is_active) v->is_active = in->is_active;
    if (in->has_license_days) v->license_days = in->license_days;
}

static enum err post_variant(struct request *req)
{
    struct variant want = {.is_active = true}, made;
    variant_apply(&want, req->body);
    enum err e = variant_create(req->db, req->param_id, &want, req->now, &made);
    if (e) return e;
    view_variant(&req->out, &made);
    request_created(req, "/api/admin/variants", made.id);
    return admin_audit(req, "variant.create", made.id, made.name, (Str){0}, admin_json(req, view_variant, &made));
}

static enum err patch_variant(struct request *req)
{
    Id product;
    struct variant before, want, after;
    enum err e = variant_find(req->db, req->param_id, &product, &before);
    if (e) return e;
    want = before;
    variant_apply(&want, req->body);
    e = variant_update(req->db, &want, req->now, &after);
    if (e) return e;
    view_variant(&req->out, &after);
    return admin_audit(req, "variant.update", after.id, after.name, admin_json(req, view_variant, &before),
                       admin_json(req, view_variant, &after));
}

static enum err delete_variant(struct request *req)
{
    Id product;
    struct variant before;
    bool deleted;
    enum err e = variant_find(req->db, req->param_id, &product, &before);
    if (!e) e = variant_delete(req->db, req->param_id, req->now, &deleted);
    if (e) return e;
    view_deleted(&req->out, deleted);
    return admin_audit(req, deleted ? "variant.delete" : "variant.disable", before.id, before.name,
                       admin_json(req, view_variant, &before), (Str){0});
}

const struct route admin_products_routes[] = {
    {"GET", "/api/admin/products", SCOPE_ADMIN, TX_READ, NULL, get_products, .query = &list_query_shape},
    {"POST", "/api/admin/products", SCOPE_ADMIN, TX_WRITE, &product_shape, post_product, IDEMPOTENT,
     .body_bytes_max = 300000},
    {"GET", "/api/admin/products/{id}", SCOPE_ADMIN, TX_READ, NULL, get_product},
    {"PATCH", "/api/admin/products/{id}", SCOPE_ADMIN, TX_WRITE, &product_patch, patch_product,
     .body_bytes_max = 300000},
    {"DELETE", "/api/admin/products/{id}", SCOPE_ADMIN, TX_WRITE, NULL, delete_product},
    {"POST", "/api/admin/products/{id}/variants", SCOPE_ADMIN, TX_WRITE, &variant_shape, post_variant, IDEMPOTENT},
    {"PATCH", "/api/admin/variants/{id}", SCOPE_ADMIN, TX_WRITE, &variant_patch, patch_variant},
    {"DELETE", "/api/admin/variants/{id}", SCOPE_ADMIN, TX_WRITE, NULL, delete_variant},
    {0},
};
