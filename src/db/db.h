/* db/db.h - one SQL text, two engines: what domain code sees of a database.
 *
 * A struct db is a connection inside a transaction that db/tx.h begins and ends. Statements are static texts with $1,
 * $2 … in the dialect that both engines speak:
 *
 *     static const char find[] = "SELECT id, balance FROM wallet WHERE account_id = $1";
 *     struct stmt *st = db_prepare(db, find);
 *     bind_id(st, account);
 *     bool found = db_step(st);
 *     if (found) { w.id = col_id(st); w.balance = col_money(st); }
 *     enum err e = db_done(st);
 *
 * Parameters are bound and columns read in order, by type; reading NULL gives the zero value (col_is_null tells without
 * moving on). Errors are sticky: after one, steps return false, columns return zeros, and db_done and db_run return the
 * error; the transaction is rolled back whatever the handler returns. So a function may bind, step and read without
 * checking in between. A statement must be done (db_done or db_run) before the same text is prepared again.
 *
 * A failed statement is a bug of ours or trouble in the database, never a way to find something out: a unique index is
 * asked with ON CONFLICT, a guard with WHERE … RETURNING. ERR_INTERNAL: the statement is wrong or a constraint was hit;
 * ERR_UNAVAILABLE: the database is not there. */
#pragma once

#include "base/arena.h"
#include "base/err.h"
#include "base/id.h"
#include "base/money.h"
#include "base/str.h"
#include "base/timestamp.h"

struct db;
struct stmt;

/* `sql` must be a string that lives for ever: the statement cache is keyed by its address. */
struct stmt *db_prepare(struct db *db, const char *sql);

void bind_int(struct stmt *st, int64_t v);
void bind_bool(struct stmt *st, bool v); /* stored as 0 or 1 */
void bind_id(struct stmt *st, Id id);
void bind_money(struct stmt *st, Money m);
void bind_time(struct stmt *st, Time t);
void bind_text(struct stmt *st, Str s); /* the bytes must live until the statement is done */
void bind_blob(struct stmt *st, Str s);
/* A word of an enum. `words` is the enum's table, x_names beside it: in the order of the enum, NULL at the end. The
 * same table serves FIELD_CHOICE and the views. */
void bind_choice(struct stmt *st, const char *const *words, unsigned choice);
void bind_null(struct stmt *st); /* PostgreSQL has to guess the type: prefer those below */
/* NULL for "none": id 0, time 0, empty text. */
void bind_opt_id(struct stmt *st, Id id);
void bind_opt_time(struct stmt *st, Time t);
void bind_opt_text(struct stmt *st, Str s);

/* Runs to the next row. A statement that writes has finished writing when its first db_step returns. */
bool db_step(struct stmt *st);

bool col_is_null(const struct stmt *st);
int64_t col_int(struct stmt *st);
bool col_bool(struct stmt *st);
Id col_id(struct stmt *st);
Money col_money(struct stmt *st);
Time col_time(struct stmt *st);
Str col_text(struct stmt *st); /* copied into db_arena(db) */
Str col_blob(struct stmt *st);
bool col_blob_exact(struct stmt *st, void *ret, size_t bytes); /* into `ret`; false: it has another length */
/* The place of a word in its table. An unknown word is a sticky error, like a failed statement. */
unsigned col_choice(struct stmt *st, const char *const *words);

/* Ends the statement. */
enum err db_done(struct stmt *st);

/* For a statement whose result nobody reads: runs and ends it. OK may come before the database has seen it (PostgreSQL
 * sends such statements together with the next one that is read, or with COMMIT); its error then shows up there, and
 * the transaction is rolled back all the same. */
enum err db_run(struct stmt *st);

/* For an INSERT of one row, with RETURNING id, whose id is bound by bind_opt_id: the row gets *id, or, where that is 0,
 * a new id that *id is set to. An id that is known beforehand saves PostgreSQL a round trip. */
enum err db_insert(struct stmt *st, Id *id);

/* The sticky error of this transaction so far. */
enum err db_err(const struct db *db);
/* Memory that lives as long as the caller of this transaction. */
struct arena *db_arena(struct db *db);
/* True inside TX_WRITE. A handler in TX_READ that finds that it must write returns ERR_NEEDS_WRITE and is run again. */
bool db_can_write(const struct db *db);
/* PostgreSQL: others share this transaction, and would wait with this one. A statement that may have to wait for
 * somebody's lock does not belong here: return ERR_RUN_ALONE before anything is written, and be run again by yourself;
 * or ERR_RUN_LATER, and be run again in another group, where the lock will not be held for long. As on SQLite,
 * everything is checked before the first write. */
bool db_is_grouped(const struct db *db);
/* True in a read that runs on a loop's thread, where others wait for it: what takes long returns ERR_RUN_ALONE and is
 * run again on a thread of its own. */
bool db_is_on_loop(const struct db *db);
/* As the transaction began: a number that grows with every transaction of this process that may have written, before it
 * is answered; not with those of jobs that may_group alone (on PostgreSQL: a group's), which change neither tokens nor
 * accounts. What was read of these under another number may be out of date. 0: not one of the jobs that may_group;
 * nothing may be remembered. */
int64_t db_generation(const struct db *db);
/* For rows of the watched table (database_options) that a process keeps in memory. A row that this transaction has read
 * is kept together with a mark; false: it may not be kept. */
struct row_mark {
    int64_t epoch;
    int64_t changes;
};
bool db_row_mark(const struct db *db, Id id, struct row_mark *ret);
/* Whether this job may use what was kept. False in transactions that write, and on PostgreSQL in all transactions:
 * there a job that may_remember is first run without one. */
bool db_has_looked(const struct db *db);
/* Whether the row under this mark is still as it was kept: nobody, in this process or another, had changed it when this
 * job was about to run, if db_has_looked; otherwise, as far as anybody here knows. */
bool db_row_holds(const struct db *db, Id id, struct row_mark mark);
/* PostgreSQL: the number that database_options.look reads, as it was when this job was about to run. False: unknown. */
bool db_watched_number(const struct db *db, int64_t *ret);
/* Before its first step: this statement changes only columns that nobody keeps. Marks hold after it. */
void stmt_spares_marks(struct stmt *st);
/* SQLite, for what a process keeps of all rows of a table: this number is another one once anybody else has committed,
 * as the next transaction that writes has found, and a larger one in every database that is opened. Rows that this
 * process adds, changes or takes back leave it alone. As this transaction began: what a snapshot sees that is older
 * than somebody's commit has the number from before it. */
int64_t db_epoch(const struct db *db);
/* What belongs to the end of the transaction, when all that the job changes is there: run in it, in order of the calls,
 * once the job itself has returned OK. Its error is the job's. TX_WRITE; `arg` lives in db_arena(db). */
typedef enum err db_ending(struct db *db, void *arg);
void db_at_end(struct db *db, db_ending *run, void *arg);
/* For what a process keeps in memory on PostgreSQL instead of asking: a transaction that changes the original tells.
 * Its caller learns of the commit after database_stats.told has grown. */
void db_tell(struct db *db);
/* That number before anything was read in this transaction. While it stays the same, no other transaction of this
 * process has changed what was read. */
int64_t db_told(const struct db *db);
/* What this transaction has read is about to be acknowledged: an answer that is given again. On PostgreSQL it may be
 * committed on the leader alone, because a commit is seen as soon as its session has died waiting for the synchronous
 * standby. This makes the commit of the reader wait for the standby, too. In TX_READ: ERR_NEEDS_WRITE. */
enum err db_confirm_read(struct db *db);
/* In a group: this statement, which only reads or locks, will be asked for soon with what is bound. It goes out with
 * whatever the job waits for next; who then prepares the same text and binds the same finds the rows there, a round
 * trip earlier. The job must not have changed meanwhile what it reads. Ends the statement. Elsewhere nothing happens.
 */
void db_ahead(struct stmt *st);
/* In a group: whether nobody else in it has enlisted this name (16 bytes at most). Twice at most for
 * each job. */
bool db_enlist(struct db *db, Str name);

/* For the few statements that the engines cannot share: this engine's one of the two texts. */
bool db_is_postgres(const struct db *db);
static inline const char *db_sql(const struct db *db, const char *sqlite, const char *postgres)
{
    return db_is_postgres(db) ? postgres : sqlite;
}

/* The ids (or hashes …) for a statement that works on the first few rows: WHERE id IN DB_FIRST(…), at most `limit` of
 * them, a parameter. When PostgreSQL does not know the limit, it plans for a tenth of all rows and reads the whole
 * table; so it is also given the highest possible limit, `most`, a literal. */
#define DB_FIRST(column, from, limit, most)                                                                            \
    "(SELECT " column " FROM (SELECT " column " FROM " from " LIMIT " most ") few LIMIT " limit ")"

/* Whether a row has this value, out of an index over `column`; `more` may be " AND …". PostgreSQL takes it that a
 * product has many rows, whichever it is, and reads the table from its start for EXISTS (…), or for an equality with
 * LIMIT 1: when there is none, to its end. A range in the order of the column leaves it nothing but the index. */
#define DB_ANY(table, column, value, more)                                                                             \
    "(SELECT 1 FROM " table " WHERE " column " >= " value " AND " column " <= " value more " ORDER BY " column         \
    " LIMIT 1) IS NOT NULL"

/* The end of a SELECT for a page of somebody's rows, newest first: the $3 rows of owner $1 whose key lies below $2, out
 * of an index over (owner, key); DB_PAGE_2 has a key of two columns, $2 and $3, and the limit in $4. DB_PAGE and
 * DB_PAGE_2 take the start of the statement and give this engine's text.
 * PostgreSQL is asked for a range of the index, because a range leaves it no other index to take the order from. Asked
 * for an equality it may walk down the primary key and skip the rows of others: quick for owners with recent rows,
 * endless for all others. SQLite cannot use the second column of such a range, and takes the index for an equality. */
#define DB_PAGE_SQLITE(owner, key) " WHERE " owner " = $1 AND " key " < $2 ORDER BY " key " DESC LIMIT $3"
#define DB_PAGE_POSTGRES(owner, key)                                                                                   \
    " WHERE " owner " >= $1 AND (" owner ", " key ") < ($1, $2) ORDER BY " owner " DESC, " key " DESC LIMIT $3"
#define DB_PAGE(db, select, owner, key)                                                                                \
    db_sql((db), select DB_PAGE_SQLITE(owner, key), select DB_PAGE_POSTGRES(owner, key))
#define DB_PAGE_2(db, select, owner, key, key2)                                                                        \
    db_sql((db),                                                                                                       \
           select " WHERE " owner " = $1 AND (" key ", " key2 ") < ($2, $3) ORDER BY " key " DESC, " key2              \
                  " DESC LIMIT $4",                                                                                    \
           select " WHERE " owner " >= $1 AND (" owner ", " key ", " key2 ") < ($1, $2, $3) ORDER BY " owner           \
                  " DESC, " key " DESC, " key2 " DESC LIMIT $4")
