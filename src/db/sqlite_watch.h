/* db/sqlite_watch.h - whether a SQLite file has changed since rows of it were read, and which of its rows. For db/
 * only.
 *
 * Behind db_row_mark and db_row_holds (db.h). The head of the log's index, memory that all connections of all processes
 * share, changes with every commit: while it is the same, so is the database. The writer says which rows of the watched
 * table its own commits change; a commit of anybody else counts as a change of all rows. */
#pragma once

#include "db/engine.h"

/* Changed rows of one transaction; more count as all rows. */
#define WATCH_CHANGES_MAX 4096

struct watch;

/* `index` is the log's index as SQLite has mapped it, and stays mapped until watch_free. NULL: no memory, or nothing
 * that this module can read. The generation of `stats` grows when somebody else has committed. */
struct watch *watch_new(const volatile void *index, struct database_stats *stats);
void watch_free(struct watch *w);

/* On the writer's thread, for its transaction. */
void watch_begin(struct watch *w);
void watch_changed(struct watch *w, int64_t rowid);
void watch_changed_all(struct watch *w);
/* Around COMMIT, while nobody else can commit, and once it has returned, however it ended: before anybody is told.
 * `log_pages` is the length of the log as of the last commit of this connection. */
void watch_commit_begins(struct watch *w);
void watch_commit_ended(struct watch *w, int log_pages);
/* Whether SQLite does not tell of all rows that this statement changes: a conflict that replaces, a table that is
 * emptied as a whole, a rowid that is changed. */
bool watch_is_hidden(const char *sql);

/* On a loop's thread, before anything is read: what db_row_holds and db_row_mark may say until the next look. False: a
 * commit is just being made, and nothing that was remembered may be used. */
bool watch_look(struct watch *w, struct db *db);
