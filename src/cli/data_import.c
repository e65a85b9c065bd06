/* cli/data_import.c - see data_import.h. Every line is checked before the first is put in: a file with a bad line
 * changes nothing. Then slices of lines go in, each in a transaction; after a crash the same command does the rest. */
#include "cli/data_import.h"

#include "base/csv_reader.h"
#include "base/text.h"
#include "cli/caller.h"
#include "cli/import_source.h"
#include "domain/audit.h"
#include "domain/settings.h"

#define ROWS_MAX 1000000
#define SLICE 500
#define REPORTED_MAX 1000 /* bad lines; the others are counted */
#define TOLD_EVERY 10000

/* A line keeps what it says alone: a row has many columns, and a file many lines. */
struct import_value {
    enum import_column column;
    Str text;
};
struct import_line {
    size_t number, count;
    struct import_value *values;
};

struct csv_import {
    enum import_kind kind;
    const struct import_source *source;
    int columns[CSV_FIELDS_MAX]; /* of ours; -1: passed over */
    size_t column_count;
    struct import_line *lines;
    size_t count, skipped, bad;
    int exponent;
    Str address;
    /* The slice at work. */
    size_t from, to;
    bool is_real;
    size_t added, present;
    Str *reasons;        /* why a line is wrong; empty: it is not */
    struct arena *arena; /* of the command */
};

static void bad_line(struct csv_import *m, size_t number, Str why)
{
    if (m->bad++ < REPORTED_MAX) fprintf(cli_out(), "line %zu: %.*s\n", number, STR_FMT(why));
}

static bool read_head(struct csv_import *m, const struct csv_reader *r)
{
    bool has_any = false;
    for (size_t i = 0; i < r->count; i++) {
        enum import_column column;
        Str name = text_trim(r->fields[i]);
        bool is_known = utf8_valid(name) && import_source_column(m->source, m->kind, name, &column);
        if (!is_known && import_source_is_ours(m->source)) {
            bad_line(m, r->line, str_from("there is a column that this kind of import does not have"));
            return false;
        }
        m->columns[i] = is_known ? (int)column : -1;
        has_any = has_any || is_known;
    }
    m->column_count = r->count;
    if (!has_any) bad_line(m, r->line, STR("the first line names none of the columns"));
    return has_any;
}

static void keep(struct csv_import *m, size_t number, const struct import_row *row, struct arena *a)
{
    struct import_line *l = &m->lines[m->count++];
    *l = (struct import_line){.number = number};
    for (int i = 0; i < IMPORT_COLUMN_COUNT; i++) l->count += row->of[i].len > 0;
    l->values = arena_array(a, struct import_value, l->count + 1);
    for (int i = 0, n = 0; i < IMPORT_COLUMN_COUNT; i++)
        if (row->of[i].len) l->values[n++] = (struct import_value){(enum import_column)i, row->of[i]};
}

static struct import_row row_of(const struct import_line *l)
{
    struct import_row row = {0};
    for (size_t i = 0; i < l->count; i++) row.of[l->values[i].column] = l->values[i].text;
    return row;
}

static void read_line(struct csv_import *m, const struct csv_reader *r, struct arena *a)
{
    struct import_row row = {0};
    if (r->count != m->column_count) {
        bad_line(m, r->line, str_printf(a, "has %zu fields, the first line has %zu", r->count, m->column_count));
        return;
    }
    for (size_t i = 0; i < r->count; i++) {
        Str value = r->fields[i];
        if (m->columns[i] >= 0) row.of[m->columns[i]] = utf8_valid(value) ? text_trim(value) : value;
    }
    if (import_source_convert(m->source, a, &row))
        keep(m, r->line, &row, a);
    else
        m->skipped++;
}

/* False after saying why. */
static bool read_lines(struct csv_import *m, Str text, struct arena *a)
{
    struct csv_reader r;
    const char *why = "";
    enum csv_result result;
    size_t most = 2;
    for (size_t i = 0; i < text.len; i++) most += text.ptr[i] == '\n';
    if (most > ROWS_MAX) {
        cli_fail("the file has more than %d lines: import it in parts", ROWS_MAX);
        return false;
    }
    m->lines = arena_array(a, struct import_line, most);
    csv_reader_init(&r, text);
    result = csv_next(&r, a, &why);
    if (result == CSV_RECORD && !read_head(m, &r)) return false;
    while (result == CSV_RECORD && (result = csv_next(&r, a, &why)) == CSV_RECORD) read_line(m, &r, a);
    if (result == CSV_BAD) bad_line(m, r.line, str_from(why));
    if (result == CSV_END && !m->column_count) bad_line(m, 1, STR("the file is empty"));
    return true;
}

static enum err run_slice(void *arg, struct db *db)
{
    struct csv_import *m = arg;
    size_t added = 0, present = 0;
    Time now = time_now();
    for (size_t i = m->from; i < m->to; i++) {
        enum import_end end = IMPORT_ADDED;
        Str why;
        struct import_row row = row_of(&m->lines[i]);
        enum err e = import_put(db, m->kind, &row, m->exponent, m->is_real, now, &end, &why);
        if (e == ERR_FIELD_VALUE) {
            m->reasons[i] = str_dup(m->arena, why); /* said later: this is another thread */
            if (m->is_real) return e;
            continue;
        }
        if (e) return e;
        *(end == IMPORT_ADDED ? &added : &present) += 1;
    }
    m->added += added;
    m->present += present;
    return OK;
}

/* Slice by slice. */
static enum err run(struct csv_import *m, struct database *d, bool is_real)
{
    m->is_real = is_real;
    m->added = m->present = 0;
    for (m->from = 0; m->from < m->count; m->from = m->to) {
        struct arena scratch = {0};
        m->to = m->from + SLICE < m->count ? m->from + SLICE : m->count;
        enum err e = tx_call(d, is_real ? TX_WRITE : TX_READ, run_slice, m, &scratch);
        arena_done(&scratch);
        for (size_t i = m->from; i < m->to; i++)
            if (m->reasons[i].len) bad_line(m, m->lines[i].number, m->reasons[i]);
        if (e) return e;
        if (is_real && m->to / TOLD_EVERY != m->from / TOLD_EVERY)
            fprintf(cli_err(), "souk: %zu of %zu lines\n", m->to, m->count);
    }
    return OK;
}

static enum err read_settings(void *arg, struct db *db)
{
    struct csv_import *m = arg;
    struct settings s;
    enum err e = settings_load(db, &s);
    if (!e) m->exponent = s.exponent;
    return e;
}

static enum err note(void *arg, struct db *db)
{
    const struct csv_import *m = arg;
    const struct audit_entry entry = {.action = STR("import"),
                                      .label = str_from(import_kind_names[m->kind]),
                                      .after = str_printf(db_arena(db), "{\"lines\":%zu,\"added\":%zu,\"present\":%zu}",
                                                          m->count, m->added, m->present),
                                      .address = m->address,
                                      .created_at = time_now()};
    return audit_add(db, &entry);
}

static int carry_out(struct csv_import *m, struct database *d, bool is_dry, struct arena *a)
{
    if (!cli_tx(d, TX_READ, read_settings, m, a)) return EXIT_FAILED;
    m->arena = a;
    m->reasons = arena_array(a, Str, m->count + 1);
    for (size_t i = 0; i < m->count; i++) m->reasons[i] = (Str){0};
    enum err e = run(m, d, false);
    if (e) return cli_fail("%s", err_info(e)->message);
    if (m->bad > REPORTED_MAX) fprintf(cli_out(), "and %zu more\n", m->bad - REPORTED_MAX);
    if (m->bad) return cli_fail("%zu lines are wrong; nothing was imported", m->bad);
    if (!is_dry) {
        e = run(m, d, true);
        enum err noted = m->added ? tx_call(d, TX_WRITE, note, m, a) : OK;
        if (e)
            return cli_fail("stopped after %zu lines: %s. The same command does the rest", m->from,
                            err_info(e)->message);
        if (noted) return cli_fail("%s", err_info(noted)->message);
    }
    fprintf(cli_out(), "%s %zu\npresent %zu\nskipped %zu\n", is_dry ? "would add" : "added", m->added, m->present,
            m->skipped);
    return EXIT_OK;
}

static int import(const struct config *config, struct arena *a, enum import_kind kind)
{
    struct csv_import m = {
        .kind = kind, .source = import_source_find(str_from(config->from), kind), .address = caller_address(a)};
    Str text;
    if (!m.source)
        return cli_usage("--from %s has no file of %s that could be imported", config->from, import_kind_names[kind]);
    if (config->operand_count != 1) return cli_usage("name one CSV file, or - for stdin");
    if (!cli_read_all(config->operands[0], a, &text)) return EXIT_FAILED;
    if (!read_lines(&m, text, a)) return m.bad ? cli_fail("nothing was imported") : EXIT_FAILED;
    struct database *d = cli_open(config, OPEN_CHANGE);
    if (!d) return EXIT_FAILED;
    int result = carry_out(&m, d, config->dry_run, a);
    cli_close(d);
    return result;
}

#define COMMAND(name, kind)                                                                                            \
    int name(const struct config *config, struct arena *a)                                                             \
    {                                                                                                                  \
        return import(config, a, kind);                                                                                \
    }
COMMAND(import_products_command, IMPORT_PRODUCTS)
COMMAND(import_variants_command, IMPORT_VARIANTS)
COMMAND(import_customers_command, IMPORT_CUSTOMERS)
COMMAND(import_licenses_command, IMPORT_LICENSES)
COMMAND(import_serials_command, IMPORT_SERIALS)
COMMAND(import_wallets_command, IMPORT_WALLETS)
