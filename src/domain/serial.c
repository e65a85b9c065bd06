/* domain/serial.c - see serial.h.
 *
 * Taking is a conditional update, so a code has one owner whatever runs concurrently. On PostgreSQL takers first skip
 * the codes that others hold (SKIP LOCKED, so they do not queue behind each other); only a taker that finds nothing
 * waits for the others to end, because one of them may yet roll back. */
#include "domain/serial.h"

#include <assert.h>
#include <stdlib.h>

#include "base/text.h"
#include "db/rows.h"
#include "domain/catalog.h"
#include "domain/sealed_code.h"
#include "domain/serial_hint.h"

/* The free codes of pool $1, $2 with ids from $3 on, in their order. PostgreSQL is asked for a range with the whole key
 * in its order: that leaves it no other index to walk, whatever its statistics say about sold codes (see DB_PAGE), and
 * it begins right at $3. */
#define FREE_SQLITE                                                                                                    \
    " FROM serial WHERE product_id = $1 AND variant_id = $2 AND id >= $3 AND taken_by IS NULL ORDER BY id"
#define FREE_POSTGRES(from)                                                                                            \
    " FROM serial WHERE (product_id, variant_id, id) >= ($1, $2, " from ")"                                            \
    " AND (product_id, variant_id) <= ($1, $2) AND taken_by IS NULL ORDER BY product_id, variant_id, id"

/* The WITH part is evaluated once: an IN (…) could be scanned again after a lock was released, and take more. The last
 * condition is written so that no index fits it: the row must be found by its id, not by walking the pool. Without
 * knowing the limit PostgreSQL would plan for a tenth of the pool, so it is told the highest. */
#define TAKE_SQLITE                                                                                                    \
    "WITH pick AS MATERIALIZED (SELECT id" FREE_SQLITE " LIMIT $6) UPDATE serial SET taken_by = $4, taken_at = $5"     \
    " FROM pick WHERE serial.id = pick.id AND COALESCE(taken_by, 0) = 0 RETURNING serial.id, serial.code_hash, "       \
    "serial.sealed_code"
#define TAKE_POSTGRES(most, lock)                                                                                      \
    "WITH pick AS MATERIALIZED (SELECT id FROM (SELECT id" FREE_POSTGRES(                                              \
        "$3") " LIMIT " most " FOR UPDATE" lock ") f"                                                                  \
              " LIMIT $6) UPDATE serial SET taken_by = $4, taken_at = $5"                                              \
              " WHERE id = ANY (ARRAY(SELECT id FROM pick)) AND COALESCE(taken_by, 0) = 0 RETURNING id, code_hash, "   \
              "sealed_code"

/* The ways to look: a taker that finds nothing tries the next. With a single writer the second is enough. */
enum look { LOOK_FROM_HINT, LOOK_STEPPING_OVER_LOCKED, LOOK_WAITING };

static struct stmt *prepare_take(struct db *db, size_t count, enum look look)
{
    static const char sqlite[] = TAKE_SQLITE;
    static const char postgres_one[] = TAKE_POSTGRES("1", " SKIP LOCKED");
    static const char postgres_many[] = TAKE_POSTGRES("1000", " SKIP LOCKED");
    static const char postgres_waiting[] = TAKE_POSTGRES("1000", "");
    static_assert(SERIAL_TAKE_MAX == 1000, "the limit in the texts");

    if (look == LOOK_WAITING) return db_prepare(db, postgres_waiting);
    return db_prepare(db, db_sql(db, sqlite, count == 1 ? postgres_one : postgres_many));
}

/* Customers see an empty pool as "not in stock". Nobody reads the result: PostgreSQL needs no round trip for it. */
static enum err touch_if_empty(struct db *db, Id product, Id variant, Id from)
{
    static const char sqlite[] = "UPDATE revision SET number = number + 1 WHERE name = 'catalog' AND NOT EXISTS"
                                 " (SELECT 1" FREE_SQLITE ")";
    static const char postgres[] =
        "UPDATE revision SET number = number + 1 WHERE name = 'catalog' AND COALESCE"
        " ((SELECT id" FREE_POSTGRES("$3") " LIMIT 1), (SELECT id" FREE_POSTGRES("0") " LIMIT 1)) IS NULL";

    db_tell(db); /* whether it was empty is not known before the commit */
    struct stmt *st = db_prepare(db, db_sql(db, sqlite, postgres));
    bind_id(st, product);
    bind_id(st, variant);
    bind_id(st, from);
    return db_run(st);
}

static enum err take_from_pool(struct db *db, Id product, Id variant, Id order_item, size_t count, Time now,
                               enum look look, struct serial *ret, size_t *ret_count)
{
    Id from = look == LOOK_FROM_HINT ? serial_hint(product, variant, now) : (Id){0}, last = {0};
    struct stmt *st = prepare_take(db, count, look);
    bind_id(st, product);
    bind_id(st, variant);
    bind_id(st, from);
    bind_id(st, order_item);
    bind_time(st, now);
    bind_int(st, (int64_t)count);
    size_t n = 0;
    enum err opened = OK;
    while (db_step(st)) {
        assert(n < count);
        ret[n].id = col_id(st);
        Str hash = col_blob(st), sealed = col_blob(st);
        if (!opened) opened = code_unseal(db_arena(db), hash, sealed, &ret[n].code);
        if (ret[n].id.v > last.v) last = ret[n].id;
        n++;
    }
    enum err e = db_done(st);
    if (!e) e = opened;
    if (e) return e;
    *ret_count += n;
    if (n == 0) return OK;
    if (!db_is_postgres(db)) return touch_if_empty(db, product, variant, (Id){0});
    serial_hint_note(product, variant, from, last);
    return touch_if_empty(db, product, variant, last);
}

static int by_id(const void *a, const void *b)
{
    int64_t x = ((const struct serial *)a)->id.v, y = ((const struct serial *)b)->id.v;
    return (x > y) - (x < y);
}

enum err serial_take_many(struct db *db, Id product, Id variant, Id order_item, size_t count, Time now,
                          struct serial *ret)
{
    const Id pools[] = {variant, {0}};
    const size_t pool_count = id_is(variant) ? 2 : 1;
    const enum look first = db_is_postgres(db) ? LOOK_FROM_HINT : LOOK_STEPPING_OVER_LOCKED;
    const enum look last = db_is_postgres(db) ? LOOK_WAITING : LOOK_STEPPING_OVER_LOCKED;

    assert(count <= SERIAL_TAKE_MAX);
    size_t n = 0;
    for (enum look look = first; look <= last && n < count; look++) {
        if (look == LOOK_WAITING && db_is_grouped(db)) return ERR_RUN_ALONE;
        for (size_t i = 0; i < pool_count && n < count; i++) {
            enum err e = take_from_pool(db, product, pools[i], order_item, count - n, now, look, ret + n, &n);
            if (e) return e;
        }
    }
    if (n < count) {
        serial_hint_forget(product); /* gives back what was taken, so that the oldest go first again */
        return ERR_OUT_OF_STOCK;
    }
    qsort(ret, count, sizeof *ret, by_id); /* RETURNING has no order */
    return OK;
}

enum err serial_take(struct db *db, Id product, Id variant, Id order_item, Time now, Id *ret_id, Str *ret_code)
{
    struct serial s;
    enum err e = serial_take_many(db, product, variant, order_item, 1, now, &s);
    if (e) return e;
    *ret_id = s.id;
    *ret_code = s.code;
    return OK;
}

static enum err count_free(struct db *db, Id product, Id variant, Id from, int64_t most, int64_t *ret)
{
    static const char sqlite[] = "SELECT COUNT(*) FROM (SELECT 1 AS one" FREE_SQLITE " LIMIT $4) f";
    static const char postgres[] = "SELECT COUNT(*) FROM (SELECT 1 AS one" FREE_POSTGRES("$3") " LIMIT $4) f";
    struct stmt *st = db_prepare(db, db_sql(db, sqlite, postgres));
    bind_id(st, product);
    bind_id(st, variant);
    bind_id(st, from);
    bind_int(st, most);
    int64_t n = db_step(st) ? col_int(st) : 0;
    enum err e = db_done(st);
    if (e) return e;
    *ret = n;
    return OK;
}

enum err serial_free(struct db *db, Id product, Id variant, int64_t most, int64_t *ret)
{
    Id from = db_is_postgres(db) ? serial_hint_peek(product, variant) : (Id){0};
    enum err e = count_free(db, product, variant, from, most, ret);
    return e || *ret >= most || !id_is(from) ? e : count_free(db, product, variant, (Id){0}, most, ret);
}

enum err serial_reserve(struct db *db, Id product, Id variant, Id order_item, size_t count, Time now)
{
    static const char mark[] = "UPDATE serial SET status = 'reserved' WHERE taken_by = $1";

    struct serial *taken = arena_array(db_arena(db), struct serial, count);
    enum err e = serial_take_many(db, product, variant, order_item, count, now, taken);
    if (e) return e;
    struct stmt *st = db_prepare(db, mark);
    bind_id(st, order_item);
    return db_run(st);
}

enum err serial_claim(struct db *db, Id order_item, Time now, size_t most, struct serial *ret, size_t *ret_count)
{
    static const char claim[] = "UPDATE serial SET status = 'good', taken_at = $2 WHERE taken_by = $1"
                                " AND status = 'reserved' RETURNING id, code_hash, sealed_code";

    size_t n = 0;
    enum err opened = OK;
    struct stmt *st = db_prepare(db, claim);
    bind_id(st, order_item);
    bind_time(st, now);
    while (db_step(st)) {
        assert(n < most);
        ret[n].id = col_id(st);
        Str hash = col_blob(st), sealed = col_blob(st);
        if (!opened) opened = code_unseal(db_arena(db), hash, sealed, &ret[n].code);
        n++;
    }
    enum err e = db_done(st);
    if (!e) e = opened;
    if (e) return e;
    if (n > 1) qsort(ret, n, sizeof *ret, by_id);
    *ret_count = n;
    return OK;
}

enum err serial_unreserve(struct db *db, Id order)
{
    static const char free_all[] = "UPDATE serial SET taken_by = NULL, taken_at = NULL, status = 'good'"
                                   " WHERE status = 'reserved' AND taken_by IN"
                                   " (SELECT id FROM order_item WHERE order_id = $1) RETURNING product_id";

    bool any = false;
    struct stmt *st = db_prepare(db, free_all);
    bind_id(st, order);
    while (db_step(st)) {
        serial_hint_forget(col_id(st));
        any = true;
    }
    enum err e = db_done(st);
    return e || !any ? e : catalog_touch(db);
}

enum err serial_mark_replaced(struct db *db, Id serial)
{
    static const char mark[] = "UPDATE serial SET status = 'replaced' WHERE id = $1";

    struct stmt *st = db_prepare(db, mark);
    bind_id(st, serial);
    return db_run(st);
}

enum err serial_mark_refunded(struct db *db, Id order_item)
{
    static const char mark[] = "UPDATE serial SET status = 'refunded' WHERE taken_by = $1 AND status = 'good'";
    struct stmt *st = db_prepare(db, mark);
    bind_id(st, order_item);
    return db_run(st);
}

static void read_pool(struct stmt *st, struct serial_pool *p)
{
    p->variant_id = col_id(st);
    p->variant_name = col_text(st);
    p->free = col_int(st);
    p->reserved = col_int(st);
    p->taken = col_int(st);
    p->refunded = col_int(st);
}
DB_READER(read_pool);

enum err serial_pools(struct db *db, Id product, struct serial_pool **ret, size_t *ret_count)
{
    static const char find[] =
        "SELECT v.id, v.name, COALESCE(c.total - c.taken, 0), COALESCE(c.reserved, 0),"
        " COALESCE(c.taken - c.reserved, 0), COALESCE(c.refunded, 0)"
        " FROM (SELECT 0 AS id, '' AS name UNION ALL SELECT id, name FROM variant WHERE product_id = $1) v"
        " LEFT JOIN (SELECT variant_id, COUNT(*) AS total, COUNT(taken_by) AS taken,"
        " SUM(CASE WHEN status = 'reserved' THEN 1 ELSE 0 END) AS reserved,"
        " SUM(CASE WHEN status = 'refunded' THEN 1 ELSE 0 END) AS refunded FROM serial WHERE product_id = $1"
        " GROUP BY variant_id) c ON c.variant_id = v.id ORDER BY v.id";
    struct stmt *st = db_prepare(db, find);
    bind_id(st, product);
    return db_rows(st, read_pool, ROWS_ALL, ret, ret_count);
}

static void read_shortage(struct stmt *st, struct serial_shortage *s)
{
    s->product_id = col_id(st);
    s->variant_id = col_id(st);
    s->product_name = col_text(st);
    s->variant_name = col_text(st);
    s->free = col_int(st);
}
DB_READER(read_shortage);

enum err serial_shortages(struct db *db, int64_t free_max, struct serial_shortage **ret, size_t *ret_count)
{
    /* Counts only as far as necessary: a pool may have millions of codes. */
    static const char find[] =
        "SELECT * FROM (SELECT o.product_id, o.variant_id, o.product_name, o.variant_name, (SELECT COUNT(*) FROM"
        " (SELECT 1 AS one FROM serial s WHERE s.product_id = o.product_id AND s.variant_id IN (0, o.variant_id)"
        " AND s.taken_by IS NULL LIMIT CAST($1 AS BIGINT) + 1) f) AS free FROM"
        " (SELECT p.id AS product_id, 0 AS variant_id, p.name AS product_name, '' AS variant_name FROM product p"
        " WHERE p.is_active = 1 AND p.delivery_type = 'serial_code'"
        " AND NOT EXISTS (SELECT 1 FROM variant v WHERE v.product_id = p.id)"
        " UNION ALL SELECT p.id, v.id, p.name, v.name FROM variant v JOIN product p ON p.id = v.product_id"
        " WHERE p.is_active = 1 AND v.is_active = 1 AND p.delivery_type = 'serial_code') o) x"
        " WHERE free <= $1 ORDER BY free, product_id, variant_id";
    struct stmt *st = db_prepare(db, find);
    bind_int(st, free_max);
    return db_rows(st, read_shortage, ROWS_ALL, ret, ret_count);
}

enum err serial_list(struct db *db, Id product, Id before, int64_t limit, struct serial_row **ret, size_t *ret_count)
{
    static const char find[] = "SELECT id, variant_id, taken_by, code_hash, sealed_code, taken_at,"
                               " CASE WHEN status = 'reserved' THEN 1 ELSE 0 END, CASE WHEN status = 'refunded' THEN 1 "
                               "ELSE 0 END FROM serial WHERE product_id = $1 AND id < $2 ORDER BY id DESC LIMIT $3";
    struct serial_row *list = arena_array(db_arena(db), struct serial_row, (size_t)limit);
    size_t n = 0;
    enum err opened = OK;
    struct stmt *st = db_prepare(db, find);
    bind_id(st, product);
    bind_int(st, id_is(before) ? before.v : INT64_MAX);
    bind_int(st, limit);
    while (n < (size_t)limit && db_step(st)) {
        struct serial_row *s = &list[n++];
        s->id = col_id(st);
        s->variant_id = col_id(st);
        s->order_item = col_id(st);
        Str hash = col_blob(st), sealed = col_blob(st);
        if (!opened) opened = code_unseal(db_arena(db), hash, sealed, &s->code);
        s->taken_at = col_time(st);
        s->is_reserved = col_bool(st);
        s->is_refunded = col_bool(st);
    }
    enum err e = db_done(st);
    if (!e) e = opened;
    if (e) return e;
    *ret = list;
    *ret_count = n;
    return OK;
}
