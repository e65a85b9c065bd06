/* db/db.c - the part of db.h that both engines share: the order of parameters and columns, sticky errors, and the table
 * of prepared statements. */
#include "db/db.h"

#include <assert.h>
#include <stdlib.h>

#include "base/log.h"
#include "base/memory.h"
#include "db/sqlite.h"

#define TABLE_FIRST 64

void db_init(struct db *db, const struct engine *engine, struct database_stats *stats)
{
    *db = (struct db){.engine = engine, .stats = stats};
    db->dead = (struct stmt){.db = db, .sql = "", .finished = true};
}

void db_free_table(struct db *db)
{
    free(db->slots);
    db->slots = NULL;
    db->slots_cap = db->slots_used = 0;
}

void db_fail(struct db *db, enum err e)
{
    atomic_fetch_add_explicit(&db->stats->errors, 1, memory_order_relaxed);
    if (!db->err) db->err = e;
}

static void mistake(const struct stmt *st, const char *what)
{
    log_event(LOG_ERROR, "db.misused", LOGC("what", what), LOGC("sql", st->sql));
    db_fail(st->db, ERR_INTERNAL);
}

/* Open addressing, at most half full. Statements are never removed, so probing needs no tombstones. */
static size_t slot_of(const struct stmt_slot *slots, size_t cap, const char *sql)
{
    size_t i = ((uintptr_t)sql * UINT64_C(0x9E3779B97F4A7C15)) >> 32;
    while (slots[i & (cap - 1)].sql && slots[i & (cap - 1)].sql != sql) i++;
    return i & (cap - 1);
}

struct stmt *db_table_find(const struct db *db, const char *sql)
{
    return db->slots_cap ? db->slots[slot_of(db->slots, db->slots_cap, sql)].stmt : NULL;
}

void db_table_add(struct db *db, const char *sql, struct stmt *st)
{
    if (db->slots_used * 2 >= db->slots_cap) {
        size_t cap = db->slots_cap ? db->slots_cap * 2 : TABLE_FIRST;
        struct stmt_slot *slots = memory_zeroed(cap, sizeof *slots);
        for (size_t i = 0; i < db->slots_cap; i++)
            if (db->slots[i].sql) slots[slot_of(slots, cap, db->slots[i].sql)] = db->slots[i];
        free(db->slots);
        db->slots = slots;
        db->slots_cap = cap;
    }
    db->slots[slot_of(db->slots, db->slots_cap, sql)] = (struct stmt_slot){sql, st};
    db->slots_used++;
}

static void close_stmt(struct stmt *st)
{
    if (!st->open_at) return;
    *st->open_at = st->open_next;
    if (st->open_next) st->open_next->open_at = st->open_at;
    st->open_next = NULL;
    st->open_at = NULL;
    st->columns = 0;
    st->db->engine->reset(st);
}

void db_enter(struct db *db, struct arena *arena, bool can_write)
{
    assert(!db->open);
    db->arena = arena;
    db->can_write = can_write;
    db->err = OK;
    db->tells = false;
    db->endings = NULL;
    db->endings_last = &db->endings;
    db->told = atomic_load(&db->stats->told);
}

struct db_ending_row {
    struct db_ending_row *next;
    db_ending *run;
    void *arg;
};

void db_at_end(struct db *db, db_ending *run, void *arg)
{
    assert(db->can_write);
    struct db_ending_row *row = arena_new(db->arena, struct db_ending_row);
    *row = (struct db_ending_row){.run = run, .arg = arg};
    *db->endings_last = row;
    db->endings_last = &row->next;
}

enum err db_run_endings(struct db *db, enum err e)
{
    for (const struct db_ending_row *row = db->endings; row && !e && !db->err; row = row->next)
        e = row->run(db, row->arg);
    db->endings = NULL;
    db->endings_last = &db->endings;
    return e;
}

enum err db_leave(struct db *db, enum err e)
{
    while (db->open) close_stmt(db->open);
    e = db_run_endings(db, e);
    while (db->open) close_stmt(db->open);
    db->arena = NULL;
    return db->err ? db->err : e;
}

/* After a failure the next job tries again. */
static void begin_late(struct db *db)
{
    enum err e = sqlite_begin(db);
    if (e) db_fail(db, e);
    db->begins_late = e != OK;
}

struct stmt *db_prepare(struct db *db, const char *sql)
{
    if (db->begins_late && !db->err) begin_late(db);
    if (db->err) return &db->dead;
    struct stmt *st = db_table_find(db, sql);
    if (!st) {
        st = db->engine->prepare(db, sql);
        if (!st) {
            assert(db->err);
            return &db->dead;
        }
        st->db = db;
        st->sql = sql;
        db_table_add(db, sql, st);
    }
    assert(!st->open_at); /* a caller is still using the same text: it must be done first */
    st->bound = st->column = st->columns = 0;
    st->started = st->finished = st->spares_marks = false;
    st->open_next = db->open;
    if (db->open) db->open->open_at = &st->open_next;
    st->open_at = &db->open;
    db->open = st;
    return st;
}

void stmt_spares_marks(struct stmt *st)
{
    st->spares_marks = true;
}

static bool may_bind(struct stmt *st)
{
    if (st->db->err || st == &st->db->dead) return false;
    assert(st->open_at && !st->started);
    st->bound++;
    return true;
}

void bind_int(struct stmt *st, int64_t v)
{
    if (may_bind(st)) st->db->engine->bind_int(st, st->bound, v);
}

static void bind_bytes(struct stmt *st, enum bind_kind kind, Str s)
{
    if (!s.ptr) s = (Str){"", 0};
    if (may_bind(st)) st->db->engine->bind_bytes(st, st->bound, kind, s);
}

void bind_none(struct stmt *st, enum bind_kind kind)
{
    if (may_bind(st)) st->db->engine->bind_null(st, st->bound, kind);
}

void bind_bool(struct stmt *st, bool v)
{
    bind_int(st, v);
}
void bind_id(struct stmt *st, Id id)
{
    bind_int(st, id.v);
}
void bind_money(struct stmt *st, Money m)
{
    bind_int(st, m.minor);
}
void bind_time(struct stmt *st, Time t)
{
    bind_int(st, t.ms);
}
void bind_text(struct stmt *st, Str s)
{
    bind_bytes(st, BIND_TEXT, s);
}
void bind_blob(struct stmt *st, Str s)
{
    bind_bytes(st, BIND_BLOB, s);
}
void bind_choice(struct stmt *st, const char *const *words, unsigned choice)
{
    for (unsigned i = 0; i <= choice; i++) assert(words[i]);
    bind_text(st, str_from(words[choice]));
}
void bind_null(struct stmt *st)
{
    bind_none(st, BIND_UNKNOWN);
}

void bind_opt_id(struct stmt *st, Id id)
{
    if (id_is(id))
        bind_id(st, id);
    else
        bind_none(st, BIND_INT);
}

void bind_opt_time(struct stmt *st, Time t)
{
    if (time_is(t))
        bind_time(st, t);
    else
        bind_none(st, BIND_INT);
}

void bind_opt_text(struct stmt *st, Str s)
{
    if (s.len)
        bind_text(st, s);
    else
        bind_none(st, BIND_TEXT);
}

bool db_step(struct stmt *st)
{
    st->column = st->columns = 0;
    if (st->db->err || st->finished) return false;
    assert(st->open_at);
    st->started = true;
    bool row = st->db->engine->step(st);
    if (!row) st->finished = true;
    return row;
}

/* The column to be read now, or -1 when there is nothing to read. */
static int next_column(struct stmt *st)
{
    if (st->db->err || st == &st->db->dead) return -1;
    if (st->column >= st->columns) {
        mistake(st, st->columns ? "read past the last column" : "read without a row");
        return -1;
    }
    int n = st->column++;
    return st->db->engine->is_null(st, n) ? -1 : n;
}

bool col_is_null(const struct stmt *st)
{
    return st->db->err || st->column >= st->columns || st->db->engine->is_null(st, st->column);
}

int64_t col_int(struct stmt *st)
{
    int n = next_column(st);
    return n < 0 ? 0 : st->db->engine->get_int(st, n);
}

static Str col_bytes(struct stmt *st, enum bind_kind kind)
{
    int n = next_column(st);
    if (n < 0) return (Str){0};
    Str s = st->db->engine->get_bytes(st, n, kind);
    return s.ptr ? str_dup(st->db->arena, s) : s;
}

bool col_bool(struct stmt *st)
{
    return col_int(st) != 0;
}
Id col_id(struct stmt *st)
{
    return (Id){col_int(st)};
}
Money col_money(struct stmt *st)
{
    return (Money){col_int(st)};
}
Time col_time(struct stmt *st)
{
    return (Time){col_int(st)};
}
Str col_text(struct stmt *st)
{
    return col_bytes(st, BIND_TEXT);
}
Str col_blob(struct stmt *st)
{
    return col_bytes(st, BIND_BLOB);
}

bool col_blob_exact(struct stmt *st, void *ret, size_t bytes)
{
    int n = next_column(st);
    Str s = n < 0 ? (Str){0} : st->db->engine->get_bytes(st, n, BIND_BLOB);
    if (!s.ptr || s.len != bytes) return false;
    memcpy(ret, s.ptr, bytes);
    return true;
}

unsigned col_choice(struct stmt *st, const char *const *words)
{
    int n = next_column(st);
    if (n < 0) return 0;
    Str word = st->db->engine->get_bytes(st, n, BIND_TEXT);
    int choice = str_choice(word, words);
    if (choice >= 0) return (unsigned)choice;
    if (!st->db->err) {
        log_event(LOG_ERROR, "db.unknown_word", LOGS("word", word), LOGC("sql", st->sql));
        db_fail(st->db, ERR_INTERNAL);
    }
    return 0;
}

enum err db_done(struct stmt *st)
{
    if (!st->started && st != &st->db->dead && !st->db->err) mistake(st, "done without having run");
    close_stmt(st);
    return st->db->err;
}

enum err db_run(struct stmt *st)
{
    if (!st->db->err && !st->finished) {
        assert(st->open_at && !st->started);
        st->started = st->finished = true;
        st->db->engine->run(st);
    }
    return db_done(st);
}

enum err db_insert(struct stmt *st, Id *id)
{
    if (id_is(*id)) return db_run(st);
    if (db_step(st)) *id = col_id(st);
    return db_done(st);
}

enum err db_script(struct db *db, const char *text)
{
    if (!db->err) db->engine->script(db, text);
    return db->err;
}

enum err db_err(const struct db *db)
{
    return db->err;
}
struct arena *db_arena(struct db *db)
{
    return db->arena;
}
bool db_can_write(const struct db *db)
{
    return db->can_write;
}
bool db_is_on_loop(const struct db *db)
{
    return db->is_on_loop;
}
bool db_is_grouped(const struct db *db)
{
    return db->is_grouped;
}

int64_t db_generation(const struct db *db)
{
    return db->generation;
}

bool db_has_looked(const struct db *db)
{
    return db->has_looked;
}

bool db_row_holds(const struct db *db, Id id, struct row_mark mark)
{
    return db->watcher && db->watcher->row_holds(db, id, mark);
}

bool db_row_mark(const struct db *db, Id id, struct row_mark *ret)
{
    return db->watcher && db->watcher->row_mark(db, id, ret);
}

bool db_watched_number(const struct db *db, int64_t *ret)
{
    if (!db->pg_watch || !db->has_looked) return false;
    *ret = db->watch_number;
    return true;
}

int64_t db_epoch(const struct db *db)
{
    return db->begins_late ? atomic_load(&db->stats->epoch) : db->epoch;
}

void db_tell(struct db *db)
{
    db->tells = true;
}

int64_t db_told(const struct db *db)
{
    return db->told;
}

/* A commit waits only when its transaction has written to the log: an id of its own would not do. The message is
 * nothing but a few bytes there. */
enum err db_confirm_read(struct db *db)
{
    static const char write[] = "SELECT pg_logical_emit_message(true, 'souk', ''::text)";
    if (!db_is_postgres(db)) return OK;
    if (!db_can_write(db)) return ERR_NEEDS_WRITE;
    return db_run(db_prepare(db, write));
}

void db_ahead(struct stmt *st)
{
    struct db *db = st->db;
    if (db->is_grouped && !db->err && st != &db->dead) db->engine->ahead(st);
    close_stmt(st);
}

bool db_enlist(struct db *db, Str name)
{
    return !db->is_grouped || db->engine->enlist(db, name);
}

bool db_is_postgres(const struct db *db)
{
    return db->engine->is_postgres;
}
