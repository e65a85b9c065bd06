/* db/postgres_group.c - see postgres_group.h. */
#include "db/postgres_group.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/fiber.h"
#include "base/log.h"
#include "base/memory.h"
#include "db/postgres.h"
#include "db/postgres_flight.h"
#include "db/postgres_watch.h"
#include "db/set_text.h"

#define NAMES_MAX 2 /* of one job: its key, its coupon */

/* A statement that was asked for before somebody waits for it (db_ahead). */
struct early {
    struct early *next;
    struct pg_ask ask;
    struct pg_stmt *reader; /* has a result once the rows have come */
    bool is_sent;
};

/* A job and what it sees of the database. */
struct member {
    struct db db; /* first: its statements lead here */
    struct pg_group *group;
    struct fiber *fiber;
    struct tx_job *job;
    struct pg_ask asked; /* what it waits for, while `waits`; without a text: for one of the early ones */
    struct early *early;
    struct pg_ask *runs, **runs_last; /* what nobody reads: goes out with the next flight */
    char names[NAMES_MAX][16];        /* enlisted */
    size_t name_bytes[NAMES_MAX];
    int name_count;
    enum err result;
    bool waits, has_ended, has_written;
    int place;
};

struct pg_group {
    struct engine engine; /* PostgreSQL's, but statements wait for the others */
    struct pg_flight *flight;
    struct pg_db *flight_db; /* the connection that it belongs to */
    struct pg_watch *watch;  /* or NULL */
    int64_t opened_ns;
    int count;
    struct member members[GROUP_MAX];
};

static struct pg_ask ask_of(struct pg_stmt *s)
{
    return (struct pg_ask){
        .sql = s->text, .params = s->params, .values = s->values, .lengths = s->lengths, .kinds = s->kinds};
}

/* The parameters have to outlive the statement. */
static struct pg_ask kept_ask_of(struct pg_stmt *s, struct arena *a)
{
    size_t n = (size_t)s->params;
    assert(s->stmt.bound == s->params);
    const char **values = arena_array(a, const char *, n);
    int *lengths = arena_array(a, int, n);
    unsigned char *kinds = arena_array(a, unsigned char, n);
    for (size_t i = 0; i < n; i++) {
        lengths[i] = s->lengths[i];
        kinds[i] = s->kinds[i];
        if (s->values[i]) values[i] = str_dup(a, (Str){s->values[i], (size_t)s->lengths[i]}).ptr;
    }
    return (struct pg_ask){.sql = s->text, .params = s->params, .values = values, .lengths = lengths, .kinds = kinds};
}

static bool asks_the_same(const struct pg_ask *ask, const struct pg_stmt *s)
{
    bool same = ask->sql == s->text && ask->params == s->params;
    for (int i = 0; same && i < s->params; i++)
        same = ask->kinds[i] == s->kinds[i] && !ask->values[i] == !s->values[i] &&
               (!s->values[i] ||
                (ask->lengths[i] == s->lengths[i] && memcmp(ask->values[i], s->values[i], (size_t)s->lengths[i]) == 0));
    return same;
}

static void ahead(struct stmt *st)
{
    struct member *m = (struct member *)st->db;
    struct pg_stmt *s = (struct pg_stmt *)st;
    struct arena *a = st->db->arena;
    struct early *early = arena_new(a, struct early);
    assert(!set_text_writes(s->text));
    early->ask = kept_ask_of(s, a);
    early->ask.reader = early->reader = arena_new(a, struct pg_stmt);
    early->next = m->early;
    m->early = early;
}

static struct early **find_early(struct member *m, const struct pg_stmt *s)
{
    struct early **at = &m->early;
    while (*at && !asks_the_same(&(*at)->ask, s)) at = &(*at)->next;
    return at;
}

static void wait_for(struct member *m, struct pg_ask asked)
{
    m->asked = asked;
    m->waits = true;
    fiber_wait(m->fiber);
    m->waits = false;
}

/* What was asked for early is given once. */
static void read_early(struct member *m, struct early **at, struct pg_stmt *ret)
{
    const struct pg_stmt *reader = (*at)->reader;
    if (!reader->result) wait_for(m, (struct pg_ask){0});
    *at = (*at)->next;
    ret->result = reader->result;
    ret->rows = reader->rows;
    ret->row_count = reader->row_count;
    ret->skip = reader->skip;
    ret->at = reader->at;
}

static void read_now(struct member *m, struct pg_stmt *ret)
{
    struct pg_ask ask = ask_of(ret);
    ask.reader = ret;
    wait_for(m, ask);
}

static bool step(struct stmt *st)
{
    struct pg_stmt *s = (struct pg_stmt *)st;
    struct member *m = (struct member *)st->db;
    if (!s->result) {
        assert(st->bound == s->params);
        struct early **early = find_early(m, s);
        if (*early)
            read_early(m, early, s);
        else
            read_now(m, s);
        if (st->db->err) return false;
        if (s->row_count && set_text_writes(s->text)) m->has_written = true;
    }
    if (++s->at >= s->row_count) return false;
    s->row = s->rows ? s->rows[s->at] : s->at;
    st->columns = PQnfields(s->result) - s->skip;
    return true;
}

static void run(struct stmt *st)
{
    struct member *m = (struct member *)st->db;
    struct arena *a = st->db->arena;
    struct pg_ask *ask = arena_new(a, struct pg_ask);
    *ask = kept_ask_of((struct pg_stmt *)st, a);
    *m->runs_last = ask;
    m->runs_last = &ask->next;
}

/* Results belong to the flight. */
static void reset(struct stmt *st)
{
    ((struct pg_stmt *)st)->result = NULL;
}

static bool has_enlisted(const struct member *m, Str name)
{
    for (int i = 0; i < m->name_count; i++)
        if (str_eq((Str){m->names[i], m->name_bytes[i]}, name)) return true;
    return false;
}

static bool enlist(struct db *db, Str name)
{
    struct member *m = (struct member *)db;
    const struct pg_group *g = m->group;
    assert(name.len && name.len <= sizeof *m->names && m->name_count < NAMES_MAX);
    for (int i = 0; i < g->count; i++)
        if (&g->members[i] != m && has_enlisted(&g->members[i], name)) return false;
    memcpy(m->names[m->name_count], name.ptr, name.len);
    m->name_bytes[m->name_count++] = name.len;
    return true;
}

struct pg_group *group_new(void)
{
    struct pg_group *g = memory_try_zeroed(1, sizeof *g);
    if (!g) return NULL;
    g->engine = postgres_engine;
    g->engine.step = step;
    g->engine.run = run;
    g->engine.reset = reset;
    g->engine.script = NULL;
    g->engine.enlist = enlist;
    g->engine.ahead = ahead;
    return g;
}

void group_watch(struct pg_group *g, struct pg_watch *watch, int64_t opened_ns)
{
    g->watch = watch;
    g->opened_ns = opened_ns;
}

void group_disconnect(struct pg_group *g)
{
    flight_free(g->flight);
    g->flight = NULL;
    g->flight_db = NULL;
}

void group_free(struct pg_group *g)
{
    if (!g) return;
    for (int i = 0; i < GROUP_MAX; i++) {
        struct member *m = &g->members[i];
        fiber_free(m->fiber);
        for (size_t k = 0; k < m->db.slots_cap; k++) free(m->db.slots[k].stmt);
        db_free_table(&m->db);
    }
    group_disconnect(g);
    free(g);
}

static void run_member(void *arg)
{
    struct member *m = arg;
    m->result = db_leave(&m->db, m->job->run(m->job, &m->db));
    m->has_ended = true;
}

static bool prepare(struct pg_group *g, struct db *db, enum tx_mode mode, struct tx_job **jobs, int n)
{
    struct pg_db *c = (struct pg_db *)db;
    if (g->flight_db != c) {
        group_disconnect(g);
        g->flight = flight_new(c);
        g->flight_db = c;
    }
    if (!g->flight) return false;
    g->count = n;
    int64_t generation = atomic_load(&db->stats->generation); /* before anything is read */
    for (int i = 0; i < n; i++) {
        struct member *m = &g->members[i];
        if (!m->fiber) {
            db_init(&m->db, &g->engine, db->stats);
            m->db.is_grouped = true;
            m->fiber = fiber_new();
            if (!m->fiber) return false;
        }
        m->group = g;
        m->job = jobs[i];
        m->runs = NULL;
        m->runs_last = &m->runs;
        m->early = NULL;
        m->name_count = 0;
        m->db.generation = generation;
        m->db.watch_epoch = 0;
        if (g->watch && mode == TX_READ) pg_watch_begin(g->watch, g->opened_ns, &m->db);
        m->waits = m->has_ended = m->has_written = false;
        db_enter(&m->db, jobs[i]->arena, mode == TX_WRITE);
    }
    return true;
}

/* Everybody as far as they come; true while somebody waits. */
static bool go_on(struct pg_group *g)
{
    bool waits = false;
    for (int i = 0; i < g->count; i++) {
        struct member *m = &g->members[i];
        if (!m->has_ended) waits |= fiber_resume(m->fiber);
    }
    return waits;
}

/* What was refused leaves nothing behind. */
static void add_runs(struct pg_group *g, struct member *m)
{
    struct pg_ask *ask = m->has_ended && m->result ? NULL : m->runs;
    for (; ask; ask = ask->next) {
        flight_add(g->flight, ask, &m->place);
        m->has_written = true;
    }
    m->runs = NULL;
    m->runs_last = &m->runs;
}

static void add_early(struct pg_group *g, struct member *m)
{
    for (struct early *early = m->early; early; early = early->next) {
        if (!early->is_sent) flight_add(g->flight, &early->ask, &m->place);
        early->is_sent = true;
    }
}

/* All runs go first: two jobs of one wallet write their transfers in the order in which the wallet was changed. */
static void fly(struct pg_group *g)
{
    for (int i = 0; i < g->count; i++) {
        g->members[i].place = 0;
        add_runs(g, &g->members[i]);
    }
    for (int i = 0; i < g->count; i++) {
        struct member *m = &g->members[i];
        if (!m->waits) continue;
        add_early(g, m);
        if (m->asked.sql) flight_add(g->flight, &m->asked, &m->place);
    }
    flight_send(g->flight);
}

static void run_members(struct pg_group *g, struct db *db)
{
    for (int i = 0; i < g->count; i++) fiber_begin(g->members[i].fiber, run_member, &g->members[i]);
    while (go_on(g)) {
        fly(g);
        atomic_fetch_add_explicit(&db->stats->flights, 1, memory_order_relaxed);
        if (flight_receive(g->flight)) continue;
        /* Nobody can go on: everybody comes to an end. */
        for (int i = 0; i < g->count; i++) g->members[i].db.err = db->err ? db->err : ERR_UNAVAILABLE;
    }
}

static bool somebody_tells(const struct pg_group *g)
{
    for (int i = 0; i < g->count; i++)
        if (g->members[i].db.tells) return true;
    return false;
}

static enum group_end commit(struct pg_group *g, struct db *db, enum tx_mode mode)
{
    bool is_spoiled = false, is_wanted = false;
    for (int i = 0; i < g->count; i++) {
        struct member *m = &g->members[i];
        m->job->result = m->result;
        m->job->is_alone |= m->result && m->has_written;
        is_spoiled |= m->result && m->has_written;
        is_wanted |= !m->result;
    }
    if (db->err || is_spoiled || !is_wanted) {
        postgres_rollback(db);
        return db->err ? GROUP_FAILED : is_spoiled ? GROUP_SPOILED : GROUP_DONE;
    }
    if (mode == TX_WRITE) fly(g);
    enum postgres_end end = postgres_commit(db);
    if (somebody_tells(g)) atomic_fetch_add(&db->stats->told, 1);
    switch (end) {
    case POSTGRES_COMMITTED: return GROUP_DONE;
    case POSTGRES_UNKNOWN: return GROUP_UNKNOWN;
    case POSTGRES_FAILED: break;
    }
    return GROUP_FAILED;
}

enum group_end group_run(struct pg_group *g, struct db *db, enum tx_mode mode, struct tx_job **jobs, int n)
{
    assert(n <= GROUP_MAX);
    struct arena none = {0};
    postgres_begin(db, mode);
    db_enter(db, &none, mode == TX_WRITE);
    enum group_end end = GROUP_FAILED;
    if (prepare(g, db, mode, jobs, n)) {
        run_members(g, db);
        end = commit(g, db, mode);
        flight_clear(g->flight);
    }
    db_leave(db, OK);
    return end;
}
