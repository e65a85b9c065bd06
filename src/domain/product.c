/* domain/product.c - products as staff see and change them; see product.h. Variants are in variant.c. */
#include "domain/product.h"

#include <assert.h>

#include "base/random.h"
#include "db/rows.h"
#include "domain/product_row.h"
#include "domain/slug.h"

static enum err read_variants(struct db *db, struct product *p)
{
    static const char find[] = "SELECT " VARIANT_COLUMNS " FROM variant v JOIN product p ON p.id = v.product_id"
                               " WHERE v.product_id = $1 ORDER BY v.is_default DESC, v.id";
    struct arena *a = db_arena(db);
    struct variant *list = NULL;
    size_t n = 0, cap = 0;
    struct stmt *st = db_prepare(db, find);
    bind_id(st, p->id);
    while (db_step(st)) {
        if (n == cap) {
            cap = cap ? cap * 2 : 8;
            list = arena_grow(a, list, n * sizeof *list, cap * sizeof *list);
        }
        Id product;
        variant_row_read(st, &product, &list[n++]);
    }
    enum err e = db_done(st);
    if (e) return e;
    product_take_variants(p, list, n);
    return OK;
}

static enum err read_product(struct db *db, struct stmt *st, struct product *ret)
{
    struct product p = {0};
    bool found = db_step(st);
    if (found) product_row_read(st, &p);
    enum err e = db_done(st);
    if (e) return e;
    if (!found) return ERR_NOT_FOUND;
    e = read_variants(db, &p);
    if (e) return e;
    *ret = p;
    return OK;
}

enum err product_find(struct db *db, Id id, struct product *ret)
{
    static const char find[] = "SELECT " PRODUCT_COLUMNS " FROM product p WHERE p.id = $1";
    struct stmt *st = db_prepare(db, find);
    bind_id(st, id);
    return read_product(db, st, ret);
}

enum err product_find_slug(struct db *db, Str slug, struct product *ret)
{
    static const char find[] = "SELECT " PRODUCT_COLUMNS " FROM product p WHERE p.slug = $1";
    struct stmt *st = db_prepare(db, find);
    bind_text(st, slug);
    return read_product(db, st, ret);
}

#define POOLS_ON_SALE                                                                                                  \
    "(s.variant_id = 0 OR s.variant_id IN"                                                                             \
    " (SELECT v.id FROM variant v WHERE v.product_id = p.id AND v.is_active = 1))"

DB_READER(product_row_read);

enum err product_list(struct db *db, int64_t after_position, Id after_id, int64_t limit, struct product **ret,
                      size_t *ret_count)
{
    static const char find[] = "SELECT " PRODUCT_COLUMNS_WITH(
        POOLS_ON_SALE) " FROM product p"
                       " WHERE CAST($2 AS BIGINT) = 0 OR p.position > $1 OR (p.position = $1 AND p.id > $2)"
                       " ORDER BY p.position, p.id LIMIT $3";
    struct stmt *st = db_prepare(db, find);
    bind_int(st, after_position);
    bind_id(st, after_id);
    bind_int(st, limit);
    return db_rows(st, product_row_read, limit, ret, ret_count);
}

static void bind_some(struct stmt *st, int64_t n)
{
    bind_opt_id(st, (Id){n}); /* 0: none, NULL there */
}

/* The columns that create and update share, in their order. */
static void bind_fields(struct stmt *st, const struct product *p, Str slug)
{
    bind_text(st, slug);
    bind_text(st, p->name);
    bind_text(st, p->description);
    bind_money(st, p->own_price);
    bind_choice(st, delivery_type_names, p->delivery_type);
    bind_bool(st, p->is_active);
    bind_int(st, p->position);
    bind_some(st, p->license_days);
    bind_text(st, p->key_prefix);
    bind_text(st, p->download_url);
    bind_some(st, p->download_limit);
    bind_some(st, p->download_days);
}

/* The new id, or 0 when the slug is taken. */
static enum err insert(struct db *db, const struct product *p, Str slug, Time now, Id *ret)
{
    static const char sql[] =
        "INSERT INTO product (slug, name, description, price, delivery_type, is_active, position, license_days,"
        " key_prefix, download_url, download_limit, download_days, created_at, updated_at)"
        " VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $13)"
        " ON CONFLICT (slug) DO NOTHING RETURNING id";
    struct stmt *st = db_prepare(db, sql);
    bind_fields(st, p, slug);
    bind_time(st, now);
    Id id = db_step(st) ? col_id(st) : (Id){0};
    enum err e = db_done(st);
    if (e) return e;
    *ret = id;
    return OK;
}

/* Many products may share a name; after these tries the number is random, so that the search ends. */
#define SLUG_TRIES 20

static enum err insert_with_free_slug(struct db *db, const struct product *p, Time now, Id *ret)
{
    struct arena *a = db_arena(db);
    Str base = slug_from_name(a, p->name);
    Id id = {0};
    enum err e = insert(db, p, base, now, &id);
    for (int n = 2; !e && !id_is(id); n++) {
        int number = n <= SLUG_TRIES ? n : 1000 + (int)random_below(1000000000);
        e = insert(db, p, slug_numbered(a, base, number), now, &id);
    }
    if (e) return e;
    *ret = id;
    return OK;
}

enum err product_create(struct db *db, const struct product *p, Time now, struct product *ret)
{
    assert(p->name.len && p->own_price.minor >= 0);
    Id id = {0};
    enum err e = p->slug.len ? insert(db, p, p->slug, now, &id) : insert_with_free_slug(db, p, now, &id);
    if (e) return e;
    if (!id_is(id)) return ERR_SLUG_TAKEN;
    e = catalog_touch(db);
    if (e) return e;
    return product_find(db, id, ret);
}

static enum err check_slug(struct db *db, Str slug, Id except)
{
    static const char find[] = "SELECT 1 FROM product WHERE slug = $1 AND id <> $2";
    struct stmt *st = db_prepare(db, find);
    bind_text(st, slug);
    bind_id(st, except);
    bool taken = db_step(st);
    enum err e = db_done(st);
    return e ? e : taken ? ERR_SLUG_TAKEN : OK;
}

enum err product_update(struct db *db, const struct product *p, Time now, struct product *ret)
{
    static const char update[] =
        "UPDATE product SET slug = $1, name = $2, description = $3, price = $4, delivery_type = $5, is_active = $6,"
        " position = $7, license_days = $8, key_prefix = $9, download_url = $10, download_limit = $11,"
        " download_days = $12, updated_at = $13, version = version + 1 WHERE id = $14 AND version = $15 RETURNING id";
    assert(p->name.len && p->slug.len && p->own_price.minor >= 0);
    enum err e = check_slug(db, p->slug, p->id);
    if (e) return e;
    struct stmt *st = db_prepare(db, update);
    bind_fields(st, p, p->slug);
    bind_time(st, now);
    bind_id(st, p->id);
    bind_int(st, p->version);
    bool changed = db_step(st);
    e = db_done(st);
    if (e) return e;
    struct product after;
    if (!changed) {
        e = product_find(db, p->id, &after);
        return e ? e : ERR_PRECONDITION_FAILED;
    }
    e = catalog_touch(db);
    if (e) return e;
    return product_find(db, p->id, ret);
}

enum err product_set_file(struct db *db, Id id, Str file_name, Str file_key, int64_t file_bytes, Time now,
                          struct product *ret)
{
    static const char set[] = "UPDATE product SET file_name = $2, file_key = $3, file_bytes = $4, updated_at = $5,"
                              " version = version + 1 WHERE id = $1 RETURNING id";
    struct stmt *st = db_prepare(db, set);
    bind_id(st, id);
    bind_text(st, file_name);
    bind_text(st, file_key);
    bind_int(st, file_bytes);
    bind_time(st, now);
    bool found = db_step(st);
    enum err e = db_done(st);
    if (e) return e;
    if (!found) return ERR_NOT_FOUND;
    e = catalog_touch(db);
    if (e) return e;
    return product_find(db, id, ret);
}

/* Whether something depends on the product. A coupon does: one for this product alone would become one for all
 * products. */
static enum err is_in_use(struct db *db, Id id, bool *ret)
{
#define ANY(table, more) DB_ANY(table, "product_id", "$1", more)
    /* A licence that was sold has an order item of the same product. */
    static const char find[] = "SELECT 1 WHERE " ANY("order_item", "") " OR " ANY("serial", "") " OR " ANY(
        "cart_line", "") " OR " ANY("coupon_product", "") " OR " ANY("license", " AND order_item_id IS NULL");
#undef ANY
    struct stmt *st = db_prepare(db, find);
    bind_id(st, id);
    bool in_use = db_step(st);
    enum err e = db_done(st);
    if (e) return e;
    *ret = in_use;
    return OK;
}

enum err product_delete(struct db *db, Id id, Time now, bool *ret_deleted)
{
    static const char switch_off[] = "UPDATE product SET is_active = 0, updated_at = $2, version = version + 1"
                                     " WHERE id = $1 RETURNING id";
    static const char drop_variants[] = "DELETE FROM variant WHERE product_id = $1";
    static const char drop[] = "DELETE FROM product WHERE id = $1";
    static const char *const drops[] = {drop_variants, drop};

    struct stmt *st = db_prepare(db, switch_off);
    bind_id(st, id);
    bind_time(st, now);
    bool found = db_step(st), in_use = false;
    enum err e = db_done(st);
    if (e) return e;
    if (!found) return ERR_NOT_FOUND;
    e = is_in_use(db, id, &in_use);
    for (size_t i = 0; !e && !in_use && i < sizeof drops / sizeof *drops; i++) {
        st = db_prepare(db, drops[i]);
        bind_id(st, id);
        e = db_run(st);
    }
    if (!e) e = catalog_touch(db);
    if (e) return e;
    *ret_deleted = !in_use;
    return OK;
}
