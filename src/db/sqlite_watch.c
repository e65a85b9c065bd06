/* db/sqlite_watch.c - see sqlite_watch.h.
 *
 * The index begins with two copies of its head, 48 bytes each (https://www.sqlite.org/walformat.html). A commit writes
 * the second copy, then the first, when its frames are durable: from then on others see it. SQLite itself takes its
 * page cache for current as long as the head is the same; so do we.
 *
 * `known` is the head for which all marks are right. A mark is an epoch and the number of changes of a row's slot:
 * - our own commit counts up the slots of the rows that it changed, then its head becomes the known one. It is told
 * from somebody else's by the counter in the head, which is one more than before, and by the length of the log;
 * - any other head that shows up begins a new epoch, in which no older mark holds.
 *
 * Why an answer out of memory was true at a moment after its request came: a pass over the sockets looks before it
 * answers. If the head is the known one, the slots say exactly which rows have changed since they were read. A slot
 * that is counted up later only makes a row be read again. A row that is kept by somebody else in the meantime was read
 * while the head was still the known one, thus after the look or with nothing changed since. */
#include "db/sqlite_watch.h"

#include <assert.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"

#define SLOTS 16384
#define HEAD_WORDS 12
#define INDEX_VERSION 3007000

struct log_head {
    uint32_t words[HEAD_WORDS];
};

/* Of the words. The fourth begins with a byte that is 1 once the head is valid. */
enum { WORD_VERSION, WORD_CHANGE = 2, WORD_FRAMES = 4 };

struct watch {
    const volatile uint32_t *index;
    struct database_stats *stats;
    pthread_mutex_t lock;
    /* Under the lock. */
    struct log_head known;
    int64_t epoch;
    int64_t version;    /* grows with every commit that was noticed */
    bool is_committing; /* a head that is not the known one may be that of our own commit */
    /* The writer's own. */
    struct log_head before;
    bool is_all;
    size_t changed_count;
    uint16_t changed[WATCH_CHANGES_MAX];
    _Atomic uint32_t changes[SLOTS];
};
static_assert(SLOTS <= UINT16_MAX + 1, "a slot's number has 16 bits");

static size_t slot_of(int64_t rowid)
{
    return (size_t)((uint64_t)rowid % SLOTS);
}

/* False: somebody is writing it just now, or it is not one. */
static bool head_read(const volatile uint32_t *index, struct log_head *ret)
{
    struct log_head second;
    for (int i = 0; i < HEAD_WORDS; i++) ret->words[i] = __atomic_load_n(&index[i], __ATOMIC_ACQUIRE);
    for (int i = 0; i < HEAD_WORDS; i++) second.words[i] = __atomic_load_n(&index[HEAD_WORDS + i], __ATOMIC_ACQUIRE);
    return ret->words[WORD_VERSION] == INDEX_VERSION && memcmp(ret, &second, sizeof second) == 0;
}

static bool head_is(const struct log_head *a, const struct log_head *b)
{
    return memcmp(a, b, sizeof *a) == 0;
}

struct watch *watch_new(const volatile void *index, struct database_stats *stats)
{
    struct log_head head;
    if (!index || !head_read(index, &head)) return NULL;
    struct watch *w = memory_try_zeroed(1, sizeof *w);
    if (!w) return NULL;
    static _Atomic int64_t opened; /* no two databases of a process have an epoch in common */
    w->epoch = (atomic_fetch_add(&opened, 1) + 1) << 32;
    w->version = 1;
    w->index = index;
    w->stats = stats;
    w->known = head;
    pthread_mutex_init(&w->lock, NULL);
    return w;
}

void watch_free(struct watch *w)
{
    if (!w) return;
    pthread_mutex_destroy(&w->lock);
    free(w);
}

/* Under the lock: everything may have changed, and the database is now what this head says. */
static void begin_epoch(struct watch *w, const struct log_head *head)
{
    w->known = *head;
    w->epoch++;
    w->version++;
    atomic_fetch_add(&w->stats->generation, 1);
}

/* ---- the writer ---- */

void watch_begin(struct watch *w)
{
    w->is_all = false;
    w->changed_count = 0;
}

void watch_changed(struct watch *w, int64_t rowid)
{
    if (w->changed_count == WATCH_CHANGES_MAX)
        w->is_all = true;
    else
        w->changed[w->changed_count++] = (uint16_t)slot_of(rowid);
}

void watch_changed_all(struct watch *w)
{
    w->is_all = true;
}

void watch_commit_begins(struct watch *w)
{
    pthread_mutex_lock(&w->lock);
    bool is_whole = head_read(w->index, &w->before);
    if (!is_whole || !head_is(&w->before, &w->known)) begin_epoch(w, &w->before);
    w->is_committing = true;
    pthread_mutex_unlock(&w->lock);
}

void watch_commit_ended(struct watch *w, int log_pages)
{
    struct log_head after;
    pthread_mutex_lock(&w->lock);
    bool is_whole = head_read(w->index, &after);
    bool is_ours = is_whole && after.words[WORD_CHANGE] == w->before.words[WORD_CHANGE] + 1 &&
                   after.words[WORD_FRAMES] == (uint32_t)log_pages;
    bool is_nothing = is_whole && head_is(&after, &w->before);
    for (size_t i = 0; i < w->changed_count; i++)
        atomic_fetch_add_explicit(&w->changes[w->changed[i]], 1, memory_order_relaxed);
    if (w->is_all || !(is_ours || is_nothing)) {
        begin_epoch(w, &after);
    } else {
        w->known = after;
        w->version++;
    }
    w->is_committing = false;
    pthread_mutex_unlock(&w->lock);
    watch_begin(w);
}

bool watch_is_hidden(const char *sql)
{
    const char *deletes = strstr(sql, "DELETE FROM");
    bool empties = deletes && !strstr(deletes, "WHERE");
    return empties || strstr(sql, "OR REPLACE") || strstr(sql, "REPLACE INTO") || strstr(sql, "SET id =");
}

/* ---- the loops ---- */

static bool row_holds(const struct db *db, Id id, struct row_mark mark)
{
    return db->watch_epoch && mark.epoch == db->watch_epoch &&
           mark.changes == atomic_load_explicit(&db->watch->changes[slot_of(id.v)], memory_order_relaxed);
}

static bool row_mark(const struct db *db, Id id, struct row_mark *ret)
{
    struct watch *w = db->watch;
    struct log_head head;
    if (!db->watch_epoch) return false;
    pthread_mutex_lock(&w->lock);
    bool is_same = w->version == db->watch_version && head_read(w->index, &head) && head_is(&head, &w->known);
    if (is_same)
        *ret = (struct row_mark){w->epoch, atomic_load_explicit(&w->changes[slot_of(id.v)], memory_order_relaxed)};
    pthread_mutex_unlock(&w->lock);
    return is_same;
}

static const struct watcher of_sqlite = {row_holds, row_mark};

bool watch_look(struct watch *w, struct db *db)
{
    struct log_head head;
    db->watcher = &of_sqlite;
    db->watch = w;
    db->watch_epoch = 0;
    db->has_looked = false;
    pthread_mutex_lock(&w->lock);
    bool is_current = head_read(w->index, &head);
    if (is_current && !head_is(&head, &w->known)) {
        is_current = !w->is_committing;
        if (is_current) begin_epoch(w, &head);
    }
    if (is_current) {
        db->watch_epoch = w->epoch;
        db->watch_version = w->version;
        db->has_looked = true;
    }
    pthread_mutex_unlock(&w->lock);
    return is_current;
}
