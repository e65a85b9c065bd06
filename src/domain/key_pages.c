/* domain/key_pages.c - see key_pages.h. */
#include "domain/key_pages.h"

#include <assert.h>
#include <stdlib.h>

#include "base/memory.h"
#include "domain/key_index.h"

#define WRITE_EVERY 4096 /* keys */
#define PAGE_MOST 65536  /* of a page */
#define NOTED_MOST (1 << 20)
#define HASH_START 8 /* bytes of a hash, then as many of the row's number */
#define PLACE_BYTES (HASH_START + 8)

/* Rows that no page covered when they were added, in this order. Those of a page stay until it has been committed. */
static struct {
    struct key_place *places;
    size_t count, size;
    size_t since; /* a page was last written */
} noted;

static uint64_t get_number(const char *from)
{
    uint64_t n = 0;
    for (int i = 0; i < 8; i++) n = n << 8 | (uint8_t)from[i];
    return n;
}

static void put_number(char *to, uint64_t n)
{
    for (int i = 7; i >= 0; i--, n >>= 8) to[i] = (char)(uint8_t)n;
}

/* Without room for more, rows stay without a page. */
static void note(struct key_place place)
{
    if (noted.count == noted.size) {
        size_t size = noted.size ? 2 * noted.size : 2 * WRITE_EVERY;
        struct key_place *places = size > NOTED_MOST ? NULL : memory_try_zeroed(size, sizeof *places);
        if (!places) {
            noted.count = 0;
        } else {
            if (noted.count) memcpy(places, noted.places, noted.count * sizeof *places);
            free(noted.places);
            noted.places = places;
            noted.size = size;
        }
    }
    if (noted.count < noted.size) noted.places[noted.count++] = place;
}

/* ---- reading ---- */

static enum err take_rows(struct db *db, int64_t from, int64_t until, key_taker *take, void *arg)
{
    static const char sqlite_rows[] = "SELECT id, key_hash FROM idempotency WHERE id > $1 AND id < $2 ORDER BY id";
    enum err taken = OK;
    struct stmt *st = db_prepare(db, sqlite_rows);
    bind_int(st, from);
    bind_int(st, until);
    while (!taken && db_step(st)) {
        uint8_t hash[KEY_HASH_BYTES];
        Id row = col_id(st);
        if (!col_blob_exact(st, hash, sizeof hash)) continue; /* none of ours */
        struct key_place place = {get_number((const char *)hash), row.v};
        taken = take(arg, place);
        if (until == INT64_MAX) note(place);
    }
    enum err e = db_done(st);
    return e ? e : taken;
}

static enum err take_page(Str keys, key_taker *take, void *arg)
{
    enum err e = OK;
    for (size_t at = 0; at + PLACE_BYTES <= keys.len && !e; at += PLACE_BYTES) {
        const char *p = keys.ptr + at;
        e = take(arg, (struct key_place){get_number(p), (int64_t)get_number(p + HASH_START)});
    }
    return e;
}

enum err key_pages_read(struct db *db, key_taker *take, void *arg)
{
    static const char sqlite[] = "SELECT first, last, keys FROM idempotency_page ORDER BY last";
    enum err taken = OK;
    int64_t covered = INT64_MIN;
    noted.count = noted.since = 0;
    struct stmt *st = db_prepare(db, sqlite);
    while (!taken && db_step(st)) {
        int64_t first = col_int(st), last = col_int(st);
        if (first > covered) taken = take_rows(db, covered, first, take, arg);
        if (!taken) taken = take_page(col_blob(st), take, arg);
        covered = last;
    }
    enum err e = db_done(st);
    if (!e) e = taken;
    return e ? e : take_rows(db, covered, INT64_MAX, take, arg);
}

/* ---- writing ---- */

static enum err find_covered(struct db *db, int64_t *ret)
{
    static const char sqlite[] = "SELECT COALESCE(MAX(last), 0) FROM idempotency_page";
    struct stmt *st = db_prepare(db, sqlite);
    int64_t covered = db_step(st) ? col_int(st) : 0;
    enum err e = db_done(st);
    if (!e) *ret = covered;
    return e;
}

/* Leaves out what a page covers by now, and what was undone: no row is behind `last`. */
static void leave_out(int64_t covered, int64_t last)
{
    size_t count = 0;
    for (size_t i = 0; i < noted.count; i++)
        if (noted.places[i].row > covered && noted.places[i].row <= last) noted.places[count++] = noted.places[i];
    noted.count = count;
}

static int by_row(const void *a, const void *b)
{
    int64_t x = ((const struct key_place *)a)->row, y = ((const struct key_place *)b)->row;
    return x < y ? -1 : x > y;
}

/* How many of the noted, which are sorted by row: all of a row, which may have been undone and added again. */
static size_t page_count(void)
{
    size_t count = noted.count;
    if (count > PAGE_MOST) {
        count = PAGE_MOST;
        while (count < noted.count && noted.places[count].row == noted.places[count - 1].row) count++;
    }
    return count;
}

static enum err write_page(struct db *db, int64_t last)
{
    static const char sqlite[] = "INSERT INTO idempotency_page (first, last, keys) VALUES ($1, $2, $3)";
    int64_t covered;
    enum err e = find_covered(db, &covered);
    if (e) return e;
    leave_out(covered, last);
    if (!noted.count) return OK;
    qsort(noted.places, noted.count, sizeof *noted.places, by_row);
    size_t count = page_count();
    char *keys = arena_array(db_arena(db), char, count *PLACE_BYTES);
    for (size_t i = 0; i < count; i++) {
        put_number(keys + i * PLACE_BYTES, noted.places[i].hash);
        put_number(keys + i * PLACE_BYTES + HASH_START, (uint64_t)noted.places[i].row);
    }
    struct stmt *st = db_prepare(db, sqlite);
    bind_int(st, noted.places[0].row);
    bind_int(st, noted.places[count - 1].row);
    bind_blob(st, (Str){keys, count * PLACE_BYTES});
    return db_run(st);
}

enum err key_pages_note(struct db *db, struct key_place place)
{
    note(place);
    if (++noted.since < WRITE_EVERY) return OK;
    noted.since = 0;
    return write_page(db, place.row);
}

enum err key_pages_expire(struct db *db, Id oldest)
{
    static const char sqlite[] = "DELETE FROM idempotency_page WHERE last < $1";
    struct stmt *st = db_prepare(db, sqlite);
    bind_id(st, oldest);
    return db_run(st);
}
