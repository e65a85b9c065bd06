/* db/sqlite.h - SQLite connections, for db/ only.
 *
 * Every connection: WAL, synchronous=FULL, no automatic checkpoint, none on close either. SQLite 3.40 loses
 * acknowledged commits when a connection other than the writer checkpoints while the writer resets the log; so there is
 * a single writer connection per file (db/lock.h), and it alone calls sqlite_checkpoint. All others are opened
 * read-only. A connection belongs to one thread at a time. */
#pragma once

#include "db/engine.h"

enum sqlite_mode {
    SQLITE_READER,
    SQLITE_WRITER,
    SQLITE_LOADER, /* a writer that does not ask foreign keys: rows come in any order, and are checked at the end */
};

/* How a transaction's end went. */
enum sqlite_end {
    SQLITE_ENDED,   /* committed and durable, or rolled back as asked */
    SQLITE_REFUSED, /* certainly not committed; rolled back: a constraint that is checked at commit */
    SQLITE_NO_ROOM, /* certainly not committed; rolled back: the disk is full */
    SQLITE_UNKNOWN, /* not known */
};

/* What stands at `path`: nothing or an empty file, a SQLite database, or something else. A failure has errno. */
enum sqlite_file {
    SQLITE_FILE_NONE,
    SQLITE_FILE_EMPTY,
    SQLITE_FILE_DATABASE, /* has our application id */
    SQLITE_FILE_FOREIGN,  /* a database of another program */
    SQLITE_FILE_OTHER,    /* not a SQLite database */
    SQLITE_FILE_FAILED,
};
enum sqlite_file sqlite_file_look(const char *path);

enum err sqlite_open(const char *path, enum sqlite_mode mode, int busy_ms, struct database_stats *stats,
                     struct db **ret, char *ret_why, size_t why_bytes);
void sqlite_close(struct db *db);

/* Readers: a snapshot that begins with the first statement. The writer: takes the write lock at once. */
enum err sqlite_begin(struct db *db);
enum sqlite_end sqlite_commit(struct db *db);
/* False when even the rollback failed. */
bool sqlite_rollback(struct db *db);
/* One level, inside a transaction. False: roll the transaction back. */
bool sqlite_savepoint(struct db *db);
bool sqlite_release(struct db *db);
bool sqlite_rollback_to(struct db *db); /* and releases it */
/* SQLite ends a transaction by itself after some errors (disk full, I/O). */
bool sqlite_in_transaction(const struct db *db);
/* A statement that runs for longer is ended: ERR_READ_TOO_LONG. 0: no limit. For readers. */
void sqlite_limit(struct db *db, int64_t ms);
/* For a writer: notes which rows of the table each commit changes, and who else commits (db/sqlite_watch.h). NULL: this
 * cannot be known here. The caller frees it, after the connection. */
struct watch *sqlite_watch(struct db *db, const char *table);
/* Rows changed since the connection was opened; a script counts as one more. */
int64_t sqlite_changes(const struct db *db);

/* Pages in the log after the last commit. */
int sqlite_log_pages(const struct db *db);
/* Copies what it can from the log into the database file. `truncate` waits for readers and empties the log. */
enum err sqlite_checkpoint(struct db *db, bool truncate);
