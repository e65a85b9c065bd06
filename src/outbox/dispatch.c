/* outbox/dispatch.c - see dispatch.h. */
#include "outbox/dispatch.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "base/log.h"
#include "base/memory.h"
#include "base/pool.h"
#include "base/thread.h"
#include "outbox/errand.h"

#define WORKERS 8
#define LEASE_MS (90 * TIME_SECOND) /* longer than any errand takes */
#define POLL_MS 1000

struct dispatcher {
    struct dispatch_options options;
    struct outbox_stats stats;
    struct pool *pool;
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    bool is_awake, is_stopping;
    _Atomic int64_t busy;
};

struct work {
    struct pool_job job; /* first */
    struct dispatcher *dispatcher;
    struct outbox_item item;
    struct arena arena;
};

static void run_work(struct pool_job *job)
{
    struct work *w = (struct work *)job;
    struct dispatcher *d = w->dispatcher;
    errand_run(&d->options, &w->item, &w->arena);
    arena_done(&w->arena);
    free(w);
    atomic_fetch_sub(&d->busy, 1);
    dispatcher_wake(d);
}

struct claim {
    Time now;
    int64_t limit;
    struct outbox_item *items;
    size_t count;
};

static enum err look(void *arg, struct db *db)
{
    struct claim *c = arg;
    Time next;
    enum err e = outbox_next(db, &next);
    if (e) return e;
    c->count = 0;
    if (!time_is(next) || next.ms > c->now.ms) return OK;
    if (!db_can_write(db)) return ERR_NEEDS_WRITE;
    return outbox_claim(db, c->now, LEASE_MS, c->limit, &c->items, &c->count);
}

/* Takes what is due, as far as there are free workers. */
static void take(struct dispatcher *d)
{
    struct arena arena = {0};
    struct claim c = {.now = time_now(), .limit = WORKERS - atomic_load(&d->busy)};
    if (c.limit <= 0) return;
    enum err e = tx_call(d->options.database, TX_READ, look, &c, &arena);
    if (e) log_event(LOG_WARN, "outbox_failed", LOGC("code", err_info(e)->code));
    for (size_t i = 0; !e && i < c.count; i++) {
        struct work *w = memory_zeroed(1, sizeof *w);
        *w = (struct work){.job.run = run_work, .dispatcher = d, .item = c.items[i]};
        w->item.payload = str_dup(&w->arena, c.items[i].payload);
        atomic_fetch_add(&d->busy, 1);
        if (!pool_submit(d->pool, &w->job)) abort(); /* the pool has room for one job per worker */
    }
    arena_done(&arena);
}

static void *run(void *arg)
{
    struct dispatcher *d = arg;
    for (;;) {
        pthread_mutex_lock(&d->lock);
        if (!d->is_awake && !d->is_stopping) {
            struct timespec until;
            clock_gettime(CLOCK_MONOTONIC, &until);
            until.tv_sec += POLL_MS / 1000;
            pthread_cond_timedwait(&d->changed, &d->lock, &until);
        }
        d->is_awake = false;
        bool stop = d->is_stopping;
        pthread_mutex_unlock(&d->lock);
        if (stop) return NULL;
        take(d);
    }
}

struct dispatcher *dispatcher_start(const struct dispatch_options *options)
{
    struct dispatcher *d = memory_zeroed(1, sizeof *d);
    d->options = *options;
    d->options.stats = &d->stats;
    d->pool = pool_new(WORKERS, WORKERS * 2);
    pthread_condattr_t clock;
    pthread_condattr_init(&clock);
    pthread_condattr_setclock(&clock, CLOCK_MONOTONIC);
    pthread_mutex_init(&d->lock, NULL);
    pthread_cond_init(&d->changed, &clock);
    pthread_condattr_destroy(&clock);
    thread_start(&d->thread, run, d);
    return d;
}

const struct outbox_stats *dispatcher_stats(const struct dispatcher *d)
{
    return &d->stats;
}

void dispatcher_wake(struct dispatcher *d)
{
    if (!d) return;
    pthread_mutex_lock(&d->lock);
    d->is_awake = true;
    pthread_cond_signal(&d->changed);
    pthread_mutex_unlock(&d->lock);
}

void dispatcher_stop(struct dispatcher *d)
{
    if (!d) return;
    pthread_mutex_lock(&d->lock);
    d->is_stopping = true;
    pthread_cond_signal(&d->changed);
    pthread_mutex_unlock(&d->lock);
    pthread_join(d->thread, NULL);
    pool_free(d->pool);
    pthread_mutex_destroy(&d->lock);
    pthread_cond_destroy(&d->changed);
    free(d);
}
