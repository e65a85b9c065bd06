/* backup/restore.c - see restore.h. */
#include "backup/restore.h"

#include <limits.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "backup/backup_keys.h"
#include "backup/loader.h"
#include "backup/product_files.h"
#include "domain/download_link.h"
#include "domain/invariant.h"
#include "domain/upload.h"
#include "domain/vault.h"

#define TELL_NS INT64_C(500000000)

struct restoring {
    const struct restore_plan *plan;
    struct arena *arena;
    struct restored found;
    int64_t schema;
    Str schema_hash;
    uint8_t master_key[MASTER_KEY_BYTES];
    bool has_loader;
    struct loader loader;
    struct upload upload;
    Str file_key;
    struct product_file *files; /* in the backup */
    size_t file_count, file_cap;
    const char *doing;
    int64_t told_ns;
    char *why;
};

static enum err refuse(struct restoring *r, enum err e, const char *why)
{
    snprintf(r->why, ARCHIVE_WHY_BYTES, "%s", why);
    return e;
}

static enum err on_head(void *ctx, const struct backup_head *h)
{
    struct restoring *r = ctx;
    r->found.program = str_dup(r->arena, h->program);
    r->found.engine = str_dup(r->arena, h->engine);
    r->found.made_at = h->made_at;
    r->schema = h->schema;
    r->schema_hash = str_dup(r->arena, h->schema_hash);
    return OK;
}

static enum err on_key(void *ctx, Str sealed)
{
    struct restoring *r = ctx;
    r->found.has_key = true;
    if (!r->plan->passphrase.len) return OK;
    enum err e = passphrase_open(sealed, r->plan->passphrase, r->master_key);
    return e ? refuse(r, e, e == ERR_UNAVAILABLE ? "not enough memory for the passphrase" : "the passphrase is wrong")
             : OK;
}

static enum err note_file(void *ctx, Str key, int64_t bytes)
{
    struct restoring *r = ctx;
    if (!download_key_is_plain(key)) return refuse(r, ERR_INVALID_STATE, "a product file has an impossible name");
    if (r->file_count == r->file_cap) {
        size_t cap = r->file_cap ? 2 * r->file_cap : 64;
        r->files = arena_grow(r->arena, r->files, r->file_cap * sizeof *r->files, cap * sizeof *r->files);
        r->file_cap = cap;
    }
    r->files[r->file_count++] = (struct product_file){str_dup(r->arena, key), bytes};
    return OK;
}

static void tell(void *ctx, int64_t bytes)
{
    struct restoring *r = ctx;
    int64_t now = time_monotonic_ns();
    if (!r->plan->tell || now - r->told_ns < TELL_NS) return;
    r->told_ns = now;
    r->plan->tell(r->plan->ctx, r->doing, bytes);
}

/* The first time through: everything is proven, and nothing written. */
static enum err prove(struct restoring *r)
{
    static const struct backup_visitor v = {.head = on_head, .key = on_key, .file = note_file, .tell = tell};
    r->doing = "reading";
    enum err e = backup_walk(r->plan->from, r->plan->key, &v, r, &r->found.totals, r->why);
    if (!e && r->plan->passphrase.len && !r->found.has_key)
        e = refuse(r, ERR_NOT_FOUND, "there is no master key in this backup");
    return e;
}

static enum err begin_file(void *ctx, Str key, int64_t bytes)
{
    struct restoring *r = ctx;
    (void)bytes;
    r->file_key = str_dup(r->arena, key);
    if (!r->plan->data_dir) return OK;
    return upload_begin(r->plan->data_dir, &r->upload) ? refuse(r, ERR_UNAVAILABLE, "a product file cannot be made")
                                                       : OK;
}

static enum err write_file(void *ctx, Str bytes)
{
    struct restoring *r = ctx;
    if (!r->plan->data_dir || upload_write(&r->upload, bytes)) return OK;
    return refuse(r, ERR_UNAVAILABLE, "a product file cannot be written");
}

static enum err end_file(void *ctx)
{
    struct restoring *r = ctx;
    if (!r->plan->data_dir || upload_keep_as(&r->upload, r->plan->data_dir, r->file_key) == OK) return OK;
    return refuse(r, ERR_UNAVAILABLE, "a product file cannot be kept");
}

static enum err begin_table(void *ctx, Str name, Str packed)
{
    (void)name;
    return loader_table(&((struct restoring *)ctx)->loader, packed);
}

static enum err on_row(void *ctx, Str row)
{
    struct restoring *r = ctx;
    if (r->plan->stop && atomic_load(r->plan->stop)) return refuse(r, ERR_UNAVAILABLE, "it was given up");
    return loader_row(&r->loader, row);
}

static enum err end_table(void *ctx, const struct table_sum *sum, int64_t last_id)
{
    return loader_table_end(&((struct restoring *)ctx)->loader, sum, last_id);
}

static enum err load(struct restoring *r)
{
    static const struct backup_visitor v = {.file = begin_file,
                                            .bytes = write_file,
                                            .file_end = end_file,
                                            .table = begin_table,
                                            .row = on_row,
                                            .table_end = end_table,
                                            .tell = tell};
    struct loader_options o = {.url = r->plan->url, .schema = r->schema, .schema_hash = r->schema_hash};
    enum err e = loader_open(&o, &r->loader, r->why);
    if (e) return e;
    r->has_loader = true;
    r->upload.fd = -1;
    r->doing = "restoring";
    struct backup_totals totals;
    e = backup_walk(r->plan->from, r->plan->key, &v, r, &totals, r->why);
    upload_drop(&r->upload);
    if (!e && totals.tables != (int64_t)r->loader.table_count)
        e = refuse(r, ERR_INVALID_STATE, "the backup has not all tables of its schema");
    return e ? e : loader_finish(&r->loader);
}

static bool has_file(const struct restoring *r, const struct product_file *f)
{
    for (size_t i = 0; i < r->file_count; i++)
        if (str_eq(r->files[i].key, f->key)) return r->files[i].bytes == f->bytes;
    return false;
}

/* Each product's file is in the backup, with the length that the product says, or was missing before. */
static enum err compare_files(void *arg, struct db *db)
{
    struct restoring *r = arg;
    struct product_file *files;
    size_t count;
    int64_t lacking = 0;
    enum err e = product_files_list(db, &files, &count);
    if (e) return e;
    for (size_t i = 0; i < count; i++) lacking += !has_file(r, &files[i]);
    if (lacking == r->found.totals.missing) return OK;
    snprintf(r->why, ARCHIVE_WHY_BYTES, "%lld product files are not in the backup, or have another length",
             (long long)(lacking - r->found.totals.missing));
    return ERR_INVALID_STATE;
}

static bool is_postgres(const char *url)
{
    return str_starts(str_from(url), STR("postgres://")) || str_starts(str_from(url), STR("postgresql://"));
}

static void remove_database(const char *path)
{
    static const char *const suffixes[] = {"", "-wal", "-shm", ".lock"};
    char name[PATH_MAX];
    for (size_t i = 0; i < sizeof suffixes / sizeof *suffixes; i++)
        if (snprintf(name, sizeof name, "%s%s", path, suffixes[i]) < (int)sizeof name) unlink(name);
}

static enum err run(struct restoring *r)
{
    enum err e = prove(r);
    bool was_there = is_postgres(r->plan->url) || access(r->plan->url, F_OK) == 0;
    if (e) return e;
    r->why[0] = '\0';
    e = load(r);
    if (!e) e = tx_call(r->loader.target, TX_READ, compare_files, r, NULL);
    if (!e && r->plan->passphrase.len) e = vault_write(r->plan->key_path, r->master_key, r->why, ARCHIVE_WHY_BYTES);
    if (e && !r->why[0]) snprintf(r->why, ARCHIVE_WHY_BYTES, "%s", err_info(e)->message);
    if (r->has_loader) loader_close(&r->loader);
    if (e && !was_there) remove_database(r->plan->url);
    return e;
}

enum err backup_restore(const struct restore_plan *plan, struct arena *a, struct restored *ret, char *ret_why)
{
    struct restoring r = {.plan = plan, .arena = a, .why = ret_why};
    enum err e = run(&r);
    sodium_memzero(r.master_key, sizeof r.master_key);
    if (!e) *ret = r.found;
    return e;
}

struct checking {
    struct check_result *results;
    size_t count;
};

static enum err run_checks(void *arg, struct db *db)
{
    struct checking *c = arg;
    return check_run(db, &c->results, &c->count);
}

static enum err check(const char *url, struct arena *a, struct verified *v, char *ret_why)
{
    struct database_options options = {.url = url, .read_only = true, .workers = 1};
    struct database *d;
    struct checking c = {0};
    enum err e = database_open(&options, &d, ret_why, ARCHIVE_WHY_BYTES);
    if (e) return e;
    e = tx_call(d, TX_READ, run_checks, &c, a);
    database_close(d);
    if (e) snprintf(ret_why, ARCHIVE_WHY_BYTES, "the checks cannot be run: %s", err_info(e)->message);
    for (size_t i = 0; !e && i < c.count; i++) {
        if (!c.results[i].is_broken) continue;
        snprintf(ret_why, ARCHIVE_WHY_BYTES, "what is in the backup breaks a rule: %s: %s", c.results[i].name,
                 c.results[i].sentence);
        e = ERR_INVALID_STATE;
    }
    v->checks = c.count;
    return e;
}

enum err backup_verify(const char *from, const struct archive_key *key, const char *scratch, const _Atomic bool *stop,
                       struct arena *a, struct verified *ret, char *ret_why)
{
    char folder[PATH_MAX] = "", url[PATH_MAX];
    if (is_postgres(scratch)) {
        snprintf(url, sizeof url, "%s", scratch);
    } else if (snprintf(folder, sizeof folder - 16, "%s/souk-verify-XXXXXX", scratch) >= (int)sizeof folder - 16 ||
               !mkdtemp(folder)) {
        snprintf(ret_why, ARCHIVE_WHY_BYTES, "no scratch folder can be made in %s", scratch);
        return ERR_UNAVAILABLE;
    } else {
        snprintf(url, sizeof url, "%.*s/souk.db", (int)(sizeof url - 16), folder);
    }
    struct restore_plan plan = {.from = from, .key = key, .url = url, .stop = stop};
    struct verified v = {0};
    enum err e = backup_restore(&plan, a, &v.restored, ret_why);
    if (!e) e = check(url, a, &v, ret_why);
    if (folder[0]) {
        remove_database(url);
        rmdir(folder);
    }
    if (!e) *ret = v;
    return e;
}
