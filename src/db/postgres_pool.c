/* db/postgres_pool.c - see postgres_pool.h.
 *
 * Half of the workers take reads, the others writes: what holds up the writers (a locked wallet, a slow disk) does not
 * hold up a verification, and a long report does not hold up orders. A worker takes one job, runs it in a transaction
 * of its own, and tells its port. It takes jobs only while it has a connection, so a worker that cannot connect does
 * not fail jobs that others could run. Only when no worker of its half has had a connection for PATIENCE_MS are jobs
 * answered ERR_UNAVAILABLE, at once, while one worker at a time tries again. Each half is counted separately: idle
 * workers do not notice that the server is gone. */
#include "db/postgres_pool.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "base/log.h"
#include "base/random.h"
#include "base/timestamp.h"
#include "db/postgres.h"

/* Workers sleep while the network and the server's disk work, and commits that wait together become durable together:
 * with an fsync for each commit, 32 workers were measured to place half as many orders again as 8, on two cores. More
 * would only take connections from other nodes: the server has 100 by default, for all of them. */
#define WORKERS_PER_CORE 8
#define WORKERS_MIN 16
#define WORKERS_MAX 32

#define SHARED_WORKERS_MIN 4 /* with fewer, all take everything */
#define TRIES_MAX 10
#define PATIENCE_MS 2500
#define RETRY_CONNECT_MS 100
#define WHY_BYTES 512

/* The reads or the writes: the jobs that wait, and how the workers that take them are connected. */
struct half {
    struct job_queue queue;
    _Atomic int connected;
    _Atomic int64_t away_since_ns; /* counts while connected is 0 */
    _Atomic bool trying;           /* a worker is trying a server that has been away for long */
};

struct worker {
    pthread_t thread;
    struct pg_pool *pool;
    struct half *half;
    struct db *db; /* NULL: no connection */
    bool had_one;
};

struct pg_pool {
    struct half reads, writes; /* reads: unused with too few workers to share out */
    int readers;
    struct database_stats *stats;
    struct postgres_options options;
    char *url;
    int count;
    struct worker workers[];
};

static void sleep_ms(int64_t ms)
{
    struct timespec t = {.tv_sec = ms / 1000, .tv_nsec = (ms % 1000) * 1000000};
    nanosleep(&t, NULL);
}

static void disconnect(struct worker *w)
{
    if (!w->db) return;
    postgres_close(w->db);
    w->db = NULL;
    atomic_store(&w->half->away_since_ns, time_monotonic_ns());
    atomic_fetch_sub(&w->half->connected, 1);
}

static bool away_for_long(struct half *h)
{
    return atomic_load(&h->connected) == 0 &&
           time_monotonic_ns() - atomic_load(&h->away_since_ns) > PATIENCE_MS * INT64_C(1000000);
}

static bool try_connect(struct worker *w)
{
    struct pg_pool *p = w->pool;
    bool long_away = away_for_long(w->half);
    if (long_away && atomic_exchange(&w->half->trying, true)) return false;
    char why[WHY_BYTES];
    enum err e = postgres_open(&p->options, p->stats, &w->db, why, sizeof why);
    if (long_away) atomic_store(&w->half->trying, false);
    if (e) {
        log_event(LOG_WARN, "db.no_connection", LOGC("reason", why));
        return false;
    }
    atomic_fetch_add(&w->half->connected, 1);
    if (w->had_one) atomic_fetch_add_explicit(&p->stats->reconnects, 1, memory_order_relaxed);
    w->had_one = true;
    return true;
}

/* One attempt. True when its outcome is final. */
static bool run_once(struct worker *w, struct tx_job *job, enum err *ret)
{
    struct db *db = w->db;
    enum tx_mode mode = job->mode;
    postgres_begin(db, mode);
    db_enter(db, job->arena, mode == TX_WRITE);
    *ret = db_leave(db, job->run(job, db));
    if (*ret) {
        postgres_rollback(db);
        if (*ret != ERR_NEEDS_WRITE || mode == TX_WRITE) return !postgres_may_retry(db);
        if (w->pool->options.read_only) *ret = ERR_UNAVAILABLE;
        job->mode = TX_WRITE;
        return w->pool->options.read_only;
    }
    switch (postgres_commit(db)) {
    case POSTGRES_COMMITTED: return true;
    case POSTGRES_UNKNOWN:
        *ret = mode == TX_READ ? ERR_UNAVAILABLE : ERR_OUTCOME_UNKNOWN;
        if (mode == TX_WRITE) log_event(LOG_ERROR, "db.outcome_unknown", LOGI("jobs", 1));
        return mode == TX_WRITE;
    case POSTGRES_FAILED: *ret = db_err(db); return !postgres_may_retry(db);
    }
    return true;
}

enum served { SERVED, SERVED_ELSEWHERE, NOT_SERVED };

/* SERVED: *ret is the job's end. NOT_SERVED: the connection is lost and there is no other for now. */
static enum served serve(struct worker *w, struct tx_job *job, enum err *ret)
{
    for (;;) {
        if (!postgres_is_alive(w->db)) {
            disconnect(w);
            if (!try_connect(w)) return NOT_SERVED;
        }
        enum tx_mode mode = job->mode;
        if (run_once(w, job, ret)) return SERVED;
        if (job->mode != mode) { /* not a failure: the job has to write */
            if (w->half == &w->pool->writes) continue;
            queue_put_back(&w->pool->writes.queue, job);
            return SERVED_ELSEWHERE;
        }
        *ret = ERR_UNAVAILABLE;
        if (++job->tries >= TRIES_MAX) return SERVED;
        atomic_fetch_add_explicit(&w->pool->stats->retries, 1, memory_order_relaxed);
        sleep_ms(random_below(1u << (job->tries < 7 ? job->tries : 7)));
    }
}

static void count_commit(struct pg_pool *p)
{
    atomic_fetch_add_explicit(&p->stats->batches, 1, memory_order_relaxed);
    atomic_fetch_add_explicit(&p->stats->batch_jobs, 1, memory_order_relaxed);
    atomic_fetch_add_explicit(&p->stats->batch_buckets[0], 1, memory_order_relaxed);
}

static bool next_job(struct worker *w, struct tx_job **ret)
{
    struct job_queue *q = &w->half->queue;
    if (queue_take_until(q, ret, 0) == 1) return true;
    postgres_rest(w->db);
    return queue_take(q, ret, 1) == 1;
}

static void *worker_main(void *arg)
{
    struct worker *w = arg;
    struct pg_pool *p = w->pool;
    struct tx_job *job;
    for (;;) {
        if (w->db && !postgres_is_alive(w->db)) disconnect(w);
        if (w->db || try_connect(w)) {
            if (!next_job(w, &job)) return NULL;
            enum err e;
            enum served served = serve(w, job, &e);
            if (served == NOT_SERVED) queue_put_back(&w->half->queue, job); /* others may still have a connection */
            if (served != SERVED) continue;
            if (!e && job->mode == TX_WRITE) count_commit(p);
            job_finish(job, e);
        } else if (away_for_long(w->half)) {
            int64_t until = time_monotonic_ns() + RETRY_CONNECT_MS * INT64_C(1000000);
            int n;
            while ((n = queue_take_until(&w->half->queue, &job, until)) > 0) job_finish(job, ERR_UNAVAILABLE);
            if (n == QUEUE_CLOSED) return NULL;
        } else if (queue_is_closed(&w->half->queue) && !atomic_load(w->half->queue.length)) {
            return NULL;
        } else {
            sleep_ms(RETRY_CONNECT_MS + random_below(RETRY_CONNECT_MS));
        }
    }
}

static int worker_count(const struct database_options *o)
{
    if (o->workers > 0) return o->workers;
    long n = sysconf(_SC_NPROCESSORS_ONLN) * WORKERS_PER_CORE;
    return n < WORKERS_MIN ? WORKERS_MIN : n > WORKERS_MAX ? WORKERS_MAX : (int)n;
}

enum err pg_pool_new(const struct database_options *o, struct database_stats *stats, struct pg_pool **ret,
                     char *ret_why, size_t why_bytes)
{
    int count = o->read_only ? 1 : worker_count(o);
    struct pg_pool *p = calloc(1, sizeof *p + (size_t)count * sizeof *p->workers);
    if (!p || !(p->url = strdup(o->url))) {
        snprintf(ret_why, why_bytes, "out of memory");
        free(p);
        return ERR_UNAVAILABLE;
    }
    p->stats = stats;
    p->options = (struct postgres_options){.url = p->url, .read_only = o->read_only, .lock_ms = o->busy_ms};
    p->reads.away_since_ns = p->writes.away_since_ns = time_monotonic_ns();
    queue_init(&p->reads.queue, &stats->queue_length);
    queue_init(&p->writes.queue, &stats->queue_length);
    p->readers = count < SHARED_WORKERS_MIN ? 0 : count / 2;
    enum err e = postgres_open(&p->options, stats, &p->workers[0].db, ret_why, why_bytes);
    p->workers[0].half = p->readers ? &p->reads : &p->writes;
    if (!e) p->workers[0].half->connected = 1;
    p->workers[0].had_one = true;
    for (int i = 0; !e && i < count; i++) {
        struct worker *w = &p->workers[i];
        w->pool = p;
        w->half = i < p->readers ? &p->reads : &p->writes;
        if (pthread_create(&w->thread, NULL, worker_main, w) != 0) {
            snprintf(ret_why, why_bytes, "the workers cannot be started");
            e = ERR_UNAVAILABLE;
            break;
        }
        pthread_setname_np(w->thread, "souk-db");
        p->count++;
    }
    if (!e)
        *ret = p;
    else
        pg_pool_free(p);
    return e;
}

int pg_pool_writers(const struct pg_pool *p)
{
    return p->count - p->readers;
}

bool pg_pool_submit(struct pg_pool *p, struct tx_job *job)
{
    return queue_put(job->mode == TX_READ && p->readers ? &p->reads.queue : &p->writes.queue, job);
}

void pg_pool_free(struct pg_pool *p)
{
    if (!p) return;
    /* A read that has to write is handed to the writers, so the readers end first. */
    queue_close(&p->reads.queue);
    for (int i = 0; i < p->count && i < p->readers; i++) pthread_join(p->workers[i].thread, NULL);
    queue_close(&p->writes.queue);
    for (int i = p->readers; i < p->count; i++) pthread_join(p->workers[i].thread, NULL);
    for (int i = 0; i < p->count; i++) disconnect(&p->workers[i]);
    if (p->count == 0) postgres_close(p->workers[0].db);
    queue_done(&p->reads.queue);
    queue_done(&p->writes.queue);
    free(p->url);
    free(p);
}
