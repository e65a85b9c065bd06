/* db/postgres.c - the external engine: statements and transactions on one PostgreSQL connection. See postgres.h.
 *
 * Values travel in binary: integers as int8, texts and blobs as raw bytes. A text with a NUL in it, or that is not
 * UTF-8, is refused by the server, never cut. */
#include "db/postgres.h"

#include <assert.h>
#include <endian.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/log.h"
#include "base/memory.h"
#include "db/lock.h"
#include "db/postgres_pipe.h"

#define STATEMENT_MS 30000
#define ANSWER_MS (STATEMENT_MS + 5000)

static const char *const own_texts[OWN_COUNT] = {
    [OWN_BEGIN_READ] = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY",
    [OWN_BEGIN_WRITE] = "BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE",
    [OWN_COMMIT] = "COMMIT",
    [OWN_ROLLBACK] = "ROLLBACK",
};

/* Types of columns that can be read. */
enum { OID_BYTEA = 17, OID_INT8 = 20, OID_INT4 = 23, OID_TEXT = 25 };

static struct pg_db *of(struct db *db)
{
    return (struct pg_db *)db;
}
static const struct pg_db *of_const(const struct db *db)
{
    return (const struct pg_db *)db;
}
static struct pg_stmt *stmt_of(struct stmt *st)
{
    return (struct pg_stmt *)st;
}

static void mistake(struct stmt *st, const char *what, int column)
{
    log_event(LOG_ERROR, "db.misused", LOGC("what", what), LOGI("column", column + 1), LOGC("sql", st->sql));
    db_fail(st->db, ERR_INTERNAL);
}

/* The highest $n; quoted texts hold none. */
static int count_params(const char *sql)
{
    int most = 0;
    bool quoted = false;
    for (const char *p = sql; *p; p++) {
        if (*p == '\'') quoted = !quoted;
        if (quoted || *p != '$') continue;
        int n = 0;
        while (p[1] >= '0' && p[1] <= '9' && n < PG_PARAMS_MAX) n = n * 10 + (*++p - '0');
        if (n > most) most = n;
    }
    return most;
}

/* Only makes the statement's entry: the server sees it when it first runs. */
static struct stmt *prepare(struct db *db, const char *sql)
{
    struct pg_stmt *st = memory_try_zeroed(1, sizeof *st);
    if (!st) {
        db_fail(db, ERR_UNAVAILABLE);
        return NULL;
    }
    st->text = sql;
    st->params = count_params(sql);
    assert(st->params <= PG_PARAMS_MAX);
    return &st->stmt;
}

static void bind_value(struct stmt *st, int n, enum bind_kind kind, const char *value, size_t length)
{
    struct pg_stmt *s = stmt_of(st);
    assert(length < 1 << 30);  /* the server's own limit */
    if (n > s->params) return; /* reported when it runs */
    s->values[n - 1] = value;
    s->lengths[n - 1] = (int)length;
    s->kinds[n - 1] = (unsigned char)kind;
}

static void bind_number(struct stmt *st, int n, int64_t v)
{
    uint64_t *number = &stmt_of(st)->numbers[(n - 1) % PG_PARAMS_MAX];
    *number = htobe64((uint64_t)v);
    bind_value(st, n, BIND_INT, (const char *)number, sizeof *number);
}

static void bind_string(struct stmt *st, int n, enum bind_kind kind, Str s)
{
    bind_value(st, n, kind, s.ptr, s.len);
}
static void bind_nothing(struct stmt *st, int n, enum bind_kind kind)
{
    bind_value(st, n, kind, NULL, 0);
}

static void send_own(struct pg_db *c, enum pg_own which, enum sent_kind kind)
{
    pipe_execute(c, &c->own[which], kind);
}

void postgres_open_transaction(struct pg_db *c)
{
    if (c->begun) return;
    send_own(c, c->mode == TX_WRITE ? OWN_BEGIN_WRITE : OWN_BEGIN_READ, SENT_BEGIN);
    c->begun = true;
    c->wrote = false;
}

static void send_statement(struct pg_db *c, struct pg_stmt *st, enum sent_kind kind)
{
    if (st->stmt.bound != st->params) {
        mistake(&st->stmt, "the wrong number of parameters is bound", -1);
        return;
    }
    postgres_open_transaction(c);
    if (kind == SENT_RUN) c->unread = true;
    pipe_execute(c, st, kind);
}

static bool step(struct stmt *st)
{
    struct pg_stmt *s = stmt_of(st);
    struct pg_db *c = of(st->db);
    if (!s->result) {
        send_statement(c, s, SENT_READ);
        if (st->db->err) return false;
        pipe_sync(c);
        pipe_receive(c);
        c->unread = false;
        s->row = -1;
        if (st->db->err || !s->result) return false;
    }
    if (++s->row >= PQntuples(s->result)) return false;
    st->columns = PQnfields(s->result);
    return true;
}

static void run(struct stmt *st)
{
    send_statement(of(st->db), stmt_of(st), SENT_RUN);
}

static void reset(struct stmt *st)
{
    PQclear(stmt_of(st)->result);
    stmt_of(st)->result = NULL;
}

static bool is_null(const struct stmt *st, int n)
{
    const struct pg_stmt *s = (const struct pg_stmt *)st;
    return PQgetisnull(s->result, s->row, n + s->skip);
}

static int64_t get_int(struct stmt *st, int n)
{
    struct pg_stmt *s = stmt_of(st);
    const char *p = PQgetvalue(s->result, s->row, n + s->skip);
    int length = PQgetlength(s->result, s->row, n + s->skip);
    uint64_t v64;
    uint32_t v32;
    switch (PQftype(s->result, n + s->skip)) {
    case OID_INT8:
        if (length != sizeof v64) break;
        memcpy(&v64, p, sizeof v64);
        return (int64_t)be64toh(v64);
    case OID_INT4:
        if (length != sizeof v32) break;
        memcpy(&v32, p, sizeof v32);
        return (int32_t)be32toh(v32);
    default: break;
    }
    mistake(st, "column is not an integer (a sum has to be cast)", n);
    return 0;
}

static Str get_bytes(struct stmt *st, int n, enum bind_kind kind)
{
    struct pg_stmt *s = stmt_of(st);
    Oid type = PQftype(s->result, n + s->skip);
    if (type != (kind == BIND_TEXT ? OID_TEXT : OID_BYTEA)) {
        mistake(st, "column of another type", n);
        return (Str){0};
    }
    return (Str){PQgetvalue(s->result, s->row, n + s->skip), (size_t)PQgetlength(s->result, s->row, n + s->skip)};
}

static void script(struct db *db, const char *text)
{
    struct pg_db *c = of(db);
    assert(c->begun || c->mode == TX_WRITE);
    postgres_open_transaction(c);
    pipe_script(c, text);
}

const struct engine postgres_engine = {
    .is_postgres = true,
    .prepare = prepare,
    .bind_int = bind_number,
    .bind_bytes = bind_string,
    .bind_null = bind_nothing,
    .step = step,
    .run = run,
    .reset = reset,
    .is_null = is_null,
    .get_int = get_int,
    .get_bytes = get_bytes,
    .script = script,
};

void postgres_begin(struct db *db, enum tx_mode mode)
{
    struct pg_db *c = of(db);
    assert(!c->begun);
    c->mode = mode;
    c->may_retry = false;
    c->unread = false;
    c->commit = PG_COMMIT_NONE;
}

enum postgres_end postgres_commit(struct db *db)
{
    struct pg_db *c = of(db);
    if (!c->begun && !db->err) return POSTGRES_COMMITTED; /* it asked nothing */
    c->begun = false;
    c->fresh = false;
    if (c->mode == TX_READ && !c->unread) { /* the rows have been read: nothing depends on how it ends */
        send_own(c, OWN_COMMIT, SENT_END);
        return POSTGRES_COMMITTED;
    }
    pipe_look(c); /* a lost connection is better noticed before COMMIT than after it */
    send_own(c, OWN_COMMIT, SENT_COMMIT);
    pipe_sync(c);
    pipe_receive(c);
    switch (c->commit) {
    case PG_COMMIT_DONE:
        if (c->wrote) atomic_store(&c->db.stats->no_room_ms, 0);
        /* A commit that stopped waiting for its replica says so in a warning. */
        return c->warned ? POSTGRES_UNKNOWN : POSTGRES_COMMITTED;
    case PG_COMMIT_SENT:
    case PG_COMMIT_UNSURE: return POSTGRES_UNKNOWN;
    case PG_COMMIT_NONE: /* not even sent: lost, or an error came to light while sending */
    case PG_COMMIT_SKIPPED:
        send_own(c, OWN_ROLLBACK, SENT_END);
        pipe_sync(c);
        break;
    case PG_COMMIT_REFUSED: break;
    }
    if (!db->err) db_fail(db, ERR_INTERNAL);
    return POSTGRES_FAILED;
}

/* Two syncs: the first ends what the server skips after an error, so that it does not skip the ROLLBACK too. */
void postgres_rollback(struct db *db)
{
    struct pg_db *c = of(db);
    if (!c->begun) return;
    c->begun = false;
    if (c->unsynced) pipe_sync(c);
    send_own(c, OWN_ROLLBACK, SENT_END);
    pipe_sync(c); /* at once: the transaction holds locks */
    c->fresh = false;
}

void postgres_begin_bare(struct db *db)
{
    postgres_begin(db, TX_READ);
    of(db)->begun = true;
}

void postgres_end_bare(struct db *db)
{
    of(db)->begun = false;
    of(db)->fresh = false;
}

void postgres_rest(struct db *db)
{
    struct pg_db *c = of(db);
    if (c->unsynced) pipe_sync(c);
}

bool postgres_is_alive(const struct db *db)
{
    return !of_const(db)->lost;
}
bool postgres_may_retry(const struct db *db)
{
    return of_const(db)->may_retry;
}

static void hear(void *ctx, const PGresult *r)
{
    struct pg_db *c = ctx;
    const char *severity = PQresultErrorField(r, PG_DIAG_SEVERITY_NONLOCALIZED);
    const char *state = PQresultErrorField(r, PG_DIAG_SQLSTATE);
    if (!severity || strcmp(severity, "WARNING") != 0) return;
    c->warned = true;
    log_event(LOG_WARN, "db.warning", LOGC("state", state));
}

/* A session that may write shares a lock, which souk move takes for itself: see backup/move.c.
 * synchronous_commit: a setting that waits for more than the disk is left alone. */
static const char session[] =
    "SELECT set_config('statement_timeout', $1, false), set_config('lock_timeout', $2, false),"
    " set_config('idle_in_transaction_session_timeout', $3, false), set_config('client_min_messages', 'warning', "
    "false),"
    " set_config('default_transaction_read_only', $4, false),"
    " set_config('synchronous_commit', CASE WHEN current_setting('synchronous_commit') IN ('off', 'local') THEN 'on'"
    " ELSE current_setting('synchronous_commit') END, false),"
    " CASE WHEN $4 = 'on' THEN true ELSE pg_try_advisory_lock_shared(" LOCK_OF_WRITERS ") END";

/* A group asks for single rows only, by keys: whatever PostgreSQL believes about the tables, and it may have believed
 * it while they were empty, the plan is to go through the index. */
static const char for_groups[] = "SET enable_seqscan = off; SET enable_hashjoin = off; SET enable_mergejoin = off;"
                                 " SET jit = off; SET plan_cache_mode = force_generic_plan";

static bool set_up(struct pg_db *c, const struct postgres_options *o, char *ret_why, size_t why_bytes)
{
    char statement[24], lock[24];
    snprintf(statement, sizeof statement, "%d", STATEMENT_MS);
    snprintf(lock, sizeof lock, "%lld", (long long)o->lock_ms);
    const char *values[] = {statement, lock, statement, o->read_only ? "on" : "off"};
    PGresult *r = PQexecParams(c->conn, session, 4, NULL, values, NULL, NULL, 0);
    bool set = PQresultStatus(r) == PGRES_TUPLES_OK;
    bool is_moving = set && strcmp(PQgetvalue(r, 0, PQnfields(r) - 1), "t") != 0;
    PQclear(r);
    if (is_moving) {
        snprintf(ret_why, why_bytes, "the store is being moved to another database: see souk move");
        return false;
    }
    const char *encoding = PQparameterStatus(c->conn, "server_encoding");
    if (set && (!encoding || strcmp(encoding, "UTF8") != 0)) {
        snprintf(ret_why, why_bytes,
                 "the PostgreSQL database has the encoding %s: it has to be made with ENCODING 'UTF8'",
                 encoding ? encoding : "(none)");
        return false;
    }
    if (set && o->is_group) {
        r = PQexec(c->conn, for_groups);
        set = PQresultStatus(r) == PGRES_COMMAND_OK;
        PQclear(r);
    }
    if (set && PQsetnonblocking(c->conn, 1) == 0 && PQenterPipelineMode(c->conn)) return true;
    snprintf(ret_why, why_bytes, "the PostgreSQL session cannot be set up: %s", PQerrorMessage(c->conn));
    return false;
}

enum err postgres_open(const struct postgres_options *o, struct database_stats *stats, struct db **ret, char *ret_why,
                       size_t why_bytes)
{
    struct pg_db *c = memory_try_zeroed(1, sizeof *c);
    if (!c) {
        snprintf(ret_why, why_bytes, "out of memory");
        return ERR_UNAVAILABLE;
    }
    db_init(&c->db, &postgres_engine, stats);
    c->fresh = true;
    c->is_group = o->is_group;
    c->wait_ms = o->answer_ms ? o->answer_ms : ANSWER_MS;
    for (int i = 0; i < OWN_COUNT; i++) c->own[i].text = own_texts[i];
    /* What stands before dbname the address may override. A peer that is silently gone is noticed within 10 seconds. */
    static const char *const keys[] = {
        "connect_timeout",  "target_session_attrs",      "keepalives_idle", "keepalives_interval", "keepalives_count",
        "tcp_user_timeout", "fallback_application_name", "dbname",          "client_encoding",     NULL};
    const char *const values[] = {
        "3", o->read_only ? "any" : "read-write", "5", "2", "3", "10000", "souk", o->url, "UTF8", NULL};
    c->conn = PQconnectdbParams(keys, values, 1);
    if (PQstatus(c->conn) != CONNECTION_OK) {
        snprintf(ret_why, why_bytes, "no connection to PostgreSQL: %s", PQerrorMessage(c->conn));
    } else {
        PQsetNoticeReceiver(c->conn, hear, c);
        if (set_up(c, o, ret_why, why_bytes)) {
            *ret = &c->db;
            return OK;
        }
    }
    size_t n = strlen(ret_why); /* libpq ends its sentences with a newline */
    while (n && ret_why[n - 1] == '\n') ret_why[--n] = '\0';
    postgres_close(&c->db);
    return ERR_UNAVAILABLE;
}

void postgres_close(struct db *db)
{
    if (!db) return;
    struct pg_db *c = of(db);
    for (size_t i = 0; i < db->slots_cap; i++) free(db->slots[i].stmt);
    db_free_table(db);
    PQfinish(c->conn);
    free(c->sent);
    free(c);
}
