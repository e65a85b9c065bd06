/* domain/coupon_admin.c - coupons as staff change them; see the end of coupon.h. */
#include <assert.h>

#include "db/rows.h"

#include "domain/coupon_row.h"

static void bind_limit(struct stmt *st, int64_t limit)
{
    bind_opt_id(st, (Id){limit}); /* 0: no limit, NULL there */
}

static enum err set_products(struct db *db, Id coupon, const Id *products, size_t count)
{
    static const char clear[] = "DELETE FROM coupon_product WHERE coupon_id = $1";
    static const char add[] = "INSERT INTO coupon_product (coupon_id, product_id)"
                              " SELECT CAST($1 AS BIGINT), id FROM product WHERE id = $2 RETURNING product_id";
    struct stmt *st = db_prepare(db, clear);
    bind_id(st, coupon);
    enum err e = db_run(st);
    for (size_t i = 0; i < count && !e; i++) {
        st = db_prepare(db, add);
        bind_id(st, coupon);
        bind_id(st, products[i]);
        bool added = db_step(st);
        e = db_done(st);
        if (!e && !added) e = ERR_FIELD_NOT_FOUND;
    }
    return e;
}

static enum err check_code(struct db *db, Str code, Id except)
{
    static const char find[] = "SELECT 1 FROM coupon WHERE code = $1 AND id <> $2";
    struct stmt *st = db_prepare(db, find);
    bind_text(st, code);
    bind_id(st, except);
    bool taken = db_step(st);
    enum err e = db_done(st);
    return e ? e : taken ? ERR_CODE_TAKEN : OK;
}

enum err coupon_create(struct db *db, const struct coupon *c, const Id *products, size_t product_count, Time now,
                       struct coupon *ret)
{
    static const char insert[] =
        "INSERT INTO coupon (code, kind, value, min_total, starts_at, expires_at, max_uses, max_uses_per_customer,"
        " is_active, created_at) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)"
        " ON CONFLICT (code) DO NOTHING RETURNING id";
    assert(c->value > 0 && (c->kind == COUPON_FIXED || c->value <= COUPON_PERCENT_MAX));
    struct stmt *st = db_prepare(db, insert);
    bind_text(st, c->code);
    bind_choice(st, coupon_kind_names, c->kind);
    bind_int(st, c->value);
    bind_money(st, c->min_total);
    bind_opt_time(st, c->starts_at);
    bind_opt_time(st, c->expires_at);
    bind_limit(st, c->max_uses);
    bind_limit(st, c->max_uses_per_customer);
    bind_bool(st, c->is_active);
    bind_time(st, now);
    Id id = db_step(st) ? col_id(st) : (Id){0};
    enum err e = db_done(st);
    if (e) return e;
    if (!id_is(id)) return ERR_CODE_TAKEN;
    e = set_products(db, id, products, product_count);
    if (e) return e;
    return coupon_find(db, id, ret);
}

/* Waits for the orders that are redeeming it, and makes further ones wait, so that its uses can be counted. */
static enum err hold_row(struct db *db, Id coupon)
{
    static const char hold[] = "UPDATE coupon SET version = version WHERE id = $1";
    struct stmt *st = db_prepare(db, hold);
    bind_id(st, coupon);
    return db_run(st);
}

#define USES_SO_FAR "CASE WHEN c.max_uses IS NULL THEN " COUPON_USES " ELSE c.uses END"

enum err coupon_update(struct db *db, const struct coupon *c, const Id *products, size_t product_count,
                       struct coupon *ret)
{
    /* Uses are counted in the row while there is a limit over all customers: from the moment that it gets one. */
    static const char update[] =
        "UPDATE coupon AS c SET code = $3, kind = $4, value = $5, min_total = $6, starts_at = $7, expires_at = $8,"
        " max_uses = $9, max_uses_per_customer = $10, is_active = $11, version = version + 1,"
        " uses = CASE WHEN CAST($9 AS BIGINT) IS NULL THEN 0 ELSE " USES_SO_FAR " END"
        " WHERE id = $1 AND version = $2 AND (CAST($9 AS BIGINT) IS NULL OR " USES_SO_FAR " <= $9) RETURNING id";
    assert(c->value > 0 && (c->kind == COUPON_FIXED || c->value <= COUPON_PERCENT_MAX));
    enum err e = check_code(db, c->code, c->id);
    if (!e) e = hold_row(db, c->id);
    if (e) return e;
    struct stmt *st = db_prepare(db, update);
    bind_id(st, c->id);
    bind_int(st, c->version);
    bind_text(st, c->code);
    bind_choice(st, coupon_kind_names, c->kind);
    bind_int(st, c->value);
    bind_money(st, c->min_total);
    bind_opt_time(st, c->starts_at);
    bind_opt_time(st, c->expires_at);
    bind_limit(st, c->max_uses);
    bind_limit(st, c->max_uses_per_customer);
    bind_bool(st, c->is_active);
    bool changed = db_step(st);
    e = db_done(st);
    if (e) return e;
    if (!changed) {
        struct coupon now;
        e = coupon_find(db, c->id, &now);
        if (e) return e;
        return now.version == c->version ? ERR_FIELD_RANGE : ERR_PRECONDITION_FAILED;
    }
    if (products) e = set_products(db, c->id, products, product_count);
    if (e) return e;
    return coupon_find(db, c->id, ret);
}

enum err coupon_delete(struct db *db, Id id, bool *ret_deleted)
{
    /* Locked until the transaction ends: nobody redeems it between the check and the change. */
    static const char hold[] = "UPDATE coupon SET is_active = 0, version = version + 1 WHERE id = $1 RETURNING id";
#define ANY(table) DB_ANY(table, "coupon_id", "$1", "")
    static const char find_use[] = "SELECT 1 WHERE " ANY("orders") " OR " ANY("coupon_use") " OR " ANY("cart");
#undef ANY
    static const char drop_products[] = "DELETE FROM coupon_product WHERE coupon_id = $1";
    static const char drop[] = "DELETE FROM coupon WHERE id = $1";
    static const char *const drops[] = {drop_products, drop};

    struct stmt *st = db_prepare(db, hold);
    bind_id(st, id);
    bool found = db_step(st);
    enum err e = db_done(st);
    if (e) return e;
    if (!found) return ERR_NOT_FOUND;

    st = db_prepare(db, find_use);
    bind_id(st, id);
    bool used = db_step(st);
    e = db_done(st);
    for (size_t i = 0; !used && !e && i < sizeof drops / sizeof *drops; i++) {
        st = db_prepare(db, drops[i]);
        bind_id(st, id);
        e = db_run(st);
    }
    if (e) return e;
    *ret_deleted = !used;
    return OK;
}

DB_READER(coupon_columns_read);

enum err coupon_list(struct db *db, Id before, int64_t limit, struct coupon **ret, size_t *ret_count)
{
    static const char find[] =
        "SELECT " COUPON_COLUMNS_COUNTED " FROM coupon c WHERE c.id < $1 ORDER BY c.id DESC LIMIT $2";
    struct stmt *st = db_prepare(db, find);
    bind_int(st, id_is(before) ? before.v : INT64_MAX);
    bind_int(st, limit);
    return db_rows(st, coupon_columns_read, limit, ret, ret_count);
}
