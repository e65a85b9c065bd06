/* db/sqlite_writer.c - group commit.
 *
 * The thread takes all waiting jobs (up to batch_max) and runs them as one transaction: one fsync for all. It never
 * waits for more jobs: under load the next batch gathers while this one is being made durable. Each job of a batch runs
 * in a savepoint, so that a failed job is undone alone; a job that is alone needs none, and neither does one that
 * promised to check before it writes. When such a promise is broken the whole batch is undone and run again with
 * savepoints: slow, but right. A job that takes long (by_itself) has a transaction of its own after all others: nobody
 * waits for it who came before, and a disk without room for it may still have room for them.
 *
 * What always holds:
 * - a job is told OK only after the COMMIT that holds it has returned;
 * - a job's answer depends only on what is committed: whatever undoes a batch undoes its refusals too;
 * - a COMMIT whose outcome is not known is reported as such, and nothing is written after it: a restart reads the log
 *   and knows. */
#include "db/sqlite_writer.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/memory.h"
#include "db/sqlite.h"

#define LOG_PAGES_DEFAULT 2000 /* more makes the pause longer (4000: twice as long), less makes it more frequent */

struct writer {
    pthread_t thread;
    struct db *db;
    struct job_queue queue;
    struct database_stats *stats;
    _Atomic bool *healthy;
    int batch_max;
    int log_pages_max;
    int checkpoint_at; /* pages in the log */
    int log_pages;     /* seen last */
    struct tx_job *batch[];
};

enum batch_end {
    BATCH_DONE,
    BATCH_BROKEN_PROMISE, /* rolled back: a job without a savepoint failed after it had written */
    BATCH_REFUSED,        /* rolled back: COMMIT met a constraint that one of the jobs broke */
    BATCH_UNAVAILABLE,    /* rolled back: no lock, no room, no disk */
    BATCH_UNKNOWN,
};

static enum err run_job(struct writer *w, struct tx_job *job, bool savepoint, bool *ret_wrote)
{
    struct db *db = w->db;
    int64_t before = sqlite_changes(db);
    db_enter(db, job->arena, true);
    if (savepoint && !sqlite_savepoint(db)) db_fail(db, ERR_UNAVAILABLE);
    enum err e = db_leave(db, db->err ? db->err : job->run(job, db));
    *ret_wrote = sqlite_changes(db) != before;
    return e;
}

static void undo(struct writer *w)
{
    if (!sqlite_rollback(w->db)) atomic_store(w->healthy, false);
}

/* Results are left in the jobs; they count only with BATCH_DONE. */
static enum batch_end run_batch(struct writer *w, struct tx_job **jobs, int n, bool savepoints)
{
    struct db *db = w->db;
    if (sqlite_begin(db) != OK) return BATCH_UNAVAILABLE;
    bool batch_wrote = false, may_group = true;
    for (int i = 0; i < n; i++) {
        bool savepoint = n > 1 && (savepoints || !jobs[i]->no_savepoint), wrote;
        enum err e = jobs[i]->result = run_job(w, jobs[i], savepoint, &wrote);
        bool trouble = db->err == ERR_UNAVAILABLE || !sqlite_in_transaction(db);
        if (savepoint && !trouble) trouble = !(e ? sqlite_rollback_to(db) : sqlite_release(db));
        if (trouble) { /* the database's own error: the whole transaction is in doubt, or has already ended */
            undo(w);
            return BATCH_UNAVAILABLE;
        }
        if (e && wrote && !savepoint && n > 1) {
            undo(w);
            return BATCH_BROKEN_PROMISE;
        }
        batch_wrote |= wrote && !e;
        may_group &= jobs[i]->may_group;
    }
    if (!batch_wrote) { /* only refusals: nothing to make durable */
        undo(w);
        return BATCH_DONE;
    }
    enum sqlite_end end = sqlite_commit(db);
    if (!may_group) atomic_fetch_add(&w->stats->generation, 1);
    switch (end) {
    case SQLITE_ENDED: break;
    case SQLITE_REFUSED: return BATCH_REFUSED;
    case SQLITE_NO_ROOM: return BATCH_UNAVAILABLE;
    case SQLITE_UNKNOWN: return BATCH_UNKNOWN;
    }
    atomic_store(&w->stats->no_room_ms, 0);
    count_batch(w->stats, n);
    return BATCH_DONE;
}

static void give_all(struct tx_job **jobs, int n, enum err e)
{
    for (int i = 0; i < n; i++) jobs[i]->result = e;
}

static void settle(struct writer *w, struct tx_job **jobs, int n)
{
    if (!atomic_load(w->healthy)) {
        give_all(jobs, n, ERR_UNAVAILABLE);
        return;
    }
    enum batch_end end = run_batch(w, jobs, n, false);
    if (end == BATCH_BROKEN_PROMISE) {
        log_event(LOG_WARN, "db.promise_broken", LOGI("jobs", n));
        end = run_batch(w, jobs, n, true);
    }
    if (end == BATCH_REFUSED && n > 1) { /* one of the jobs is at fault: run alone, it shows */
        for (int i = 0; i < n; i++) settle(w, jobs + i, 1);
        return;
    }
    switch (end) {
    case BATCH_DONE: return;
    case BATCH_BROKEN_PROMISE: /* impossible with savepoints */
    case BATCH_REFUSED: give_all(jobs, n, ERR_INTERNAL); return;
    case BATCH_UNAVAILABLE: give_all(jobs, n, ERR_UNAVAILABLE); return;
    case BATCH_UNKNOWN:
        atomic_store(w->healthy, false);
        log_event(LOG_ERROR, "db.outcome_unknown", LOGI("jobs", n));
        give_all(jobs, n, ERR_OUTCOME_UNKNOWN);
        return;
    }
}

/* Pauses like a job that takes long: after one, those that wait meanwhile come first, unless the log is twice as long
 * as it should be. */
static void checkpoint(struct writer *w, bool has_paused)
{
    int pages = sqlite_log_pages(w->db);
    if (pages < w->log_pages) w->checkpoint_at = w->log_pages_max; /* the log started over */
    w->log_pages = pages;
    if (pages < w->checkpoint_at || !atomic_load(w->healthy)) return;
    if (has_paused && atomic_load(&w->stats->queue_length) > 0 && pages < w->checkpoint_at + w->log_pages_max) return;
    if (sqlite_checkpoint(w->db, false) != OK) atomic_store(w->healthy, false);
    atomic_fetch_add_explicit(&w->stats->checkpoints, 1, memory_order_relaxed);
    w->checkpoint_at = pages + w->log_pages_max;
}

/* In one transaction. */
static void finish(struct writer *w, struct tx_job **jobs, int n)
{
    if (!n) return;
    settle(w, jobs, n);
    jobs_finish(jobs, n);
}

/* Those that are run by themselves go to the end; the others stay in order. How many these are. */
static int part(struct tx_job **jobs, int n)
{
    int others = 0;
    for (int i = 0; i < n; i++) {
        struct tx_job *job = jobs[i];
        if (job->by_itself) continue;
        memmove(jobs + others + 1, jobs + others, (size_t)(i - others) * sizeof *jobs);
        jobs[others++] = job;
    }
    return others;
}

static void *writer_main(void *arg)
{
    struct writer *w = arg;
    int n;
    while ((n = queue_take(&w->queue, w->batch, w->batch_max)) > 0) {
        int others = part(w->batch, n);
        finish(w, w->batch, others);
        for (int i = others; i < n; i++) finish(w, w->batch + i, 1);
        checkpoint(w, others < n);
    }
    return NULL;
}

struct writer *writer_new(struct db *db, int batch_max, int log_pages, struct database_stats *stats,
                          _Atomic bool *healthy)
{
    assert(batch_max > 0);
    struct writer *w = memory_try_zeroed(1, sizeof *w + (size_t)batch_max * sizeof *w->batch);
    if (!w) return NULL;
    w->db = db;
    w->stats = stats;
    w->healthy = healthy;
    w->batch_max = batch_max;
    w->log_pages_max = log_pages > 0 ? log_pages : LOG_PAGES_DEFAULT;
    w->checkpoint_at = w->log_pages_max;
    queue_init(&w->queue, &stats->queue_length);
    if (pthread_create(&w->thread, NULL, writer_main, w) != 0) {
        queue_done(&w->queue);
        free(w);
        return NULL;
    }
    pthread_setname_np(w->thread, "souk-writer");
    return w;
}

bool writer_submit(struct writer *w, struct tx_job *job)
{
    return queue_put(&w->queue, job);
}

bool writer_has_room(struct writer *w, const struct tx_job *job)
{
    return queue_has_room(&w->queue, job);
}

bool writer_is_me(const struct writer *w)
{
    return pthread_equal(pthread_self(), w->thread);
}

void writer_free(struct writer *w)
{
    if (!w) return;
    queue_close(&w->queue);
    pthread_join(w->thread, NULL);
    if (atomic_load(w->healthy)) sqlite_checkpoint(w->db, true);
    sqlite_close(w->db);
    queue_done(&w->queue);
    free(w);
}
