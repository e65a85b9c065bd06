/* db/postgres_watch.c - see postgres_watch.h.
 *
 * Why nothing is missed. A snapshot names the transactions that it does not see: those that were under way, and all
 * from its xmax on. No number of theirs is below its xmin. The transaction that changes a row writes its number and the
 * row's id down; both are seen at once, or neither. So what became visible between two looks is what is written down
 * with a number that the first snapshot does not see and the second does, in whatever order they were committed.
 *
 * A mark is an epoch and the number of the last look that told of changes, taken before its row was read. The row holds
 * as long as no later look has told of its slot. A change that the reader saw already only makes it be read again.
 *
 * With a new connection a new epoch begins: the server may be another one. */
#include "db/postgres_watch.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/log.h"
#include "base/memory.h"
#include "base/timestamp.h"
#include "db/job_queue.h"

#define SLOTS 16384
#define CHANGES_MAX 1024 /* of one look; more count as all rows */
#define RUNNING_MAX 4096
#define ANSWER_MS 1000 /* then those who wait ask by themselves */
#define CONNECT_MS 500 /* between two attempts */
#define WHY_BYTES 512
#define NS 1000000000
/* A look costs as much as answering a few jobs. After one that so many waited for, the next waits as long; at full load
 * longer. It waits for no more than ENOUGH, or than waited for the one before: then everybody is back. */
#define CROWD 4
#define CROWD_NS 250000
#define FULL_CROWD 16
#define FULL_CROWD_NS 500000
#define ENOUGH 24

struct pg_watch {
    struct postgres_options options;
    const char *look, *look_back;
    struct database_stats *stats;
    pthread_t thread;
    _Atomic bool is_up;
    _Atomic int64_t since_ns;
    pthread_mutex_t lock;
    pthread_cond_t wanted;
    /* Under the lock. */
    struct letter *asks, **asks_end;
    int waiting, enough; /* jobs, and how many of them need not wait for more */
    bool is_gathering, wants_connection, is_closed;
    int64_t epoch, version;
    /* The thread's own. */
    struct db *db;
    struct arena arena;
    int64_t tried_ns;
    int64_t next_ns;   /* not before then, if the last look was for a crowd */
    bool has_snapshot; /* of the look before; without, the next one is the first */
    int64_t xmin, xmax;
    size_t running_bytes;
    char running[RUNNING_MAX]; /* 10,14 */
    int64_t number, table;
    bool is_all;
    int changed_count;
    int64_t changed[CHANGES_MAX];
    _Atomic int64_t changes[SLOTS]; /* the look that last told of one */
};

static _Atomic int64_t *slot_of(struct pg_watch *w, int64_t id)
{
    return &w->changes[(uint64_t)id % SLOTS];
}

/* ---- looking ---- */

static void note_change(struct pg_watch *w, int64_t id)
{
    if (id <= 0)
        w->is_all |= id == 0 || -id > w->xmin;
    else if (w->changed_count == CHANGES_MAX)
        w->is_all = true;
    else
        w->changed[w->changed_count++] = id;
}

/* 10:20:10,14 - its xmin, its xmax, and what was under way in between. */
static void keep_snapshot(struct pg_watch *w, Str text)
{
    Str xmin, xmax, rest, running;
    w->has_snapshot = str_cut(text, ':', &xmin, &rest) && str_cut(rest, ':', &xmax, &running) &&
                      str_to_int64(xmin, &w->xmin) && str_to_int64(xmax, &w->xmax) && running.len <= RUNNING_MAX;
    w->running_bytes = w->has_snapshot ? running.len : 0;
    if (w->running_bytes) memcpy(w->running, running.ptr, running.len);
}

/* Another one: its rows have not been changed one by one. */
static void note_table(struct pg_watch *w, int64_t table)
{
    w->is_all |= table != w->table;
    w->table = table;
}

static enum err ask(struct pg_watch *w, Str *ret_snapshot)
{
    bool looks_back = w->running_bytes;
    struct stmt *st = db_prepare(w->db, looks_back ? w->look_back : w->look);
    bind_int(st, w->has_snapshot ? w->xmax : INT64_MAX);
    bind_int(st, CHANGES_MAX + 1);
    if (looks_back) bind_text(st, (Str){w->running, w->running_bytes});
    w->is_all = !w->has_snapshot;
    w->changed_count = 0;
    Str snapshot = {0};
    while (db_step(st)) {
        snapshot = col_text(st);
        w->number = col_int(st);
        note_table(w, col_int(st));
        if (!col_is_null(st)) note_change(w, col_int(st));
    }
    *ret_snapshot = snapshot;
    return db_done(st);
}

static void count_changes(struct pg_watch *w)
{
    pthread_mutex_lock(&w->lock);
    if (w->is_all || w->changed_count) w->version++;
    if (w->is_all) w->epoch++;
    for (int i = 0; i < w->changed_count; i++)
        atomic_store_explicit(slot_of(w, w->changed[i]), w->version, memory_order_relaxed);
    pthread_mutex_unlock(&w->lock);
}

static void disconnect(struct pg_watch *w)
{
    atomic_store(&w->is_up, false);
    postgres_close(w->db);
    w->db = NULL;
    w->has_snapshot = false;
    w->running_bytes = 0;
}

static bool look(struct pg_watch *w)
{
    Str snapshot = {0};
    arena_reset(&w->arena);
    postgres_begin_bare(w->db);
    db_enter(w->db, &w->arena, false);
    enum err e = db_leave(w->db, ask(w, &snapshot));
    postgres_end_bare(w->db);
    if (e || !snapshot.len || !postgres_is_alive(w->db)) {
        disconnect(w);
        return false;
    }
    keep_snapshot(w, snapshot);
    count_changes(w);
    return true;
}

static void open_connection(struct pg_watch *w)
{
    int64_t now = time_monotonic_ns();
    if (w->tried_ns && now - w->tried_ns < CONNECT_MS * INT64_C(1000000)) return;
    w->tried_ns = now;
    char why[WHY_BYTES];
    if (postgres_open(&w->options, w->stats, &w->db, why, sizeof why) != OK) {
        w->db = NULL;
        log_event(LOG_WARN, "db.no_connection", LOGC("reason", why));
        return;
    }
    atomic_store(&w->since_ns, time_monotonic_ns());
    if (look(w)) atomic_store(&w->is_up, true); /* nobody waits for one that cannot look */
}

static void tell(struct pg_watch *w, struct letter *l, bool is_known)
{
    while (l) {
        struct pg_look *k = (struct pg_look *)l;
        l = l->next;
        k->epoch = is_known ? w->epoch : 0; /* written by this thread alone */
        k->version = w->version;
        k->number = w->number;
        mailbox_post(k->to, &k->letter);
    }
}

/* More may come. */
static void keep_distance(struct pg_watch *w)
{
    if (!w->next_ns) return;
    const struct timespec until = {.tv_sec = w->next_ns / NS, .tv_nsec = w->next_ns % NS};
    pthread_mutex_lock(&w->lock);
    w->is_gathering = true;
    while (w->waiting < w->enough && !w->is_closed)
        if (pthread_cond_timedwait(&w->wanted, &w->lock, &until) != 0) break;
    w->is_gathering = false;
    pthread_mutex_unlock(&w->lock);
}

/* From here on they wait for no more: what comes later has to ask again. */
static struct letter *take_asks(struct pg_watch *w, int *ret_jobs)
{
    pthread_mutex_lock(&w->lock);
    struct letter *asks = w->asks;
    for (struct letter *l = asks; l; l = l->next) ((struct pg_look *)l)->has_begun = true;
    w->asks = NULL;
    w->asks_end = &w->asks;
    *ret_jobs = w->waiting;
    w->enough = w->waiting < ENOUGH ? w->waiting : ENOUGH;
    w->waiting = 0;
    pthread_mutex_unlock(&w->lock);
    return asks;
}

static void serve_asks(struct pg_watch *w)
{
    keep_distance(w);
    int64_t now = time_monotonic_ns();
    int jobs;
    struct letter *asks = take_asks(w, &jobs);
    bool is_known = w->db && look(w);
    w->next_ns = jobs < CROWD ? 0 : now + (jobs < FULL_CROWD ? CROWD_NS : FULL_CROWD_NS);
    tell(w, asks, is_known);
}

/* False: closed. */
static bool wait_for_asks(struct pg_watch *w, bool *ret)
{
    pthread_mutex_lock(&w->lock);
    while (!w->asks && !w->is_closed && !(w->wants_connection && !w->db)) pthread_cond_wait(&w->wanted, &w->lock);
    *ret = w->asks != NULL;
    w->wants_connection = false;
    bool is_open = !w->is_closed;
    pthread_mutex_unlock(&w->lock);
    return is_open;
}

static void *watch_main(void *arg)
{
    struct pg_watch *w = arg;
    bool somebody_asks;
    while (wait_for_asks(w, &somebody_asks)) {
        if (somebody_asks)
            serve_asks(w);
        else
            open_connection(w);
    }
    return NULL;
}

struct pg_watch *pg_watch_new(const struct postgres_options *options, const char *look, const char *look_back,
                              struct database_stats *stats)
{
    struct pg_watch *w = memory_try_zeroed(1, sizeof *w);
    if (!w) return NULL;
    static _Atomic int64_t opened; /* no two databases of a process have an epoch in common */
    w->epoch = (atomic_fetch_add(&opened, 1) + 1) << 32;
    w->version = 1;
    w->options = *options;
    if (!w->options.answer_ms) w->options.answer_ms = ANSWER_MS;
    w->look = look;
    w->look_back = look_back;
    w->stats = stats;
    w->asks_end = &w->asks;
    pthread_mutex_init(&w->lock, NULL);
    pthread_condattr_t clock;
    pthread_condattr_init(&clock);
    pthread_condattr_setclock(&clock, CLOCK_MONOTONIC);
    pthread_cond_init(&w->wanted, &clock);
    pthread_condattr_destroy(&clock);
    if (pthread_create(&w->thread, NULL, watch_main, w) == 0) {
        pthread_setname_np(w->thread, "souk-watch");
        return w;
    }
    pthread_cond_destroy(&w->wanted);
    pthread_mutex_destroy(&w->lock);
    free(w);
    return NULL;
}

void pg_watch_free(struct pg_watch *w)
{
    if (!w) return;
    pthread_mutex_lock(&w->lock);
    w->is_closed = true;
    pthread_cond_signal(&w->wanted);
    pthread_mutex_unlock(&w->lock);
    pthread_join(w->thread, NULL);
    disconnect(w);
    arena_done(&w->arena);
    pthread_cond_destroy(&w->wanted);
    pthread_mutex_destroy(&w->lock);
    free(w);
}

/* ---- those who ask ---- */

bool pg_watch_is_up(struct pg_watch *w)
{
    if (atomic_load_explicit(&w->is_up, memory_order_relaxed)) return true;
    pthread_mutex_lock(&w->lock);
    if (!w->wants_connection) pthread_cond_signal(&w->wanted);
    w->wants_connection = true;
    pthread_mutex_unlock(&w->lock);
    return false;
}

/* Wakes the thread when it has something to do. Under the lock. */
static void add_jobs(struct pg_watch *w, int jobs)
{
    bool is_first = !w->waiting;
    w->waiting += jobs;
    if (w->is_gathering ? w->waiting >= w->enough : is_first) pthread_cond_signal(&w->wanted);
}

void pg_watch_ask(struct pg_watch *w, struct pg_look *look)
{
    look->letter.next = NULL;
    pthread_mutex_lock(&w->lock);
    look->has_begun = false;
    *w->asks_end = &look->letter;
    w->asks_end = &look->letter.next;
    add_jobs(w, look->jobs);
    pthread_mutex_unlock(&w->lock);
}

bool pg_watch_join(struct pg_watch *w, struct pg_look *look, int jobs)
{
    pthread_mutex_lock(&w->lock);
    bool is_in_time = !look->has_begun;
    if (is_in_time) {
        look->jobs += jobs;
        add_jobs(w, jobs);
    }
    pthread_mutex_unlock(&w->lock);
    return is_in_time;
}

bool pg_watch_trusts(const struct pg_watch *w, int64_t opened_ns)
{
    return opened_ns > atomic_load(&w->since_ns);
}

static bool row_holds(const struct db *db, Id id, struct row_mark mark)
{
    return db->watch_epoch && mark.epoch == db->watch_epoch &&
           atomic_load_explicit(slot_of(db->pg_watch, id.v), memory_order_relaxed) <= mark.changes;
}

static bool row_mark(const struct db *db, Id id, struct row_mark *ret)
{
    (void)id;
    if (!db->watch_epoch) return false;
    *ret = (struct row_mark){db->watch_epoch, db->watch_version};
    return true;
}

static const struct watcher of_postgres = {row_holds, row_mark};

static struct stmt *refuse(struct db *db, const char *sql)
{
    (void)sql;
    db->err = ERR_RUN_ALONE;
    return NULL;
}

void pg_watch_memory(struct pg_watch *w, struct database_stats *stats, struct db *ret)
{
    static const struct engine memory = {.is_postgres = true, .prepare = refuse};
    db_init(ret, &memory, stats);
    ret->watcher = &of_postgres;
    ret->pg_watch = w;
    ret->is_grouped = ret->is_on_loop = true;
}

void pg_watch_begin(struct pg_watch *w, int64_t opened_ns, struct db *db)
{
    db->watcher = &of_postgres;
    db->pg_watch = w;
    pthread_mutex_lock(&w->lock);
    db->watch_epoch = opened_ns > w->since_ns ? w->epoch : 0;
    db->watch_version = w->version;
    pthread_mutex_unlock(&w->lock);
}

void pg_watch_use(struct db *db, const struct pg_look *look)
{
    db->watch_epoch = look->epoch;
    db->watch_version = look->version;
    db->watch_number = look->number;
    db->has_looked = look->epoch != 0;
}
