/* db/postgres_pipe.c - see postgres_pipe.h. */
#include "db/postgres_pipe.h"

#include <assert.h>
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/log.h"
#include "base/memory.h"

/* The answers to this many unread statements fit into the socket's buffers many times over, so the two sides can never
 * both be stuck sending. */
#define UNSYNCED_MAX 256

static const Oid oids[] = {[BIND_UNKNOWN] = 0,
                           [BIND_INT] = 20,
                           [BIND_TEXT] = 25,
                           [BIND_BLOB] = 17,
                           [PG_ARRAY + BIND_INT] = 1016,
                           [PG_ARRAY + BIND_TEXT] = 1009,
                           [PG_ARRAY + BIND_BLOB] = 1001};

void pipe_lose(struct pg_db *c, const char *why)
{
    if (c->lost) return;
    c->lost = true;
    log_event(LOG_WARN, "db.connection_lost", LOGC("reason", why));
    if (c->commit == PG_COMMIT_SENT) c->commit = PG_COMMIT_UNSURE;
    if (!c->db.err) {
        c->db.err = ERR_UNAVAILABLE;
        c->may_retry = true;
    }
}

static void note_sent(struct pg_db *c, enum sent_kind kind, struct pg_stmt *st, PGresult **result)
{
    if (c->sent_count == c->sent_cap) {
        size_t cap = c->sent_cap ? c->sent_cap * 2 : 64;
        struct sent *ring = memory_zeroed(cap, sizeof *ring);
        for (size_t i = 0; i < c->sent_count; i++) ring[i] = c->sent[(c->sent_head + i) % c->sent_cap];
        free(c->sent);
        c->sent = ring;
        c->sent_cap = cap;
        c->sent_head = 0;
    }
    c->sent[(c->sent_head + c->sent_count++) % c->sent_cap] = (struct sent){kind, st, result};
    if (kind == SENT_SYNC)
        c->unsynced = 0;
    else
        c->unsynced++;
}

/* Types are stated, not guessed: the server would take a bare parameter in a SELECT list for text. A NULL of unknown
 * kind takes the kind that its place had before. */
static bool prepare(struct pg_db *c, struct pg_stmt *st)
{
    bool same = st->state != PG_NOT_PREPARED;
    for (int i = 0; i < st->params; i++) {
        if (st->kinds[i] == BIND_UNKNOWN) st->kinds[i] = st->kinds_prepared[i];
        same &= st->kinds[i] == st->kinds_prepared[i];
    }
    if (same) return true;
    Oid types[PG_PARAMS_MAX];
    for (int i = 0; i < st->params; i++) {
        types[i] = oids[st->kinds[i]];
        st->kinds_prepared[i] = st->kinds[i];
    }
    snprintf(st->name, sizeof st->name, "s%u", ++c->names);
    if (!PQsendPrepare(c->conn, st->name, st->text, st->params, types)) return false;
    st->state = PG_PREPARING;
    note_sent(c, SENT_PREPARE, st, NULL);
    return true;
}

static void execute(struct pg_db *c, struct pg_stmt *st, enum sent_kind kind, PGresult **result)
{
    static const int binary[PG_PARAMS_MAX] = {[0 ... PG_PARAMS_MAX - 1] = 1};
    if (c->lost) return;
    if (c->unsynced >= UNSYNCED_MAX) {
        pipe_sync(c);
        pipe_receive(c);
        if (c->lost || c->db.err) return;
    }
    if (!prepare(c, st) || !PQsendQueryPrepared(c->conn, st->name, st->params, st->values, st->lengths, binary, 1)) {
        pipe_lose(c, PQerrorMessage(c->conn));
        return;
    }
    if (kind == SENT_COMMIT) c->commit = PG_COMMIT_SENT;
    note_sent(c, kind, st, result);
}

void pipe_execute(struct pg_db *c, struct pg_stmt *st, enum sent_kind kind)
{
    execute(c, st, kind, &st->result);
}

void pipe_read(struct pg_db *c, struct pg_stmt *st, PGresult **ret)
{
    execute(c, st, SENT_READ, ret);
}

void pipe_sync(struct pg_db *c)
{
    if (c->lost) return;
    if (!PQpipelineSync(c->conn))
        pipe_lose(c, PQerrorMessage(c->conn)); /* flushes what it can */
    else
        note_sent(c, SENT_SYNC, NULL, NULL);
}

/* Waits until there is something to read, sending what is left to send. */
static bool wait_input(struct pg_db *c)
{
    int unsent = PQflush(c->conn);
    struct pollfd f = {.fd = PQsocket(c->conn), .events = (short)(POLLIN | (unsent == 1 ? POLLOUT : 0))};
    int n = poll(&f, 1, (int)c->wait_ms);
    if (n < 0 && errno == EINTR) return true;
    if (n <= 0) {
        pipe_lose(c, n == 0 ? "no answer in time" : strerror(errno));
        return false;
    }
    if (f.revents & ~POLLOUT && !PQconsumeInput(c->conn)) {
        pipe_lose(c, PQerrorMessage(c->conn));
        return false;
    }
    return true;
}

/* Whether libpq had no memory for an answer. It drops the answer to a sync then, says so in its message alone, which is
 * empty while the pipeline is in order, and goes on waiting for what has already come. */
static bool has_dropped(const struct pg_db *c)
{
    return PQpipelineStatus(c->conn) != PQ_PIPELINE_OFF && *PQerrorMessage(c->conn);
}

/* The next result; NULL at the end of one message's results, and when the connection is lost. */
static PGresult *next_result(struct pg_db *c)
{
    while (!c->lost && PQisBusy(c->conn)) {
        if (has_dropped(c))
            pipe_lose(c, PQerrorMessage(c->conn));
        else
            wait_input(c);
    }
    return c->lost ? NULL : PQgetResult(c->conn);
}

static bool is_in(const char *state, const char *const *list)
{
    for (; *list; list++)
        if (strncmp(state, *list, strlen(*list)) == 0) return true;
    return false;
}

#define STATEMENT_ENDED "57014" /* it took longer than statement_timeout */
#define DISK_FULL "53100"       /* the server's own disk */

/* Beginnings of SQLSTATEs. */
static const char *const try_again[] = {"40001", "40P01", NULL};
static const char *const connection_gone[] = {"08000", "08001", "08003", "08004", "08006", "57P01",
                                              "57P02", "57P03", "57P05", "25P03", NULL};
/* A lock that is held for long, a key that somebody else has just taken: no reason for the others of a group to fail.
 */
static const char *const try_alone[] = {"55P03", "23505", NULL};
static const char *const server_trouble[] = {"53", "55P03", "57014", "58", "F0", "XX", NULL};
static const char *const commit_unsure[] = {"40003", "08007", NULL};
/* Messages of these classes hold no values of rows. */
static const char *const about_the_text[] = {"42", "0A", "26", "25", NULL};

static void note_error(struct pg_db *c, const struct sent *s, const PGresult *r)
{
    const char *state = PQresultErrorField(r, PG_DIAG_SQLSTATE);
    const char *severity = PQresultErrorField(r, PG_DIAG_SEVERITY_NONLOCALIZED);
    if (!state) { /* made by libpq itself */
        pipe_lose(c, PQresultErrorMessage(r));
        return;
    }
    bool fatal = severity && strcmp(severity, "ERROR") != 0;
    if (c->commit == PG_COMMIT_SENT) {
        /* An error of the COMMIT itself is certain, except when the session died: it may have died after committing. */
        bool unsure = fatal || is_in(state, commit_unsure);
        c->commit = s->kind != SENT_COMMIT ? PG_COMMIT_SKIPPED : unsure ? PG_COMMIT_UNSURE : PG_COMMIT_REFUSED;
    }
    if (strcmp(state, DISK_FULL) == 0) atomic_store(&c->db.stats->no_room_ms, time_now().ms);
    if (c->db.err) return; /* the first error stands */

    /* The server has forgotten a statement, or planned it for an old schema, or has become a replica: a new connection
     * will do better. */
    bool stale = !c->fresh && (strncmp(state, "26000", 5) == 0 || strncmp(state, "0A000", 5) == 0);
    bool demoted = c->mode == TX_WRITE && strncmp(state, "25006", 5) == 0;
    bool gone = fatal || stale || demoted || s->kind == SENT_END || is_in(state, connection_gone);
    if (gone || is_in(state, try_again) || (c->is_group && is_in(state, try_alone))) {
        c->db.err = ERR_UNAVAILABLE;
        c->may_retry = true;
        log_event(LOG_INFO, "db.try_again", LOGC("state", state), LOGC("sql", s->stmt ? s->stmt->text : ""));
        if (gone) pipe_lose(c, state);
        return;
    }
    const char *constraint = PQresultErrorField(r, PG_DIAG_CONSTRAINT_NAME);
    const char *text = is_in(state, about_the_text) ? PQresultErrorField(r, PG_DIAG_MESSAGE_PRIMARY) : NULL;
    log_event(LOG_ERROR, "db.failed", LOGC("state", state), LOGC("constraint", constraint), LOGC("reason", text),
              LOGC("sql", s->stmt ? s->stmt->text : ""));
    bool is_late = c->mode == TX_READ && strcmp(state, STATEMENT_ENDED) == 0;
    db_fail(&c->db, is_late ? ERR_READ_TOO_LONG : is_in(state, server_trouble) ? ERR_UNAVAILABLE : ERR_INTERNAL);
}

/* Whether a statement changed rows, by the tag that the server gives it: "INSERT 0 3", "UPDATE 1". */
static bool changed_rows(PGresult *r)
{
    const char *tag = PQcmdStatus(r);
    bool changes = *tag == 'I' || *tag == 'U' || *tag == 'D';
    return changes && *PQcmdTuples(r) > '0';
}

static void note_result(struct pg_db *c, const struct sent *s, PGresult *r)
{
    switch (PQresultStatus(r)) {
    case PGRES_COMMAND_OK:
    case PGRES_TUPLES_OK:
        if (s->kind == SENT_PREPARE)
            s->stmt->state = PG_PREPARED;
        else if (!c->wrote)
            c->wrote = changed_rows(r);
        if (s->kind == SENT_COMMIT) /* COMMIT of a transaction that has failed is answered ROLLBACK */
            c->commit = strcmp(PQcmdStatus(r), "COMMIT") == 0 ? PG_COMMIT_DONE : PG_COMMIT_REFUSED;
        if (s->kind == SENT_READ) {
            *s->result = r;
            return;
        }
        break;
    case PGRES_PIPELINE_ABORTED:
        if (s->kind == SENT_PREPARE) s->stmt->state = PG_NOT_PREPARED;
        if (s->kind == SENT_COMMIT) c->commit = PG_COMMIT_SKIPPED;
        break;
    case PGRES_FATAL_ERROR:
        if (s->kind == SENT_PREPARE) s->stmt->state = PG_NOT_PREPARED;
        note_error(c, s, r);
        break;
    default: pipe_lose(c, "an answer that was not asked for"); break;
    }
    PQclear(r);
}

void pipe_receive(struct pg_db *c)
{
    while (c->sent_count && !c->lost) {
        struct sent s = c->sent[c->sent_head];
        c->sent_head = (c->sent_head + 1) % c->sent_cap;
        c->sent_count--;
        if (s.kind == SENT_COMMIT) c->warned = false;
        PGresult *r = next_result(c);
        if (!r) {
            pipe_lose(c, "an answer is missing");
            break;
        }
        if (s.kind == SENT_SYNC) {
            if (PQresultStatus(r) != PGRES_PIPELINE_SYNC) pipe_lose(c, "the pipeline is out of step");
            PQclear(r);
            continue;
        }
        note_result(c, &s, r);
        r = next_result(c);
        if (r) {
            PQclear(r);
            pipe_lose(c, "one answer too many");
        }
    }
}

void pipe_look(struct pg_db *c)
{
    if (c->lost) return;
    struct pollfd f = {.fd = PQsocket(c->conn), .events = POLLRDHUP};
    if (poll(&f, 1, 0) != 0) pipe_lose(c, "the server has closed the connection");
}

void pipe_script(struct pg_db *c, const char *text)
{
    pipe_sync(c);
    pipe_receive(c);
    if (c->lost || c->db.err) return;
    struct pg_stmt script = {.text = text};
    struct sent s = {SENT_RUN, &script, NULL};
    int64_t wait_ms = c->wait_ms;
    c->wait_ms = -1; /* a migration may take any time */
    PGresult *r;
    if (!PQexitPipelineMode(c->conn) || !PQsendQuery(c->conn, text)) {
        pipe_lose(c, PQerrorMessage(c->conn));
    } else {
        while ((r = next_result(c))) note_result(c, &s, r);
    }
    if (!c->lost && !PQenterPipelineMode(c->conn)) pipe_lose(c, PQerrorMessage(c->conn));
    c->wait_ms = wait_ms;
}
