/* domain/variant.c - the variants of a product as staff change them; see product.h.
 *
 * Every change first bumps the product's version: concurrent changes wait for that row. */
#include <assert.h>

#include "domain/product.h"
#include "domain/product_row.h"

enum err variant_find(struct db *db, Id id, Id *ret_product, struct variant *ret)
{
    static const char find[] = "SELECT " VARIANT_COLUMNS " FROM variant v JOIN product p ON p.id = v.product_id"
                               " WHERE v.id = $1";
    struct stmt *st = db_prepare(db, find);
    bind_id(st, id);
    Id product = {0};
    struct variant v = {0};
    bool found = db_step(st);
    if (found) variant_row_read(st, &product, &v);
    enum err e = db_done(st);
    if (e) return e;
    if (!found) return ERR_NOT_FOUND;
    *ret_product = product;
    *ret = v;
    return OK;
}

static enum err hold_product(struct db *db, Id product, Time now)
{
    static const char bump[] = "UPDATE product SET updated_at = $2, version = version + 1 WHERE id = $1 RETURNING id";
    struct stmt *st = db_prepare(db, bump);
    bind_id(st, product);
    bind_time(st, now);
    bool found = db_step(st);
    enum err e = db_done(st);
    if (e) return e;
    return found ? catalog_touch(db) : ERR_NOT_FOUND;
}

/* Exactly one default among the active variants: `wanted` if it is one of them (0: no new one), else the present
 * default, else the oldest. Two statements, because the index on defaults allows no two even for a moment. */
static enum err settle_default(struct db *db, Id product, Id wanted)
{
    static const char choose[] = "SELECT id FROM variant WHERE product_id = $1 AND is_active = 1"
                                 " ORDER BY CASE WHEN id = $2 THEN 0 ELSE 1 END, is_default DESC, id LIMIT 1";
    static const char clear[] =
        "UPDATE variant SET is_default = 0 WHERE product_id = $1 AND is_default = 1 AND id <> $2";
    static const char set[] = "UPDATE variant SET is_default = 1 WHERE id = $1 AND is_default = 0";
    struct stmt *st = db_prepare(db, choose);
    bind_id(st, product);
    bind_id(st, wanted);
    Id chosen = db_step(st) ? col_id(st) : (Id){0};
    enum err e = db_done(st);
    if (e) return e;
    st = db_prepare(db, clear);
    bind_id(st, product);
    bind_id(st, chosen);
    e = db_run(st);
    if (e) return e;
    st = db_prepare(db, set);
    bind_id(st, chosen);
    return db_run(st);
}

enum err variant_create(struct db *db, Id product, const struct variant *v, Time now, struct variant *ret)
{
    static const char insert[] = "INSERT INTO variant (product_id, name, price, is_default, is_active, license_days)"
                                 " VALUES ($1, $2, $3, 0, $4, $5) RETURNING id";
    assert(v->name.len && v->price.minor >= 0);
    enum err e = hold_product(db, product, now);
    if (e) return e;
    struct stmt *st = db_prepare(db, insert);
    bind_id(st, product);
    bind_text(st, v->name);
    bind_money(st, v->price);
    bind_bool(st, v->is_active);
    bind_opt_id(st, (Id){v->license_days});
    Id id = db_step(st) ? col_id(st) : (Id){0};
    e = db_done(st);
    if (e) return e;
    e = settle_default(db, product, v->is_default ? id : (Id){0});
    if (e) return e;
    return variant_find(db, id, &product, ret);
}

enum err variant_update(struct db *db, const struct variant *v, Time now, struct variant *ret)
{
    static const char update[] = "UPDATE variant SET name = $2, price = $3, is_active = $4, license_days = $5"
                                 " WHERE id = $1";
    assert(v->name.len && v->price.minor >= 0);
    Id product;
    struct variant before;
    enum err e = variant_find(db, v->id, &product, &before);
    if (e) return e;
    e = hold_product(db, product, now);
    if (e) return e;
    struct stmt *st = db_prepare(db, update);
    bind_id(st, v->id);
    bind_text(st, v->name);
    bind_money(st, v->price);
    bind_bool(st, v->is_active);
    bind_opt_id(st, (Id){v->license_days});
    e = db_run(st);
    if (e) return e;
    e = settle_default(db, product, v->is_default ? v->id : (Id){0});
    if (e) return e;
    return variant_find(db, v->id, &product, ret);
}

enum err variant_delete(struct db *db, Id id, Time now, bool *ret_deleted)
{
#define ANY(table, more) DB_ANY(table, "product_id", "$1", " AND variant_id = $2" more)
    static const char find_use[] = "SELECT 1 WHERE " ANY("order_item", "") " OR " ANY("serial", "") " OR " ANY(
        "cart_line", "") " OR " ANY("license", " AND order_item_id IS NULL");
#undef ANY
    static const char switch_off[] = "UPDATE variant SET is_active = 0 WHERE id = $1";
    static const char drop[] = "DELETE FROM variant WHERE id = $1";
    Id product;
    struct variant v;
    enum err e = variant_find(db, id, &product, &v);
    if (e) return e;
    e = hold_product(db, product, now);
    if (e) return e;

    struct stmt *st = db_prepare(db, find_use);
    bind_id(st, product);
    bind_id(st, id);
    bool in_use = db_step(st);
    e = db_done(st);
    if (e) return e;
    st = db_prepare(db, in_use ? switch_off : drop);
    bind_id(st, id);
    e = db_run(st);
    if (!e) e = settle_default(db, product, (Id){0});
    if (e) return e;
    *ret_deleted = !in_use;
    return OK;
}
