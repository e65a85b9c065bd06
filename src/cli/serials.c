/* cli/serials.c - `souk serials import`: a file of codes, one per line, into a product's pool. Importing the same file
 * twice adds nothing. A line that cannot be a code stops the import before the first code is added. */
#include "cli/serials.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/text.h"
#include "cli/caller.h"
#include "domain/audit.h"
#include "domain/product.h"
#include "domain/serial.h"

struct import_job {
    Str slug, name, address;
    Id product, variant;
    const Str *codes;
    size_t count;
    int64_t added, duplicates;
};

static enum err find_product(void *arg, struct db *db)
{
    struct import_job *job = arg;
    struct product product;
    enum err e = product_find_slug(db, job->slug, &product);
    if (e) return e == ERR_NOT_FOUND ? ERR_PRODUCT_NOT_FOUND : e;
    job->product = product.id;
    job->name = product.name;
    return OK;
}

static enum err note(struct db *db, const struct import_job *job, Str action, Str what)
{
    const struct audit_entry entry = {.action = action,
                                      .resource = job->product,
                                      .label = job->name,
                                      .after = what,
                                      .address = job->address,
                                      .created_at = time_now()};
    return audit_add(db, &entry);
}

static enum err note_begin(void *arg, struct db *db)
{
    const struct import_job *job = arg;
    return note(db, job, STR("serial.import_begun"), str_printf(db_arena(db), "{\"codes\":%zu}", job->count));
}

static enum err note_end(void *arg, struct db *db)
{
    const struct import_job *job = arg;
    Str what = str_printf(db_arena(db), "{\"added\":%lld,\"duplicates\":%lld}", (long long)job->added,
                          (long long)job->duplicates);
    return note(db, job, STR("serial.import"), what);
}

/* Slice by slice: what is in is in, and a second try skips it. The audit has a line before the first of several. */
static enum err import(struct database *d, struct import_job *job, struct arena *a)
{
    enum err e = tx_call(d, TX_READ, find_product, job, a);
    if (!e && job->count > SERIAL_SLICE) e = tx_call(d, TX_WRITE, note_begin, job, a);
    if (e) return e;
    e = serial_import_slices(d, job->product, job->variant, job->codes, job->count, &job->added, &job->duplicates);
    if (e && !job->added) return e;
    enum err noted = tx_call(d, TX_WRITE, note_end, job, a);
    return e ? e : noted;
}

/* Trimmed lines; empty ones are skipped. False after saying which line is not a code. */
static bool split_codes(Str text, struct arena *a, const Str **ret, size_t *ret_count)
{
    assert(text.ptr || !text.len);
    size_t lines = 1;
    for (size_t i = 0; i < text.len; i++) lines += text.ptr[i] == '\n';
    Str *codes = arena_array(a, Str, lines);
    size_t n = 0;
    for (size_t line = 1; text.len; line++) {
        Str code = text, rest = {0};
        str_cut(text, '\n', &code, &rest);
        text = rest;
        code = str_trim(code);
        if (utf8_valid(code)) code = text_trim(code);
        if (!code.len) continue;
        if (!serial_code_is_valid(code)) {
            cli_fail("line %zu is not a code: at most %d characters, UTF-8, no control characters", line,
                     SERIAL_CODE_MAX);
            return false;
        }
        codes[n++] = code;
    }
    *ret = codes;
    *ret_count = n;
    return true;
}

static int said_why(const struct config *config, enum err e)
{
    switch (e) {
    case ERR_PRODUCT_NOT_FOUND: return cli_fail("no product has the slug %s", config->product);
    case ERR_NOT_FOUND: return cli_fail("%s has no variant %s", config->product, config->variant);
    case ERR_INVALID_STATE: return cli_fail("%s does not deliver serial codes", config->product);
    default: return cli_fail("%s", err_info(e)->message);
    }
}

int serials_import_command(const struct config *config, struct arena *a)
{
    struct import_job job = {.slug = str_from(config->product), .address = caller_address(a)};
    if (!job.slug.len) return cli_usage("--product wants a product's slug");
    if (*config->variant && (!str_to_int64(str_from(config->variant), &job.variant.v) || job.variant.v < 1))
        return cli_usage("--variant wants the id of a variant");
    if (config->operand_count != 1) return cli_usage("name one file of codes, one per line, or - for stdin");

    Str text;
    if (!cli_read_all(config->operands[0], a, &text)) return EXIT_FAILED;
    if (!split_codes(text, a, &job.codes, &job.count)) return EXIT_FAILED;
    struct database *d = cli_open(config, OPEN_CHANGE);
    if (!d) return EXIT_FAILED;
    enum err e = import(d, &job, a);
    cli_close(d);
    if (e && job.added) cli_fail("%lld codes were added before it failed", (long long)job.added);
    if (e) return said_why(config, e);
    fprintf(cli_out(), "added %lld\nduplicates %lld\n", (long long)job.added, (long long)job.duplicates);
    return EXIT_OK;
}
