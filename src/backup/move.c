/* backup/move.c - see move.h. */
#include "backup/move.h"

#include <sodium.h>
#include <stdio.h>

#include "backup/loader.h"
#include "db/lock.h"
#include "db/migrate.h"
#include "domain/invariant.h"

#define TELL_NS INT64_C(500000000)

struct ledger_sums {
    int64_t transfers, sum, balances;
};

struct moving {
    const struct move_plan *plan;
    struct arena *arena;
    struct loader loader;
    struct moved result;
    struct ledger_sums from, to;
    Str table;
    bool has_begun;
    int64_t told_ns;
    char *why;
};

static enum err read_books(struct db *db, struct ledger_sums *ret)
{
    static const char transfers[] = "SELECT count(*), CAST(coalesce(sum(amount), 0) AS BIGINT) FROM transfer";
    static const char balances[] = "SELECT CAST(coalesce(sum(balance), 0) AS BIGINT) FROM ledger_account";
    struct ledger_sums b = {0};
    struct stmt *st = db_prepare(db, transfers);
    if (db_step(st)) {
        b.transfers = col_int(st);
        b.sum = col_int(st);
    }
    db_done(st);
    st = db_prepare(db, balances);
    if (db_step(st)) b.balances = col_int(st);
    enum err e = db_done(st);
    if (!e) *ret = b;
    return e;
}

/* SQLite has a lock for this (db/lock.h). On PostgreSQL every session that may write shares one, whatever it is called:
 * this session takes it for itself, as long as it lasts. */
static enum err look_for_servers(void *arg, struct db *db)
{
    static const char servers[] =
        "SELECT CASE WHEN pg_try_advisory_lock(" LOCK_OF_WRITERS ") THEN 0 ELSE CAST(1 AS BIGINT) END";
    bool *is_served = arg;
    if (!db_is_postgres(db)) return OK;
    struct stmt *st = db_prepare(db, servers);
    if (db_step(st)) *is_served = col_int(st) > 0;
    return db_done(st);
}

static enum err pass_row(void *ctx, Str row)
{
    struct moving *m = ctx;
    m->result.rows++;
    int64_t now = m->result.rows % 256 == 0 ? time_monotonic_ns() : 0;
    if (now && m->plan->tell && now - m->told_ns >= TELL_NS) {
        m->told_ns = now;
        m->plan->tell(m->plan->ctx, m->table, m->result.rows);
    }
    return loader_row(&m->loader, row);
}

static enum err move_table(struct moving *m, struct db *db, const struct schema_table *t, struct table_sum *ret)
{
    bool is_there;
    int64_t last_id = 0;
    m->table = t->name;
    enum err e = loader_has(&m->loader, t, &is_there);
    if (e) return e;
    if (is_there) {
        e = table_read(db, t, NULL, NULL, ret);
        if (!e) loader_expect(&m->loader, t, ret);
        m->result.rows += e ? 0 : ret->rows;
        return e;
    }
    e = loader_table(&m->loader, table_pack(m->arena, t));
    if (!e) e = table_read(db, t, pass_row, m, ret);
    if (!e) e = table_last_id(db, t, &last_id);
    return e ? e : loader_table_end(&m->loader, ret, last_id);
}

static enum err move_tables(void *arg, struct db *db)
{
    struct moving *m = arg;
    struct moved *r = &m->result;
    if (m->has_begun) return ERR_UNAVAILABLE; /* the connection was lost, and with it the snapshot */
    m->has_begun = true;
    enum err e = table_read_long(db);
    if (!e) e = schema_read(db, m->arena, &r->tables, &r->table_count);
    if (!e) e = read_books(db, &m->from);
    if (e) return e;
    r->sums = arena_array(m->arena, struct table_sum, r->table_count + 1);
    for (size_t i = 0; !e && i < r->table_count; i++) e = move_table(m, db, &r->tables[i], &r->sums[i]);
    return e;
}

static enum err check_target(void *arg, struct db *db)
{
    struct moving *m = arg;
    struct check_result *results;
    enum err e = read_books(db, &m->to);
    if (!e) e = check_run(db, &results, &m->result.checks);
    for (size_t i = 0; !e && i < m->result.checks; i++) {
        if (!results[i].is_broken) continue;
        snprintf(m->why, ARCHIVE_WHY_BYTES, "the moved store breaks a rule: %s: %s", results[i].name,
                 results[i].sentence);
        return ERR_CONFLICT;
    }
    return e;
}

/* Whose rows they are, without passwords that an address may hold. */
static Str source_of(struct arena *a, const char *url)
{
    unsigned char hash[crypto_generichash_BYTES];
    crypto_generichash(hash, sizeof hash, (const unsigned char *)url, strlen(url), NULL, 0);
    return hex_encode(a, hash, sizeof hash);
}

static enum err run(struct moving *m)
{
    struct arena scratch = {0};
    enum err e = tx_call(m->plan->from, TX_READ, move_tables, m, &scratch);
    arena_done(&scratch);
    if (!e && m->result.table_count != m->loader.table_count) {
        snprintf(m->why, ARCHIVE_WHY_BYTES, "the databases have not the same tables");
        e = ERR_CONFLICT;
    }
    if (!e) e = loader_finish(&m->loader);
    if (!e) e = tx_call(m->loader.target, TX_READ, check_target, m, m->arena);
    if (!e && memcmp(&m->from, &m->to, sizeof m->from) != 0) {
        snprintf(m->why, ARCHIVE_WHY_BYTES, "the ledgers are not the same on both sides");
        e = ERR_CONFLICT;
    }
    return e;
}

enum err move_run(const struct move_plan *plan, struct arena *a, struct moved *ret, char *ret_why)
{
    struct moving m = {.plan = plan, .arena = a, .why = ret_why};
    char hash[MIGRATE_HASH_CHARS + 1];
    bool is_served = false;
    enum err e = tx_call(plan->from, TX_READ, look_for_servers, &is_served, NULL);
    if (!e && is_served) e = ERR_CONFLICT;
    if (e) {
        snprintf(ret_why, ARCHIVE_WHY_BYTES, "%s",
                 is_served ? "a server uses the source: stop every server of this store first" : err_info(e)->message);
        return e;
    }
    migrate_hash(migrate_version(), hash);
    struct loader_options o = {.url = plan->to,
                               .schema = migrate_version(),
                               .schema_hash = str_from(hash),
                               .source = source_of(a, plan->from_url)};
    e = loader_open(&o, &m.loader, ret_why);
    if (e) return e;
    ret_why[0] = '\0';
    e = run(&m);
    if (e && !ret_why[0]) snprintf(ret_why, ARCHIVE_WHY_BYTES, "the move was interrupted: %s", err_info(e)->message);
    m.result.was_resumed = m.loader.was_resumed;
    m.result.transfers = m.from.transfers;
    m.result.transferred = m.from.sum;
    loader_close(&m.loader);
    if (!e) *ret = m.result;
    return e;
}
