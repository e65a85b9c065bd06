/* domain/license_index.c - see license_index.h. */
#include "domain/license_index.h"

#include <assert.h>

#include "domain/filing.h"
#include "domain/key_index.h"

#define SCAN_ON_LOOP 2048 /* rows */

static_assert(LICENSE_HASH_BYTES == KEY_HASH_BYTES, "one kind of hash");

static Str hash_str(const uint8_t hash[LICENSE_HASH_BYTES])
{
    return (Str){(const char *)hash, LICENSE_HASH_BYTES};
}

/* Whatever number somebody gave it. */
struct maybe_license {
    bool is_there;
    Id id;
};

static enum err read_id(struct stmt *st, struct maybe_license *ret)
{
    struct maybe_license found = {.is_there = db_step(st)};
    if (found.is_there) found.id = col_id(st);
    enum err e = db_done(st);
    if (!e) *ret = found;
    return e;
}

static enum err find_in_table(struct db *db, const uint8_t hash[LICENSE_HASH_BYTES], struct maybe_license *ret)
{
    static const char postgres[] = "SELECT id FROM license WHERE key_hash = $1";
    struct stmt *st = db_prepare(db, postgres);
    bind_blob(st, hash_str(hash));
    return read_id(st, ret);
}

static enum err find_filed(struct db *db, const uint8_t hash[LICENSE_HASH_BYTES], struct maybe_license *ret)
{
    static const char sqlite_filed[] = "SELECT l.id FROM license_key_filed k CROSS JOIN license l ON l.id = k.id"
                                       " WHERE k.key_start = $1 AND l.key_hash = $2";
    struct stmt *st = db_prepare(db, sqlite_filed);
    bind_blob(st, (Str){(const char *)hash, KEY_START_BYTES});
    bind_blob(st, hash_str(hash));
    return read_id(st, ret);
}

static enum err find_in_memory(struct db *db, const uint8_t hash[LICENSE_HASH_BYTES], struct maybe_license *ret)
{
    static const char sqlite_row[] = "SELECT id FROM license WHERE id = $1 AND key_hash = $2";
    Id *rows = NULL;
    struct maybe_license found = {0};
    size_t count = 0;
    enum err e = key_index_find(db, KEYS_OF_LICENSES, hash, &rows, &count);
    for (size_t n = 0; n < count && !e && !found.is_there; n++) {
        struct stmt *st = db_prepare(db, sqlite_row);
        bind_id(st, rows[n]);
        bind_blob(st, hash_str(hash));
        e = read_id(st, &found);
    }
    if (e && e != ERR_NEEDS_WRITE) return e;
    *ret = found;
    return OK;
}

/* What is not filed: behind `mark`, and up to `last`. */
struct not_filed {
    Id mark, last;
    uint8_t last_hash[LICENSE_HASH_BYTES];
};

static enum err read_not_filed(struct db *db, struct not_filed *ret)
{
    static const char sqlite_last[] = "SELECT f.up_to, COALESCE(l.id, 0), l.key_hash FROM filing f LEFT JOIN license l"
                                      " ON l.id = (SELECT MAX(id) FROM license) WHERE f.list = 'license_key'";
    struct not_filed n = {0};
    struct stmt *st = db_prepare(db, sqlite_last);
    if (db_step(st)) {
        n.mark = col_id(st);
        n.last = col_id(st);
        if (!col_blob_exact(st, n.last_hash, sizeof n.last_hash)) memset(n.last_hash, 0, sizeof n.last_hash);
    }
    enum err e = db_done(st);
    if (!e) *ret = n;
    return e;
}

/* Memory may lack rows: before a writer has read them, when somebody else has just added some, and in a program that
 * only reads. Then the rows are looked through. */
static enum err find_not_filed(struct db *db, const uint8_t hash[LICENSE_HASH_BYTES], struct maybe_license *ret)
{
    static const char sqlite_behind[] = "SELECT id FROM license WHERE id > $1 AND key_hash = $2";
    struct not_filed n;
    enum err e = read_not_filed(db, &n);
    if (e || n.last.v <= n.mark.v) return e;
    if (key_index_has_all(db, KEYS_OF_LICENSES, (Id){n.mark.v + 1}, n.last_hash, n.last)) return OK;
    if (db_is_on_loop(db) && n.last.v - n.mark.v > SCAN_ON_LOOP) return ERR_RUN_ALONE;
    struct stmt *st = db_prepare(db, sqlite_behind);
    bind_id(st, n.mark);
    bind_blob(st, hash_str(hash));
    return read_id(st, ret);
}

/* What is filed comes first: from then on the transaction sees nothing that memory has learned of later. */
enum err license_index_find(struct db *db, const uint8_t hash[LICENSE_HASH_BYTES], bool *ret_found, Id *ret)
{
    struct maybe_license l = {0};
    enum err e = db_is_postgres(db) ? find_in_table(db, hash, &l) : find_filed(db, hash, &l);
    if (!db_is_postgres(db)) {
        if (!e && !l.is_there) e = find_in_memory(db, hash, &l);
        if (!e && !l.is_there && !db_can_write(db)) e = find_not_filed(db, hash, &l);
    }
    if (e) return e;
    *ret_found = l.is_there;
    *ret = l.id;
    return OK;
}

enum err license_index_add(struct db *db, const uint8_t hash[LICENSE_HASH_BYTES], Id license)
{
    return db_is_postgres(db) ? OK : key_index_add(db, KEYS_OF_LICENSES, hash, license);
}
