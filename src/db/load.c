/* db/load.c - see load.h. */
#include "db/load.h"

#define SOURCE_ROW "" /* no table has this name */

enum err load_begin(struct db *db, Str source)
{
    static const char table[] = "CREATE TABLE load_journal (name TEXT PRIMARY KEY, source TEXT NOT NULL)";
    static const char record[] = "INSERT INTO load_journal (name, source) VALUES ('" SOURCE_ROW "', $1)";
    enum err e = db_script(db, table);
    if (e) return e;
    struct stmt *st = db_prepare(db, record);
    bind_text(st, source);
    return db_run(st);
}

static enum err find(struct db *db, Str name, bool *ret_found, Str *ret_source)
{
    static const char text[] = "SELECT source FROM load_journal WHERE name = $1";
    struct stmt *st = db_prepare(db, text);
    bind_text(st, name);
    bool found = db_step(st);
    if (found) *ret_source = col_text(st);
    enum err e = db_done(st);
    if (!e) *ret_found = found;
    return e;
}

enum err load_source(struct db *db, Str *ret)
{
    bool found = false;
    enum err e = find(db, STR(SOURCE_ROW), &found, ret);
    return e || found ? e : ERR_NOT_FOUND;
}

enum err load_is_complete(struct db *db, Str table, bool *ret)
{
    Str source;
    return find(db, table, ret, &source);
}

enum err load_clear(struct db *db, const struct schema_table *tables, size_t count)
{
    enum err e = OK;
    for (size_t i = count; !e && i > 0; i--) { /* referencing rows go first */
        bool is_complete;
        e = load_is_complete(db, tables[i - 1].name, &is_complete);
        if (!e && !is_complete) e = table_empty(db, &tables[i - 1]);
    }
    return e;
}

enum err load_complete(struct db *db, const struct schema_table *t, int64_t last_id)
{
    static const char record[] = "INSERT INTO load_journal (name, source) VALUES ($1, '')";
    enum err e = table_set_last_id(db, t, last_id);
    if (e) return e;
    struct stmt *st = db_prepare(db, record);
    bind_text(st, t->name);
    return db_run(st);
}

enum err load_check_references(struct db *db, Str *ret_table)
{
    static const char first_broken[] = "SELECT \"table\" FROM pragma_foreign_key_check LIMIT 1";
    if (db_is_postgres(db)) return OK;
    struct stmt *st = db_prepare(db, first_broken);
    bool broken = db_step(st);
    if (broken) *ret_table = col_text(st);
    enum err e = db_done(st);
    return e ? e : broken ? ERR_INVALID_STATE : OK;
}

enum err load_end(struct db *db, const struct schema_table *tables, size_t count)
{
    enum err e = db_script(db, "DROP TABLE load_journal");
    for (size_t i = 0; !e && i < count; i++) e = table_analyze(db, &tables[i]);
    return e;
}
