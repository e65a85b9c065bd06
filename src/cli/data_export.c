/* cli/data_export.c - see data_export.h. CSV cells are exactly what is stored (RFC 4180), so that an import gives the
 * same again: text that a spreadsheet would take for a formula is left as it is. */
#include "cli/data_export.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <sys/stat.h>

#include "base/pack.h"
#include "db/table.h"
#include "domain/export_row.h"
#include "domain/settings.h"
#include "json/writer.h"

#define PAGE 500
#define ROW_BYTES_MAX ((size_t)64 * 1024 * 1024)

struct export
{
    enum import_kind kind;
    bool is_json;
    int exponent;
    Id after;
    size_t count;
    struct arena *arena; /* of one page */
};

static enum err read_settings(void *arg, struct db *db)
{
    struct settings s;
    enum err e = settings_load(db, &s);
    if (!e) *(int *)arg = s.exponent;
    return e;
}

static void write_cell(Str s)
{
    bool is_plain = true;
    for (size_t i = 0; i < s.len; i++)
        if (s.ptr[i] == '"' || s.ptr[i] == ',' || s.ptr[i] == '\r' || s.ptr[i] == '\n') is_plain = false;
    if (is_plain) {
        if (s.len) fwrite(s.ptr, 1, s.len, stdout); /* an empty text may have no bytes at all */
        return;
    }
    putchar('"');
    for (size_t i = 0; i < s.len; i++) {
        if (s.ptr[i] == '"') putchar('"');
        putchar(s.ptr[i]);
    }
    putchar('"');
}

static void write_head(enum import_kind kind)
{
    size_t count;
    const enum import_column *columns = import_columns(kind, &count);
    for (size_t i = 0; i < count; i++) printf("%s%s", i ? "," : "", import_column_names[columns[i]]);
    printf("\r\n");
}

static void write_row(const struct export *x, const struct import_row *row)
{
    size_t count;
    const enum import_column *columns = import_columns(x->kind, &count);
    if (!x->is_json) {
        for (size_t i = 0; i < count; i++) {
            if (i) putchar(',');
            write_cell(row->of[columns[i]]);
        }
        printf("\r\n");
        return;
    }
    struct buf out;
    struct json_writer w;
    buf_init(&out, x->arena, ROW_BYTES_MAX);
    json_writer_init(&w, &out, x->exponent);
    json_begin_object(&w);
    for (size_t i = 0; i < count; i++)
        if (row->of[columns[i]].len) json_kv_str(&w, import_column_names[columns[i]], row->of[columns[i]]);
    json_end_object(&w);
    printf("%.*s\n", STR_FMT(buf_str(&out)));
}

static enum err read_page(void *arg, struct db *db)
{
    struct export *x = arg;
    struct import_row *rows = arena_array(db_arena(db), struct import_row, PAGE);
    Id last;
    enum err e = export_page(db, x->kind, x->after, PAGE, x->exponent, rows, &x->count, &last);
    if (e) return e;
    for (size_t i = 0; i < x->count; i++) write_row(x, &rows[i]);
    x->after = last;
    return OK;
}

static int export_kind(struct database *d, struct export *x)
{
    if (!x->is_json) write_head(x->kind);
    do {
        struct arena page = {0};
        x->arena = &page;
        bool ok = cli_tx(d, TX_READ, read_page, x, &page);
        arena_done(&page);
        if (!ok) return EXIT_FAILED;
    } while (x->count == PAGE);
    bool is_written = fflush(stdout) == 0 && !ferror(stdout); /* also what went before the last of it */
    return is_written ? EXIT_OK : cli_fail("the export could not be written: %s", strerror(errno));
}

/* ---- everything ---- */

struct dump {
    const char *folder;
    const struct schema_table *table;
    FILE *file;
    struct arena arena; /* of one row */
};

/* A row of db/table.h as one line; bytes as hex digits. */
static enum err dump_row(void *ctx, Str row)
{
    struct dump *x = ctx;
    struct unpack u = {.rest = row};
    struct buf out;
    struct json_writer w;
    buf_init(&out, &x->arena, ROW_BYTES_MAX);
    json_writer_init(&w, &out, 2);
    json_begin_object(&w);
    for (size_t i = 0; i < x->table->column_count; i++) {
        const struct schema_column *c = &x->table->columns[i];
        Str kind = unpack_raw(&u, 1);
        json_key(&w, str_cstr(&x->arena, c->name));
        if (!kind.len || kind.ptr[0] == BIND_UNKNOWN) {
            json_null(&w);
        } else if (c->kind == BIND_INT) {
            json_int(&w, unpack_int(&u));
        } else {
            Str bytes = unpack_bytes(&u);
            json_str(&w, c->kind == BIND_TEXT ? bytes : hex_encode(&x->arena, bytes.ptr, bytes.len));
        }
    }
    json_end_object(&w);
    assert(unpack_is_done(&u) && !out.full);
    fprintf(x->file, "%.*s\n", STR_FMT(buf_str(&out))); /* whether it was written, the end tells */
    arena_done(&x->arena);
    x->arena = (struct arena){0};
    return OK;
}

static enum err dump_table(struct dump *x, struct db *db)
{
    char path[4096];
    struct table_sum sum;
    if (snprintf(path, sizeof path, "%s/%.*s.jsonl", x->folder, STR_FMT(x->table->name)) >= (int)sizeof path) {
        cli_fail("the path of a file in %s is too long", x->folder);
        return ERR_INTERNAL;
    }
    x->file = fopen(path, "wxe");
    if (!x->file) {
        cli_fail("cannot make %s: %s", path, strerror(errno));
        return ERR_INTERNAL;
    }
    enum err e = table_read(db, x->table, dump_row, x, &sum);
    bool is_lost = ferror(x->file); /* of what went before the last of it */
    if ((fclose(x->file) != 0 || is_lost) && !e) {
        cli_fail("cannot write %s: %s", path, strerror(errno));
        return ERR_INTERNAL;
    }
    if (!e) fprintf(stderr, "souk: %.*s: %lld rows\n", STR_FMT(x->table->name), (long long)sum.rows);
    return e;
}

/* All tables of one snapshot. */
static enum err dump_all(void *arg, struct db *db)
{
    struct dump *x = arg;
    struct arena schema = {0};
    struct schema_table *tables;
    size_t count;
    enum err e = table_read_long(db);
    if (!e) e = schema_read(db, &schema, &tables, &count);
    for (size_t i = 0; !e && i < count; i++) {
        x->table = &tables[i];
        e = dump_table(x, db);
    }
    arena_done(&schema);
    return e;
}

static int export_all(const struct config *config, struct database *d, struct arena *a)
{
    struct dump x = {.folder = config->to};
    if (mkdir(config->to, 0700) != 0 && errno != EEXIST)
        return cli_fail("cannot make the folder %s: %s", config->to, strerror(errno));
    return cli_tx(d, TX_READ, dump_all, &x, a) ? EXIT_OK : EXIT_FAILED;
}

int export_command(const struct config *config, struct arena *a)
{
    struct export x = {.is_json = strcmp(config->format, "jsonl") == 0};
    Str kind = str_from(config->operand_count == 1 ? config->operands[0] : "");
    bool is_all = str_eq(kind, STR("all"));
    int i = 0;
    while (import_kind_names[i] && !str_eq(kind, str_from(import_kind_names[i]))) i++;
    if (!is_all && !import_kind_names[i])
        return cli_usage("name what to export: products, variants, customers, licenses, serials, wallets or all");
    if (!x.is_json && strcmp(config->format, "csv") != 0) return cli_usage("--format is csv or jsonl");
    if (is_all && !*config->to) return cli_usage("export all wants --to with a folder");
    struct database *d = cli_open(config, OPEN_LOOK);
    if (!d) return EXIT_FAILED;
    x.kind = (enum import_kind)i;
    int result = EXIT_FAILED;
    if (is_all)
        result = export_all(config, d, a);
    else if (cli_tx(d, TX_READ, read_settings, &x.exponent, a))
        result = export_kind(d, &x);
    cli_close(d);
    return result;
}
