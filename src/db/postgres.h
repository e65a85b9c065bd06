/* db/postgres.h - PostgreSQL connections, for db/ only. A connection belongs to one thread.
 *
 *     postgres_begin(db, mode); db_enter(db, …); run; db_leave(db, …); postgres_commit or postgres_rollback
 *
 * Nothing is sent before it has to be: BEGIN goes out with the first statement that is read (or with COMMIT), and so do
 * all statements whose result nobody reads. A rollback is sent and not waited for; the end of a read is sent with what
 * comes next, or by postgres_rest. */
#pragma once

#include "db/engine.h"

enum postgres_end {
    POSTGRES_COMMITTED, /* and durable */
    POSTGRES_FAILED,    /* not committed, for certain; db_err says why */
    POSTGRES_UNKNOWN,   /* COMMIT was sent, and no answer came */
};

struct postgres_options {
    const char *url;
    bool read_only;
    int64_t lock_ms;   /* how long a statement may wait for a lock */
    bool is_group;     /* for postgres_group.h */
    int64_t answer_ms; /* how long an answer may take before the connection is given up; 0: a default */
};

enum err postgres_open(const struct postgres_options *options, struct database_stats *stats, struct db **ret,
                       char *ret_why, size_t why_bytes);
void postgres_close(struct db *db);

void postgres_begin(struct db *db, enum tx_mode mode);
enum postgres_end postgres_commit(struct db *db);
void postgres_rollback(struct db *db);
/* Around a statement that reads and is a transaction by itself: no BEGIN, no COMMIT. */
void postgres_begin_bare(struct db *db);
void postgres_end_bare(struct db *db);
/* Before the connection has nothing to do. */
void postgres_rest(struct db *db);

/* False: close it and open another. */
bool postgres_is_alive(const struct db *db);
/* After an error: the same transaction may go through when it is run again. */
bool postgres_may_retry(const struct db *db);
