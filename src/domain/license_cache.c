/* domain/license_cache.c - see license_cache.h. Places for a row are few and beside each other: the rows of a shelf.
 * Which shelf, the name says; it is made with a key, so nobody can choose one. */
#include "domain/license_cache.h"

#include <string.h>

#include "base/shelves.h"

#define LICENSE_PLACES 7 /* of a shelf: what is looked at first of them is one cache line */
#define LICENSE_SHELVES (LICENSE_CACHE_ROWS / LICENSE_PLACES)

struct kept_license {
    uint8_t name[VAULT_NAME_BYTES];
    struct row_mark mark; /* epoch 0: free */
    Id id, product_id, account_id;
    Time expires_at;
    bool is_good;
    uint8_t hardware_len;
    char hardware_id[LICENSE_CACHE_HARDWARE_MAX];
};

/* db/postgres_watch.h. The rows of a snapshot are below its xmax; others come from another server. The table has
 * another file once it was restored, or rewritten by ALTER TABLE, which no trigger sees. */
#define LOOK                                                                                                           \
    "SELECT pg_current_snapshot()::text, r.number, pg_relation_filenode('license')::bigint, c.license_id"              \
    " FROM revision r LEFT JOIN LATERAL (SELECT license_id FROM license_change"                                        \
    " WHERE xid >= $1 AND xid < pg_snapshot_xmax(pg_current_snapshot())::text::bigint"
#define LOOK_END ") c ON true WHERE r.name = 'catalog'"

const char license_look[] = LOOK " LIMIT $2" LOOK_END;
const char license_look_back[] = LOOK " UNION ALL SELECT license_id FROM license_change WHERE xid = ANY "
                                      "(string_to_array($3, ',')::bigint[]) LIMIT $2" LOOK_END;

static_assert(VAULT_NAME_BYTES == SHELF_KEY_BYTES, "the name is the key");
SHELVES(kept_licenses, struct kept_license, LICENSE_SHELVES, LICENSE_PLACES);

static size_t shelf_of(const uint8_t name[VAULT_NAME_BYTES])
{
    return (size_t)(name[0] << 8 | name[1]) % LICENSE_SHELVES;
}

static bool is_of(const struct kept_license *k, const uint8_t name[VAULT_NAME_BYTES])
{
    return k->mark.epoch && memcmp(k->name, name, VAULT_NAME_BYTES) == 0;
}

bool license_cache_find(struct db *db, const uint8_t name[VAULT_NAME_BYTES], struct license_facts *ret)
{
    struct kept_license k;
    if (!db_has_looked(db) || !shelves_find(&kept_licenses, shelf_of(name), name, &k)) return false;
    if (!is_of(&k, name) || !db_row_holds(db, k.id, k.mark)) return false;
    *ret = (struct license_facts){k.id, k.product_id, k.account_id, k.is_good, k.expires_at, {0}};
    if (k.hardware_len) ret->hardware_id = str_dup(db_arena(db), (Str){k.hardware_id, k.hardware_len});
    return true;
}

/* The place of this licence, or one whose row no longer holds, or any: which one, the name says. */
static size_t place_of(const struct db *db, size_t shelf, const uint8_t name[VAULT_NAME_BYTES])
{
    size_t place = LICENSE_PLACES;
    for (size_t i = 0; i < LICENSE_PLACES; i++) {
        struct kept_license k;
        shelves_look(&kept_licenses, shelf, i, &k);
        if (is_of(&k, name)) return i;
        if (place == LICENSE_PLACES && !db_row_holds(db, k.id, k.mark)) place = i;
    }
    return place < LICENSE_PLACES ? place : name[2] % LICENSE_PLACES;
}

void license_cache_keep(struct db *db, const uint8_t name[VAULT_NAME_BYTES], const struct license_facts *f)
{
    struct row_mark mark;
    if (f->hardware_id.len > LICENSE_CACHE_HARDWARE_MAX || !db_row_mark(db, f->id, &mark)) return;
    struct kept_license k = {.mark = mark,
                             .id = f->id,
                             .product_id = f->product_id,
                             .account_id = f->account_id,
                             .expires_at = f->expires_at,
                             .is_good = f->is_good,
                             .hardware_len = (uint8_t)f->hardware_id.len};
    memcpy(k.name, name, sizeof k.name);
    if (f->hardware_id.len) memcpy(k.hardware_id, f->hardware_id.ptr, f->hardware_id.len);
    size_t shelf = shelf_of(name);
    shelves_lock(&kept_licenses, shelf);
    shelves_put(&kept_licenses, shelf, place_of(db, shelf, name), &k);
    shelves_unlock(&kept_licenses, shelf);
}

static enum err look_at_changes(struct db *db, int64_t before, int64_t *ret_xmin, bool *ret_found)
{
    static const char postgres[] =
        "SELECT pg_snapshot_xmin(s.now)::text::bigint, CASE WHEN EXISTS (SELECT 1 FROM license_change"
        " WHERE (xid < $1 OR xid >= pg_snapshot_xmax(s.now)::text::bigint) AND license_id >= 0) THEN 1 ELSE 0 END FROM "
        "(SELECT pg_current_snapshot() AS now) s";
    struct stmt *st = db_prepare(db, postgres);
    bind_int(st, before);
    bool is_there = db_step(st);
    int64_t xmin = is_there ? col_int(st) : 0;
    bool found = is_there && col_bool(st);
    enum err e = db_done(st);
    if (e) return e;
    *ret_xmin = xmin;
    *ret_found = found;
    return OK;
}

enum err license_changes_forget(struct db *db, int64_t *last)
{
    static const char postgres_forget[] =
        "DELETE FROM license_change WHERE ctid = ANY (ARRAY(SELECT ctid FROM license_change"
        " WHERE xid < $1 OR xid >= pg_snapshot_xmax(pg_current_snapshot())::text::bigint LIMIT $2))";
    static const char postgres_note[] = "INSERT INTO license_change (xid, license_id) VALUES"
                                        " (pg_current_xact_id()::text::bigint, -$1::bigint) ON CONFLICT DO NOTHING";
    if (!db_is_postgres(db)) return OK;
    int64_t xmin = 0, before = *last;
    bool found = false;
    enum err e = look_at_changes(db, before, &xmin, &found);
    if (e) return e;
    if (found && !db_can_write(db)) return ERR_NEEDS_WRITE;
    if (found) {
        struct stmt *st = db_prepare(db, postgres_forget);
        bind_int(st, before);
        bind_int(st, LICENSE_CHANGES_FORGOTTEN);
        e = db_run(st);
    }
    if (found && before && !e) {
        struct stmt *st = db_prepare(db, postgres_note);
        bind_int(st, before);
        e = db_run(st);
    }
    if (!e) *last = xmin;
    return e;
}
