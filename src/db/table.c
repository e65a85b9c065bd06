/* db/table.c - see table.h. The texts are made from the schema, which is our own: names are quoted, values are bound.
 */
#include "db/table.h"

#include <endian.h>
#include <sodium.h>

#include "base/pack.h"

#define TEXT_BYTES_MAX (64 * 1024)
#define ROW_BYTES_MAX (INT64_C(256) * 1024 * 1024)
#define PAGE_BYTES (2 * 1024 * 1024) /* aimed at */

/* PostgreSQL plans well only for limits that it knows, see DB_FIRST. */
static const int page_rows[] = {8, 64, 512, 4096};
#define PAGE_SIZES ((int)(sizeof page_rows / sizeof *page_rows))

void table_sum_add(struct table_sum *s, Str row)
{
    uint64_t hash[TABLE_DIGEST_BYTES / 8];
    crypto_generichash((unsigned char *)hash, sizeof hash, (const unsigned char *)row.ptr, row.len, NULL, 0);
    for (size_t i = 0; i < TABLE_DIGEST_BYTES / 8; i++) s->lanes[i] += le64toh(hash[i]);
    s->rows++;
}

bool table_sum_equal(const struct table_sum *a, const struct table_sum *b)
{
    return a->rows == b->rows && memcmp(a->lanes, b->lanes, sizeof a->lanes) == 0;
}

enum err table_read_long(struct db *db)
{
    static const char wait[] = "SELECT set_config('idle_in_transaction_session_timeout', '0', true)";
    if (!db_is_postgres(db)) return OK;
    struct stmt *st = db_prepare(db, wait);
    db_step(st);
    return db_done(st);
}

/* "a", "b", … of all columns, or of the key's. */
static void names(struct buf *b, const struct schema_table *t, bool keys)
{
    size_t count = keys ? t->key_count : t->column_count;
    for (size_t i = 0; i < count; i++)
        buf_printf(b, "%s\"%.*s\"", i ? ", " : "", STR_FMT(t->columns[keys ? t->keys[i] : i].name));
}

static const char *keep(struct arena *scratch, struct buf *b)
{
    const char *text = b->full ? "" : schema_text(buf_str(b));
    arena_done(scratch);
    return text;
}

static const char *page_text(const struct schema_table *t, bool is_first, int size)
{
    struct arena scratch = {0};
    struct buf b;
    buf_init(&b, &scratch, TEXT_BYTES_MAX);
    buf_lit(&b, "SELECT ");
    names(&b, t, false);
    buf_printf(&b, " FROM \"%.*s\"", STR_FMT(t->name));
    if (!is_first) {
        buf_lit(&b, " WHERE (");
        names(&b, t, true);
        buf_lit(&b, ") > (");
        for (size_t i = 1; i <= t->key_count; i++) buf_printf(&b, "%s$%zu", i > 1 ? ", " : "", i);
        buf_lit(&b, ")");
    }
    buf_lit(&b, " ORDER BY ");
    names(&b, t, true);
    buf_printf(&b, " LIMIT %d", page_rows[size]);
    return keep(&scratch, &b);
}

static const char *insert_text(const struct schema_table *t, size_t rows)
{
    struct arena scratch = {0};
    struct buf b;
    buf_init(&b, &scratch, TEXT_BYTES_MAX);
    buf_printf(&b, "INSERT INTO \"%.*s\" (", STR_FMT(t->name));
    names(&b, t, false);
    buf_lit(&b, ") VALUES ");
    for (size_t r = 0, n = 1; r < rows; r++) {
        buf_append(&b, r ? STR(", (") : STR("("));
        for (size_t i = 0; i < t->column_count; i++, n++) buf_printf(&b, "%s$%zu", i ? ", " : "", n);
        buf_lit(&b, ")");
    }
    return keep(&scratch, &b);
}

static const char *text_of(const char *before, Str table, const char *after)
{
    struct arena scratch = {0};
    struct buf b;
    buf_init(&b, &scratch, TEXT_BYTES_MAX);
    buf_printf(&b, "%s\"%.*s\"%s", before, STR_FMT(table), after);
    return keep(&scratch, &b);
}

/* The value of a row's column: where the key of a page's last row is kept. */
struct value {
    int64_t number;
    Str bytes;
};

static void encode(struct buf *b, const struct schema_table *t, struct stmt *st, struct value *ret_values)
{
    for (size_t i = 0; i < t->column_count; i++) {
        enum bind_kind kind = t->columns[i].kind;
        struct value *v = &ret_values[i];
        *v = (struct value){0};
        if (col_is_null(st)) {
            st->column++;
            buf_char(b, BIND_UNKNOWN);
            continue;
        }
        buf_char(b, (char)kind);
        if (kind == BIND_INT) {
            v->number = col_int(st);
            pack_int(b, v->number);
        } else {
            v->bytes = kind == BIND_TEXT ? col_text(st) : col_blob(st);
            pack_bytes(b, v->bytes);
        }
    }
}

static void bind_value(struct stmt *st, enum bind_kind kind, const struct value *v)
{
    if (kind == BIND_INT)
        bind_int(st, v->number);
    else if (kind == BIND_TEXT)
        bind_text(st, v->bytes);
    else
        bind_blob(st, v->bytes);
}

/* As large as fits, and not much larger than the last one: rows may get longer from one page to the next. */
static int next_size(int size, int64_t rows, size_t bytes)
{
    int next = 0;
    while (next + 1 < PAGE_SIZES && next <= size &&
           (size_t)page_rows[next + 1] * (bytes / (size_t)rows + 1) <= PAGE_BYTES)
        next++;
    return next;
}

struct page_end {
    struct value key[SCHEMA_KEYS_MAX]; /* of the last row */
    struct arena key_memory;
    int64_t rows;
    size_t bytes;
};

static void keep_key(struct page_end *p, const struct schema_table *t, const struct value *values)
{
    arena_reset(&p->key_memory);
    for (size_t i = 0; i < t->key_count; i++) {
        p->key[i] = values[t->keys[i]];
        p->key[i].bytes = str_dup(&p->key_memory, p->key[i].bytes);
    }
}

static enum err read_page(struct db *db, const struct schema_table *t, struct stmt *st, struct buf *b, table_row *row,
                          void *ctx, struct table_sum *sum, struct page_end *p)
{
    struct value values[SCHEMA_COLUMNS_MAX] = {0};
    enum err e = OK;
    p->rows = 0;
    p->bytes = 0;
    while (!e && db_step(st)) {
        buf_reset(b);
        encode(b, t, st, values);
        if (db_err(db)) break;
        table_sum_add(sum, buf_str(b));
        p->rows++;
        p->bytes += b->len;
        if (row) e = row(ctx, buf_str(b));
    }
    enum err done = db_done(st);
    if (!e) e = done;
    if (!e && b->full) e = ERR_INTERNAL;
    if (!e && p->rows) keep_key(p, t, values);
    return e;
}

enum err table_read(struct db *db, const struct schema_table *t, table_row *row, void *ctx, struct table_sum *ret)
{
    struct table_sum sum = {0};
    struct page_end p = {0};
    struct arena scratch = {0};
    struct buf b;
    buf_init(&b, &scratch, ROW_BYTES_MAX);
    enum err e = OK;
    int size = 0;
    for (bool is_first = true;; is_first = false) {
        struct stmt *st = db_prepare(db, page_text(t, is_first, size));
        for (size_t i = 0; !is_first && i < t->key_count; i++) bind_value(st, t->columns[t->keys[i]].kind, &p.key[i]);
        e = read_page(db, t, st, &b, row, ctx, &sum, &p);
        arena_reset(db_arena(db));
        if (e || p.rows < page_rows[size]) break;
        size = next_size(size, p.rows, p.bytes);
    }
    arena_done(&p.key_memory);
    arena_done(&scratch);
    if (!e) *ret = sum;
    return e;
}

/* False: the bytes are no row of this table. */
static bool bind_row(struct stmt *st, const struct schema_table *t, Str row)
{
    struct unpack u = {row, false};
    for (size_t i = 0; i < t->column_count; i++) {
        Str kind = unpack_raw(&u, 1);
        if (u.bad) return false;
        if (kind.ptr[0] == BIND_UNKNOWN) {
            bind_none(st, t->columns[i].kind);
            continue;
        }
        if (kind.ptr[0] != (char)t->columns[i].kind) return false;
        struct value v = {0};
        if (t->columns[i].kind == BIND_INT)
            v.number = unpack_int(&u);
        else
            v.bytes = unpack_bytes(&u);
        if (u.bad) return false;
        bind_value(st, t->columns[i].kind, &v);
    }
    return unpack_is_done(&u);
}

enum err table_insert(struct db *db, const struct schema_table *t, Str rows)
{
    size_t many = SCHEMA_COLUMNS_MAX / t->column_count, count = 0, cap = 64;
    struct arena scratch = {0};
    Str *list = arena_array(&scratch, Str, cap);
    struct unpack u = {rows, false};
    while (!u.bad && u.rest.len) {
        if (count == cap) {
            list = arena_grow(&scratch, list, cap * sizeof *list, 2 * cap * sizeof *list);
            cap *= 2;
        }
        list[count++] = unpack_bytes(&u);
    }
    enum err e = u.bad ? ERR_INVALID_STATE : OK;
    for (size_t at = 0; !e && at < count;) {
        size_t n = count - at >= many ? many : 1;
        struct stmt *st = db_prepare(db, insert_text(t, n));
        bool ok = true;
        for (size_t i = 0; ok && i < n; i++) ok = bind_row(st, t, list[at + i]);
        at += n;
        if (ok)
            e = db_run(st);
        else
            e = db_err(db) ? db_err(db) : ERR_INVALID_STATE;
    }
    arena_done(&scratch);
    return e;
}

enum err table_empty(struct db *db, const struct schema_table *t)
{
    return db_run(db_prepare(db, text_of("DELETE FROM ", t->name, "")));
}

enum err table_analyze(struct db *db, const struct schema_table *t)
{
    return db_is_postgres(db) ? db_script(db, text_of("SET LOCAL statement_timeout = 0; ANALYZE ", t->name, "")) : OK;
}

/* As pg_get_serial_sequence wants it. */
static Str quoted(struct db *db, Str name)
{
    return str_printf(db_arena(db), "\"%.*s\"", STR_FMT(name));
}

static int64_t ask(struct db *db, const char *text, Str name)
{
    struct stmt *st = db_prepare(db, text);
    if (name.len) bind_text(st, name);
    int64_t v = db_step(st) ? col_int(st) : 0;
    db_done(st);
    return v;
}

enum err table_last_id(struct db *db, const struct schema_table *t, int64_t *ret)
{
    static const char kept_sqlite[] = "SELECT seq FROM sqlite_sequence WHERE name = $1";
    static const char kept_postgres[] =
        "SELECT coalesce(pg_sequence_last_value(pg_get_serial_sequence($1, 'id')::regclass), 0)";
    *ret = 0;
    if (!t->has_id) return OK;
    int64_t highest = ask(db, text_of("SELECT coalesce(max(id), 0) FROM ", t->name, ""), (Str){0}), given = 0;
    if (db_is_postgres(db))
        given = ask(db, kept_postgres, quoted(db, t->name));
    else if (t->keeps_ids)
        given = ask(db, kept_sqlite, t->name);
    *ret = given > highest ? given : highest;
    return db_err(db);
}

enum err table_set_last_id(struct db *db, const struct schema_table *t, int64_t last)
{
    static const char set_postgres[] = "SELECT setval(pg_get_serial_sequence($1, 'id')::regclass, $2)";
    static const char forget_sqlite[] = "DELETE FROM sqlite_sequence WHERE name = $1";
    static const char set_sqlite[] = "INSERT INTO sqlite_sequence (name, seq) VALUES ($1, $2)";
    if (!t->has_id || last < 1 || (!db_is_postgres(db) && !t->keeps_ids)) return OK;
    struct stmt *st;
    if (!db_is_postgres(db)) {
        st = db_prepare(db, forget_sqlite);
        bind_text(st, t->name);
        enum err e = db_run(st);
        if (e) return e;
    }
    st = db_prepare(db, db_is_postgres(db) ? set_postgres : set_sqlite);
    bind_text(st, db_is_postgres(db) ? quoted(db, t->name) : t->name);
    bind_int(st, last);
    return db_run(st);
}
