/* cli/doctor_store.c - see doctor.h: the database, its schema, the master key that fits it, its idea of the time. */
#include <limits.h>

#include "cli/doctor.h"
#include "db/migrate.h"
#include "domain/backup_record.h"
#include "domain/settings.h"
#include "domain/vault.h"

#define BACKUP_OLD_DAYS 2
#define BACKUP_LOST_DAYS 8
#define BACKUP_UNPROVEN_DAYS 32
#define CLOCK_APART_MS (5 * TIME_SECOND)

static void judge_schema(struct doctor *d, enum migrate_state state, int version)
{
    Str what = str_printf(d->arena, "the database has schema %d, this program needs %d", version, migrate_version());
    switch (state) {
    case MIGRATE_CURRENT:
        doctor_found(d, FINDING_OK, "schema", str_printf(d->arena, "it is at version %d", version), "");
        return;
    case MIGRATE_AHEAD:
        doctor_found(
            d, FINDING_OK, "schema",
            str_printf(d->arena, "it is at version %d, a step ahead of this program, which can go on", version), "");
        return;
    case MIGRATE_BEHIND: doctor_found(d, FINDING_BROKEN, "schema", what, "Run souk migrate, after a backup"); return;
    case MIGRATE_NEWER: doctor_found(d, FINDING_BROKEN, "schema", what, "Install the newer souk that made it"); return;
    case MIGRATE_CHANGED:
        doctor_found(d, FINDING_BROKEN, "schema", STR("it was made by another build of this version"),
                     "Use the build that made it, or restore a backup into a new database");
        return;
    case MIGRATE_EMPTY:
        doctor_found(d, FINDING_BROKEN, "schema", STR("the database is empty"), "Run souk init to make a store");
        return;
    case MIGRATE_UNFINISHED:
        doctor_found(d, FINDING_BROKEN, "schema", STR("a restore or a move into this database was not finished"),
                     "Do it again into an empty database");
        return;
    case MIGRATE_FOREIGN:
        doctor_found(d, FINDING_BROKEN, "schema", STR("the tables belong to another program"),
                     "Give souk a database of its own with --db");
        return;
    }
}

void doctor_database(struct doctor *d)
{
    char why[512];
    struct database_options options = {.url = d->config->db, .read_only = true, .workers = 1};
    struct database *db;
    enum migrate_state state;
    int version = 0;
    enum err e = database_open(&options, &db, why, sizeof why);
    if (e) {
        doctor_found(d, FINDING_BROKEN, "database", str_dup(d->arena, str_from(why)),
                     e == ERR_NOT_FOUND ? "Give the right --db, or make a store with souk init"
                     : e == ERR_CONFLICT
                         ? "Give souk a database of its own with --db"
                         : "See that it can be reached and read, and that address and password are right");
        return;
    }
    e = migrate_look(db, &state, &version);
    if (e) {
        doctor_found(d, FINDING_BROKEN, "database", str_printf(d->arena, "it cannot be read: %s", err_info(e)->message),
                     "Restore the last backup if it is damaged");
        database_close(db);
        return;
    }
    doctor_found(d, FINDING_OK, "database",
                 database_is_sqlite(db) ? STR("the SQLite file can be read") : STR("PostgreSQL answers"), "");
    judge_schema(d, state, version);
    if (state == MIGRATE_CURRENT)
        d->database = db;
    else
        database_close(db);
}

static enum err check_key(void *arg, struct db *db)
{
    (void)arg;
    enum err e = settings_check_key(db);
    return e == ERR_NEEDS_WRITE ? ERR_NOT_FOUND : e; /* it is written down when a store first opens the database */
}

void doctor_key(struct doctor *d)
{
    char path[PATH_MAX], why[512];
    if (!cli_key_path(d->config, path, sizeof path)) {
        doctor_found(d, FINDING_BROKEN, "key", STR("its path is too long"), "Give a shorter --key-file or --data");
        return;
    }
    if (vault_open(path, d->config->key, false, why, sizeof why) != OK) {
        doctor_found(
            d, FINDING_BROKEN, "key", str_dup(d->arena, str_from(why)),
            "Bring the master key back from where it was kept: without it no token, code or secret can be read");
        return;
    }
    if (!d->database) return;
    enum err e = tx_call(d->database, TX_READ, check_key, NULL, d->arena);
    if (e == ERR_CONFLICT)
        doctor_found(d, FINDING_BROKEN, "key", STR("the master key is not the one that this database was made with"),
                     "Give the right --key-file or SOUK_KEY");
    else if (e == ERR_NOT_FOUND)
        doctor_found(d, FINDING_LOOK, "key", STR("the database does not say which master key it was made with"),
                     "Start the store once with the right key: the database keeps a fingerprint of it");
    else if (e)
        doctor_found(d, FINDING_BROKEN, "key", str_from(err_info(e)->message), "");
    else
        doctor_found(d, FINDING_OK, "key", STR("the master key fits the database"), "");
    d->has_key = !e;
}

/* Runs what reads from the database, if there is one. A look that fails is a finding, too: silence would be taken for
 * good. */
static bool look(struct doctor *d, const char *subject, enum err (*read)(void *, struct db *), void *ret)
{
    if (!d->database) return false;
    enum err e = tx_call(d->database, TX_READ, read, ret, d->arena);
    if (e)
        doctor_found(d, FINDING_BROKEN, subject,
                     str_printf(d->arena, "doctor could not look: %s", err_info(e)->message),
                     "See in the database's log and on its disk why it cannot be read, then run doctor again");
    return !e;
}

/* The time as PostgreSQL has it, and of the newest record. */
static enum err read_times(void *arg, struct db *db)
{
    static const char sqlite[] = "SELECT 0, COALESCE((SELECT created_at FROM transfer ORDER BY id DESC LIMIT 1), 0)";
    static const char postgres[] = "SELECT CAST(EXTRACT(EPOCH FROM clock_timestamp()) * 1000 AS BIGINT),"
                                   " COALESCE((SELECT created_at FROM transfer ORDER BY id DESC LIMIT 1), 0)";
    int64_t *times = arg;
    struct stmt *st = db_prepare(db, db_sql(db, sqlite, postgres));
    if (db_step(st)) {
        times[0] = col_int(st);
        times[1] = col_int(st);
    }
    return db_done(st);
}

void doctor_records(struct doctor *d)
{
    int64_t times[2] = {0}, now;
    if (!look(d, "clock", read_times, times)) return;
    now = time_now().ms;
    if (times[0] && (times[0] - now > CLOCK_APART_MS || now - times[0] > CLOCK_APART_MS))
        doctor_found(d, FINDING_LOOK, "clock",
                     str_printf(d->arena, "this machine's and the database server's are %lld s apart",
                                (long long)((times[0] > now ? times[0] - now : now - times[0]) / TIME_SECOND)),
                     "Switch on time synchronisation on both");
    if (times[1] > now + TIME_MINUTE)
        doctor_found(d, FINDING_BROKEN, "clock",
                     STR("the newest record of the ledger is from the future: it went back"),
                     "Set the clock right; what is dated wrongly stays so");
}

struct backups {
    Time made, verified;
};

static enum err read_backups(void *arg, struct db *db)
{
    struct backups *b = arg;
    return backup_record_last(db, &b->made, &b->verified);
}

void doctor_backup(struct doctor *d)
{
    static const char *const make_one =
        "Make one a day (souk backup create, or --backup-folder), and keep it elsewhere";
    struct backups b = {0};
    if (!look(d, "backup", read_backups, &b)) return;
    int64_t now = time_now().ms, age = (now - b.made.ms) / TIME_DAY, proven = (now - b.verified.ms) / TIME_DAY;
    if (!time_is(b.made))
        doctor_found(d, FINDING_LOOK, "backup", STR("none yet"), make_one);
    else if (age >= BACKUP_OLD_DAYS)
        doctor_found(d, age >= BACKUP_LOST_DAYS ? FINDING_BROKEN : FINDING_LOOK, "backup",
                     str_printf(d->arena, "the newest is %lld days old", (long long)age), make_one);
    else if (!time_is(b.verified) || proven >= BACKUP_UNPROVEN_DAYS)
        doctor_found(d, FINDING_LOOK, "backup", STR("no recent one was proven to be good"),
                     "Restore one into a scratch database: souk backup verify FILE");
    else
        doctor_found(d, FINDING_OK, "backup",
                     str_printf(d->arena, "the newest is %lld days old, the newest proven one %lld", (long long)age,
                                (long long)proven),
                     "");
}
