/* cli/backup.c - backups from the command line. Progress and results go to stderr, one line each. */
#include "cli/backup.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "backup/backup_keys.h"
#include "backup/make.h"
#include "backup/restore.h"
#include "domain/backup_record.h"
#include "domain/vault.h"
#include "serve/version.h"

#define SECRET_BYTES_MAX 4096

/* The first line of a small file that holds a secret. False after saying why. */
static bool read_secret(struct arena *a, const char *path, Str *ret)
{
    char text[SECRET_BYTES_MAX];
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof text);
    if (fd >= 0) close(fd);
    if (n < 0) {
        cli_fail("cannot read %s: %s", path, strerror(errno));
        return false;
    }
    Str all = {text, (size_t)n}, line = all, rest;
    str_cut(all, '\n', &line, &rest);
    *ret = str_dup(a, str_trim(line));
    sodium_memzero(text, sizeof text);
    if (!ret->len) cli_fail("%s is empty", path);
    return ret->len > 0;
}

static void tell_made(void *ctx, const struct backup_state *s)
{
    (void)ctx;
    fprintf(stderr, "souk: %.*s: %lld rows, %lld MB written\n", STR_FMT(s->doing), (long long)s->rows,
            (long long)(s->bytes / 1000000));
}

static void tell_restored(void *ctx, const char *doing, int64_t bytes)
{
    (void)ctx;
    fprintf(stderr, "souk: %s: %lld MB\n", doing, (long long)(bytes / 1000000));
}

/* The master key sealed with the passphrase, when that is asked for. False after saying why. */
static bool seal_master_key(const struct config *config, struct arena *a, Str *ret)
{
    char path[PATH_MAX], why[512];
    uint8_t key[VAULT_KEY_BYTES];
    Str passphrase;
    *ret = (Str){0};
    if (!*config->key_passphrase_file) return true;
    if (!read_secret(a, config->key_passphrase_file, &passphrase) || !cli_key_path(config, path, sizeof path))
        return false;
    if (vault_read(path, config->key, key, why, sizeof why) != OK) {
        cli_fail("%s", why);
        return false;
    }
    *ret = passphrase_seal(a, passphrase, key);
    sodium_memzero(key, sizeof key);
    if (!ret->len) cli_fail("there is not enough memory to seal the master key");
    return ret->len > 0;
}

static const char *scratch_of(const struct config *config)
{
    const char *tmp = getenv("TMPDIR");
    return *config->scratch ? config->scratch : tmp && *tmp ? tmp : "/tmp";
}

/* For the server of this store, which shows how old the last backup is. */
static void leave_note(const struct config *config, struct arena *a, const struct backup_record *r)
{
    char path[PATH_MAX], unfinished[PATH_MAX];
    const char *name = time_is(r->verified_at) ? BACKUP_VERIFIED_FILE : BACKUP_RECORD_FILE;
    Str text = backup_record_text(a, r);
    if (snprintf(path, sizeof path, "%s/%s", cli_data_dir(config), name) >= (int)sizeof path ||
        snprintf(unfinished, sizeof unfinished, "%s/%s.%d", cli_data_dir(config), name, (int)getpid()) >=
            (int)sizeof unfinished)
        return;
    int fd = open(unfinished, O_CREAT | O_TRUNC | O_WRONLY | O_CLOEXEC | O_NOFOLLOW, 0600);
    bool ok = fd >= 0 && write(fd, text.ptr, text.len) == (ssize_t)text.len;
    if (fd >= 0) close(fd);
    if (!ok || rename(unfinished, path) != 0) {
        cli_fail("note: the server will not know of this backup: cannot write %s: %s", path, strerror(errno));
        if (fd >= 0) unlink(unfinished);
    }
}

static int verify_made(const struct config *config, struct arena *a, const struct backup_made *made, bool is_sealed)
{
    char why[ARCHIVE_WHY_BYTES];
    struct verified v;
    struct archive_key key = {.stream_key = made->stream_key};
    if (backup_verify(config->to, is_sealed ? &key : NULL, scratch_of(config), NULL, a, &v, why) != OK)
        return cli_fail("the backup was made, and is not good: %s", why);
    fprintf(stderr, "souk: verified: restored, and all %zu checks passed\n", v.checks);
    return EXIT_OK;
}

static int create(const struct config *config, struct arena *a, struct database *d, const uint8_t *recipient)
{
    char why[ARCHIVE_WHY_BYTES];
    struct backup_plan plan = {.database = d,
                               .data_dir = cli_data_dir(config),
                               .to = config->to,
                               .recipient = recipient,
                               .program = SOUK_VERSION,
                               .tell = tell_made};
    if (!seal_master_key(config, a, &plan.sealed_key)) return EXIT_FAILED;
    struct backup_made made;
    int64_t began = time_monotonic_ns();
    if (backup_make(&plan, &made, why) != OK) return cli_fail("%s", why);
    int64_t ms = (time_monotonic_ns() - began) / 1000000;
    const struct backup_totals *t = &made.totals;
    fprintf(stderr, "souk: %lld rows of %lld tables and %lld files in %lld bytes, %lld.%lld seconds\n",
            (long long)t->rows, (long long)t->tables, (long long)t->files, (long long)made.bytes,
            (long long)(ms / 1000), (long long)(ms / 100 % 10));
    if (t->missing)
        cli_fail("warning: %lld product files are missing in %s, and in this backup", (long long)t->missing,
                 plan.data_dir);
    int result = config->verify ? verify_made(config, a, &made, recipient != NULL) : EXIT_OK;
    sodium_memzero(made.stream_key, sizeof made.stream_key);
    const char *slash = strrchr(config->to, '/');
    struct backup_record r = {.name = str_from(slash ? slash + 1 : config->to),
                              .bytes = made.bytes,
                              .rows = t->rows,
                              .made_at = made.made_at,
                              .verified_at = config->verify ? time_now() : (Time){0}};
    if (result == EXIT_OK) leave_note(config, a, &r);
    return result;
}

int backup_create_command(const struct config *config, struct arena *a)
{
    uint8_t recipient[ARCHIVE_KEY_BYTES];
    bool is_sealed = *config->backup_public_key;
    if (!*config->to) return cli_usage("backup create wants --to FILE");
    if (is_sealed && !backup_public_key(str_from(config->backup_public_key), recipient))
        return cli_usage("--backup-public-key wants a key that starts with " BACKUP_PUBLIC_PREFIX);
    struct database *d = cli_open(config, OPEN_ROWS);
    if (!d) return EXIT_FAILED;
    int result = create(config, a, d, is_sealed ? recipient : NULL);
    database_close(d);
    return result;
}

struct opening {
    uint8_t secret_key[ARCHIVE_KEY_BYTES];
    struct archive_key key;
    bool has_key;
};

/* False after saying why. */
static bool read_secret_key(const struct config *config, struct arena *a, struct opening *ret)
{
    Str text;
    *ret = (struct opening){0};
    if (!*config->secret_key_file) return true;
    if (!read_secret(a, config->secret_key_file, &text)) return false;
    ret->has_key = backup_secret_key(text, ret->secret_key);
    ret->key.secret_key = ret->secret_key;
    if (!ret->has_key)
        cli_fail("%s has no secret key, which starts with " BACKUP_SECRET_PREFIX, config->secret_key_file);
    return ret->has_key;
}

static void print_what(const struct restored *r)
{
    char made_at[TIME_TEXT_LEN + 1];
    time_format(r->made_at, made_at);
    fprintf(stderr, "souk: made %s by souk %.*s on %.*s: %lld rows of %lld tables, %lld files%s\n", made_at,
            STR_FMT(r->program), STR_FMT(r->engine), (long long)r->totals.rows, (long long)r->totals.tables,
            (long long)r->totals.files, r->has_key ? ", the master key" : "");
    if (r->totals.missing)
        cli_fail("warning: %lld product files were missing when it was made", (long long)r->totals.missing);
}

int backup_verify_command(const struct config *config, struct arena *a)
{
    char why[ARCHIVE_WHY_BYTES];
    struct opening o;
    struct verified v;
    if (config->operand_count != 1) return cli_usage("backup verify wants one FILE");
    if (!read_secret_key(config, a, &o)) return EXIT_FAILED;
    enum err e = backup_verify(config->operands[0], o.has_key ? &o.key : NULL, scratch_of(config), NULL, a, &v, why);
    sodium_memzero(&o, sizeof o);
    if (e) return cli_fail("%s is not good: %s", config->operands[0], why);
    print_what(&v.restored);
    fprintf(stderr, "souk: verified: restored, and all %zu checks passed\n", v.checks);
    return EXIT_OK;
}

int backup_restore_command(const struct config *config, struct arena *a)
{
    char why[ARCHIVE_WHY_BYTES], key_path[PATH_MAX];
    struct opening o;
    struct restored r;
    struct restore_plan plan = {
        .url = config->db, .data_dir = cli_data_dir(config), .key_path = key_path, .tell = tell_restored};
    if (config->operand_count != 1) return cli_usage("backup restore wants one FILE");
    plan.from = config->operands[0];
    if (!read_secret_key(config, a, &o) || !cli_key_path(config, key_path, sizeof key_path)) return EXIT_FAILED;
    if (o.has_key) plan.key = &o.key;
    if (*config->key_passphrase_file && !read_secret(a, config->key_passphrase_file, &plan.passphrase))
        return EXIT_FAILED;
    if (!cli_make_folder(plan.data_dir))
        return cli_fail("cannot make the data folder %s: %s", plan.data_dir, strerror(errno));
    enum err e = backup_restore(&plan, a, &r, why);
    sodium_memzero(&o, sizeof o);
    if (e) return cli_fail("nothing was restored: %s", why);
    print_what(&r);
    fprintf(stderr, "souk: restored into %s\n", cli_is_postgres(config->db) ? "PostgreSQL" : config->db);
    if (!plan.passphrase.len && !*config->key && access(key_path, F_OK) != 0)
        fprintf(stderr, "souk: the master key is still needed: put it at %s, or set SOUK_KEY\n", key_path);
    return EXIT_OK;
}

int backup_keygen_command(const struct config *config, struct arena *a)
{
    char public_key[BACKUP_KEY_CHARS + 1], secret_key[BACKUP_KEY_CHARS + 1];
    (void)a;
    if (!*config->to) return cli_usage("backup keygen wants --to FILE, for the secret key");
    if (sodium_init() < 0) return cli_fail("libsodium cannot be started");
    int fd = open(config->to, O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0600);
    if (fd < 0) return cli_fail("cannot make %s: %s", config->to, strerror(errno));
    backup_keygen(public_key, secret_key);
    bool ok = dprintf(fd, "%s\n", secret_key) == BACKUP_KEY_CHARS + 1 && fsync(fd) == 0;
    close(fd);
    sodium_memzero(secret_key, sizeof secret_key);
    if (!ok) {
        unlink(config->to);
        return cli_fail("cannot write %s", config->to);
    }
    printf("%s\n", public_key);
    return EXIT_OK;
}
