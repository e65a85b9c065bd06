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

#define SLOTS_LEAST 1024

struct key_place {
    uint64_t hash;
    int64_t row; /* 0: free */
};

static struct {
    pthread_mutex_t lock;
    int64_t epoch; /* of the database that was read; 0: of none */
    struct key_place *slots;
    size_t size, used; /* a power of two; at most three quarters of it */
    /* The writer's own. */
    int64_t first; /* no row is before this one */
} keys = {.lock = PTHREAD_MUTEX_INITIALIZER};

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

static bool is_left(const struct key_place *p)
{
    return p->row && p->row >= keys.first;
}

/* Others wait only while the tables change places. */
static enum err make_room(void)
{
    size_t live = 0, size = SLOTS_LEAST, used = 0;
    for (size_t i = 0; i < keys.size; i++) live += is_left(&keys.slots[i]);
    while (size < 2 * (live + 1)) size *= 2;
    struct key_place *slots = memory_try_zeroed(size, sizeof *slots), *old = keys.slots;
    if (!slots) return ERR_UNAVAILABLE;
    for (size_t i = 0; i < keys.size; i++)
        if (is_left(&old[i])) put(slots, size, old[i], &used);
    pthread_mutex_lock(&keys.lock);
    keys.slots = slots;
    keys.size = size;
    keys.used = used;
    pthread_mutex_unlock(&keys.lock);
    free(old);
    return OK;
}

static bool is_full(void)
{
    return keys.used + 1 > keys.size / 4 * 3;
}

/* While it is 0, a thread that looks is told that there is no table. */
static void set_epoch(int64_t epoch)
{
    pthread_mutex_lock(&keys.lock);
    keys.epoch = epoch;
    pthread_mutex_unlock(&keys.lock);
}

static enum err read_all(struct db *db)
{
    static const char sqlite[] = "SELECT id, key_hash FROM idempotency INDEXED BY idempotency_row ORDER BY id";
    set_epoch(0);
    free(keys.slots);
    keys.slots = NULL;
    keys.size = keys.used = 0;
    keys.first = INT64_MIN;
    enum err room = OK;
    struct stmt *st = db_prepare(db, sqlite);
    while (!room && db_step(st)) {
        uint8_t hash[KEY_HASH_BYTES];
        Id row = col_id(st);
        if (!col_blob_exact(st, hash, sizeof hash)) continue; /* none of ours */
        if (is_full()) room = make_room();
        if (!room) put(keys.slots, keys.size, (struct key_place){short_hash(hash), row.v}, &keys.used);
    }
    enum err e = db_done(st);
    if (!e) e = room;
    if (!e) set_epoch(db_epoch(db));
    return e;
}

/* Under the lock. How many rows; they are put into `ret` unless it is NULL. */
static size_t collect(uint64_t hash, Id *ret)
{
    size_t count = 0;
    if (!keys.size) return 0;
    for (size_t at = hash & (keys.size - 1); keys.slots[at].row; at = (at + 1) & (keys.size - 1)) {
        if (keys.slots[at].hash != hash) continue;
        if (ret) ret[count] = (Id){keys.slots[at].row};
        count++;
    }
    return count;
}

enum err key_index_open(struct db *db)
{
    return db_is_postgres(db) || keys.epoch == db_epoch(db) ? OK : read_all(db);
}

enum err key_index_find(struct db *db, const uint8_t hash[KEY_HASH_BYTES], Id **ret, size_t *ret_count)
{
    enum err e = db_can_write(db) ? key_index_open(db) : OK;
    if (e) return e;
    uint64_t h = short_hash(hash);
    size_t count = 0;
    Id *rows = NULL;
    pthread_mutex_lock(&keys.lock);
    bool is_read = keys.epoch == db_epoch(db);
    if (is_read) count = collect(h, NULL);
    if (count) {
        rows = arena_array(db_arena(db), Id, count);
        collect(h, rows);
    }
    pthread_mutex_unlock(&keys.lock);
    if (!is_read) return ERR_NEEDS_WRITE;
    *ret = rows;
    *ret_count = count;
    return OK;
}

enum err key_index_add(const uint8_t hash[KEY_HASH_BYTES], Id row)
{
    enum err e = is_full() ? make_room() : OK;
    if (e) return e;
    if (row.v < keys.first) keys.first = row.v; /* a table without rows begins again with the first number */
    pthread_mutex_lock(&keys.lock);
    put(keys.slots, keys.size, (struct key_place){short_hash(hash), row.v}, &keys.used);
    pthread_mutex_unlock(&keys.lock);
    return OK;
}

enum err key_index_expire(struct db *db, Id oldest)
{
    if (db_is_postgres(db)) return OK;
    enum err e = key_index_open(db);
    if (!e) keys.first = oldest.v;
    return e;
}
