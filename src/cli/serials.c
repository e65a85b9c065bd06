/* cli/serials.c - `souk serials import`: a file of codes, one per line, into a product's pool. Importing the same file
 * twice adds nothing. A line that cannot be a code stops the import before the first code is added. */
#include "cli/serials.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/text.h"
#include "domain/product.h"
#include "domain/serial.h"

#define FILE_BYTES_MAX ((size_t)512 * 1024 * 1024)

struct import_job {
    Str slug;
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
    return OK;
}

/* The whole file, or stdin for "-". False after saying why. */
static bool read_all(const char *path, struct arena *a, Str *ret)
{
    bool is_stdin = strcmp(path, "-") == 0;
    FILE *f = is_stdin ? stdin : fopen(path, "rb");
    if (!f) {
        cli_fail("cannot read %s: %s", path, strerror(errno));
        return false;
    }
    struct buf b;
    buf_init(&b, a, FILE_BYTES_MAX);
    for (size_t n = 1; n && !b.full;) {
        const size_t room = 65536;
        char *to = buf_reserve(&b, room);
        if (!to) break;
        n = fread(to, 1, room, f);
        b.len += n;
    }
    bool failed = ferror(f);
    if (!is_stdin) fclose(f);
    if (failed) cli_fail("cannot read %s to its end", path);
    if (b.full) cli_fail("%s is too large: import it in parts", path);
    *ret = buf_str(&b);
    return !failed && !b.full;
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
    struct import_job job = {.slug = str_from(config->product)};
    if (!job.slug.len) return cli_usage("--product wants a product's slug");
    if (*config->variant && (!str_to_int64(str_from(config->variant), &job.variant.v) || job.variant.v < 1))
        return cli_usage("--variant wants the id of a variant");
    if (config->operand_count != 1) return cli_usage("name one file of codes, one per line, or - for stdin");

    Str text;
    if (!read_all(config->operands[0], a, &text)) return EXIT_FAILED;
    if (!split_codes(text, a, &job.codes, &job.count)) return EXIT_FAILED;
    struct database *d = cli_open(config, OPEN_CHANGE);
    if (!d) return EXIT_FAILED;
    enum err e = tx_call(d, TX_READ, find_product, &job, a);
    if (!e) e = serial_import_slices(d, job.product, job.variant, job.codes, job.count, &job.added, &job.duplicates);
    database_close(d);
    if (e) return said_why(config, e);
    printf("added %lld\nduplicates %lld\n", (long long)job.added, (long long)job.duplicates);
    return EXIT_OK;
}
