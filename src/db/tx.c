/* db/tx.c - opening a database, and the ways in: ports for event loops, tx_call for threads that may wait. */
#include "db/tx.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/memory.h"
#include "db/job_queue.h"
#include "db/lock.h"
#include "db/postgres_pool.h"
#include "db/sqlite.h"
#include "db/sqlite_watch.h"
#include "db/sqlite_writer.h"

#define BATCH_MAX 256
#define BUSY_MS_DEFAULT 5000
#define READERS 8        /* connections for tx_call: a few for each pool that reads */
#define LOOKERS_MAX 1024 /* jobs of one port that wait for a look */

struct database {
    struct database_stats stats;
    _Atomic bool healthy;
    bool read_only;
    /* PostgreSQL */
    struct pg_pool *pool;
    /* SQLite */
    char path[PATH_MAX]; /* without symbolic links: one file, one lock */
    int busy_ms;
    int lock;
    struct writer *writer;
    struct watch *watch; /* or NULL */
    pthread_mutex_t readers_lock;
    pthread_cond_t readers_back;
    struct db *readers[READERS]; /* those at rest */
    int readers_idle, readers_open;
};

/* PostgreSQL: jobs that may_remember wait for a look (postgres_watch.h), and are then run with a connection that has
 * none. One that has to ask something after all goes to the workers. */
struct port_memory {
    struct pg_watch *watch;
    struct pg_look look;
    bool is_looking;
    struct letter *lookers, **lookers_end; /* of the look that was asked for */
    int waiting;                           /* in the port's reads */
    struct db db;
};

static bool is_postgres(const char *url)
{
    return str_starts(str_from(url), STR("postgres://")) || str_starts(str_from(url), STR("postgresql://"));
}

/* A file that we make is readable by its owner alone; SQLite gives the log and its index the same mode. */
static enum err make_file(const char *path, char *ret_why, size_t why_bytes)
{
    int fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (fd < 0 && errno != EEXIST) {
        snprintf(ret_why, why_bytes, "the database %s cannot be created: %s", path, strerror(errno));
        return ERR_UNAVAILABLE;
    }
    if (fd >= 0) close(fd);
    return OK;
}

static enum err find_file(struct database *d, const char *path, bool may_create, char *ret_why, size_t why_bytes)
{
    enum sqlite_file file = sqlite_file_look(path);
    if (file == SQLITE_FILE_NONE && may_create) {
        enum err e = make_file(path, ret_why, why_bytes);
        if (e) return e;
        file = sqlite_file_look(path);
    }
    if (file == SQLITE_FILE_NONE || (file == SQLITE_FILE_EMPTY && !may_create)) {
        snprintf(ret_why, why_bytes, "there is no database at %s", path);
        return ERR_NOT_FOUND;
    }
    if (file == SQLITE_FILE_FOREIGN) {
        snprintf(ret_why, why_bytes, "the database %s belongs to another program", path);
        return ERR_CONFLICT;
    }
    if (file == SQLITE_FILE_OTHER) {
        snprintf(ret_why, why_bytes, "%s is not a SQLite database", path);
        return ERR_UNAVAILABLE;
    }
    if (file == SQLITE_FILE_FAILED) {
        snprintf(ret_why, why_bytes, "the database %s cannot be read: %s", path, strerror(errno));
        return ERR_UNAVAILABLE;
    }
    if (!realpath(path, d->path)) {
        snprintf(ret_why, why_bytes, "the database %s cannot be found: %s", path, strerror(errno));
        return ERR_UNAVAILABLE;
    }
    return OK;
}

static enum err open_reader(struct database *d, struct db **ret, char *ret_why, size_t why_bytes)
{
    return sqlite_open(d->path, SQLITE_READER, d->busy_ms, &d->stats, ret, ret_why, why_bytes);
}

static enum err open_sqlite(struct database *d, const struct database_options *o, char *ret_why, size_t why_bytes)
{
    enum err e = find_file(d, o->url, o->may_create && !d->read_only, ret_why, why_bytes);
    if (e) return e;
    if (!d->read_only) {
        struct db *db;
        e = lock_take(d->path, &d->lock, ret_why, why_bytes);
        if (e) return e;
        e = sqlite_open(d->path, o->loads ? SQLITE_LOADER : SQLITE_WRITER, d->busy_ms, &d->stats, &db, ret_why,
                        why_bytes);
        if (e) return e;
        if (o->watched) d->watch = sqlite_watch(db, o->watched);
        d->writer = writer_new(db, BATCH_MAX, o->log_pages, &d->stats, &d->healthy);
        if (!d->writer) {
            snprintf(ret_why, why_bytes, "the writer thread cannot be started");
            sqlite_close(db);
            return ERR_UNAVAILABLE;
        }
    }
    e = open_reader(d, &d->readers[0], ret_why, why_bytes);
    if (!e) d->readers_idle = d->readers_open = 1;
    return e;
}

enum err database_open(const struct database_options *o, struct database **ret, char *ret_why, size_t why_bytes)
{
    struct database *d = memory_try_zeroed(1, sizeof *d);
    if (!d) {
        snprintf(ret_why, why_bytes, "out of memory");
        return ERR_UNAVAILABLE;
    }
    d->healthy = true;
    static _Atomic int64_t opened; /* no two databases of a process have a generation in common */
    d->stats.generation = (atomic_fetch_add(&opened, 1) + 1) << 32;
    d->read_only = o->read_only;
    d->busy_ms = o->busy_ms > 0 ? o->busy_ms : BUSY_MS_DEFAULT;
    d->lock = -1;
    pthread_mutex_init(&d->readers_lock, NULL);
    pthread_cond_init(&d->readers_back, NULL);
    struct database_options with = *o;
    with.busy_ms = d->busy_ms;
    enum err e = is_postgres(o->url) ? pg_pool_new(&with, &d->stats, &d->pool, ret_why, why_bytes)
                                     : open_sqlite(d, o, ret_why, why_bytes);
    if (e)
        database_close(d);
    else
        *ret = d;
    return e;
}

void database_close(struct database *d)
{
    if (!d) return;
    pg_pool_free(d->pool);
    assert(d->readers_idle == d->readers_open);
    for (int i = 0; i < d->readers_idle; i++) sqlite_close(d->readers[i]);
    writer_free(d->writer);
    watch_free(d->watch);
    lock_release(d->lock);
    pthread_cond_destroy(&d->readers_back);
    pthread_mutex_destroy(&d->readers_lock);
    free(d);
}

bool database_is_sqlite(const struct database *d)
{
    return !d->pool;
}
int database_writers(const struct database *d)
{
    return d->pool ? pg_pool_writers(d->pool) : 1;
}
const struct database_stats *database_stats(const struct database *d)
{
    return &d->stats;
}
bool database_is_healthy(const struct database *d)
{
    return atomic_load(&d->healthy);
}

struct tx_port *tx_port_new(struct database *d, void (*wake)(void *ctx), void *ctx)
{
    struct tx_port *p = memory_try_zeroed(1, sizeof *p);
    if (!p) return NULL;
    p->database = d;
    p->reads_end = &p->reads;
    mailbox_init(&p->finished, wake, ctx);
    if (database_is_sqlite(d)) {
        char why[256];
        if (open_reader(d, &p->reader, why, sizeof why) != OK) {
            mailbox_done(&p->finished);
            free(p);
            return NULL;
        }
        p->reader->is_on_loop = true;
        return p;
    }
    struct pg_watch *watch = pg_pool_watch(d->pool);
    p->memory = watch ? memory_try_zeroed(1, sizeof *p->memory) : NULL; /* without, all ask the workers */
    if (p->memory) {
        p->memory->watch = watch;
        p->memory->look.to = &p->finished;
        pg_watch_memory(watch, &d->stats, &p->memory->db);
    }
    return p;
}

void tx_port_free(struct tx_port *p)
{
    if (!p) return;
    assert(p->under_way == 0);
    sqlite_close(p->reader);
    mailbox_done(&p->finished);
    free(p->memory);
    free(p);
}

static void hand_over(struct database *d, struct tx_job *job)
{
    if (d->read_only && job->mode == TX_WRITE)
        job_finish(job, ERR_UNAVAILABLE);
    else if (!(d->pool ? pg_pool_submit(d->pool, job) : writer_submit(d->writer, job)))
        job_finish(job, ERR_OVERLOADED);
}

static bool may_look(struct tx_port *p, const struct tx_job *job)
{
    struct port_memory *m = p->memory;
    if (!m || !job->may_remember || m->waiting == LOOKERS_MAX || !pg_watch_is_up(m->watch)) return false;
    m->waiting++;
    return true;
}

void tx_submit(struct tx_port *p, struct tx_job *job)
{
    assert(job->mode == TX_READ || job->mode == TX_WRITE);
    job->port = p;
    job->tries = 0;
    job->is_alone = false;
    p->under_way++;
    if (job->mode == TX_WRITE || (p->database->pool && !may_look(p, job))) {
        hand_over(p->database, job);
        return;
    }
    job->letter.next = NULL;
    *p->reads_end = &job->letter;
    p->reads_end = &job->letter.next;
}

bool tx_has_room(struct tx_port *p, const struct tx_job *job, enum tx_mode mode)
{
    struct database *d = p->database;
    if (d->pool) return pg_pool_has_room(d->pool, job);
    return mode == TX_READ || d->read_only || writer_has_room(d->writer, job);
}

static enum err run_read(struct db *db, struct tx_job *job)
{
    db_enter(db, job->arena, false);
    return db_leave(db, job->run(job, db));
}

static void tell_job(struct tx_port *p, struct tx_job *job)
{
    p->under_way--;
    job->done(job, job->result);
}

static void move_to_lookers(struct tx_port *p)
{
    struct port_memory *m = p->memory;
    *m->lookers_end = p->reads;
    m->lookers_end = p->reads_end;
    m->waiting = 0;
    p->reads = NULL;
    p->reads_end = &p->reads;
}

/* One look for all reads that come until it begins; those that come later wait for the next. */
static void ask_for_look(struct tx_port *p)
{
    struct port_memory *m = p->memory;
    if (!m || !p->reads) return;
    if (!m->is_looking) {
        m->lookers_end = &m->lookers;
        m->look.jobs = m->waiting;
        m->is_looking = true;
        move_to_lookers(p);
        pg_watch_ask(m->watch, &m->look);
    } else if (m->look.jobs + m->waiting <= LOOKERS_MAX && pg_watch_join(m->watch, &m->look, m->waiting)) {
        move_to_lookers(p);
    }
}

/* It is one of the loop's own: what it does not find in memory it asks on a worker, in a transaction. */
static void run_looker(struct tx_port *p, struct tx_job *job, int64_t generation)
{
    struct port_memory *m = p->memory;
    m->db.generation = job->may_group ? generation : 0;
    job->result = m->db.has_looked ? run_read(&m->db, job) : ERR_RUN_ALONE;
    if (job->result == ERR_NEEDS_WRITE) job->mode = TX_WRITE;
    if (job->result == ERR_NEEDS_WRITE || job->result == ERR_RUN_ALONE)
        hand_over(p->database, job);
    else
        tell_job(p, job);
}

static void end_look(struct tx_port *p)
{
    struct port_memory *m = p->memory;
    m->is_looking = false;
    pg_watch_use(&m->db, &m->look);
    int64_t generation = atomic_load(&p->database->stats.generation); /* before anything is looked up */
    for (struct letter *l = m->lookers, *next; l; l = next) {
        next = l->next; /* done may free the job's memory */
        run_looker(p, job_of(l), generation);
    }
}

static void tell(struct tx_port *p, struct letter *l)
{
    while (l) {
        struct letter *next = l->next; /* done may free the job's memory */
        if (p->memory && l == &p->memory->look.letter)
            end_look(p);
        else
            tell_job(p, job_of(l));
        l = next;
    }
}

/* Some errors have ended it already. */
static void end_read(struct db *db)
{
    if (sqlite_in_transaction(db)) sqlite_commit(db);
}

/* Jobs submitted by a finished job's done get a transaction of their own: the previous snapshot may be older than what
 * they depend on. */
void tx_port_pass(struct tx_port *p)
{
    ask_for_look(p);
    while (p->reads && p->reader) {
        struct letter *told = NULL, **told_end = &told;
        struct letter *l = p->reads;
        p->reads = NULL;
        p->reads_end = &p->reads;
        /* Before anything is read. A read that finds all it wants in memory needs no snapshot. */
        struct watch *watch = p->database->watch;
        bool may_remember = !watch || watch_look(watch, p->reader);
        int64_t generation = may_remember ? atomic_load(&p->database->stats.generation) : 0;
        p->reader->begins_late = true;
        while (l) {
            struct tx_job *job = job_of(l);
            l = l->next;
            p->reader->generation = job->may_group ? generation : 0;
            job->result = run_read(p->reader, job);
            if (job->result == ERR_NEEDS_WRITE) {
                job->mode = TX_WRITE;
                hand_over(p->database, job);
                continue;
            }
            job->letter.next = NULL;
            *told_end = &job->letter;
            told_end = &job->letter.next;
        }
        end_read(p->reader);
        tell(p, told);
    }
}

void tx_port_drain(struct tx_port *p)
{
    tell(p, mailbox_take(&p->finished));
}

/* A job whose thread waits for it. */
struct waiting_call {
    struct tx_job job;
    pthread_mutex_t lock;
    pthread_cond_t ended;
    bool has_ended;
    enum err (*run)(void *arg, struct db *db);
    void *arg;
};

static enum err call_run(struct tx_job *job, struct db *db)
{
    struct waiting_call *c = (struct waiting_call *)job;
    return c->run(c->arg, db);
}

static void call_done(struct tx_job *job, enum err e)
{
    struct waiting_call *c = (struct waiting_call *)job;
    (void)e;
    pthread_mutex_lock(&c->lock);
    c->has_ended = true;
    pthread_cond_signal(&c->ended); /* under the lock: the caller's stack frame goes when it wakes */
    pthread_mutex_unlock(&c->lock);
}

static enum err call_and_wait(struct database *d, struct waiting_call *c)
{
    assert(!d->writer || !writer_is_me(d->writer));
    pthread_mutex_init(&c->lock, NULL);
    pthread_cond_init(&c->ended, NULL);
    hand_over(d, &c->job);
    pthread_mutex_lock(&c->lock);
    while (!c->has_ended) pthread_cond_wait(&c->ended, &c->lock);
    pthread_mutex_unlock(&c->lock);
    pthread_cond_destroy(&c->ended);
    pthread_mutex_destroy(&c->lock);
    return c->job.result;
}

/* When no more can be opened, one that is out comes back: the first is open from the start. */
static struct db *borrow_reader(struct database *d)
{
    struct db *db = NULL;
    pthread_mutex_lock(&d->readers_lock);
    while (!db) {
        char why[256];
        if (d->readers_idle) {
            db = d->readers[--d->readers_idle];
        } else if (d->readers_open < READERS && open_reader(d, &db, why, sizeof why) == OK) {
            d->readers_open++;
        } else {
            pthread_cond_wait(&d->readers_back, &d->readers_lock);
        }
    }
    pthread_mutex_unlock(&d->readers_lock);
    return db;
}

static void return_reader(struct database *d, struct db *db)
{
    pthread_mutex_lock(&d->readers_lock);
    d->readers[d->readers_idle++] = db;
    pthread_cond_signal(&d->readers_back);
    pthread_mutex_unlock(&d->readers_lock);
}

static enum err call_read(struct database *d, struct waiting_call *c, int64_t limit_ms)
{
    struct db *db = borrow_reader(d);
    enum err e = sqlite_begin(db);
    sqlite_limit(db, limit_ms);
    if (!e) e = run_read(db, &c->job);
    sqlite_limit(db, 0);
    end_read(db);
    return_reader(d, db);
    return e;
}

static enum err call(struct database *d, enum tx_mode mode, int64_t limit_ms, enum err (*run)(void *arg, struct db *db),
                     void *arg, struct arena *a)
{
    assert(mode == TX_READ || mode == TX_WRITE);
    struct arena scratch = {0};
    struct waiting_call c = {
        .job = {.mode = mode, .is_first = true, .run = call_run, .done = call_done, .arena = a ? a : &scratch},
        .run = run,
        .arg = arg};
    enum err e = ERR_NEEDS_WRITE;
    if (mode == TX_READ && !d->pool) e = call_read(d, &c, limit_ms);
    if (e == ERR_NEEDS_WRITE) {
        if (!d->pool) c.job.mode = TX_WRITE;
        e = call_and_wait(d, &c);
    }
    arena_done(&scratch);
    return e;
}

enum err tx_call(struct database *d, enum tx_mode mode, enum err (*run)(void *arg, struct db *db), void *arg,
                 struct arena *a)
{
    return call(d, mode, 0, run, arg, a);
}

enum err tx_read_within(struct database *d, int64_t limit_ms, enum err (*run)(void *arg, struct db *db), void *arg,
                        struct arena *a)
{
    return call(d, TX_READ, limit_ms, run, arg, a);
}
