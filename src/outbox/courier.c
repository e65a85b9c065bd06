/* outbox/courier.c - see courier.h. */
#include "outbox/courier.h"

#include <pthread.h>
#include <stdlib.h>
#include <time.h>

#include "base/log.h"
#include "base/memory.h"
#include "base/pool.h"
#include "base/thread.h"
#include "outbox/courier_round.h"

#define LOOK_MS 200 /* an event is on its way this much later at most, and a little later on PostgreSQL */

struct courier {
    struct courier_options options;
    struct courier_stats stats;
    struct outbound *outbound;
    struct pool *pool; /* a thread for every endpoint that there can be */
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    bool is_awake;
    atomic_bool is_stopping;
    Id busy[WEBHOOK_ENDPOINTS_MAX]; /* 0: free */
    struct event_watch watch;       /* the thread's own */
};

struct errand_round {
    struct pool_job job; /* first */
    struct courier *courier;
    size_t slot;
};

static void run_rounds(struct pool_job *job)
{
    struct errand_round *x = (struct errand_round *)job;
    struct courier *c = x->courier;
    const struct courier_round with = {.options = &c->options,
                                       .outbound = c->outbound,
                                       .stats = &c->stats,
                                       .is_stopping = &c->is_stopping,
                                       .endpoint = c->busy[x->slot]};
    while (courier_round(&with) && !atomic_load(&c->is_stopping)) {
    }
    pthread_mutex_lock(&c->lock);
    c->busy[x->slot] = (Id){0};
    pthread_mutex_unlock(&c->lock);
    free(x);
}

/* False: it is being served, or all threads are. (A deleted endpoint may still hold one.) */
static bool reserve(struct courier *c, Id endpoint, size_t *ret)
{
    size_t free_slot = WEBHOOK_ENDPOINTS_MAX;
    bool is_served = false;
    pthread_mutex_lock(&c->lock);
    for (size_t i = 0; i < WEBHOOK_ENDPOINTS_MAX; i++) {
        if (id_eq(c->busy[i], endpoint)) is_served = true;
        if (!id_is(c->busy[i])) free_slot = i;
    }
    bool ok = !is_served && free_slot < WEBHOOK_ENDPOINTS_MAX;
    if (ok) c->busy[free_slot] = endpoint;
    pthread_mutex_unlock(&c->lock);
    *ret = free_slot;
    return ok;
}

static void serve_endpoint(struct courier *c, Id endpoint)
{
    size_t slot;
    if (!reserve(c, endpoint, &slot)) return;
    struct errand_round *x = memory_zeroed(1, sizeof *x);
    *x = (struct errand_round){.job.run = run_rounds, .courier = c, .slot = slot};
    if (!pool_submit(c->pool, &x->job)) abort(); /* the pool has room for one job per slot */
}

struct look {
    struct courier *courier;
    Id due[WEBHOOK_ENDPOINTS_MAX];
    size_t count;
};

static enum err settle(void *arg, struct db *db)
{
    struct look *l = arg;
    return event_settle(db, &l->courier->watch);
}

static enum err find_due(void *arg, struct db *db)
{
    struct look *l = arg;
    return webhook_endpoint_due(db, time_now(), l->due, WEBHOOK_ENDPOINTS_MAX, &l->count);
}

static void look_around(struct courier *c)
{
    struct arena arena = {0};
    struct look l = {.courier = c};
    enum err e =
        database_is_sqlite(c->options.database) ? OK : tx_call(c->options.database, TX_READ, settle, &l, &arena);
    if (!e) e = tx_call(c->options.database, TX_READ, find_due, &l, &arena);
    if (e) log_event(LOG_WARN, "webhooks_failed", LOGC("code", err_info(e)->code));
    for (size_t i = 0; !e && i < l.count; i++) serve_endpoint(c, l.due[i]);
    arena_done(&arena);
}

static enum err free_all(void *arg, struct db *db)
{
    (void)arg;
    return webhook_endpoint_free_all(db);
}

static void *run(void *arg)
{
    struct courier *c = arg;
    struct arena arena = {0};
    /* SQLite has one server at a time: leases of the last one, which may have been killed, mean nothing. */
    if (database_is_sqlite(c->options.database)) tx_call(c->options.database, TX_READ, free_all, NULL, &arena);
    arena_done(&arena);
    while (!atomic_load(&c->is_stopping)) {
        pthread_mutex_lock(&c->lock);
        if (!c->is_awake) {
            struct timespec until;
            clock_gettime(CLOCK_MONOTONIC, &until);
            until.tv_nsec += LOOK_MS * 1000000L;
            if (until.tv_nsec >= 1000000000L) until.tv_sec++, until.tv_nsec -= 1000000000L;
            pthread_cond_timedwait(&c->changed, &c->lock, &until);
        }
        c->is_awake = false;
        pthread_mutex_unlock(&c->lock);
        if (!atomic_load(&c->is_stopping)) look_around(c);
    }
    return NULL;
}

struct courier *courier_start(const struct courier_options *options)
{
    struct courier *c = memory_zeroed(1, sizeof *c);
    c->options = *options;
    c->outbound = outbound_start(&(struct outbound_options){.ca_file = options->ca_file});
    c->pool = pool_new(WEBHOOK_ENDPOINTS_MAX, WEBHOOK_ENDPOINTS_MAX * 2);
    pthread_condattr_t clock;
    pthread_condattr_init(&clock);
    pthread_condattr_setclock(&clock, CLOCK_MONOTONIC);
    pthread_mutex_init(&c->lock, NULL);
    pthread_cond_init(&c->changed, &clock);
    pthread_condattr_destroy(&clock);
    thread_start(&c->thread, run, c);
    return c;
}

void courier_wake(struct courier *c)
{
    if (!c) return;
    pthread_mutex_lock(&c->lock);
    c->is_awake = true;
    pthread_cond_signal(&c->changed);
    pthread_mutex_unlock(&c->lock);
}

const struct courier_stats *courier_stats(const struct courier *c)
{
    return &c->stats;
}

void courier_stop(struct courier *c)
{
    if (!c) return;
    atomic_store(&c->is_stopping, true);
    courier_wake(c);
    pthread_join(c->thread, NULL);
    outbound_cancel(c->outbound);
    pool_free(c->pool);
    outbound_stop(c->outbound);
    pthread_mutex_destroy(&c->lock);
    pthread_cond_destroy(&c->changed);
    free(c);
}
