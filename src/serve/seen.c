/* serve/seen.c - see seen.h.
 *
 * A thread writes its notes on a pad, which no other thread touches often; a full pad is copied into a hash table with
 * open addressing. The job swaps the table for an empty one. The full table, packed and sorted by id (so that two
 * servers lock rows in the same order), is written batch by batch. */
#include "serve/seen.h"

#include <assert.h>
#include <pthread.h>
#include <stdlib.h>

#include "base/memory.h"
#include "serve/app.h"

#define SLOTS 65536
static_assert(SEEN_MAX < SLOTS, "a free slot ends every search");
#define PADS 16 /* threads beyond these share one */
#define PAD_NOTES 255

struct note {
    int64_t id; /* 0: a free slot */
    int64_t last_ms;
    int64_t count;
};

struct pad_note {
    int64_t id, ms;
};

struct pad {
    pthread_mutex_t lock; /* taken before that of the table */
    size_t count;
    struct pad_note notes[PAD_NOTES];
};

struct seen {
    struct pad pads[PADS];
    enum err (*write)(struct db *db, Id id, int64_t count, Time at);
    enum err (*write_all)(struct db *db, const struct license_use *uses, size_t count);
    pthread_mutex_t lock;
    struct note *open; /* under the lock: where notes go */
    size_t open_count;
    /* The job's own. */
    int64_t swapped_ns;
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
    for (size_t i = 0; i < PADS; i++) pthread_mutex_init(&s->pads[i].lock, NULL);
    s->open = table_new();
    s->full = table_new();
    return s;
}

void seen_free(struct seen *s)
{
    if (!s) return;
    pthread_mutex_destroy(&s->lock);
    for (size_t i = 0; i < PADS; i++) pthread_mutex_destroy(&s->pads[i].lock);
    free(s->open);
    free(s->full);
    free(s);
}

/* Under the lock of the table. */
static void enter(struct seen *s, const struct pad_note *what)
{
    uint64_t hash = (uint64_t)what->id * UINT64_C(0x9e3779b97f4a7c15);
    size_t i = hash >> 48;
    while (s->open[i].id && s->open[i].id != what->id) i = (i + 1) % SLOTS;
    struct note *n = &s->open[i];
    if (!n->id && s->open_count >= SEEN_MAX) return;
    if (!n->id) s->open_count++;
    n->id = what->id;
    n->count++;
    if (n->last_ms < what->ms) n->last_ms = what->ms;
}

/* Under the pad's lock. */
static void copy_pad(struct seen *s, struct pad *p)
{
    pthread_mutex_lock(&s->lock);
    for (size_t i = 0; i < p->count; i++) enter(s, &p->notes[i]);
    pthread_mutex_unlock(&s->lock);
    p->count = 0;
}

static struct pad *own_pad(struct seen *s)
{
    static _Atomic size_t threads;
    static _Thread_local size_t number; /* from 1 */
    if (!number) number = atomic_fetch_add(&threads, 1) + 1;
    return &s->pads[number % PADS];
}

void seen_note(struct seen *s, Id id, Time now)
{
    struct pad *p = own_pad(s);
    pthread_mutex_lock(&p->lock);
    if (p->count == PAD_NOTES) copy_pad(s, p);
    p->notes[p->count++] = (struct pad_note){id.v, now.ms};
    pthread_mutex_unlock(&p->lock);
}

/* Copies all pads. How many rows were noted since the last swap? */
static size_t gather(struct seen *s)
{
    for (size_t i = 0; i < PADS; i++) {
        pthread_mutex_lock(&s->pads[i].lock);
        if (s->pads[i].count) copy_pad(s, &s->pads[i]);
        pthread_mutex_unlock(&s->pads[i].lock);
    }
    pthread_mutex_lock(&s->lock);
    size_t count = s->open_count;
    pthread_mutex_unlock(&s->lock);
    return count;
}

/* The same licences come again and again: what is noted for a while is fewer rows to write. After a quiet while the
 * first note is written at once. */
static bool is_due(const struct seen *s, size_t count)
{
    int64_t age_ns = time_monotonic_ns() - s->swapped_ns;
    return count >= SEEN_ENOUGH || (count && age_ns >= SEEN_PAUSE_MS * INT64_C(1000000));
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
    s->swapped_ns = time_monotonic_ns();
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

/* In a transaction that can write, whatever there is. */
static enum err flush(struct seen *s, struct db *db)
{
    s->writing = 0;
    if (s->written == s->full_count) {
        size_t count = gather(s);
        if (!count || (!db_can_write(db) && !is_due(s, count))) return OK;
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

static bool is_left(struct seen *s)
{
    return s->written < s->full_count || gather(s) > 0;
}

enum err seen_flush_licenses(struct app *app, struct db *db)
{
    return flush(app->seen, db);
}

void seen_flushed_licenses(struct app *app, enum err e)
{
    flushed(app->seen, e);
}

bool seen_has_licenses(struct app *app)
{
    return is_left(app->seen);
}

enum err seen_flush_sessions(struct app *app, struct db *db)
{
    return flush(app->used, db);
}

void seen_flushed_sessions(struct app *app, enum err e)
{
    flushed(app->used, e);
}

bool seen_has_sessions(struct app *app)
{
    return is_left(app->used);
}
