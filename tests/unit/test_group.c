/* tests/unit/test_group.c - PostgreSQL: jobs that share a transaction. Whatever happens to one of them, the others end
 * as they would have ended alone. Skipped without SOUK_TEST_PG. */
#include <semaphore.h>

#include "database.h"

enum { N = 40 };

static struct test_database t;
static struct test_port port;

static int open_it(void **state)
{
    (void)state;
    test_postgres_open(&t, &port, (struct database_options){.workers = 16},
                       "CREATE TABLE thing (n BIGINT PRIMARY KEY, text TEXT);"
                       "CREATE TABLE purse (id BIGINT PRIMARY KEY, money BIGINT NOT NULL);"
                       "INSERT INTO purse VALUES (1, 7), (2, 1000), (3, 1000)");
    return 0;
}

static int close_it(void **state)
{
    (void)state;
    test_postgres_close(&t, &port);
    return 0;
}

struct job {
    struct tx_job job; /* first */
    struct arena arena;
    /* what it does, in this order */
    enum err refused_first; /* before anything is written */
    enum err in_a_group;    /* there only */
    int64_t purse;          /* 0: none; takes 1 out of it */
    int64_t n;              /* 0: none; a row of `thing` */
    enum err refused_last;
    /* what became of it */
    int runs, groups, told;
    int64_t money, transaction;
    enum err ended;
};

static enum err spend(struct db *db, struct job *j)
{
    static const char take[] = "UPDATE purse SET money = money - $2 WHERE id = $1 AND money >= $2 RETURNING money";
    struct stmt *st = db_prepare(db, take);
    bind_int(st, j->purse);
    bind_int(st, 1);
    bool enough = db_step(st);
    if (enough) j->money = col_int(st);
    enum err e = db_done(st);
    return e ? e : enough ? OK : ERR_EXCEEDS_BALANCE;
}

static enum err put(struct db *db, const struct job *j)
{
    static const char insert[] = "INSERT INTO thing (n, text) VALUES ($1, $2)";
    struct stmt *st = db_prepare(db, insert);
    char text[32];
    snprintf(text, sizeof text, "thing %lld", (long long)j->n);
    bind_int(st, j->n);
    if (j->n % 2)
        bind_text(st, str_from(text)); /* gone when this returns: it has been copied */
    else
        bind_opt_text(st, (Str){0});
    return db_run(st);
}

static enum err run(struct tx_job *job, struct db *db)
{
    static const char who[] = "SELECT CAST(CAST(pg_current_xact_id() AS text) AS bigint)";
    static const char nothing[] = "SELECT CAST(0 AS bigint)";
    struct job *j = (struct job *)job;
    j->runs++;
    j->groups += db_is_grouped(db);
    struct stmt *st = db_prepare(db, db_can_write(db) ? who : nothing);
    if (db_step(st)) j->transaction = col_int(st);
    enum err e = db_done(st);
    if (e) return e;
    if (j->n && !db_can_write(db)) return ERR_NEEDS_WRITE;
    if (j->refused_first) return j->refused_first;
    if (j->in_a_group && db_is_grouped(db)) return j->in_a_group;
    if (j->purse) e = spend(db, j);
    if (!e && j->n) e = put(db, j);
    return e ? e : j->refused_last;
}

static void done(struct tx_job *job, enum err e)
{
    ((struct job *)job)->ended = e;
    ((struct job *)job)->told++;
}

/* Holds the worker until all have been submitted, so that they meet in one group. */
struct gate {
    struct tx_job job; /* first */
    struct arena arena;
    sem_t entered, open;
};

static enum err gate_run(struct tx_job *job, struct db *db)
{
    (void)db;
    struct gate *g = (struct gate *)job;
    sem_post(&g->entered);
    sem_wait(&g->open);
    return OK;
}

static void gate_done(struct tx_job *job, enum err e)
{
    (void)job;
    check(e == OK);
}

static struct job *jobs_new(void)
{
    struct job *jobs = calloc(N, sizeof *jobs);
    check(jobs != NULL);
    for (int i = 0; i < N; i++)
        jobs[i].job =
            (struct tx_job){.mode = TX_WRITE, .may_group = true, .run = run, .done = done, .arena = &jobs[i].arena};
    return jobs;
}

static void run_together(struct job *jobs)
{
    struct gate gate = {.job = {.mode = TX_WRITE, .may_group = true, .run = gate_run, .done = gate_done}};
    gate.job.arena = &gate.arena;
    sem_init(&gate.entered, 0, 0);
    sem_init(&gate.open, 0, 0);
    tx_submit(port.port, &gate.job);
    sem_wait(&gate.entered);
    for (int i = 0; i < N; i++) tx_submit(port.port, &jobs[i].job);
    sem_post(&gate.open);
    for (int i = 0; i < N; i++)
        while (!jobs[i].told) test_port_turn(&port);
    for (int i = 0; i < N; i++) assert_int_equal(jobs[i].told, 1);
    arena_done(&gate.arena);
}

static void jobs_free(struct job *jobs)
{
    for (int i = 0; i < N; i++) arena_done(&jobs[i].arena);
    free(jobs);
}

static const char things[] = "SELECT COUNT(*) FROM thing";
static const char texts[] = "SELECT COUNT(*) FROM thing WHERE text = CASE n % 2 WHEN 1 THEN 'thing ' || n END"
                            " OR (n % 2 = 0 AND text IS NULL)";

/* One transaction, one commit; some refused, and nothing of these is left. */
static void test_mixed(void **state)
{
    (void)state;
    if (!test_postgres()) skip();
    struct job *jobs = jobs_new();
    int64_t before = atomic_load(&database_stats(t.d)->batches);
    for (int i = 0; i < N; i++) {
        jobs[i].n = i + 1;
        if (i % 4 == 3) jobs[i].refused_first = ERR_NOT_FOUND;
        if (i % 4 == 2) jobs[i].refused_last = ERR_OUT_OF_STOCK; /* what it ran had not been sent */
    }
    run_together(jobs);
    for (int i = 0; i < N; i++) {
        assert_int_equal(jobs[i].ended, i % 4 == 3 ? ERR_NOT_FOUND : i % 4 == 2 ? ERR_OUT_OF_STOCK : OK);
        assert_int_equal(jobs[i].runs, 1);
        assert_int_equal(jobs[i].transaction, jobs[0].transaction);
    }
    assert_int_equal(atomic_load(&database_stats(t.d)->batches) - before, 2); /* the gate's and theirs */
    assert_int_equal(test_number(t.d, things), N / 2);
    assert_int_equal(test_number(t.d, texts), N / 2);
    jobs_free(jobs);
}

/* A guarded update of one row by many: each sees what is left, and no more succeed than there is for. */
static void test_one_row(void **state)
{
    (void)state;
    if (!test_postgres()) skip();
    struct job *jobs = jobs_new();
    for (int i = 0; i < N; i++) jobs[i].purse = i % 2 ? 1 : 2;
    run_together(jobs);
    bool seen[7] = {0};
    int paid = 0;
    for (int i = 0; i < N; i++) {
        assert_int_equal(jobs[i].runs, 1);
        if (jobs[i].purse == 2) assert_int_equal(jobs[i].ended, OK);
        if (jobs[i].purse == 2 || jobs[i].ended == ERR_EXCEEDS_BALANCE) continue;
        assert_int_equal(jobs[i].ended, OK);
        assert_true(jobs[i].money >= 0 && jobs[i].money < 7 && !seen[jobs[i].money]);
        seen[jobs[i].money] = true;
        paid++;
    }
    assert_int_equal(paid, 7);
    assert_int_equal(test_number(t.d, "SELECT money FROM purse WHERE id = 2"), 1000 - N / 2);
    jobs_free(jobs);
}

/* Refused after it has written: the group is undone, and the others are run again without it. */
static void test_spoiled(void **state)
{
    (void)state;
    if (!test_postgres()) skip();
    struct job *jobs = jobs_new();
    for (int i = 0; i < N; i++) {
        jobs[i].n = i + 1;
        jobs[i].purse = 2;
    }
    jobs[5].refused_last = ERR_OUT_OF_STOCK;
    jobs[5].purse = 3; /* so that the others do not wait for it */
    run_together(jobs);
    for (int i = 0; i < N; i++) {
        assert_int_equal(jobs[i].ended, i == 5 ? ERR_OUT_OF_STOCK : OK);
        assert_int_equal(jobs[i].runs, 2);
        assert_int_equal(jobs[i].groups, i == 5 ? 1 : 2);
    }
    assert_int_equal(test_number(t.d, things), N - 1);
    assert_int_equal(test_number(t.d, "SELECT money FROM purse WHERE id = 2"), 1000 - (N - 1));
    assert_int_equal(atomic_load(&database_stats(t.d)->retries), N);
    jobs_free(jobs);
}

/* A constraint that one of them breaks shows when all is sent: each is run by itself, and only this one fails. */
static void test_constraint(void **state)
{
    (void)state;
    if (!test_postgres()) skip();
    struct job *jobs = jobs_new();
    for (int i = 0; i < N; i++) jobs[i].n = i + 1;
    jobs[7].n = jobs[8].n = 999;
    run_together(jobs);
    for (int i = 0; i < N; i++)
        if (i != 7 && i != 8) assert_int_equal(jobs[i].ended, OK);
    assert_int_equal((jobs[7].ended == OK) + (jobs[8].ended == OK), 1);
    assert_int_equal((jobs[7].ended == ERR_INTERNAL) + (jobs[8].ended == ERR_INTERNAL), 1);
    assert_int_equal(test_number(t.d, things), N - 1);
    assert_int_equal(atomic_load(&database_stats(t.d)->alone), N);
    jobs_free(jobs);
}

/* Somebody else holds a row for long: only who needs it waits. */
static void test_locked(void **state)
{
    (void)state;
    if (!test_postgres()) skip();
    struct job *jobs = jobs_new();
    for (int i = 0; i < N; i++) {
        jobs[i].purse = i == 9 ? 3 : 2;
        jobs[i].n = i + 1;
    }
    PGconn *c = PQconnectdb(t.url);
    PQclear(PQexec(c, "BEGIN"));
    PQclear(PQexec(c, "UPDATE purse SET money = 500 WHERE id = 3"));
    for (int i = 0; i < N; i++) tx_submit(port.port, &jobs[i].job);
    int told = 0;
    while (told < N - 1) {
        test_port_turn(&port);
        told = 0;
        for (int i = 0; i < N; i++) told += jobs[i].told;
        assert_int_equal(jobs[9].told, 0);
    }
    PQclear(PQexec(c, "COMMIT"));
    PQfinish(c);
    while (!jobs[9].told) test_port_turn(&port);
    for (int i = 0; i < N; i++) assert_int_equal(jobs[i].ended, OK);
    assert_int_equal(jobs[9].money, 499);
    assert_int_equal(test_number(t.d, things), N);
    jobs_free(jobs);
}

/* Those who ask for it are run by themselves, or in a later group. */
static void test_leaving(void **state)
{
    (void)state;
    if (!test_postgres()) skip();
    struct job *jobs = jobs_new();
    for (int i = 0; i < N; i++) jobs[i].n = i + 1;
    jobs[3].in_a_group = ERR_RUN_ALONE;
    jobs[4].in_a_group = ERR_RUN_LATER;
    run_together(jobs);
    for (int i = 0; i < N; i++) assert_int_equal(jobs[i].ended, OK);
    assert_int_equal(jobs[3].groups, 1);
    assert_int_equal(jobs[3].runs, 2);
    assert_int_equal(jobs[4].groups, 5); /* and then by itself, so that it comes to an end */
    assert_int_equal(jobs[4].runs, 6);
    assert_int_equal(jobs[5].runs, 1);
    assert_int_equal(test_number(t.d, things), N);
    jobs_free(jobs);
}

/* Reads are grouped, too; one that has to write goes on to those who do. */
static void test_reads(void **state)
{
    (void)state;
    if (!test_postgres()) skip();
    struct job *jobs = jobs_new();
    for (int i = 0; i < N; i++) {
        jobs[i].job.mode = TX_READ;
        if (i % 2) jobs[i].n = i + 1;
    }
    usleep(2700000); /* those who had no work have no connection; that is no reason to say that the server is away */
    for (int i = 0; i < N; i++) tx_submit(port.port, &jobs[i].job);
    for (int i = 0; i < N; i++)
        while (!jobs[i].told) test_port_turn(&port);
    for (int i = 0; i < N; i++) {
        assert_int_equal(jobs[i].ended, OK);
        assert_int_equal(jobs[i].runs, i % 2 ? 2 : 1);
        assert_int_equal(jobs[i].groups, jobs[i].runs);
    }
    assert_int_equal(test_number(t.d, things), N / 2);
    jobs_free(jobs);
}

/* What the jobs below ask. */
static struct stmt *ask_money(struct db *db, int64_t purse)
{
    static const char money[] = "SELECT money FROM purse WHERE id = $1";
    struct stmt *st = db_prepare(db, money);
    bind_int(st, purse);
    return st;
}

static int64_t money_in(struct db *db, int64_t purse)
{
    struct stmt *st = ask_money(db, purse);
    int64_t money = db_step(st) ? col_int(st) : -1;
    check(db_done(st) == OK);
    return money;
}

/* Another purse was not asked for early, and what is asked for twice is read twice: after the job's own change, too. */
static enum err run_ahead(struct tx_job *job, struct db *db)
{
    struct job *j = (struct job *)job;
    j->runs++;
    j->groups += db_is_grouped(db);
    db_ahead(ask_money(db, 2));
    db_ahead(ask_money(db, 3)); /* in vain, for half of them */
    int64_t first = money_in(db, 1), second = money_in(db, 2);
    if (first != 7 || second != 1000) return ERR_INTERNAL;
    if (j->n % 2 && money_in(db, 3) != 1000) return ERR_INTERNAL;
    j->purse = 2;
    enum err e = j->n == 1 ? spend(db, j) : OK;
    j->money = money_in(db, 2);
    return e;
}

/* One flight for what was asked for early and what is waited for, one for the job that spends, one for what is read
 * again. */
static void test_ahead(void **state)
{
    (void)state;
    if (!test_postgres()) skip();
    struct job *jobs = jobs_new();
    for (int i = 0; i < N; i++) {
        jobs[i].job.run = run_ahead;
        jobs[i].n = i + 1;
    }
    int64_t before = atomic_load(&database_stats(t.d)->flights);
    run_together(jobs);
    for (int i = 0; i < N; i++) {
        assert_int_equal(jobs[i].ended, OK);
        assert_int_equal(jobs[i].runs, 1);
        assert_int_equal(jobs[i].groups, 1);
    }
    assert_int_equal(jobs[0].money, 999);
    assert_int_equal(atomic_load(&database_stats(t.d)->flights) - before, 3);
    jobs_free(jobs);
}

/* The first that it waits for may be what was asked for early. */
static enum err run_only_ahead(struct tx_job *job, struct db *db)
{
    struct job *j = (struct job *)job;
    db_ahead(ask_money(db, 2));
    j->money = money_in(db, 2);
    return OK;
}

/* And by itself a job is not disturbed by having said what it will ask for. */
static void test_ahead_first(void **state)
{
    (void)state;
    if (!test_postgres()) skip();
    struct job *jobs = jobs_new();
    for (int i = 0; i < N; i++) jobs[i].job.run = run_only_ahead;
    jobs[1].job.may_group = false;
    int64_t before = atomic_load(&database_stats(t.d)->flights);
    run_together(jobs);
    for (int i = 0; i < N; i++) assert_int_equal(jobs[i].money, 1000);
    assert_int_equal(atomic_load(&database_stats(t.d)->flights) - before, 1);
    jobs_free(jobs);
}

/* Who asked early fails with all others when the flight does. */
static enum err run_ahead_in_vain(struct tx_job *job, struct db *db)
{
    static const char nonsense[] = "SELECT 1 / (money - money) FROM purse WHERE id = $1";
    struct job *j = (struct job *)job;
    if (!db_is_grouped(db)) return ERR_CONFLICT;
    struct stmt *st = db_prepare(db, nonsense);
    bind_int(st, 2);
    db_ahead(st);
    st = db_prepare(db, nonsense);
    bind_int(st, 2);
    if (db_step(st)) j->money = col_int(st);
    return db_done(st);
}

static void test_ahead_failed(void **state)
{
    (void)state;
    if (!test_postgres()) skip();
    struct job *jobs = jobs_new();
    for (int i = 0; i < N; i++) jobs[i].job.run = run_ahead_in_vain;
    run_together(jobs);
    for (int i = 0; i < N; i++) {
        assert_int_equal(jobs[i].ended, ERR_CONFLICT); /* each by itself */
        assert_int_equal(jobs[i].money, 0);
    }
    jobs_free(jobs);
}

#define EACH(test) cmocka_unit_test_setup_teardown(test, open_it, close_it)

int main(void)
{
    log_setup(LOG_ERROR + 1, LOG_LOGFMT); /* the failures here are wanted */
    const struct CMUnitTest tests[] = {
        EACH(test_mixed),   EACH(test_one_row), EACH(test_spoiled), EACH(test_constraint),  EACH(test_locked),
        EACH(test_leaving), EACH(test_reads),   EACH(test_ahead),   EACH(test_ahead_first), EACH(test_ahead_failed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
