/* db/sqlite.c - the embedded engine: statements and transactions on one SQLite connection. See sqlite.h. */
#include "db/sqlite.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <malloc.h>
#include <pthread.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/log.h"
#include "base/memory.h"
#include "db/sqlite_cache.h"
#include "db/sqlite_log.h"
#include "db/sqlite_watch.h"

#define PARAMS_MAX 64
#define LOOK_EVERY 10000 /* instructions of SQLite's machine between two looks at the clock: a millisecond at most */
#define BYTES_MAX (64 * 1024 * 1024) /* one text or blob; what a client may send is bounded far lower */

/* Statements that the transaction machinery itself runs. */
enum own { OWN_BEGIN, OWN_COMMIT, OWN_ROLLBACK, OWN_SAVEPOINT, OWN_RELEASE, OWN_ROLLBACK_TO, OWN_COUNT };

struct sqlite_stmt {
    struct stmt stmt;
    sqlite3_stmt *handle;
    int params;
    unsigned char index[PARAMS_MAX]; /* SQLite's number of $1, $2 …: it numbers them by first appearance */
    bool is_hidden;                  /* from the watch, see watch_is_hidden */
    bool gives_rowid;                /* its RETURNING id was left out, see without_returning */
    bool rowid_given;
    int64_t rowid;
};

struct sqlite_db {
    struct db db;
    sqlite3 *handle;
    sqlite3_stmt *own[OWN_COUNT];
    int64_t scripts;
    int log_pages;
    bool writer;
    int64_t limit_ms, until_ns; /* of the statement that runs; 0: none */
    bool ran_out;
    unsigned version;    /* of a writer: what data_version said when its last transaction ended */
    struct watch *watch; /* of a writer */
    const char *watched; /* table */
    bool spares_marks;   /* the statement that runs */
};

static struct sqlite_db *of(struct db *db)
{
    return (struct sqlite_db *)db;
}
static const struct sqlite_db *of_const(const struct db *db)
{
    return (const struct sqlite_db *)db;
}
static struct sqlite_stmt *stmt_of(struct stmt *st)
{
    return (struct sqlite_stmt *)st;
}

static enum err err_of(int rc)
{
    switch (rc & 0xff) {
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
    case SQLITE_NOMEM:
    case SQLITE_INTERRUPT:
    case SQLITE_IOERR:
    case SQLITE_CORRUPT:
    case SQLITE_FULL:
    case SQLITE_CANTOPEN:
    case SQLITE_PROTOCOL:
    case SQLITE_NOTADB: return ERR_UNAVAILABLE;
    default: return ERR_INTERNAL;
    }
}

static void note_room(struct sqlite_db *c, int rc)
{
    if ((rc & 0xff) == SQLITE_FULL) atomic_store(&c->db.stats->no_room_ms, time_now().ms);
}

static void fail(struct sqlite_db *c, int rc, const char *sql)
{
    note_room(c, rc);
    if ((rc & 0xff) == SQLITE_INTERRUPT && c->ran_out) {
        log_event(LOG_WARN, "db.read_too_long", LOGI("limit_ms", c->limit_ms), LOGC("sql", sql));
        db_fail(&c->db, ERR_READ_TOO_LONG);
        return;
    }
    log_event(LOG_ERROR, "db.failed", LOGI("code", rc), LOGC("reason", sqlite3_errmsg(c->handle)), LOGC("sql", sql));
    db_fail(&c->db, err_of(rc));
}

/* SQLite makes a temporary table for every RETURNING, which costs as much as the insert itself. Where an INSERT adds
 * exactly one row and returns nothing but its rowid, the rowid is known anyway: such a statement is prepared without
 * its RETURNING. Returns the length of the remaining text, or 0. */
static size_t without_returning(struct sqlite_db *c, const char *sql)
{
    static const Str verb = S("INSERT INTO "), values = S(") VALUES ("), returning = S(" RETURNING id");
    Str text = str_from(sql), table, rest;
    if (!str_starts(text, verb) || !str_ends(text, returning)) return 0;
    if (!strstr(sql, values.ptr) || strstr(sql, "ON CONFLICT") || strstr(sql, "), (") || strstr(sql, "),(")) return 0;
    if (!str_cut((Str){text.ptr + verb.len, text.len - verb.len}, ' ', &table, &rest)) return 0;

    char name[64];
    const char *type;
    int is_key = 0;
    if (table.len >= sizeof name) return 0;
    memcpy(name, table.ptr, table.len);
    name[table.len] = 0;
    /* Its id must be the rowid: a lone INTEGER PRIMARY KEY of a table that has rowids. */
    if (sqlite3_table_column_metadata(c->handle, NULL, name, "rowid", NULL, NULL, NULL, NULL, NULL) != SQLITE_OK)
        return 0;
    if (sqlite3_table_column_metadata(c->handle, NULL, name, "id", &type, NULL, NULL, &is_key, NULL) != SQLITE_OK)
        return 0;
    return is_key && type && sqlite3_stricmp(type, "INTEGER") == 0 ? text.len - returning.len : 0;
}

static struct stmt *prepare(struct db *db, const char *sql)
{
    struct sqlite_db *c = of(db);
    sqlite3_stmt *handle = NULL;
    const char *rest = NULL;
    size_t shorter = without_returning(c, sql);
    int rc = sqlite3_prepare_v3(c->handle, sql, shorter ? (int)shorter : -1, SQLITE_PREPARE_PERSISTENT, &handle, &rest);
    if (rc != SQLITE_OK) {
        fail(c, rc, sql);
        return NULL;
    }
    int params = sqlite3_bind_parameter_count(handle);
    assert(handle && params <= PARAMS_MAX && rest == sql + (shorter ? shorter : strlen(sql))); /* one, not none */
    struct sqlite_stmt *st = memory_try_zeroed(1, sizeof *st);
    if (!st) {
        sqlite3_finalize(handle);
        fail(c, SQLITE_NOMEM, sql);
        return NULL;
    }
    st->handle = handle;
    st->params = params;
    st->gives_rowid = shorter > 0;
    st->is_hidden = c->writer && watch_is_hidden(sql);
    for (int n = 1; n <= params; n++) {
        char name[16];
        snprintf(name, sizeof name, "$%d", n);
        int index = sqlite3_bind_parameter_index(handle, name);
        assert(index); /* $1 … $n without a gap, and no other kind of parameter */
        st->index[n - 1] = (unsigned char)index;
    }
    return &st->stmt;
}

/* SQLite's number of the nth parameter; 0, which every bind refuses, when there is none. */
static int param(const struct sqlite_stmt *st, int n)
{
    return n <= st->params ? st->index[n - 1] : 0;
}

static void check_bind(struct stmt *st, int rc)
{
    if (rc != SQLITE_OK) fail(of(st->db), rc, st->sql);
}

static void bind_number(struct stmt *st, int n, int64_t v)
{
    check_bind(st, sqlite3_bind_int64(stmt_of(st)->handle, param(stmt_of(st), n), v));
}

static void bind_string(struct stmt *st, int n, enum bind_kind kind, Str s)
{
    sqlite3_stmt *h = stmt_of(st)->handle;
    int i = param(stmt_of(st), n);
    check_bind(st, kind == BIND_TEXT ? sqlite3_bind_text64(h, i, s.ptr, s.len, SQLITE_STATIC, SQLITE_UTF8)
                                     : sqlite3_bind_blob64(h, i, s.ptr, s.len, SQLITE_STATIC));
}

static void bind_nothing(struct stmt *st, int n, enum bind_kind kind)
{
    (void)kind;
    check_bind(st, sqlite3_bind_null(stmt_of(st)->handle, param(stmt_of(st), n)));
}

static bool step(struct stmt *st)
{
    struct sqlite_stmt *s = stmt_of(st);
    if (st->bound != s->params) { /* an unbound parameter would keep its value from the last run */
        log_event(LOG_ERROR, "db.misused", LOGC("what", "not every parameter is bound"), LOGC("sql", st->sql));
        db_fail(st->db, ERR_INTERNAL);
        return false;
    }
    if (s->rowid_given) return false;
    struct sqlite_db *c = of(st->db);
    if (c->limit_ms && !sqlite3_stmt_busy(s->handle)) c->until_ns = time_monotonic_ns() + c->limit_ms * 1000000;
    if (s->is_hidden && c->watch) watch_changed_all(c->watch);
    c->spares_marks = st->spares_marks;
    int rc = sqlite3_step(s->handle);
    if (rc == SQLITE_ROW) {
        st->columns = sqlite3_data_count(s->handle);
        return true;
    }
    if (rc != SQLITE_DONE) {
        fail(of(st->db), rc, st->sql);
        return false;
    }
    if (!s->gives_rowid) return false;
    s->rowid = sqlite3_last_insert_rowid(of(st->db)->handle);
    s->rowid_given = true;
    st->columns = 1;
    return true;
}

static void run(struct stmt *st)
{
    while (step(st)) {
    }
}

static void reset(struct stmt *st)
{
    stmt_of(st)->rowid_given = false;
    sqlite3_reset(stmt_of(st)->handle); /* step has reported its error */
}

static int type_of(const struct stmt *st, int n)
{
    const struct sqlite_stmt *s = (const struct sqlite_stmt *)st;
    return s->gives_rowid ? SQLITE_INTEGER : sqlite3_column_type(s->handle, n);
}

static bool is_null(const struct stmt *st, int n)
{
    return type_of(st, n) == SQLITE_NULL;
}

/* SQLite would convert silently (text to 0, a real to its integer part): a mistake in the statement. */
static bool is_type(struct stmt *st, int n, int type)
{
    if (type_of(st, n) == type) return true;
    log_event(LOG_ERROR, "db.misused", LOGC("what", "column of another type"), LOGI("column", n + 1),
              LOGC("sql", st->sql));
    db_fail(st->db, ERR_INTERNAL);
    return false;
}

static int64_t get_int(struct stmt *st, int n)
{
    const struct sqlite_stmt *s = stmt_of(st);
    if (s->gives_rowid) return s->rowid;
    return is_type(st, n, SQLITE_INTEGER) ? sqlite3_column_int64(s->handle, n) : 0;
}

static Str get_bytes(struct stmt *st, int n, enum bind_kind kind)
{
    if (!is_type(st, n, kind == BIND_TEXT ? SQLITE_TEXT : SQLITE_BLOB)) return (Str){0};
    sqlite3_stmt *h = stmt_of(st)->handle;
    const char *p = kind == BIND_TEXT ? (const char *)sqlite3_column_text(h, n) : sqlite3_column_blob(h, n);
    size_t len = (size_t)sqlite3_column_bytes(h, n);
    return (Str){p ? p : "", p ? len : 0};
}

static void script(struct db *db, const char *text)
{
    struct sqlite_db *c = of(db);
    c->scripts++;
    if (c->watch) watch_changed_all(c->watch);
    int rc = sqlite3_exec(c->handle, text, NULL, NULL, NULL);
    if (rc != SQLITE_OK) fail(c, rc, text);
}

static const struct engine sqlite_engine = {
    .prepare = prepare,
    .bind_int = bind_number,
    .bind_bytes = bind_string,
    .bind_null = bind_nothing,
    .step = step,
    .run = run,
    .reset = reset,
    .is_null = is_null,
    .get_int = get_int,
    .get_bytes = get_bytes,
    .script = script,
};

static int run_own(struct sqlite_db *c, enum own which)
{
    static const char *const texts[OWN_COUNT] = {
        [OWN_BEGIN] = "BEGIN",         [OWN_COMMIT] = "COMMIT",
        [OWN_ROLLBACK] = "ROLLBACK",   [OWN_SAVEPOINT] = "SAVEPOINT job",
        [OWN_RELEASE] = "RELEASE job", [OWN_ROLLBACK_TO] = "ROLLBACK TO job",
    };
    const char *text = which == OWN_BEGIN && c->writer ? "BEGIN IMMEDIATE" : texts[which];
    int rc = SQLITE_OK;
    if (!c->own[which]) rc = sqlite3_prepare_v3(c->handle, text, -1, SQLITE_PREPARE_PERSISTENT, &c->own[which], NULL);
    if (rc == SQLITE_OK) {
        rc = sqlite3_step(c->own[which]);
        sqlite3_reset(c->own[which]);
    }
    if (rc == SQLITE_DONE) return SQLITE_OK;
    log_event(LOG_ERROR, "db.failed", LOGI("code", rc), LOGC("reason", sqlite3_errmsg(c->handle)), LOGC("sql", text));
    atomic_fetch_add_explicit(&c->db.stats->errors, 1, memory_order_relaxed);
    return rc;
}

/* Changes with every commit, our own and anybody's; as of the beginning of a transaction while there is one. */
static unsigned data_version(const struct sqlite_db *c)
{
    unsigned version = 0;
    sqlite3_file_control(c->handle, "main", SQLITE_FCNTL_DATA_VERSION, &version);
    return version;
}

static int64_t begin_epoch(struct sqlite_db *c)
{
    static _Atomic int64_t epochs;
    int64_t epoch = atomic_fetch_add(&epochs, 1) + 1;
    atomic_store(&c->db.stats->epoch, epoch);
    return epoch;
}

enum err sqlite_begin(struct db *db)
{
    struct sqlite_db *c = of(db);
    if (c->watch) watch_begin(c->watch);
    db->epoch = atomic_load(&db->stats->epoch); /* of a snapshot that cannot be older than this */
    if (run_own(c, OWN_BEGIN) != SQLITE_OK) return ERR_UNAVAILABLE;
    if (c->writer && data_version(c) != c->version) db->epoch = begin_epoch(c);
    return OK;
}

static int is_past_limit(void *arg)
{
    struct sqlite_db *c = arg;
    c->ran_out = time_monotonic_ns() > c->until_ns;
    return c->ran_out;
}

void sqlite_limit(struct db *db, int64_t ms)
{
    struct sqlite_db *c = of(db);
    assert(!c->writer);
    c->limit_ms = ms;
    sqlite3_progress_handler(c->handle, LOOK_EVERY, ms ? is_past_limit : NULL, c);
}

bool sqlite_in_transaction(const struct db *db)
{
    return !sqlite3_get_autocommit(of_const(db)->handle);
}

bool sqlite_rollback(struct db *db)
{
    if (!sqlite_in_transaction(db)) return true;
    run_own(of(db), OWN_ROLLBACK); /* an error may still have ended the transaction: its state decides */
    of(db)->version = data_version(of(db));
    return !sqlite_in_transaction(db);
}

/* SQLITE_FULL comes from writing the log, before the frame that would make it a commit is complete, so it is certain.
 * SQLITE_CONSTRAINT comes before anything is written. Everything else may have happened after that frame was written:
 * fsync, or growing the shared-memory index. */
static enum sqlite_end commit(struct db *db)
{
    int rc = run_own(of(db), OWN_COMMIT);
    of(db)->version = data_version(of(db));
    if (rc == SQLITE_OK) return SQLITE_ENDED;
    note_room(of(db), rc);
    bool rolled_back = sqlite_rollback(db);
    if ((rc & 0xff) == SQLITE_FULL && rolled_back) return SQLITE_NO_ROOM;
    if ((rc & 0xff) == SQLITE_CONSTRAINT && rolled_back) return SQLITE_REFUSED;
    return SQLITE_UNKNOWN;
}

enum sqlite_end sqlite_commit(struct db *db)
{
    struct watch *w = of(db)->watch;
    if (!w) return commit(db);
    watch_commit_begins(w);
    enum sqlite_end end = commit(db);
    watch_commit_ended(w, of(db)->log_pages);
    return end;
}

bool sqlite_savepoint(struct db *db)
{
    return run_own(of(db), OWN_SAVEPOINT) == SQLITE_OK;
}
bool sqlite_release(struct db *db)
{
    return run_own(of(db), OWN_RELEASE) == SQLITE_OK;
}
bool sqlite_rollback_to(struct db *db)
{
    return run_own(of(db), OWN_ROLLBACK_TO) == SQLITE_OK && sqlite_release(db);
}

int64_t sqlite_changes(const struct db *db)
{
    return sqlite3_total_changes64(of_const(db)->handle) + of_const(db)->scripts;
}

int sqlite_log_pages(const struct db *db)
{
    return of_const(db)->log_pages;
}

static int count_pages(void *ctx, sqlite3 *handle, const char *name, int pages)
{
    (void)handle, (void)name;
    ((struct sqlite_db *)ctx)->log_pages = pages;
    return SQLITE_OK;
}

enum err sqlite_checkpoint(struct db *db, bool truncate)
{
    struct sqlite_db *c = of(db);
    assert(c->writer);
    int rc = sqlite3_wal_checkpoint_v2(c->handle, NULL,
                                       truncate ? SQLITE_CHECKPOINT_TRUNCATE : SQLITE_CHECKPOINT_PASSIVE, NULL, NULL);
    if (rc == SQLITE_OK || rc == SQLITE_BUSY) return OK; /* a reader was in the way: the rest follows next time */
    log_event(LOG_ERROR, "db.checkpoint_failed", LOGI("code", rc), LOGC("reason", sqlite3_errmsg(c->handle)));
    atomic_fetch_add_explicit(&db->stats->errors, 1, memory_order_relaxed);
    return (rc & 0xff) == SQLITE_FULL ? OK : ERR_UNAVAILABLE;
}

/* A row that is added changes none that was kept. */
static void note_change(void *ctx, int what, const char *database, const char *table, sqlite3_int64 rowid)
{
    const struct sqlite_db *c = ctx;
    (void)database;
    if (what != SQLITE_INSERT && !c->spares_marks && strcmp(table, c->watched) == 0) watch_changed(c->watch, rowid);
}

#define INDEX_BYTES 32768 /* of a part of the log's index, as SQLite maps it */

struct watch *sqlite_watch(struct db *db, const char *table)
{
    struct sqlite_db *c = of(db);
    assert(c->writer && !c->watch);
    sqlite3_file *file = NULL;
    void volatile *index = NULL;
    if (sqlite3_file_control(c->handle, "main", SQLITE_FCNTL_FILE_POINTER, &file) != SQLITE_OK || !file->pMethods ||
        file->pMethods->iVersion < 2 || file->pMethods->xShmMap(file, 0, INDEX_BYTES, 0, &index) != SQLITE_OK)
        return NULL;
    c->watch = watch_new(index, db->stats);
    c->watched = table;
    if (c->watch) sqlite3_update_hook(c->handle, note_change, c);
    return c->watch;
}

#define HEAD_BYTES 100 /* of every SQLite file: https://www.sqlite.org/fileformat.html */
#define APPLICATION_ID_AT 68
#define APPLICATION_ID 0x736f756b /* "souk" */

enum sqlite_file sqlite_file_look(const char *path)
{
    static const char magic[16] = "SQLite format 3";
    struct stat info;
    if (stat(path, &info) != 0) return errno == ENOENT ? SQLITE_FILE_NONE : SQLITE_FILE_FAILED;
    if (!S_ISREG(info.st_mode)) return SQLITE_FILE_OTHER;
    if (info.st_size == 0) return SQLITE_FILE_EMPTY;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) return SQLITE_FILE_FAILED;
    uint8_t head[HEAD_BYTES];
    ssize_t n = read(fd, head, sizeof head);
    close(fd);
    if (n != (ssize_t)sizeof head || memcmp(head, magic, sizeof magic) != 0) return SQLITE_FILE_OTHER;
    const uint8_t *id = head + APPLICATION_ID_AT;
    uint32_t application = (uint32_t)id[0] << 24 | (uint32_t)id[1] << 16 | (uint32_t)id[2] << 8 | id[3];
    return application == APPLICATION_ID ? SQLITE_FILE_DATABASE : SQLITE_FILE_FOREIGN;
}

/* SQLite's memory comes out of the reserve, too, when there is no other. */
static void *sqlite_take(int bytes)
{
    return memory_try((size_t)bytes);
}

static void *sqlite_grow(void *p, int bytes)
{
    return memory_try_grow(p, (size_t)bytes);
}

static int sqlite_size(void *p)
{
    return (int)malloc_usable_size(p);
}

static int sqlite_roundup(int bytes)
{
    return (bytes + 7) & ~7;
}

static int sqlite_ready(void *unused)
{
    (void)unused;
    return SQLITE_OK;
}

static void sqlite_over(void *unused)
{
    (void)unused;
}

/* Once per process, before SQLite's first use. Memory statistics take a lock at every allocation. When something else
 * in the process has already used SQLite these are refused, which only costs speed. */
static void configure_once(void)
{
    static const sqlite3_mem_methods memory = {.xMalloc = sqlite_take,
                                               .xFree = free,
                                               .xRealloc = sqlite_grow,
                                               .xSize = sqlite_size,
                                               .xRoundup = sqlite_roundup,
                                               .xInit = sqlite_ready,
                                               .xShutdown = sqlite_over};
    sqlite3_config(SQLITE_CONFIG_MALLOC, &memory);
    sqlite3_config(SQLITE_CONFIG_MULTITHREAD);
    sqlite3_config(SQLITE_CONFIG_MEMSTATUS, 0);
    sqlite_cache_install();
    sqlite3_initialize();
}

static void limit(sqlite3 *h)
{
    sqlite3_limit(h, SQLITE_LIMIT_LENGTH, BYTES_MAX);
    sqlite3_limit(h, SQLITE_LIMIT_SQL_LENGTH, 256 * 1024);
    sqlite3_limit(h, SQLITE_LIMIT_COLUMN, 128);
    sqlite3_limit(h, SQLITE_LIMIT_EXPR_DEPTH, 200);
    sqlite3_limit(h, SQLITE_LIMIT_COMPOUND_SELECT, 32);
    sqlite3_limit(h, SQLITE_LIMIT_FUNCTION_ARG, 32);
    sqlite3_limit(h, SQLITE_LIMIT_ATTACHED, 0);
    sqlite3_limit(h, SQLITE_LIMIT_LIKE_PATTERN_LENGTH, 4096);
    sqlite3_limit(h, SQLITE_LIMIT_VARIABLE_NUMBER, PARAMS_MAX);
    sqlite3_limit(h, SQLITE_LIMIT_TRIGGER_DEPTH, 16);
    sqlite3_limit(h, SQLITE_LIMIT_WORKER_THREADS, 0);
}

/* Marks the file as souk's before it holds anything else. */
static int sign_new_file(sqlite3 *h)
{
    sqlite3_stmt *st = NULL;
    int rc = sqlite3_prepare_v2(h, "PRAGMA page_count", -1, &st, NULL);
    bool is_new = rc == SQLITE_OK && sqlite3_step(st) == SQLITE_ROW && sqlite3_column_int(st, 0) == 0;
    sqlite3_finalize(st);
    static_assert(APPLICATION_ID == 1936684395, "the same number");
    return is_new ? sqlite3_exec(h, "PRAGMA application_id = 1936684395", NULL, NULL, NULL) : rc;
}

static int set_up(struct sqlite_db *c, enum sqlite_mode mode, int busy_ms)
{
    const struct {
        int what, value;
    } flags[] = {
        {SQLITE_DBCONFIG_DEFENSIVE, 1},
        {SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0},
        {SQLITE_DBCONFIG_ENABLE_FKEY, mode != SQLITE_LOADER},
        {SQLITE_DBCONFIG_ENABLE_LOAD_EXTENSION, 0},
        {SQLITE_DBCONFIG_DQS_DDL, 0},
        {SQLITE_DBCONFIG_DQS_DML, 0},
        {SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1},
    };
    sqlite3 *h = c->handle;
    sqlite3_extended_result_codes(h, 1);
    limit(h);
    int rc = SQLITE_OK;
    for (size_t i = 0; rc == SQLITE_OK && i < sizeof flags / sizeof *flags; i++)
        rc = sqlite3_db_config(h, flags[i].what, flags[i].value, NULL);
    if (rc == SQLITE_OK) rc = sqlite3_busy_timeout(h, busy_ms);
    if (rc == SQLITE_OK) rc = sqlite3_wal_autocheckpoint(h, 0);
    if (rc == SQLITE_OK && c->writer)
        sqlite3_wal_hook(h, count_pages, c); /* takes the place of autocheckpoint's hook */
    if (rc == SQLITE_OK && c->writer) rc = sign_new_file(h);
    if (rc == SQLITE_OK && c->writer) rc = sqlite3_exec(h, "PRAGMA journal_mode = WAL", NULL, NULL, NULL);
    if (rc == SQLITE_OK)
        rc = sqlite3_exec(h, "PRAGMA synchronous = FULL; PRAGMA temp_store = MEMORY; PRAGMA cell_size_check = ON;",
                          NULL, NULL, NULL);
    if (rc == SQLITE_OK)
        rc = sqlite3_exec(h, c->writer ? "PRAGMA cache_size = -65536" : "PRAGMA cache_size = -16384", NULL, NULL, NULL);
    /* Reads the file for the first time: what is wrong with it shows here, not at the first request. */
    if (rc == SQLITE_OK) rc = sqlite3_exec(h, "SELECT count(*) FROM sqlite_schema", NULL, NULL, NULL);
    return rc;
}

/* "PRAGMA journal_mode" answers with the mode it could set, not the one it was asked for. */
static bool is_wal(sqlite3 *h)
{
    sqlite3_stmt *st = NULL;
    bool wal = sqlite3_prepare_v2(h, "PRAGMA journal_mode", -1, &st, NULL) == SQLITE_OK &&
               sqlite3_step(st) == SQLITE_ROW && strcmp((const char *)sqlite3_column_text(st, 0), "wal") == 0;
    sqlite3_finalize(st);
    return wal;
}

enum err sqlite_open(const char *path, enum sqlite_mode mode, int busy_ms, struct database_stats *stats,
                     struct db **ret, char *ret_why, size_t why_bytes)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, configure_once);

    struct sqlite_db *c = memory_try_zeroed(1, sizeof *c);
    if (!c) {
        snprintf(ret_why, why_bytes, "out of memory");
        return ERR_UNAVAILABLE;
    }
    db_init(&c->db, &sqlite_engine, stats);
    c->writer = mode != SQLITE_READER;
    int flags = SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_PRIVATECACHE | SQLITE_OPEN_EXRESCODE;
    int rc = sqlite3_open_v2(path, &c->handle, flags | (c->writer ? SQLITE_OPEN_READWRITE : SQLITE_OPEN_READONLY),
                             c->writer ? sqlite_log_vfs() : NULL);
    if (rc == SQLITE_OK) rc = set_up(c, mode, busy_ms);
    if (rc != SQLITE_OK) {
        snprintf(ret_why, why_bytes, "the database %s cannot be opened: %s", path,
                 c->handle ? sqlite3_errmsg(c->handle) : sqlite3_errstr(rc));
    } else if (!is_wal(c->handle)) {
        rc = SQLITE_ERROR;
        snprintf(ret_why, why_bytes,
                 "the database %s cannot be used with a write-ahead log (its file system may not"
                 " allow it)",
                 path);
    }
    if (rc != SQLITE_OK) {
        sqlite_close(&c->db);
        return ERR_UNAVAILABLE;
    }
    if (c->writer) begin_epoch(c);
    c->version = data_version(c);
    *ret = &c->db;
    return OK;
}

void sqlite_close(struct db *db)
{
    if (!db) return;
    struct sqlite_db *c = of(db);
    for (size_t i = 0; i < db->slots_cap; i++) {
        if (!db->slots[i].sql) continue;
        sqlite3_finalize(stmt_of(db->slots[i].stmt)->handle);
        free(db->slots[i].stmt);
    }
    db_free_table(db);
    for (int i = 0; i < OWN_COUNT; i++) sqlite3_finalize(c->own[i]);
    int rc = sqlite3_close(c->handle);
    assert(rc == SQLITE_OK); /* every statement was finalized above */
    (void)rc;
    free(c);
}
