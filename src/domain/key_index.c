/* domain/key_index.c - see key_index.h. Open addressing: a hash stands at its place or behind it, before the next free
 * slot. Nothing is taken out; what the database has forgotten is left behind when the table gets a new size. Which rows
 * it has forgotten, only a transaction knows that has deleted none: the others may still be undone.
 *
 * Only transactions that write change the table, and there is one at a time: they read it without the lock. */
#include "domain/key_index.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "domain/filing.h"
#include "domain/key_pages.h"

#define SLOTS_LEAST 1024

static struct keys {
    pthread_mutex_t lock;
    int64_t epoch;           /* of the database that was read; 0: of none */
    struct key_place *slots; /* row 0: free */
    size_t size, used;       /* a power of two; at most three quarters of it */
    /* The writer's own; changed under the lock. */
    int64_t first; /* no row is before this one, or it is not wanted any more */
} indexes[KEY_INDEXES] = {
    {.lock = PTHREAD_MUTEX_INITIALIZER}, {.lock = PTHREAD_MUTEX_INITIALIZER}, {.lock = PTHREAD_MUTEX_INITIALIZER}};

static const enum key_pages pages_of[] = {[KEYS_OF_REQUESTS] = PAGES_OF_REQUESTS, [KEYS_OF_ORDERS] = PAGES_OF_ORDERS};

static uint64_t short_hash(const uint8_t hash[KEY_HASH_BYTES])
{
    uint64_t h = 0;
    for (int i = 0; i < 8; i++) h = h << 8 | hash[i];
    return h;
}

static void put(struct key_place *slots, size_t size, struct key_place what, size_t *used)
{
    size_t at = what.hash & (size - 1);
    for (; slots[at].row; at = (at + 1) & (size - 1))
        if (slots[at].hash == what.hash && slots[at].row == what.row) return;
    slots[at] = what;
    ++*used;
}

static void set_first(struct keys *k, int64_t first)
{
    pthread_mutex_lock(&k->lock);
    k->first = first;
    pthread_mutex_unlock(&k->lock);
}

/* A licence's key is wanted until it is filed, and somewhat longer: a reader may have begun before that. */
static enum err find_first(struct db *db, struct keys *k)
{
    static const char sqlite[] = "SELECT up_to FROM filing WHERE list = 'license_key'";
    if (k != &indexes[KEYS_OF_LICENSES]) return OK;
    struct stmt *st = db_prepare(db, sqlite);
    int64_t filed = db_step(st) ? col_int(st) : 0;
    enum err e = db_done(st);
    if (!e) set_first(k, filed - FILING_WORTH + 1);
    return e;
}

static bool is_left(const struct keys *k, const struct key_place *p)
{
    return p->row && p->row >= k->first;
}

/* Others wait only while the tables change places. */
static enum err make_room(struct keys *k)
{
    size_t live = 0, size = SLOTS_LEAST, used = 0;
    for (size_t i = 0; i < k->size; i++) live += is_left(k, &k->slots[i]);
    while (size < 2 * (live + 1)) size *= 2;
    struct key_place *slots = memory_try_zeroed(size, sizeof *slots), *old = k->slots;
    if (!slots) return ERR_UNAVAILABLE;
    for (size_t i = 0; i < k->size; i++)
        if (is_left(k, &old[i])) put(slots, size, old[i], &used);
    pthread_mutex_lock(&k->lock);
    k->slots = slots;
    k->size = size;
    k->used = used;
    pthread_mutex_unlock(&k->lock);
    free(old);
    return OK;
}

static bool is_full(const struct keys *k)
{
    return k->used + 1 > k->size / 4 * 3;
}

/* While it is 0, a thread that looks is told that there is no table. */
static void set_epoch(struct keys *k, int64_t epoch)
{
    pthread_mutex_lock(&k->lock);
    k->epoch = epoch;
    pthread_mutex_unlock(&k->lock);
}

/* Under the lock. */
static void forget_all(struct keys *k)
{
    free(k->slots);
    k->slots = NULL;
    k->size = k->used = 0;
    k->first = INT64_MIN;
}

static enum err take_place(void *arg, struct key_place place)
{
    struct keys *k = arg;
    enum err e = is_full(k) ? make_room(k) : OK;
    if (!e) put(k->slots, k->size, place, &k->used);
    return e;
}

static enum err read_licenses(struct db *db, struct keys *k)
{
    static const char sqlite[] = "SELECT id, key_hash FROM license WHERE id >= $1 ORDER BY id";
    enum err taken = OK;
    struct stmt *st = db_prepare(db, sqlite);
    bind_int(st, k->first);
    while (!taken && db_step(st)) {
        uint8_t hash[KEY_HASH_BYTES];
        Id row = col_id(st);
        if (!col_blob_exact(st, hash, sizeof hash)) continue; /* none of ours */
        taken = take_place(k, (struct key_place){short_hash(hash), row.v});
    }
    enum err e = db_done(st);
    return e ? e : taken;
}

static enum err read_all(struct db *db, enum key_index which)
{
    struct keys *k = &indexes[which];
    set_epoch(k, 0);
    pthread_mutex_lock(&k->lock);
    forget_all(k);
    pthread_mutex_unlock(&k->lock);
    enum err e = find_first(db, k);
    if (!e) e = which == KEYS_OF_LICENSES ? read_licenses(db, k) : key_pages_read(db, pages_of[which], take_place, k);
    if (!e) set_epoch(k, db_epoch(db));
    return e;
}

/* Under the lock, or in the transaction that writes. How many rows; they are put into `ret` unless it is NULL. */
static size_t collect(const struct keys *k, uint64_t hash, Id *ret)
{
    size_t count = 0;
    if (!k->size) return 0;
    for (size_t at = hash & (k->size - 1); k->slots[at].row; at = (at + 1) & (k->size - 1)) {
        if (k->slots[at].hash != hash) continue;
        if (ret) ret[count] = (Id){k->slots[at].row};
        count++;
    }
    return count;
}

enum err key_index_open(struct db *db, enum key_index which)
{
    struct keys *k = &indexes[which];
    return db_is_postgres(db) || k->epoch == db_epoch(db) ? OK : read_all(db, which);
}

enum err key_index_find(struct db *db, enum key_index which, const uint8_t hash[KEY_HASH_BYTES], Id **ret,
                        size_t *ret_count)
{
    bool writes = db_can_write(db);
    enum err e = writes ? key_index_open(db, which) : OK;
    if (e) return e;
    struct keys *k = &indexes[which];
    uint64_t h = short_hash(hash);
    size_t count = 0;
    Id *rows = NULL;
    if (!writes) pthread_mutex_lock(&k->lock);
    bool is_read = k->epoch == db_epoch(db);
    if (is_read) count = collect(k, h, NULL);
    if (count) {
        rows = arena_array(db_arena(db), Id, count);
        collect(k, h, rows);
    }
    if (!writes) pthread_mutex_unlock(&k->lock);
    if (!is_read) return ERR_NEEDS_WRITE;
    *ret = rows;
    *ret_count = count;
    return OK;
}

enum err key_index_add(struct db *db, enum key_index which, const uint8_t hash[KEY_HASH_BYTES], Id row)
{
    struct keys *k = &indexes[which];
    enum err e = key_index_open(db, which);
    if (!e && is_full(k)) e = find_first(db, k);
    if (!e && is_full(k)) e = make_room(k);
    if (e) return e;
    struct key_place place = {short_hash(hash), row.v};
    pthread_mutex_lock(&k->lock);
    if (row.v < k->first) k->first = row.v; /* a table without rows begins again with the first number */
    put(k->slots, k->size, place, &k->used);
    pthread_mutex_unlock(&k->lock);
    return which == KEYS_OF_LICENSES ? OK : key_pages_note(db, pages_of[which], place);
}

enum err key_index_pass(struct db *db, Id order)
{
    return indexes[KEYS_OF_ORDERS].epoch == db_epoch(db) ? key_pages_pass(db, order) : OK;
}

bool key_index_has_all(struct db *db, enum key_index which, Id first, const uint8_t hash[KEY_HASH_BYTES], Id last)
{
    struct keys *k = &indexes[which];
    uint64_t h = short_hash(hash);
    bool found = false;
    pthread_mutex_lock(&k->lock);
    if (k->epoch == db_epoch(db) && k->first <= first.v && k->size)
        for (size_t at = h & (k->size - 1); k->slots[at].row && !found; at = (at + 1) & (k->size - 1))
            found = k->slots[at].hash == h && k->slots[at].row == last.v;
    pthread_mutex_unlock(&k->lock);
    return found;
}

enum err key_index_expire(struct db *db, Id oldest)
{
    if (db_is_postgres(db)) return OK;
    enum err e = key_index_open(db, KEYS_OF_REQUESTS);
    if (e) return e;
    set_first(&indexes[KEYS_OF_REQUESTS], oldest.v);
    return key_pages_expire(db, oldest);
}

enum err key_index_expire_orders(struct db *db, Time until)
{
    Id last;
    if (db_is_postgres(db)) return OK;
    enum err e = key_pages_oldest(db, until, &last);
    if (e || !id_is(last)) return e;
    if (!db_can_write(db)) return ERR_NEEDS_WRITE;
    e = key_index_open(db, KEYS_OF_ORDERS);
    if (!e) e = key_pages_empty(db, last);
    if (!e) set_first(&indexes[KEYS_OF_ORDERS], last.v + 1);
    return e;
}
