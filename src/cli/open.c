/* cli/open.c - from options to an open database, for every command. */
#include <errno.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/caller.h"
#include "cli/command.h"
#include "db/migrate.h"
#include "domain/license_cache.h"
#include "domain/settings.h"
#include "domain/vault.h"
#include "view/view_event.h"
#include "view/view_placed.h"

__attribute__((format(printf, 1, 0))) static void say(const char *fmt, va_list args)
{
    FILE *to = cli_err();
    fputs("souk: ", to);
    vfprintf(to, fmt, args);
    fputc('\n', to);
}

int cli_fail(const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    say(fmt, args);
    va_end(args);
    return EXIT_FAILED;
}

int cli_usage(const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    say(fmt, args);
    va_end(args);
    return EXIT_USAGE;
}

bool cli_is_postgres(const char *db)
{
    return strncmp(db, "postgres://", 11) == 0 || strncmp(db, "postgresql://", 13) == 0;
}

const char *cli_data_dir(const struct config *config)
{
    static char path[PATH_MAX];
    if (*config->data) return config->data;
    if (*path) return path; /* written once, before the server's threads read it */
    const char *home = getenv("HOME");
    if (!cli_is_postgres(config->db))
        snprintf(path, sizeof path, "%s.d", config->db);
    else if (home && *home)
        snprintf(path, sizeof path, "%s/.local/share/souk", home);
    else
        snprintf(path, sizeof path, "/var/lib/souk");
    return path;
}

bool cli_make_folder(const char *path)
{
    char part[PATH_MAX];
    size_t n = strlen(path);
    if (n >= sizeof part) {
        errno = ENAMETOOLONG;
        return false;
    }
    for (size_t i = 1; i <= n; i++) {
        if (path[i] != '/' && path[i] != '\0') continue;
        memcpy(part, path, i);
        part[i] = '\0';
        if (mkdir(part, 0700) != 0 && errno != EEXIST) return false;
    }
    return true;
}

/* systemd has put the master key where only this service can read it (LoadCredential=master.key). */
static bool key_is_credential(char *ret_path, size_t bytes)
{
    const char *folder = getenv("CREDENTIALS_DIRECTORY");
    if (!folder || !*folder) return false;
    int n = snprintf(ret_path, bytes, "%s/master.key", folder);
    return (size_t)n < bytes && access(ret_path, F_OK) == 0;
}

bool cli_key_path(const struct config *config, char *ret, size_t bytes)
{
    if (key_is_credential(ret, bytes)) return true;
    int n = *config->key_file ? snprintf(ret, bytes, "%s", config->key_file)
                              : snprintf(ret, bytes, "%s/master.key", cli_data_dir(config));
    if ((size_t)n < bytes) return true;
    cli_fail("the path of the master key is too long");
    return false;
}

static bool open_vault(const struct config *config, bool may_create)
{
    char path[PATH_MAX], why[512];
    const char *data = cli_data_dir(config);
    if (!cli_make_folder(data)) {
        cli_fail("cannot make the data folder %s: %s", data, strerror(errno));
        return false;
    }
    if (!cli_key_path(config, path, sizeof path)) return false;
    if (vault_open(path, config->key, may_create, why, sizeof why) == OK) return true;
    cli_fail("%s", why);
    return false;
}

/* Looks at the database without changing anything: merely opening a SQLite file for writing would change it. */
static bool look(const struct config *config, bool may_create, enum migrate_state *ret, int *ret_version)
{
    char why[512];
    struct database_options options = {.url = config->db, .read_only = true, .workers = 1};
    struct database *d;
    enum err e = database_open(&options, &d, why, sizeof why);
    if (e == ERR_NOT_FOUND && may_create) {
        *ret = MIGRATE_EMPTY;
        return true;
    }
    if (e == ERR_NOT_FOUND) {
        cli_fail("%s. 'souk init --db %s' makes one", why, config->db);
        return false;
    }
    if (e) {
        cli_fail("%s", why);
        return false;
    }
    e = migrate_look(d, ret, ret_version);
    database_close(d);
    if (e) cli_fail("the database %s cannot be read: %s", config->db, err_info(e)->message);
    return e == OK;
}

/* False after saying why this database is not for that command. */
static bool suits(const struct config *config, enum open_mode mode, bool may_create, enum migrate_state state,
                  int version)
{
    if (state == MIGRATE_FOREIGN)
        cli_fail("the database %s belongs to another program: it has tables, and none of souk's", config->db);
    else if (state == MIGRATE_EMPTY && !may_create)
        cli_fail("the database %s is empty. 'souk init --db %s' makes it a store", config->db, config->db);
    else if (state == MIGRATE_UNFINISHED)
        cli_fail("the database %s is not complete: a restore or a move into it was interrupted, or is still running",
                 config->db);
    else if ((mode == OPEN_LOOK || mode == OPEN_ROWS) && state != MIGRATE_CURRENT && state != MIGRATE_AHEAD)
        cli_fail("the database has schema %d, this program needs %d", version, migrate_version());
    else
        return true;
    return false;
}

static enum err check_key(void *arg, struct db *db)
{
    (void)arg;
    return settings_check_key(db);
}

/* False after saying why. */
static bool prepare(struct database *d)
{
    char why[512];
    int applied;
    if (migrate_up(d, &applied, why, sizeof why) != OK) {
        cli_fail("%s", why);
        return false;
    }
    struct arena a = {0};
    enum err e = tx_call(d, TX_WRITE, check_key, NULL, &a);
    arena_done(&a);
    if (e == ERR_CONFLICT)
        cli_fail("this database was made with another master key: give the right --key-file or SOUK_KEY");
    else if (e)
        cli_fail("the database cannot be used: %s", err_info(e)->message);
    return e == OK;
}

struct database *cli_open(const struct config *config, enum open_mode mode)
{
    if (mode == OPEN_CHANGE && caller_database()) return caller_database();
    char why[512];
    event_install(view_event, view_event_finish);
    idempotency_install(view_placed_again);
    bool may_create = mode == OPEN_NEW || (mode == OPEN_SERVER && config->create);
    enum migrate_state state;
    int version = 0;
    if (!look(config, may_create, &state, &version) || !suits(config, mode, may_create, state, version)) return NULL;
    struct database_options options = {.url = config->db,
                                       .read_only = mode == OPEN_LOOK || mode == OPEN_ROWS,
                                       .may_create = may_create,
                                       .watched = mode == OPEN_SERVER ? LICENSE_TABLE : NULL,
                                       .look = mode == OPEN_SERVER ? license_look : NULL,
                                       .look_back = license_look_back,
                                       .workers = mode == OPEN_SERVER ? (int)config->workers : 1};
    struct database *d;
    if (database_open(&options, &d, why, sizeof why) != OK) {
        cli_fail("%s", why);
        return NULL;
    }
    if (mode == OPEN_ROWS) return d;
    if (open_vault(config, state == MIGRATE_EMPTY) && (mode == OPEN_LOOK || prepare(d))) return d;
    database_close(d);
    return NULL;
}

void cli_close(struct database *d)
{
    if (d != caller_database()) database_close(d);
}

bool cli_tx(struct database *d, enum tx_mode mode, enum err (*run)(void *arg, struct db *db), void *arg,
            struct arena *a)
{
    enum err e = tx_call(d, mode, run, arg, a);
    if (e) cli_fail("%s", err_info(e)->message);
    return e == OK;
}
