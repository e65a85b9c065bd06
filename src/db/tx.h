/* db/tx.h - which thread runs a transaction, and when its caller is told.
 *
 * A job is a function to run inside a transaction, and a function that is told how it ended. The one promise of this
 * module: `done` is called with OK only after everything that `run` did is durable, and exactly once.
 *
 *   SQLite      TX_READ runs on the calling loop's own thread and read connection, all jobs of one loop pass in one
 *               read transaction (tx_port_pass). TX_WRITE goes to the writer thread, which runs everything that waits
 *               as one group commit, each job in a savepoint of its own.
 *   PostgreSQL  both go to workers with one connection each, reads and writes to different ones. A job that meets
 *               40001, 40P01, or a connection lost before COMMIT was sent, is run again. Jobs that may_group
 *               go to workers that run everything that waits, up to 64, in one transaction and with statements in
 *               common.
 *
 * `run` may be called more than once and must start afresh each time. It returns OK to commit; any error rolls back
 * what it did and is handed to `done`, unless the database has an error of its own (db_err), which wins. TX_READ jobs
 * that return ERR_NEEDS_WRITE are run again as TX_WRITE (job->mode says so). ERR_RUN_ALONE from a read that a loop runs
 * is handed to `done`. A commit whose outcome is not known gives
 * ERR_OUTCOME_UNKNOWN, never a plain failure; a database that is not there, or a full disk, ERR_UNAVAILABLE. Queues are
 * bounded by how long a job would wait (db/job_queue.h): what a port submits past that ends with ERR_OVERLOADED and is
 * not run. */
#pragma once

#include <stdatomic.h>

#include "base/mailbox.h"
#include "db/db.h"

enum tx_mode {
    TX_NONE,  /* no transaction, on the loop's thread: must not block */
    TX_READ,  /* one consistent snapshot */
    TX_WRITE, /* serialised by the engine, durable before done(OK) */
    TX_SELF,  /* routes only: runs on the blocking pool, calls tx_call for what it needs */
};

struct database;
struct tx_port;

struct database_options {
    const char *url;     /* file path, or postgres://… */
    bool read_only;      /* CLI look-ups beside a running server */
    bool may_create;     /* a missing or empty SQLite file becomes a database */
    bool loads;          /* SQLite: foreign keys are not asked; for db/load.h, which asks them at the end */
    int workers;         /* PostgreSQL connections; 0: a default */
    int log_pages;       /* SQLite: how long the log may grow before it is copied into the file; 0: a default */
    const char *watched; /* SQLite: the table whose rows may be kept in memory (db_row_mark); NULL: none */
    /* PostgreSQL: the statements that tell which of them were changed, see postgres_watch.h */
    const char *look, *look_back;
    int look_ms; /* how long its answer may take; 0: a default */
    int busy_ms; /* how long to wait for a lock held by another process; 0: a default */
};

struct database_stats {
    _Atomic int64_t queue_length;      /* jobs waiting for the writer or for a worker */
    _Atomic int64_t batches;           /* commits that wrote */
    _Atomic int64_t batch_jobs;        /* jobs in them */
    _Atomic int64_t batch_buckets[10]; /* batches of ≤ 1, 2, 4, … 256, more */
    _Atomic int64_t errors;            /* statements or commits that failed */
    _Atomic int64_t retries;           /* PostgreSQL: jobs run again */
    _Atomic int64_t generation;        /* see db_generation */
    _Atomic int64_t told;              /* PostgreSQL: see db_tell */
    _Atomic int64_t epoch;             /* SQLite: see db_epoch */
    _Atomic int64_t alone;             /* PostgreSQL: of them, jobs of a group that were run by themselves */
    _Atomic int64_t flights;           /* PostgreSQL: round trips in which groups asked */
    _Atomic int64_t reconnects;
    _Atomic int64_t checkpoints;
    _Atomic int64_t no_room_ms; /* when a write found the disk full, if none has succeeded since; or 0 */
};

/* Opens; creates a missing SQLite file (0600) unless read_only; takes the lock file for writers. On failure `ret_why`
 * has a sentence for the user; ERR_CONFLICT: another souk has the lock, ERR_NOT_FOUND: read_only and nothing there.
 * Does not migrate (db/migrate.h). */
enum err database_open(const struct database_options *options, struct database **ret, char *ret_why, size_t why_bytes);
/* Waits for submitted jobs. All ports must be freed first. */
void database_close(struct database *d);
bool database_is_sqlite(const struct database *d);
/* How many transactions can write at once: threads, or connections. */
int database_writers(const struct database *d);
const struct database_stats *database_stats(const struct database *d);
/* SQLite: false once a commit's outcome was unknown or the disk refused; nothing more is written, and the process
 * should drain and restart. A full disk does not count, nor does any failure of PostgreSQL: both recover by themselves.
 */
bool database_is_healthy(const struct database *d);

struct tx_job {
    struct letter letter; /* first: jobs travel through mailboxes */
    enum tx_mode mode;    /* TX_READ or TX_WRITE */
    bool is_first;        /* runs before every job that is not */
    bool no_savepoint;    /* `run` checks everything before its first write: saves SQLite a savepoint */
    bool may_group;       /* PostgreSQL: may share its transaction with others (db_is_grouped); may use db_generation */
    bool may_remember;    /* PostgreSQL: a read that may find all it needs in memory (db_has_looked) */
    unsigned affinity;    /* of those: jobs that are likely to change the same rows have the same number */
    bool by_itself;       /* SQLite: takes long, or much room on the disk; those that wait beside it are told before */
    enum err (*run)(struct tx_job *job, struct db *db);
    void (*done)(struct tx_job *job, enum err e);
    struct arena *arena; /* db_arena() of the run */
    /* the module's own */
    struct tx_port *port;
    enum err result;
    int tries;
    bool is_alone; /* of those that may_group: not any more */
};

/* A port belongs to one thread, usually an event loop. Other threads call `wake` when finished jobs wait: at most once
 * before each tx_port_drain. */
struct tx_port *tx_port_new(struct database *d, void (*wake)(void *ctx), void *ctx); /* NULL: no connection, memory */
/* Every submitted job must have been told. */
void tx_port_free(struct tx_port *p);
void tx_submit(struct tx_port *p, struct tx_job *job);
/* Whether a job that will run in this mode, sooner or later, finds room in its queue just now. Costs next to nothing:
 * for refusals that must be cheap. */
bool tx_has_room(struct tx_port *p, const struct tx_job *job, enum tx_mode mode);
/* After a loop pass has read its sockets: runs the submitted reads in one transaction and calls their done. done may
 * submit more; those reads run too before this returns. With nothing to do this costs nothing. */
void tx_port_pass(struct tx_port *p);
/* On the owner's thread, after wake: calls done for every finished job. */
void tx_port_drain(struct tx_port *p);

/* Blocks. From a thread without an event loop (CLI, blocking pool), never from inside `run`. Reads use a connection of
 * a small pool. Without an arena, texts and blobs that `run` reads live until it returns. */
enum err tx_call(struct database *d, enum tx_mode mode, enum err (*run)(void *arg, struct db *db), void *arg,
                 struct arena *a);
/* The same for TX_READ; a statement that takes longer than limit_ms is ended: ERR_READ_TOO_LONG. PostgreSQL has a limit
 * of its own for every statement. */
enum err tx_read_within(struct database *d, int64_t limit_ms, enum err (*run)(void *arg, struct db *db), void *arg,
                        struct arena *a);
