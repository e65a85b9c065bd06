/* domain/serial_import.c - codes that come into a pool, see serial.h.
 *
 * SQLite has one writer, and nobody is to wait for half a million codes: a long list is added in slices, each a
 * transaction of its own, with other people's orders in between. */
#include <assert.h>

#include "base/text.h"
#include "domain/catalog.h"
#include "domain/sealed_code.h"
#include "domain/serial.h"
#include "domain/serial_hint.h"

bool serial_code_is_valid(Str code)
{
    return code.len && utf8_valid(code) && utf8_count(code) <= SERIAL_CODE_MAX && text_is_line(code);
}

/* Rows per INSERT: many at a time make an import quick, above all on PostgreSQL. */
#define CHUNK 30
#define R1(hash, sealed) "($1,$2,$" #hash ",$" #sealed ")"
#define INSERT_CODES "INSERT INTO serial (product_id, variant_id, code_hash, sealed_code) VALUES "
#define SKIP_KNOWN " ON CONFLICT (product_id, code_hash) DO NOTHING RETURNING id"

static const char insert_one[] = INSERT_CODES R1(3, 4) SKIP_KNOWN;
/* clang-format off */
static const char insert_chunk[] = INSERT_CODES
    R1(3, 4) "," R1(5, 6) "," R1(7, 8) "," R1(9, 10) "," R1(11, 12) "," R1(13, 14) ","
    R1(15, 16) "," R1(17, 18) "," R1(19, 20) "," R1(21, 22) "," R1(23, 24) "," R1(25, 26) ","
    R1(27, 28) "," R1(29, 30) "," R1(31, 32) "," R1(33, 34) "," R1(35, 36) "," R1(37, 38) ","
    R1(39, 40) "," R1(41, 42) "," R1(43, 44) "," R1(45, 46) "," R1(47, 48) "," R1(49, 50) ","
    R1(51, 52) "," R1(53, 54) "," R1(55, 56) "," R1(57, 58) "," R1(59, 60) "," R1(61, 62)
    SKIP_KNOWN;
/* clang-format on */

static enum err insert_codes(struct db *db, const char *sql, Id product, Id variant, const Str *codes, size_t count,
                             int64_t *added)
{
    struct stmt *st = db_prepare(db, sql);
    bind_id(st, product);
    bind_id(st, variant);
    for (size_t i = 0; i < count; i++) {
        Str hash = {arena_alloc(db_arena(db), CODE_HASH_BYTES), CODE_HASH_BYTES};
        serial_code_hash(codes[i], (uint8_t *)(uintptr_t)hash.ptr);
        bind_blob(st, hash);
        bind_blob(st, code_seal(db_arena(db), hash, codes[i]));
    }
    while (db_step(st)) ++*added;
    return db_done(st);
}

/* Whether codes can be added to this pool. */
static enum err check_pool(struct db *db, Id product, Id variant)
{
    static const char find[] =
        "SELECT p.delivery_type, CASE WHEN CAST($2 AS BIGINT) = 0 OR EXISTS (SELECT 1 FROM variant v WHERE v.id = $2"
        " AND v.product_id = p.id) THEN 1 ELSE 0 END FROM product p WHERE p.id = $1";
    struct stmt *st = db_prepare(db, find);
    bind_id(st, product);
    bind_id(st, variant);
    bool found = db_step(st), is_serial = false;
    if (found) {
        is_serial = col_choice(st, delivery_type_names) == DELIVERY_SERIAL_CODE;
        found = col_bool(st);
    }
    enum err e = db_done(st);
    if (e) return e;
    return !found ? ERR_NOT_FOUND : !is_serial ? ERR_INVALID_STATE : OK;
}

enum err serial_import(struct db *db, Id product, Id variant, const Str *codes, size_t count, int64_t *ret_added,
                       int64_t *ret_duplicates)
{
    enum err e = check_pool(db, product, variant);
    if (e) return e;
    int64_t added = 0;
    for (size_t i = 0; i < count && !e;) {
        size_t n = count - i >= CHUNK ? CHUNK : 1;
        e = insert_codes(db, n == CHUNK ? insert_chunk : insert_one, product, variant, codes + i, n, &added);
        i += n;
    }
    if (e) return e;
    if (added) {
        serial_hint_forget(product);
        e = catalog_touch(db);
    }
    if (e) return e;
    *ret_added = added;
    *ret_duplicates = (int64_t)count - added;
    return OK;
}

struct slice {
    Id product, variant;
    const Str *codes;
    size_t count;
    int64_t added, duplicates;
};

static enum err add_slice(void *arg, struct db *db)
{
    struct slice *s = arg;
    return serial_import(db, s->product, s->variant, s->codes, s->count, &s->added, &s->duplicates);
}

enum err serial_import_slices(struct database *d, Id product, Id variant, const Str *codes, size_t count,
                              int64_t *added, int64_t *duplicates)
{
    struct arena arena = {0};
    enum err e = OK;
    for (size_t at = 0; at < count && !e;) {
        struct slice s = {product, variant, codes + at, count - at, 0, 0};
        if (s.count > SERIAL_SLICE) s.count = SERIAL_SLICE;
        e = tx_call(d, TX_WRITE, add_slice, &s, &arena);
        arena_reset(&arena);
        if (e) break;
        *added += s.added;
        *duplicates += s.duplicates;
        at += s.count;
    }
    arena_done(&arena);
    return e;
}
