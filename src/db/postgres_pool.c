/* db/postgres_pool.c - see postgres_pool.h.
 *
 * Reads and writes have workers of their own: what holds up the writers (a locked wallet, a slow disk) does not hold
 * up a verification, and a long report does not hold up orders. And each has a few workers for jobs that may be grouped
 * (postgres_group.h): these take everything that waits for them and run it in one transaction; under load the next
 * group gathers while this one is under way. The others take one job, and run it in a transaction of its own. What
 * cannot stay in its group goes on to them.
 *
 * Workers take jobs only while they have a connection, so one that cannot connect does not fail what others could do.
 * Only when nobody of its lane has had a connection for PATIENCE_MS are jobs answered ERR_UNAVAILABLE, at once, while
 * one worker at a time tries again. Each lane counts for itself: idle workers do not notice that the server is gone. */
#include "db/postgres_pool.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "base/log.h"
#include "base/memory.h"
#include "base/random.h"
#include "base/timestamp.h"
#include "db/postgres.h"
#include "db/postgres_group.h"

/* Workers sleep while the network and the server's disk work, and commits that wait together become durable together:
 * with an fsync for each commit, 16 workers were measured to write twice as much as 8 on two cores, and 32 twice as
 * much again on a slow disk (decision 0053). More would only take connections from other nodes: the server has 100 by
 * default, for all of them. */
#define WORKERS_PER_CORE 8
#define WORKERS_MIN 16
#define WORKERS_MAX 32

#define SHARED_WORKERS_MIN 4  /* with fewer, all take everything */
#define GROUPED_WORKERS_MIN 8 /* with fewer, nothing is grouped */
/* Of each kind. A second one works while the first waits for the server or its disk; with more, groups get smaller, and
 * dearer. Those that read take from one queue. Those that write have one each, so that orders on one wallet meet in one
 * group, where they do not wait for each other. */
#define GROUPING_WORKERS 2
#define LATER_MAX 5 /* how often a job is put off before it is run by itself */
#define TRIES_MAX 10
#define PATIENCE_MS 2500
#define RETRY_CONNECT_MS 100
#define WHY_BYTES 512

/* In the order in which they end: each may hand jobs on to those behind it. */
enum lane_name { GROUPED_READS, READS, GROUPED_WRITES, WRITES = GROUPED_WRITES + GROUPING_WORKERS, LANES };

/* What waits, and how those who serve it are connected. */
struct pg_lane {
    struct job_queue queue;
    int workers; /* 0: unused, because there are too few workers to be shared out */
    bool is_grouped;
    _Atomic int connected;
    _Atomic int64_t away_since_ns; /* the first failure to connect since the last success; 0: none */
    _Atomic bool trying;           /* a worker is trying a server that has been away for long */
};

struct worker {
    pthread_t thread;
    struct pg_pool *pool;
    struct pg_lane *lane;
    struct db *db;          /* NULL: no connection */
    struct pg_group *group; /* of a grouped lane */
    int64_t opened_ns;      /* when it began to be opened */
    bool had_one;
};

struct pg_pool {
    struct pg_lane lanes[LANES];
    struct database_stats *stats;
    struct postgres_options options;
    char *url;
    struct pg_watch *watch; /* or NULL */
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
    if (w->group) group_disconnect(w->group);
    postgres_close(w->db);
    w->db = NULL;
    atomic_fetch_sub(&w->lane->connected, 1);
}

static bool away_for_long(struct pg_lane *l)
{
    int64_t since = atomic_load(&l->away_since_ns);
    return atomic_load(&l->connected) == 0 && since && time_monotonic_ns() - since > PATIENCE_MS * INT64_C(1000000);
}

static bool try_connect(struct worker *w)
{
    struct pg_pool *p = w->pool;
    bool long_away = away_for_long(w->lane);
    if (long_away && atomic_exchange(&w->lane->trying, true)) return false;
    char why[WHY_BYTES];
    struct postgres_options o = p->options;
    o.is_group = w->lane->is_grouped;
    if (o.is_group) o.lock_ms = GROUP_LOCK_MS;
    w->opened_ns = time_monotonic_ns();
    enum err e = postgres_open(&o, p->stats, &w->db, why, sizeof why);
    if (long_away) atomic_store(&w->lane->trying, false);
    if (e) {
        int64_t here = 0;
        atomic_compare_exchange_strong(&w->lane->away_since_ns, &here, time_monotonic_ns());
        log_event(LOG_WARN, "db.no_connection", LOGC("reason", why));
        return false;
    }
    atomic_fetch_add(&w->lane->connected, 1);
    atomic_store(&w->lane->away_since_ns, 0);
    if (w->group) group_watch(w->group, p->watch, w->opened_ns);
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
    enum postgres_end end = postgres_commit(db);
    if (db->tells) atomic_fetch_add(&db->stats->told, 1);
    switch (end) {
    case POSTGRES_COMMITTED: return true;
    case POSTGRES_UNKNOWN:
        *ret = mode == TX_READ ? ERR_UNAVAILABLE : ERR_OUTCOME_UNKNOWN;
        if (mode == TX_WRITE) log_event(LOG_ERROR, "db.outcome_unknown", LOGI("jobs", 1));
        return mode == TX_WRITE;
    case POSTGRES_FAILED: *ret = db_err(db); return !postgres_may_retry(db);
    }
    return true;
}

/* The lane that a job belongs to. */
static struct pg_lane *lane_of(struct pg_pool *p, const struct tx_job *job)
{
    bool reads = job->mode == TX_READ;
    struct pg_lane *grouped = &p->lanes[reads ? GROUPED_READS : GROUPED_WRITES + job->affinity % GROUPING_WORKERS];
    if (job->may_group && !job->is_alone && grouped->workers) return grouped;
    return reads && p->lanes[READS].workers ? &p->lanes[READS] : &p->lanes[WRITES];
}

/* It has waited already: in front of the others. */
static void hand_on(struct pg_pool *p, struct tx_job *job)
{
    queue_put_back(&lane_of(p, job)->queue, job);
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
        if (job->mode != mode) { /* not a failure: it has to write */
            if (w->lane == &w->pool->lanes[WRITES]) continue;
            hand_on(w->pool, job);
            return SERVED_ELSEWHERE;
        }
        *ret = ERR_UNAVAILABLE;
        if (++job->tries >= TRIES_MAX) return SERVED;
        atomic_fetch_add_explicit(&w->pool->stats->retries, 1, memory_order_relaxed);
        sleep_ms(random_below(1u << (job->tries < 7 ? job->tries : 7)));
    }
}

/* Waits for jobs: one, or for a group as many as there are. */
static int next_jobs(struct worker *w, struct tx_job **ret)
{
    struct job_queue *q = &w->lane->queue;
    int max = w->group ? GROUP_MAX : 1, n = queue_take_now(q, ret, max);
    if (n) return n;
    queue_coming(q);
    postgres_rest(w->db);
    queue_came(q);
    return queue_take(q, ret, max);
}

static void serve_one(struct worker *w, struct tx_job *job)
{
    enum err e;
    enum served served = serve(w, job, &e);
    if (served == NOT_SERVED) queue_put_back(&w->lane->queue, job); /* others may still have a connection */
    if (served != SERVED) return;
    if (job->mode == TX_WRITE) atomic_fetch_add(&w->pool->stats->generation, 1);
    if (!e && job->mode == TX_WRITE) count_batch(w->pool->stats, 1);
    job_finish(job, e);
}

/* What a job of a group comes to; false: it goes on elsewhere. */
static bool is_settled(struct worker *w, struct tx_job *job, enum group_end end)
{
    struct database_stats *stats = w->pool->stats;
    if (end == GROUP_UNKNOWN) {
        job->result = ERR_OUTCOME_UNKNOWN;
        return true;
    }
    bool is_undone = end != GROUP_DONE;
    if (is_undone) atomic_fetch_add_explicit(&stats->retries, 1, memory_order_relaxed);
    if (end == GROUP_DONE && job->result == ERR_NEEDS_WRITE && job->mode == TX_READ) {
        job->mode = TX_WRITE;
        return false;
    }
    if (end == GROUP_FAILED || job->result == ERR_RUN_ALONE) job->is_alone = true;
    bool comes_again = is_undone || job->result == ERR_RUN_LATER;
    if (comes_again && ++job->tries >= LATER_MAX) job->is_alone = true;
    if (!comes_again && !job->is_alone) return true;
    if (job->is_alone) atomic_fetch_add_explicit(&stats->alone, 1, memory_order_relaxed);
    return false;
}

static void serve_group(struct worker *w, struct tx_job **jobs, int n)
{
    struct pg_pool *p = w->pool;
    enum tx_mode mode = jobs[0]->mode;
    enum group_end end = group_run(w->group, w->db, mode, jobs, n);
    if (end == GROUP_UNKNOWN) log_event(LOG_ERROR, "db.outcome_unknown", LOGI("jobs", n));
    int settled = 0, committed = 0;
    for (int i = n; i-- > 0;) { /* from the last: each is put in front of the others */
        struct tx_job *job = jobs[i];
        if (!is_settled(w, job, end)) {
            hand_on(p, job);
            jobs[i] = NULL;
        } else if (!job->result) {
            committed++;
        }
    }
    for (int i = 0; i < n; i++)
        if (jobs[i]) jobs[settled++] = jobs[i];
    if (committed && mode == TX_WRITE) count_batch(p->stats, committed);
    jobs_finish(jobs, settled);
}

/* The watch has another connection since: perhaps to another server. */
static bool is_outdated(const struct worker *w)
{
    const struct pg_watch *watch = w->pool->watch;
    return watch && w->lane == &w->pool->lanes[GROUPED_READS] && !pg_watch_trusts(watch, w->opened_ns);
}

static void *worker_main(void *arg)
{
    struct worker *w = arg;
    struct tx_job *jobs[GROUP_MAX];
    for (;;) {
        if (w->db && !postgres_is_alive(w->db)) disconnect(w);
        if (w->db && is_outdated(w)) {
            disconnect(w);
            w->had_one = false; /* nothing was lost */
        }
        if (!w->db) { /* nobody connects without having work that nobody else is there for */
            if (!queue_wait(&w->lane->queue)) return NULL;
            try_connect(w);
            queue_came(&w->lane->queue);
        }
        if (w->db) {
            int n = next_jobs(w, jobs);
            if (!n) return NULL;
            if (w->group)
                serve_group(w, jobs, n);
            else
                serve_one(w, jobs[0]);
        } else if (away_for_long(w->lane)) {
            int64_t until = time_monotonic_ns() + RETRY_CONNECT_MS * INT64_C(1000000);
            int n;
            while ((n = queue_take_until(&w->lane->queue, &jobs[0], until)) > 0) job_finish(jobs[0], ERR_UNAVAILABLE);
            if (n == QUEUE_CLOSED) return NULL;
        } else if (queue_has_ended(&w->lane->queue)) {
            return NULL;
        } else {
            queue_nudge(&w->lane->queue);
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

/* The plain lanes get halves of what the grouped ones leave. */
static void share_out(struct pg_pool *p, int count)
{
    int grouped = count < GROUPED_WORKERS_MIN ? 0 : GROUPING_WORKERS;
    int plain = count - 2 * grouped;
    p->lanes[GROUPED_READS] = (struct pg_lane){.workers = grouped, .is_grouped = true};
    for (int i = 0; i < GROUPING_WORKERS; i++)
        p->lanes[GROUPED_WRITES + i] = (struct pg_lane){.workers = grouped > 0, .is_grouped = true};
    p->lanes[READS].workers = plain < SHARED_WORKERS_MIN ? 0 : plain / 2;
    p->lanes[WRITES].workers = plain - p->lanes[READS].workers;
}

static enum err start_worker(struct pg_pool *p, struct worker *w, struct pg_lane *lane, char *ret_why, size_t why_bytes)
{
    w->pool = p;
    w->lane = lane;
    w->group = lane->is_grouped ? group_new() : NULL;
    if ((lane->is_grouped && !w->group) || pthread_create(&w->thread, NULL, worker_main, w) != 0) {
        group_free(w->group);
        snprintf(ret_why, why_bytes, "the workers cannot be started");
        return ERR_UNAVAILABLE;
    }
    pthread_setname_np(w->thread, "souk-db");
    p->count++;
    return OK;
}

enum err pg_pool_new(const struct database_options *o, struct database_stats *stats, struct pg_pool **ret,
                     char *ret_why, size_t why_bytes)
{
    int count = o->read_only ? 1 : worker_count(o);
    struct pg_pool *p = memory_zeroed(1, sizeof *p + (size_t)count * sizeof *p->workers);
    p->url = memory_copy(o->url);
    p->stats = stats;
    p->options = (struct postgres_options){.url = p->url, .read_only = o->read_only, .lock_ms = o->busy_ms};
    share_out(p, count);
    for (int i = 0; i < LANES; i++) queue_init(&p->lanes[i].queue, &stats->queue_length);
    if (o->look && p->lanes[GROUPED_READS].workers) {
        struct postgres_options watching = p->options;
        watching.is_group = true;
        watching.answer_ms = o->look_ms;
        p->watch = pg_watch_new(&watching, o->look, o->look_back, stats);
    }
    struct db *first;
    enum err e = postgres_open(&p->options, stats, &first, ret_why, why_bytes);
    if (!e) { /* the last worker's: one that writes */
        p->workers[count - 1].db = first;
        p->workers[count - 1].had_one = true;
        p->lanes[WRITES].connected = 1;
    }
    for (int i = 0, lane = 0, left = p->lanes[0].workers; !e && i < count; i++, left--) {
        while (!left) left = p->lanes[++lane].workers;
        e = start_worker(p, &p->workers[i], &p->lanes[lane], ret_why, why_bytes);
    }
    if (!e) {
        *ret = p;
        return OK;
    }
    postgres_close(p->workers[count - 1].db); /* its worker, the last, was not started */
    pg_pool_free(p);
    return e;
}

int pg_pool_writers(const struct pg_pool *p)
{
    return p->lanes[WRITES].workers;
}

struct pg_watch *pg_pool_watch(const struct pg_pool *p)
{
    return p->watch;
}

bool pg_pool_has_room(struct pg_pool *p, const struct tx_job *job)
{
    return queue_has_room(&lane_of(p, job)->queue, job);
}

bool pg_pool_submit(struct pg_pool *p, struct tx_job *job)
{
    return queue_put(&lane_of(p, job)->queue, job);
}

void pg_pool_free(struct pg_pool *p)
{
    if (!p) return;
    int i = 0;
    for (struct pg_lane *lane = p->lanes; lane < p->lanes + LANES; lane++) {
        queue_close(&lane->queue);
        for (; i < p->count && p->workers[i].lane == lane; i++) pthread_join(p->workers[i].thread, NULL);
    }
    for (i = 0; i < p->count; i++) {
        disconnect(&p->workers[i]);
        group_free(p->workers[i].group);
    }
    for (i = 0; i < LANES; i++) queue_done(&p->lanes[i].queue);
    pg_watch_free(p->watch);
    free(p->url);
    free(p);
}
