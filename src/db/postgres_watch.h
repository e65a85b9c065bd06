/* db/postgres_watch.h - PostgreSQL: whether rows that were kept in memory have changed, on any node. For db/ only.
 *
 * Behind db_row_mark, db_row_holds and db_watched_number (db.h). A thread with a connection of its own looks: one small
 * statement for all jobs that wait, and afterwards they are answered out of memory as if they had asked. One look is
 * under way at a time; what comes meanwhile waits for the next. When many ask, looks keep a distance of a fraction of a
 * millisecond, unless enough have come before, so that more of them share one.
 *
 * database_options.look is the statement. It is given what the look before did not see: transactions from the xmax of
 * its snapshot on ($1); and how many rows are enough ($2). It has at least one row: the text of its own snapshot, a
 * number that is watched, the number of the table's file, and the id of a row that was changed by one of those
 * transactions, or NULL. The id 0 stands for all rows; -n says that changes by transactions before n are no longer
 * listed. It must not read what the look before saw: while somebody is in a long transaction, that may be very much.
 * database_options.look_back also asks for those that were under way as the look before was taken ($3: 10,14). It
 * costs the server a fifth more, and mostly there are none. */
#pragma once

#include "db/engine.h"
#include "db/postgres.h"

struct pg_watch;

/* What somebody who asked gets: a letter. */
struct pg_look {
    struct letter letter; /* first */
    struct mailbox *to;
    int jobs;               /* that wait for it; at least one */
    bool has_begun;         /* under the watch's lock */
    int64_t epoch, version; /* 0: nobody knows, and nothing that was kept may be used */
    int64_t number;
};

/* The texts stay the caller's. NULL: no memory, or no thread. */
struct pg_watch *pg_watch_new(const struct postgres_options *options, const char *look, const char *look_back,
                              struct database_stats *stats);
/* Nobody waits for an answer any more. */
void pg_watch_free(struct pg_watch *w);

/* Whether it is worth asking. When there is no connection, one is made, and somebody else has to answer meanwhile. */
bool pg_watch_is_up(struct pg_watch *w);
/* The answer goes to look->to. */
void pg_watch_ask(struct pg_watch *w, struct pg_look *look);
/* So many jobs more wait for a look that was asked for. False: it has begun, and may not see what they have to. */
bool pg_watch_join(struct pg_watch *w, struct pg_look *look, int jobs);
/* Only rows from connections that were made later than the watch's own are kept: they lead to the same server, and not
 * to one that has been replaced since. False: a new connection is wanted. */
bool pg_watch_trusts(const struct pg_watch *w, int64_t opened_ns);

/* A connection that has none: every statement is refused by ERR_RUN_ALONE. */
void pg_watch_memory(struct pg_watch *w, struct database_stats *stats, struct db *ret);
/* `db` is about to begin a transaction on a connection that was opened then: rows that it reads may be kept. */
void pg_watch_begin(struct pg_watch *w, int64_t opened_ns, struct db *db);
/* `db`, of pg_watch_memory, may use what was kept as of this look. */
void pg_watch_use(struct db *db, const struct pg_look *look);
