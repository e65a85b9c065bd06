/* domain/catalog.c - see catalog.h.
 *
 * What customers see: active products that have something to sell. A product whose variants are all switched off has
 * nothing to sell: its own price was never meant to be paid, so it is as invisible as an inactive one. */
#include "domain/catalog.h"

#include <assert.h>

#include "domain/product_row.h"

const char *const delivery_type_names[] = {"license_key", "serial_code", "download_url", NULL};

void product_row_read(struct stmt *st, struct product *ret)
{
    struct product p = {0};
    p.id = col_id(st);
    p.slug = col_text(st);
    p.name = col_text(st);
    p.description = col_text(st);
    p.price = p.own_price = col_money(st);
    p.delivery_type = col_choice(st, delivery_type_names);
    p.is_active = col_bool(st);
    p.position = col_int(st);
    p.license_days = col_int(st);
    p.key_prefix = col_text(st);
    p.download_url = col_text(st);
    p.download_limit = col_int(st);
    p.download_days = col_int(st);
    p.file_name = col_text(st);
    p.file_key = col_text(st);
    p.file_bytes = col_int(st);
    p.created_at = col_time(st);
    p.updated_at = col_time(st);
    p.version = col_int(st);
    bool has_codes = col_bool(st);
    switch (p.delivery_type) {
    case DELIVERY_LICENSE_KEY: p.in_stock = true; break;
    case DELIVERY_SERIAL_CODE: p.in_stock = has_codes; break;
    case DELIVERY_DOWNLOAD_URL: p.in_stock = p.file_key.len || p.download_url.len; break;
    }
    *ret = p;
}

void variant_row_read(struct stmt *st, Id *ret_product, struct variant *ret)
{
    *ret_product = col_id(st);
    ret->id = col_id(st);
    ret->name = col_text(st);
    ret->price = col_money(st);
    ret->is_default = col_bool(st);
    ret->is_active = col_bool(st);
    ret->license_days = col_int(st);
    ret->in_stock = col_bool(st);
}

void product_take_variants(struct product *p, struct variant *variants, size_t count)
{
    if (count == 0) return;
    bool shared = p->in_stock, any = false;
    for (size_t i = 0; i < count; i++) {
        variants[i].in_stock |= shared;
        any |= variants[i].in_stock && variants[i].is_active;
    }
    p->variants = variants;
    p->variant_count = count;
    p->price = variants[0].price;
    p->in_stock = any;
}

#define VISIBLE                                                                                                        \
    "p.is_active = 1 AND (NOT EXISTS (SELECT 1 FROM variant x WHERE x.product_id = p.id)"                              \
    " OR EXISTS (SELECT 1 FROM variant x WHERE x.product_id = p.id AND x.is_active = 1))"

/* All variants that `st` gives, with the product of each. */
static enum err read_variants(struct db *db, struct stmt *st, struct variant **ret, Id **ret_products,
                              size_t *ret_count)
{
    struct arena *a = db_arena(db);
    struct variant *list = NULL;
    Id *products = NULL;
    size_t n = 0, cap = 0;
    while (db_step(st)) {
        if (n == cap) {
            cap = cap ? cap * 2 : 16;
            list = arena_grow(a, list, n * sizeof *list, cap * sizeof *list);
            products = arena_grow(a, products, n * sizeof *products, cap * sizeof *products);
        }
        variant_row_read(st, &products[n], &list[n]);
        if (n == 0 || !id_eq(products[n - 1], products[n])) list[n].is_default = true; /* the first one is */
        n++;
    }
    enum err e = db_done(st);
    if (e) return e;
    *ret = list;
    *ret_products = products;
    *ret_count = n;
    return OK;
}

enum err catalog_list(struct db *db, struct product **ret, size_t *ret_count)
{
    static const char find_products[] =
        "SELECT " PRODUCT_COLUMNS " FROM product p WHERE " VISIBLE " ORDER BY p.position, p.id";
    static const char find_variants[] =
        "SELECT " VARIANT_COLUMNS " FROM variant v JOIN product p ON p.id = v.product_id"
        " WHERE p.is_active = 1 AND v.is_active = 1 ORDER BY p.position, p.id, v.is_default DESC, v.id";
    struct arena *a = db_arena(db);
    struct product *list = NULL;
    size_t n = 0, cap = 0;
    struct stmt *st = db_prepare(db, find_products);
    while (db_step(st)) {
        if (n == cap) {
            cap = cap ? cap * 2 : 32;
            list = arena_grow(a, list, n * sizeof *list, cap * sizeof *list);
        }
        product_row_read(st, &list[n++]);
    }
    enum err e = db_done(st);
    if (e) return e;

    struct variant *variants;
    Id *owners;
    size_t variant_count;
    e = read_variants(db, db_prepare(db, find_variants), &variants, &owners, &variant_count);
    if (e) return e;

    /* Both lists have the same order, so one walk joins them. */
    size_t v = 0;
    for (size_t i = 0; i < n; i++) {
        size_t first = v;
        while (v < variant_count && id_eq(owners[v], list[i].id)) v++;
        product_take_variants(&list[i], variants ? variants + first : NULL, v - first);
    }
    assert(v == variant_count);
    *ret = list;
    *ret_count = n;
    return OK;
}

enum err catalog_find_slug(struct db *db, Str slug, struct product *ret)
{
    static const char find_product[] = "SELECT " PRODUCT_COLUMNS " FROM product p WHERE p.slug = $1 AND " VISIBLE;
    static const char find_variants[] =
        "SELECT " VARIANT_COLUMNS " FROM variant v JOIN product p ON p.id = v.product_id"
        " WHERE v.product_id = $1 AND v.is_active = 1 ORDER BY v.is_default DESC, v.id";
    struct stmt *st = db_prepare(db, find_product);
    bind_text(st, slug);
    struct product p = {0};
    bool found = db_step(st);
    if (found) product_row_read(st, &p);
    enum err e = db_done(st);
    if (e) return e;
    if (!found) return ERR_PRODUCT_NOT_FOUND;

    struct variant *variants;
    Id *owners;
    size_t count;
    st = db_prepare(db, find_variants);
    bind_id(st, p.id);
    e = read_variants(db, st, &variants, &owners, &count);
    if (e) return e;
    product_take_variants(&p, variants, count);
    *ret = p;
    return OK;
}

/* One row: the product, with the named variant or, without a name, its default one. */
static struct stmt *ask_offer(struct db *db, Id product, Id variant)
{
    static const char find[] =
        "SELECT p.id, p.name, p.price, p.delivery_type, p.license_days, p.key_prefix, p.download_url, p.file_key,"
        " p.file_name, p.download_limit, p.download_days,"
        " CASE WHEN EXISTS (SELECT 1 FROM variant x WHERE x.product_id = p.id) THEN 1 ELSE 0 END,"
        " v.id, v.name, v.price, v.license_days"
        " FROM product p LEFT JOIN variant v ON v.product_id = p.id AND v.is_active = 1"
        " AND (CAST($2 AS BIGINT) = 0 OR v.id = $2)"
        " WHERE p.id = $1 AND " VISIBLE " ORDER BY v.is_default DESC, v.id LIMIT 1";
    struct stmt *st = db_prepare(db, find);
    bind_id(st, product);
    bind_id(st, variant);
    return st;
}

void catalog_offer_ahead(struct db *db, Id product, Id variant)
{
    db_ahead(ask_offer(db, product, variant));
}

enum err catalog_offer(struct db *db, Id product, Id variant, enum variant_rule rule, struct offer *ret)
{
    struct stmt *st = ask_offer(db, product, variant);
    struct offer o = {0};
    bool found = db_step(st), has_variants = false;
    if (found) {
        o.product_id = col_id(st);
        o.name = col_text(st);
        o.price = col_money(st);
        o.delivery_type = col_choice(st, delivery_type_names);
        o.license_days = col_int(st);
        o.key_prefix = col_text(st);
        o.download_url = col_text(st);
        o.file_key = col_text(st);
        o.file_name = col_text(st);
        o.download_limit = col_int(st);
        o.download_days = col_int(st);
        has_variants = col_bool(st);
        o.variant_id = col_id(st);
        if (id_is(o.variant_id)) {
            o.variant_name = col_text(st);
            o.price = col_money(st);
            int64_t days = col_int(st);
            if (days) o.license_days = days;
        }
    }
    enum err e = db_done(st);
    if (e) return e;
    if (!found) return ERR_PRODUCT_NOT_FOUND;
    if (!has_variants && id_is(variant)) return ERR_FIELD_CONFLICT;
    if (has_variants && !id_is(variant) && rule == VARIANT_REQUIRED) return ERR_FIELD_REQUIRED;
    if (has_variants && !id_is(o.variant_id)) return ERR_FIELD_NOT_FOUND;
    *ret = o;
    return OK;
}

enum err catalog_touch(struct db *db)
{
    static const char touch[] = "UPDATE revision SET number = number + 1 WHERE name = 'catalog'";
    db_tell(db);
    return db_run(db_prepare(db, touch));
}

enum err catalog_revision(struct db *db, int64_t *ret)
{
    static const char find[] = "SELECT number FROM revision WHERE name = 'catalog'";
    if (db_watched_number(db, ret)) return OK;
    struct stmt *st = db_prepare(db, find);
    int64_t number = db_step(st) ? col_int(st) : 0;
    enum err e = db_done(st);
    if (e) return e;
    *ret = number;
    return OK;
}
