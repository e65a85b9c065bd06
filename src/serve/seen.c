/* serve/seen.c - see seen.h.
 *
 * Notes go into a hash table with open addressing. The job swaps the table for an empty one. The full table, packed and
 * sorted by id (so that two servers lock rows in the same order), is written batch by batch. */
#include "serve/seen.h"

#include <assert.h>
#include <pthread.h>
#include <stdlib.h>

#include "base/memory.h"
#include "serve/app.h"

#define SLOTS 65536
static_assert(SEEN_MAX < SLOTS, "a free slot ends every search");

struct note {
    int64_t id; /* 0: a free slot */
    int64_t last_ms;
    int64_t count;
};

struct seen {
    enum err (*write)(struct db *db, Id id, int64_t count, Time at);
    enum err (*write_all)(struct db *db, const struct license_use *uses, size_t count);
    pthread_mutex_t lock;
    struct note *open; /* under the lock: where notes go */
    size_t open_count;
    /* The job's own. */
    struct note *full;
    size_t full_count;
    size_t written; /* of full, in transactions that ended well */
    size_t writing; /* of full, in the present transaction */
};

static struct note *table_new(void)
{
    struct note *t = memory_zeroed(SLOTS, sizeof *t);
    return t;
}

struct seen *seen_new(enum err (*write)(struct db *db, Id id, int64_t count, Time at),
                      enum err (*write_all)(struct db *db, const struct license_use *uses, size_t count))
{
    struct seen *s = memory_zeroed(1, sizeof *s);
    s->write = write;
    s->write_all = write_all;
    pthread_mutex_init(&s->lock, NULL);
    s->open = table_new();
    s->full = table_new();
    return s;
}

void seen_free(struct seen *s)
{
    if (!s) return;
    pthread_mutex_destroy(&s->lock);
    free(s->open);
    free(s->full);
    free(s);
}

void seen_note(struct seen *s, Id id, Time now)
{
    uint64_t hash = (uint64_t)id.v * UINT64_C(0x9e3779b97f4a7c15);
    pthread_mutex_lock(&s->lock);
    size_t i = hash >> 48;
    while (s->open[i].id && s->open[i].id != id.v) i = (i + 1) % SLOTS;
    struct note *n = &s->open[i];
    if (n->id || s->open_count < SEEN_MAX) {
        if (!n->id) s->open_count++;
        n->id = id.v;
        n->count++;
        if (n->last_ms < now.ms) n->last_ms = now.ms;
    }
    pthread_mutex_unlock(&s->lock);
}

static int by_row(const void *a, const void *b)
{
    const struct note *x = a, *y = b;
    return (x->id > y->id) - (x->id < y->id);
}

static void swap(struct seen *s)
{
    memset(s->full, 0, SLOTS * sizeof *s->full);
    pthread_mutex_lock(&s->lock);
    struct note *t = s->open;
    size_t count = s->open_count;
    s->open = s->full;
    s->open_count = 0;
    pthread_mutex_unlock(&s->lock);

    size_t n = 0;
    for (size_t i = 0; i < SLOTS && n < count; i++)
        if (t[i].id) t[n++] = t[i];
    qsort(t, n, sizeof *t, by_row);
    s->full = t;
    s->full_count = n;
    s->written = 0;
}

static enum err write_notes(const struct seen *s, struct db *db, const struct note *notes, size_t count)
{
    bool is_one = s->write_all && db_is_postgres(db);
    struct license_use *uses = is_one ? arena_array(db_arena(db), struct license_use, count) : NULL;
    enum err e = OK;
    for (size_t i = 0; i < count && !e; i++) {
        const struct note *n = &notes[i];
        if (uses)
            uses[i] = (struct license_use){(Id){n->id}, n->count, (Time){n->last_ms}};
        else
            e = s->write(db, (Id){n->id}, n->count, (Time){n->last_ms});
    }
    return uses ? s->write_all(db, uses, count) : e;
}

static enum err flush(struct seen *s, struct db *db)
{
    if (s->written == s->full_count) {
        pthread_mutex_lock(&s->lock);
        bool is_empty = s->open_count == 0;
        pthread_mutex_unlock(&s->lock);
        s->writing = 0;
        if (is_empty) return OK;
        if (!db_can_write(db)) return ERR_NEEDS_WRITE;
        swap(s);
    }
    if (!db_can_write(db)) return ERR_NEEDS_WRITE;
    size_t left = s->full_count - s->written;
    s->writing = left < SEEN_BATCH ? left : SEEN_BATCH;
    return write_notes(s, db, &s->full[s->written], s->writing);
}

static void flushed(struct seen *s, enum err e)
{
    if (!e) s->written += s->writing;
    s->writing = 0;
}

enum err seen_flush_licenses(struct app *app, struct db *db)
{
    return flush(app->seen, db);
}

void seen_flushed_licenses(struct app *app, enum err e)
{
    flushed(app->seen, e);
}

enum err seen_flush_sessions(struct app *app, struct db *db)
{
    return flush(app->used, db);
}

void seen_flushed_sessions(struct app *app, enum err e)
{
    flushed(app->used, e);
}
