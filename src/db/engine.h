/* db/engine.h - what is behind db.h: the part of a connection that both engines share, and the table of functions in
 * which they differ. For db/ only.
 *
 * A struct db is the first member of an engine's connection, a struct stmt of its statement. Statements live as long as
 * their connection, in a table keyed by the address of their text. Statements that are prepared and not yet done are
 * linked in db->open, so that a job which returns halfway leaves nothing behind: db_leave ends them. */
#pragma once

#include "db/db.h"
#include "db/tx.h"

struct engine;
struct watch;
struct pg_watch;

struct stmt {
    struct db *db;
    const char *sql;
    struct stmt *open_next, **open_at; /* in db->open while between db_prepare and db_done */
    int bound;                         /* parameters bound so far */
    int column;                        /* next to be read */
    int columns;                       /* of the present row; 0 without one */
    bool started;
    bool finished; /* no more rows */
    bool spares_marks;
};

/* How the engines answer db_row_holds and db_row_mark. */
struct watcher {
    bool (*row_holds)(const struct db *db, Id id, struct row_mark mark);
    bool (*row_mark)(const struct db *db, Id id, struct row_mark *ret);
};

struct stmt_slot {
    const char *sql;
    struct stmt *stmt;
};

struct db {
    const struct engine *engine;
    struct database_stats *stats;
    struct arena *arena;
    bool can_write;
    bool is_grouped;
    bool is_on_loop;
    bool begins_late;              /* SQLite: its transaction begins with the first statement */
    int64_t epoch;                 /* see db_epoch */
    int64_t generation;            /* of a group */
    const struct watcher *watcher; /* NULL: nothing is watched */
    struct watch *watch;
    int64_t watch_epoch, watch_version; /* db/sqlite_watch.h, db/postgres_watch.h; 0: no row may be kept */
    struct pg_watch *pg_watch;
    bool has_looked;      /* what was kept may be used, */
    int64_t watch_number; /* and on PostgreSQL this number */
    int64_t told;         /* as this transaction began */
    bool tells;
    enum err err; /* sticky */
    struct stmt *open;
    struct db_ending_row *endings, **endings_last; /* see db_at_end */
    struct stmt dead; /* handed out when a statement cannot be prepared: accepts everything, returns nothing */
    struct stmt_slot *slots;
    size_t slots_cap, slots_used;
};

/* The kind that a NULL stands for: PostgreSQL wants to know, SQLite does not. */
enum bind_kind { BIND_UNKNOWN, BIND_INT, BIND_TEXT, BIND_BLOB };

/* Columns are only read on a row and within its columns, parameters bound only before the first step. A function that
 * fails calls db_fail. */
struct engine {
    bool is_postgres;
    struct stmt *(*prepare)(struct db *db, const char *sql); /* NULL after db_fail */
    void (*bind_int)(struct stmt *st, int n, int64_t v);
    void (*bind_bytes)(struct stmt *st, int n, enum bind_kind kind, Str s);
    void (*bind_null)(struct stmt *st, int n, enum bind_kind kind);
    bool (*step)(struct stmt *st); /* sets st->columns */
    void (*run)(struct stmt *st);
    void (*reset)(struct stmt *st);
    bool (*is_null)(const struct stmt *st, int n);
    int64_t (*get_int)(struct stmt *st, int n);
    Str (*get_bytes)(struct stmt *st, int n, enum bind_kind kind); /* valid until the next step */
    void (*script)(struct db *db, const char *text);
    bool (*enlist)(struct db *db, Str name); /* of a group */
    void (*ahead)(struct stmt *st);          /* of a group */
};

void db_init(struct db *db, const struct engine *engine, struct database_stats *stats);
void db_free_table(struct db *db);
/* A job begins and ends on this connection. db_leave ends what the job left open and returns the error that counts: the
 * connection's own before the job's. */
void db_enter(struct db *db, struct arena *arena, bool can_write);
enum err db_leave(struct db *db, enum err e);
/* What db_at_end was given, unless the job has failed. Part of db_leave. */
enum err db_run_endings(struct db *db, enum err e);
/* Makes e the sticky error unless there already is one, and counts it. */
void db_fail(struct db *db, enum err e);

/* A NULL of this kind. */
void bind_none(struct stmt *st, enum bind_kind kind);
/* Several statements in one text, nothing bound, nothing read: migrations. */
enum err db_script(struct db *db, const char *text);

struct stmt *db_table_find(const struct db *db, const char *sql);
void db_table_add(struct db *db, const char *sql, struct stmt *st);
