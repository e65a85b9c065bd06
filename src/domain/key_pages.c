/* domain/key_pages.c - see key_pages.h. */
#include "domain/key_pages.h"

#include <assert.h>
#include <stdlib.h>

#include "base/memory.h"
#include "domain/key_index.h"

#define WRITE_EVERY 4096   /* keys */
#define WRITE_BEHIND 65536 /* orders, however few of them have a key */
#define PAGE_MOST 65536    /* of a page */
#define NOTED_MOST (1 << 20)
#define HASH_START 8 /* bytes of a hash, then as many of the row's number */
#define PLACE_BYTES (HASH_START + 8)

/* Rows that no page covered when they were added, in this order. Those of a page stay until it has been committed. */
static struct noted {
    struct key_place *places;
    size_t count, size;
    size_t since;    /* a page was last written */
    int64_t written; /* the row that it was to reach; the transaction may have been undone */
    int64_t from;    /* no key from this row on was left out */
} lists[PAGED_LISTS];

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
static void note(struct noted *n, struct key_place place)
{
    if (n->count == n->size) {
        size_t size = n->size ? 2 * n->size : 2 * WRITE_EVERY;
        struct key_place *places = size > NOTED_MOST ? NULL : memory_try_zeroed(size, sizeof *places);
        if (!places) {
            n->count = 0;
            n->from = n->size ? place.row : place.row + 1;
        } else {
            if (n->count) memcpy(places, n->places, n->count * sizeof *places);
            free(n->places);
            n->places = places;
            n->size = size;
        }
    }
    if (n->count == n->size) return;
    n->places[n->count++] = place;
    if (place.row < n->from) n->from = place.row; /* the last ones were forgotten, and their numbers are given again */
}

/* ---- reading ---- */

static enum err take_rows(struct db *db, enum key_pages which, int64_t from, int64_t until, key_taker *take, void *arg)
{
#define ROWS(table) "SELECT id, key_hash FROM " table " WHERE id > $1 AND id < $2"
    static const char sqlite[] = ROWS("idempotency") " ORDER BY id";
    static const char sqlite_orders[] = ROWS("orders") " AND key_hash IS NOT NULL ORDER BY id";
#undef ROWS
    enum err taken = OK;
    struct stmt *st = db_prepare(db, which == PAGES_OF_ORDERS ? sqlite_orders : sqlite);
    bind_int(st, from);
    bind_int(st, until);
    while (!taken && db_step(st)) {
        uint8_t hash[KEY_HASH_BYTES];
        Id row = col_id(st);
        if (!col_blob_exact(st, hash, sizeof hash)) continue; /* none of ours */
        struct key_place place = {get_number((const char *)hash), row.v};
        taken = take(arg, place);
        if (until == INT64_MAX) note(&lists[which], place);
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

enum err key_pages_read(struct db *db, enum key_pages which, key_taker *take, void *arg)
{
    static const char sqlite[] = "SELECT first, last, keys FROM idempotency_page ORDER BY last";
    static const char sqlite_orders[] = "SELECT first, last, keys FROM orders_key_page ORDER BY last";
    enum err taken = OK;
    int64_t covered = 0;
    struct noted *n = &lists[which];
    n->count = n->since = 0;
    n->written = 0;
    struct stmt *st = db_prepare(db, which == PAGES_OF_ORDERS ? sqlite_orders : sqlite);
    while (!taken && db_step(st)) {
        int64_t first = col_int(st), last = col_int(st);
        if (first > covered) taken = take_rows(db, which, covered, first, take, arg);
        if (!taken) taken = take_page(col_blob(st), take, arg);
        covered = last;
    }
    enum err e = db_done(st);
    if (!e) e = taken;
    n->from = covered + 1;
    return e ? e : take_rows(db, which, covered, INT64_MAX, take, arg);
}

/* ---- writing ---- */

static enum err find_covered(struct db *db, enum key_pages which, int64_t *ret)
{
    static const char sqlite[] = "SELECT COALESCE(MAX(last), 0) FROM idempotency_page";
    static const char sqlite_orders[] = "SELECT COALESCE(MAX(last), 0) FROM orders_key_page";
    struct stmt *st = db_prepare(db, which == PAGES_OF_ORDERS ? sqlite_orders : sqlite);
    int64_t covered = db_step(st) ? col_int(st) : 0;
    enum err e = db_done(st);
    if (!e) *ret = covered;
    return e;
}

/* Leaves out what a page covers by now, and what was undone: no row is behind `last`. */
static void leave_out(struct noted *n, int64_t covered, int64_t last)
{
    size_t count = 0;
    for (size_t i = 0; i < n->count; i++)
        if (n->places[i].row > covered && n->places[i].row <= last) n->places[count++] = n->places[i];
    n->count = count;
    if (n->from <= covered) n->from = covered + 1;
}

static int by_row(const void *a, const void *b)
{
    int64_t x = ((const struct key_place *)a)->row, y = ((const struct key_place *)b)->row;
    return x < y ? -1 : x > y;
}

/* How many of the noted, which are sorted by row: all of a row, which may have been undone and added again. */
static size_t page_count(const struct noted *n)
{
    size_t count = n->count;
    if (count > PAGE_MOST) {
        count = PAGE_MOST;
        while (count < n->count && n->places[count].row == n->places[count - 1].row) count++;
    }
    return count;
}

static enum err write_page(struct db *db, enum key_pages which, int64_t last)
{
    static const char sqlite[] = "INSERT INTO idempotency_page (first, last, keys) VALUES ($1, $2, $3)";
    static const char sqlite_orders[] =
        "INSERT INTO orders_key_page (first, last, keys, made_at) VALUES ($1, $2, $3, $4)";
    struct noted *n = &lists[which];
    int64_t covered;
    enum err e = find_covered(db, which, &covered);
    if (e) return e;
    n->since = 0;
    n->written = last;
    leave_out(n, covered, last);
    if (n->from > last) return OK;
    if (n->count) qsort(n->places, n->count, sizeof *n->places, by_row);
    size_t count = page_count(n);
    if (count < n->count) last = n->places[count - 1].row;
    char *keys = arena_array(db_arena(db), char, count *PLACE_BYTES + 1); /* never NULL: a page may be empty */
    for (size_t i = 0; i < count; i++) {
        put_number(keys + i * PLACE_BYTES, n->places[i].hash);
        put_number(keys + i * PLACE_BYTES + HASH_START, (uint64_t)n->places[i].row);
    }
    struct stmt *st = db_prepare(db, which == PAGES_OF_ORDERS ? sqlite_orders : sqlite);
    bind_int(st, n->from);
    bind_int(st, last);
    bind_blob(st, (Str){keys, count * PLACE_BYTES});
    if (which == PAGES_OF_ORDERS) bind_time(st, time_now());
    return db_run(st);
}

enum err key_pages_note(struct db *db, enum key_pages which, struct key_place place)
{
    struct noted *n = &lists[which];
    note(n, place);
    if (++n->since >= WRITE_EVERY) return write_page(db, which, place.row);
    return which == PAGES_OF_ORDERS ? key_pages_pass(db, (Id){place.row}) : OK;
}

enum err key_pages_pass(struct db *db, Id order)
{
    const struct noted *n = &lists[PAGES_OF_ORDERS];
    int64_t behind = order.v - (n->from > n->written ? n->from : n->written);
    return behind < WRITE_BEHIND ? OK : write_page(db, PAGES_OF_ORDERS, order.v);
}

enum err key_pages_expire(struct db *db, Id oldest)
{
    static const char sqlite[] = "DELETE FROM idempotency_page WHERE last < $1";
    struct stmt *st = db_prepare(db, sqlite);
    bind_id(st, oldest);
    return db_run(st);
}

/* Only one page is empty from the first order on. */
enum err key_pages_oldest(struct db *db, Time until, Id *ret)
{
    static const char sqlite[] = "SELECT last, made_at FROM orders_key_page WHERE first > 0 ORDER BY last LIMIT 1";
    struct stmt *st = db_prepare(db, sqlite);
    Id last = db_step(st) ? col_id(st) : (Id){0};
    if (id_is(last) && col_time(st).ms >= until.ms) last = (Id){0};
    enum err e = db_done(st);
    if (!e) *ret = last;
    return e;
}

enum err key_pages_empty(struct db *db, Id last)
{
    static const char sqlite_gone[] = "DELETE FROM orders_key_page WHERE last < $1";
    static const char sqlite_empty[] = "UPDATE orders_key_page SET first = 0, keys = x'' WHERE last = $1";
    struct stmt *st = db_prepare(db, sqlite_gone);
    bind_id(st, last);
    enum err e = db_run(st);
    if (e) return e;
    st = db_prepare(db, sqlite_empty);
    bind_id(st, last);
    return db_run(st);
}
