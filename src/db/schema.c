/* db/schema.c - see schema.h. */
#include "db/schema.h"

#include <pthread.h>
#include <stdlib.h>

#include "base/log.h"

#define TABLES_MAX 256

#define OWN_TABLES                                                                                                     \
    "('schema_migration', 'load_journal', 'license_change', 'filing', 'orders_filed', 'license_filed',"                \
    " 'transfer_filed', 'license_key_filed', 'idempotency_page', 'orders_key_page')"

static const char columns_sqlite[] =
    "SELECT m.name, c.name, c.type, c.pk, CASE WHEN c.name = 'id' AND c.type = 'INTEGER' AND c.pk = 1 THEN 1 ELSE 0"
    " END, CASE WHEN m.sql LIKE '%AUTOINCREMENT%' THEN 1 ELSE 0 END"
    " FROM sqlite_schema m JOIN pragma_table_info(m.name) c"
    " WHERE m.type = 'table' AND m.name NOT LIKE 'sqlite\\_%' ESCAPE '\\' AND m.name NOT IN " OWN_TABLES
    " ORDER BY m.name, c.name";
static const char columns_postgres[] =
    "SELECT c.relname::text, a.attname::text,"
    " CASE a.atttypid WHEN 20 THEN 'INTEGER' WHEN 25 THEN 'TEXT' WHEN 17 THEN 'BLOB' ELSE 'other' END,"
    " coalesce((SELECT k.place FROM pg_index i, unnest(i.indkey::int2[]) WITH ORDINALITY k (attnum, place)"
    "  WHERE i.indrelid = c.oid AND i.indisprimary AND k.attnum = a.attnum), 0),"
    " CASE WHEN a.attidentity <> '' THEN 1 ELSE 0 END, CASE WHEN a.attidentity <> '' THEN 1 ELSE 0 END"
    " FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace"
    " JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped"
    " WHERE n.nspname = current_schema() AND c.relkind IN ('r', 'p') AND c.relname NOT IN " OWN_TABLES
    " ORDER BY c.relname COLLATE \"C\", a.attname COLLATE \"C\"";

static const char references_sqlite[] =
    "SELECT m.name, f.\"table\" FROM sqlite_schema m JOIN pragma_foreign_key_list(m.name) f WHERE m.type = 'table'";
static const char references_postgres[] =
    "SELECT c.relname::text, r.relname::text FROM pg_constraint k JOIN pg_class c ON c.oid = k.conrelid"
    " JOIN pg_class r ON r.oid = k.confrelid JOIN pg_namespace n ON n.oid = c.relnamespace"
    " WHERE k.contype = 'f' AND n.nspname = current_schema()";

static bool kind_of(Str type, enum bind_kind *ret)
{
    *ret = str_eq(type, STR("INTEGER")) ? BIND_INT : str_eq(type, STR("TEXT")) ? BIND_TEXT : BIND_BLOB;
    return *ret != BIND_BLOB || str_eq(type, STR("BLOB"));
}

/* The row that `st` stands on, as the next column of `t`. */
static bool add_column(struct arena *a, struct schema_table *t, struct stmt *st, Str name)
{
    if (t->column_count == SCHEMA_COLUMNS_MAX) return false;
    struct schema_column *c = &t->columns[t->column_count];
    c->name = str_dup(a, name);
    bool ok = kind_of(col_text(st), &c->kind);
    int64_t key = col_int(st);
    if (key > SCHEMA_KEYS_MAX) return false;
    if (key > 0) {
        t->keys[key - 1] = t->column_count;
        t->key_count++;
    }
    t->has_id |= col_bool(st);
    t->keeps_ids |= col_bool(st);
    t->column_count++;
    return ok;
}

static enum err refuse(Str table)
{
    log_event(LOG_ERROR, "db.schema_unfit", LOGS("table", table));
    return ERR_INTERNAL;
}

static enum err read_columns(struct db *db, struct arena *a, struct schema_table *tables, size_t *ret_count)
{
    size_t count = 0;
    struct stmt *st = db_prepare(db, db_sql(db, columns_sqlite, columns_postgres));
    Str unfit = {0};
    while (db_step(st)) {
        Str table = col_text(st), column = col_text(st);
        struct schema_table *t = count ? &tables[count - 1] : NULL;
        if (!t || !str_eq(t->name, table)) {
            if (count == TABLES_MAX) unfit = table;
            if (unfit.len) break;
            t = &tables[count++];
            t->name = str_dup(a, table);
        }
        if (!add_column(a, t, st, column)) unfit = t->name;
    }
    enum err e = db_done(st);
    for (size_t i = 0; i < count; i++) {
        if (!tables[i].key_count) unfit = tables[i].name;
        tables[i].keeps_ids &= tables[i].has_id;
    }
    if (!e && unfit.len) e = refuse(unfit);
    *ret_count = count;
    return e;
}

const struct schema_table *schema_find(const struct schema_table *tables, size_t count, Str name)
{
    for (size_t i = 0; i < count; i++)
        if (str_eq(tables[i].name, name)) return &tables[i];
    return NULL;
}

/* needs[i * TABLES_MAX + j]: table i references table j, and j is not i. */
static enum err read_references(struct db *db, const struct schema_table *tables, size_t count, bool *needs)
{
    struct stmt *st = db_prepare(db, db_sql(db, references_sqlite, references_postgres));
    while (db_step(st)) {
        const struct schema_table *from = schema_find(tables, count, col_text(st));
        const struct schema_table *to = schema_find(tables, count, col_text(st));
        if (from && to && from != to) needs[(from - tables) * TABLES_MAX + (to - tables)] = true;
    }
    return db_done(st);
}

static bool is_ready(const bool *needs, const bool *placed, size_t i, size_t count)
{
    for (size_t j = 0; j < count; j++)
        if (needs[i * TABLES_MAX + j] && !placed[j]) return false;
    return true;
}

/* A circle of references has no order; its tables then come by name. */
static void sort(const struct schema_table *tables, size_t count, const bool *needs, struct schema_table *ret)
{
    bool placed[TABLES_MAX] = {0};
    for (size_t n = 0; n < count; n++) {
        size_t pick = 0;
        while (pick < count && (placed[pick] || !is_ready(needs, placed, pick, count))) pick++;
        for (size_t i = 0; pick == count; i++)
            if (!placed[i]) pick = i;
        placed[pick] = true;
        ret[n] = tables[pick];
    }
}

enum err schema_read(struct db *db, struct arena *a, struct schema_table **ret, size_t *ret_count)
{
    struct arena scratch = {0};
    struct schema_table *tables = arena_array(&scratch, struct schema_table, TABLES_MAX);
    bool *needs = arena_array(&scratch, bool, TABLES_MAX *TABLES_MAX);
    size_t count = 0;
    enum err e = read_columns(db, a, tables, &count);
    if (!e) e = read_references(db, tables, count, needs);
    if (!e) {
        *ret = arena_array(a, struct schema_table, count + 1);
        *ret_count = count;
        sort(tables, count, needs, *ret);
    }
    arena_done(&scratch);
    return e;
}

struct kept_text {
    struct kept_text *next;
    Str text;
};

const char *schema_text(Str text)
{
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    static struct arena kept;
    static struct kept_text *texts;
    pthread_mutex_lock(&lock);
    struct kept_text *t = texts;
    while (t && !str_eq(t->text, text)) t = t->next;
    if (!t) {
        t = arena_new(&kept, struct kept_text);
        *t = (struct kept_text){texts, {str_cstr(&kept, text), text.len}};
        texts = t;
    }
    pthread_mutex_unlock(&lock);
    return t->text.ptr;
}
