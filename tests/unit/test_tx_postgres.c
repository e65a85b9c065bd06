/* What a network and a server can do to a transaction. A proxy between us and the server cuts where it is told to.
 * Skipped without SOUK_TEST_PG. */
#include <pthread.h>

#include "base/timestamp.h"
#include "postgres_job.h"

static void open_workers(int workers, int busy_ms)
{
    if (open_through(workers, busy_ms) != OK) fail_msg("%s", why);
}

static void kill_backend(struct job *j)
{
    char sql[128];
    /* Until it is gone: the server says so before it closes the connection. */
    snprintf(sql, sizeof sql, "SELECT pg_terminate_backend(%lld, 5000)", (long long)j->pid);
    test_psql(direct.url, sql);
    usleep(50000);
}

/* COMMIT reached the server, its answer did not reach us. */
static void test_cut_after_commit(void **state)
{
    (void)state;
    if (!test_postgres()) skip();
    open_workers(1, 0);
    struct job j = {.n = 10};
    proxy_cut(CUT_AFTER, CUT_AT_COMMIT);
    assert_int_equal(write_job(&j), ERR_OUTCOME_UNKNOWN);
    assert_int_equal(atomic_load(&proxy.cuts), 1);
    assert_int_equal(j.runs, 1); /* not again: it did take effect */
    assert_int_equal(rows(), 3);
    j = (struct job){.n = 11};
    assert_int_equal(write_job(&j), OK);
    assert_int_equal(rows(), 4);
    assert_int_equal(atomic_load(&database_stats(d)->reconnects), 1);
    assert_true(database_is_healthy(d));
}

/* The same for jobs that share a transaction: none of them is told that it failed. */
struct grouped {
    struct tx_job job; /* first */
    struct arena arena;
    struct job of;
    bool told;
};

static enum err grouped_run(struct tx_job *job, struct db *db)
{
    return job_run(&((struct grouped *)job)->of, db);
}

static void grouped_done(struct tx_job *job, enum err e)
{
    job->result = e;
    ((struct grouped *)job)->told = true;
}

static void test_cut_after_commit_of_group(void **state)
{
    (void)state;
    if (!test_postgres()) skip();
    enum { N = 20 };
    open_workers(16, 0);
    struct test_port port;
    test_port_open(&port, d);
    struct grouped jobs[N] = {0};
    proxy_cut(CUT_AFTER, CUT_AT_COMMIT);
    for (int i = 0; i < N; i++) {
        jobs[i].job = (struct tx_job){
            .mode = TX_WRITE, .may_group = true, .run = grouped_run, .done = grouped_done, .arena = &jobs[i].arena};
        jobs[i].of.n = 10 + i;
        tx_submit(port.port, &jobs[i].job);
    }
    int unknown = 0, fine = 0;
    for (int i = 0; i < N; i++) {
        while (!jobs[i].told) test_port_turn(&port);
        unknown += jobs[i].job.result == ERR_OUTCOME_UNKNOWN;
        fine += jobs[i].job.result == OK;
        assert_int_equal(jobs[i].of.runs, 1);
        arena_done(&jobs[i].arena);
    }
    assert_int_equal(atomic_load(&proxy.cuts), 1);
    assert_true(unknown >= 1);
    assert_int_equal(unknown + fine, N);
    assert_int_equal(rows(), 2 + N); /* all of them did take effect */
    test_port_close(&port);
}

/* COMMIT was sent and never arrived: we cannot tell that from the other. All in one round trip, too. */
static void test_cut_before_commit(void **state)
{
    (void)state;
    if (!test_postgres()) skip();
    open_workers(1, 0);
    struct job j = {.n = 10, .no_read = true};
    proxy_cut(CUT_BEFORE, CUT_AT_COMMIT);
    assert_int_equal(write_job(&j), ERR_OUTCOME_UNKNOWN);
    assert_int_equal(atomic_load(&proxy.cuts), 1);
    assert_int_equal(j.runs, 1);
    assert_int_equal(rows(), 2);
    assert_int_equal(write_job(&j), OK); /* what the client's retry would do */
    assert_int_equal(rows(), 3);
}

/* Lost before COMMIT was sent, whether the server got the statement or not: run again. */
static void test_cut_in_the_middle(void **state)
{
    (void)state;
    if (!test_postgres()) skip();
    open_workers(1, 0);
    struct job j = {.n = 10};
    proxy_cut(CUT_AFTER, "/* asked */", 11);
    assert_int_equal(write_job(&j), OK);
    assert_int_equal(j.runs, 2);
    assert_int_equal(rows(), 3);
    assert_int_equal(atomic_load(&database_stats(d)->retries), 1);
}

/* The session is ended by an administrator between two statements of a transaction. */
static void test_terminated(void **state)
{
    (void)state;
    if (!test_postgres()) skip();
    open_workers(1, 0);
    struct job j = {.n = 10, .when_read = kill_backend};
    assert_int_equal(write_job(&j), OK);
    assert_int_equal(j.runs, 2);
    assert_int_equal(rows(), 3);
}

/* … and between two transactions: nobody notices, not even a job that is one round trip. */
static void test_terminated_idle(void **state)
{
    (void)state;
    if (!test_postgres()) skip();
    open_workers(1, 0);
    struct job j = {.n = 10};
    assert_int_equal(write_job(&j), OK);
    kill_backend(&j);
    struct job next = {.n = 11, .no_read = true};
    assert_int_equal(write_job(&next), OK);
    j = (struct job){.n = 12};
    assert_int_equal(write_job(&j), OK);
    kill_backend(&j);
    struct test_number n = {.sql = count};
    assert_int_equal(tx_call(d, TX_READ, read_number, &n, NULL), OK);
    assert_int_equal(n.v, 5);
    assert_int_equal(rows(), 5);
}

/* The same without a word of good-bye: noticed before COMMIT is sent, so it is run again and not in doubt. */
static void test_cut_idle(void **state)
{
    (void)state;
    if (!test_postgres()) skip();
    open_workers(1, 0);
    struct job j = {.n = 10};
    assert_int_equal(write_job(&j), OK);
    atomic_store(&proxy.down, true);
    usleep(200000);
    atomic_store(&proxy.down, false);
    j = (struct job){.n = 11, .no_read = true};
    assert_int_equal(write_job(&j), OK);
    assert_int_equal(j.runs, 2);
    assert_int_equal(rows(), 4);
}

/* The session is ended while it commits. Here it had not; it might have. */
static void *kill_committing(void *arg)
{
    (void)arg;
    usleep(300000);
    test_psql(direct.url, "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity WHERE query = 'COMMIT'"
                          " AND state = 'active' AND datname = current_database()");
    return NULL;
}

static void test_terminated_in_commit(void **state)
{
    (void)state;
    if (!test_postgres()) skip();
    test_psql(
        direct.url,
        "CREATE FUNCTION slow() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN PERFORM pg_sleep(5); RETURN NULL; END';"
        "CREATE CONSTRAINT TRIGGER slow AFTER INSERT ON thing DEFERRABLE INITIALLY DEFERRED FOR EACH ROW"
        " EXECUTE FUNCTION slow()");
    open_workers(1, 0);
    pthread_t killer;
    struct job j = {.n = 10};
    check(pthread_create(&killer, NULL, kill_committing, NULL) == 0);
    assert_int_equal(write_job(&j), ERR_OUTCOME_UNKNOWN);
    pthread_join(killer, NULL);
    assert_int_equal(j.runs, 1);
    test_psql(direct.url, "DROP TRIGGER slow ON thing");
    j = (struct job){.n = 11};
    assert_int_equal(write_job(&j), OK);
}

/* Two transactions that wait for each other: the server ends one, it is run again. */
struct pair {
    pthread_barrier_t *both;
    int64_t first, second;
    int runs;
};

static enum err lock_two(void *arg, struct db *db)
{
    static const char add[] = "UPDATE thing SET text = text || 'x' WHERE n = $1 RETURNING n";
    struct pair *p = arg;
    p->runs++;
    struct stmt *st = db_prepare(db, add);
    bind_int(st, p->first);
    db_step(st);
    db_done(st);
    if (p->runs == 1) pthread_barrier_wait(p->both);
    st = db_prepare(db, add);
    bind_int(st, p->second);
    db_step(st);
    return db_done(st);
}

static void *lock_thread(void *arg)
{
    check(tx_call(d, TX_WRITE, lock_two, arg, NULL) == OK);
    return NULL;
}

static void test_deadlock(void **state)
{
    (void)state;
    if (!test_postgres()) skip();
    open_workers(4, 0);
    pthread_barrier_t both;
    pthread_t threads[2];
    pthread_barrier_init(&both, NULL, 2);
    struct pair pairs[2] = {{&both, 1, 2, 0}, {&both, 2, 1, 0}};
    for (int i = 0; i < 2; i++) check(pthread_create(&threads[i], NULL, lock_thread, &pairs[i]) == 0);
    for (int i = 0; i < 2; i++) pthread_join(threads[i], NULL);
    pthread_barrier_destroy(&both);
    int runs = pairs[0].runs + pairs[1].runs;
    assert_in_range(runs, 3, 8); /* they may meet once more */
    assert_int_equal(atomic_load(&database_stats(d)->retries), runs - 2);
    assert_int_equal(atomic_load(&database_stats(d)->errors), 0);
    static const char both_twice[] = "SELECT COUNT(*) FROM thing WHERE text = 'xx'";
    assert_int_equal(test_number(direct.d, both_twice), 2);
}

/* Somebody else holds the row for longer than we wait: unavailable, and nothing stays locked by us. */
static void test_lock_timeout(void **state)
{
    (void)state;
    if (!test_postgres()) skip();
    open_workers(2, 300);
    static const char add[] = "UPDATE thing SET text = 'ours' WHERE n = 1";
    PGconn *c = PQconnectdb(direct.url);
    PQclear(PQexec(c, "BEGIN"));
    PQclear(PQexec(c, "SELECT 1 FROM thing WHERE n = 1 FOR UPDATE"));
    int64_t begun = time_monotonic_ns();
    assert_int_equal(test_write(d, add), ERR_UNAVAILABLE);
    int64_t ms = (time_monotonic_ns() - begun) / 1000000;
    assert_in_range(ms, 250, 3000);
    PQclear(PQexec(c, "COMMIT"));
    PQfinish(c);
    assert_int_equal(test_write(d, add), OK);
}

/* The server is away: a bounded wait, then quick answers, and everything comes back by itself. */
static void test_away(void **state)
{
    (void)state;
    if (!test_postgres()) skip();
    open_workers(3, 0);
    struct job j = {.n = 10};
    assert_int_equal(write_job(&j), OK);
    atomic_store(&proxy.down, true);
    int64_t begun = time_monotonic_ns();
    j = (struct job){.n = 11};
    assert_int_equal(write_job(&j), ERR_UNAVAILABLE);
    assert_in_range((time_monotonic_ns() - begun) / 1000000, 1000, 6000);
    begun = time_monotonic_ns();
    struct test_number n = {.sql = count};
    for (int i = 0; i < 20; i++) assert_int_equal(tx_call(d, TX_READ, read_number, &n, NULL), ERR_UNAVAILABLE);
    assert_in_range((time_monotonic_ns() - begun) / 1000000, 0, 4000);
    atomic_store(&proxy.down, false);
    begun = time_monotonic_ns();
    enum err e;
    do {
        usleep(20000);
        j = (struct job){.n = 12};
        e = write_job(&j);
    } while (e == ERR_UNAVAILABLE && time_monotonic_ns() - begun < 5 * INT64_C(1000000000));
    assert_int_equal(e, OK);
    assert_int_equal(rows(), 4); /* 11 never happened */
    assert_true(database_is_healthy(d));
}

/* Fewer connections than workers: those that have one do the work, nothing fails. */
static void *count_thread(void *arg)
{
    (void)arg;
    for (int i = 0; i < 30; i++) {
        struct test_number n = {.sql = count};
        check(tx_call(d, TX_READ, read_number, &n, NULL) == OK);
        usleep(1000);
    }
    return NULL;
}

static void test_too_few_connections(void **state)
{
    (void)state;
    if (!test_postgres()) skip();
    atomic_store(&proxy.limit, 2);
    open_workers(8, 0);
    pthread_t threads[6];
    for (int i = 0; i < 6; i++) check(pthread_create(&threads[i], NULL, count_thread, NULL) == 0);
    for (int i = 0; i < 6; i++) pthread_join(threads[i], NULL);
    assert_int_equal(atomic_load(&database_stats(d)->errors), 0);
}

/* A table changes under a prepared statement; and a server that has forgotten them all. */
static enum err forget(void *arg, struct db *db)
{
    (void)arg;
    return db_script(db, "DEALLOCATE ALL");
}

static void test_stale_statements(void **state)
{
    (void)state;
    if (!test_postgres()) skip();
    open_workers(1, 0);
    static const char all[] = "SELECT * FROM thing ORDER BY n";
    struct test_number n = {.sql = all};
    for (int i = 0; i < 3; i++) assert_int_equal(tx_call(d, TX_READ, read_number, &n, NULL), OK);
    test_psql(direct.url, "ALTER TABLE thing ADD COLUMN more BIGINT");
    assert_int_equal(tx_call(d, TX_READ, read_number, &n, NULL), OK);
    assert_int_equal(n.v, 1);
    assert_int_equal(tx_call(d, TX_WRITE, forget, NULL, NULL), OK); /* COMMIT, too, is forgotten: run again */
    assert_int_equal(tx_call(d, TX_READ, read_number, &n, NULL), OK);
    assert_int_equal(atomic_load(&database_stats(d)->errors), 0);
}

/* COMMIT itself is refused. The next transaction on the same connection knows nothing of it. */
static void test_commit_refused(void **state)
{
    (void)state;
    if (!test_postgres()) skip();
    test_psql(direct.url, "CREATE TABLE child (n BIGINT REFERENCES thing (n) DEFERRABLE INITIALLY DEFERRED)");
    open_workers(1, 0);
    static const char orphan[] = "INSERT INTO child (n) VALUES (77)";
    for (int i = 0; i < 3; i++) {
        struct job j = {.n = 10 + i, .no_read = i != 1};
        assert_int_equal(test_write(d, orphan), ERR_INTERNAL);
        assert_int_equal(write_job(&j), OK);
        assert_int_equal(j.runs, 1);
    }
    assert_int_equal(rows(), 5);
    assert_int_equal(test_number(d, count), 5);
    assert_int_equal(atomic_load(&database_stats(d)->retries), 0);
    assert_int_equal(atomic_load(&database_stats(d)->reconnects), 0);
}

/* A transaction that has read does not stay open on an idle connection. */
static void test_read_ends(void **state)
{
    (void)state;
    if (!test_postgres()) skip();
    open_workers(1, 0);
    static const char open_ones[] = "SELECT COUNT(*) FROM pg_stat_activity WHERE datname = current_database()"
                                    " AND state LIKE 'idle in%'";
    assert_int_equal(test_number(d, count), 2);
    int64_t open = 1;
    for (int i = 0; i < 100 && open; i++) {
        usleep(10000);
        open = test_number(direct.d, open_ones);
    }
    assert_int_equal(open, 0);
}

/* Far more unread statements than fit the buffers of both sides. */
static enum err flood(void *arg, struct db *db)
{
    static const char insert[] = "INSERT INTO thing (n, text) VALUES ($1, $2)";
    static char text[2000];
    (void)arg;
    memset(text, 'y', sizeof text);
    for (int i = 0; i < 5000; i++) {
        struct stmt *st = db_prepare(db, insert);
        bind_int(st, 1000 + i);
        bind_text(st, (Str){text, sizeof text});
        db_run(st);
    }
    return db_err(db);
}

static void test_flood(void **state)
{
    (void)state;
    if (!test_postgres()) skip();
    open_workers(1, 0);
    assert_int_equal(tx_call(d, TX_WRITE, flood, NULL, NULL), OK);
    assert_int_equal(rows(), 5002);
    assert_int_equal(tx_call(d, TX_WRITE, flood, NULL, NULL), ERR_INTERNAL); /* each is there already */
    assert_int_equal(rows(), 5002);
}

static void test_refused(void **state)
{
    (void)state;
    if (!test_postgres()) skip();
    char url[512];
    snprintf(url, sizeof url, "postgres://souk@/no_such_database?host=%s", proxy.folder);
    assert_int_equal(database_open(&(struct database_options){.url = url}, &d, why, sizeof why), ERR_UNAVAILABLE);
    assert_non_null(strstr(why, "no_such_database"));
    assert_null(strchr(why, '\n'));
    test_psql(test_postgres(), "CREATE DATABASE latin TEMPLATE template0 ENCODING 'LATIN1' LOCALE 'C'");
    snprintf(url, sizeof url, "postgres://souk@/latin?host=%s", proxy.folder);
    assert_int_equal(database_open(&(struct database_options){.url = url}, &d, why, sizeof why), ERR_UNAVAILABLE);
    assert_non_null(strstr(why, "UTF8"));
    test_psql(test_postgres(), "DROP DATABASE latin WITH (FORCE)");

    /* To look only. */
    snprintf(url, sizeof url, "postgres://souk@/%s?host=%s", direct.name, proxy.folder);
    struct database_options look = {.url = url, .read_only = true};
    assert_int_equal(database_open(&look, &d, why, sizeof why), OK);
    assert_int_equal(test_number(d, count), 2);
    struct job j = {.n = 10};
    assert_int_equal(write_job(&j), ERR_UNAVAILABLE);
    assert_int_equal(j.runs, 0);
}

/* ---- errors of the server ---- */

static enum err raise(void *arg, struct db *db)
{
    static const char ask[] = "SELECT raise($1)";
    struct stmt *st = db_prepare(db, ask);
    bind_text(st, str_from(arg));
    db_step(st);
    return db_done(st);
}

static enum err raise_late(void *arg, struct db *db)
{
    static const char insert[] = "INSERT INTO late (state) VALUES ($1)";
    struct stmt *st = db_prepare(db, insert);
    bind_text(st, str_from(arg));
    return db_run(st);
}

static void test_states(void **state)
{
    (void)state;
    if (!test_postgres()) skip();
    test_psql(direct.url, "CREATE FUNCTION raise(state TEXT) RETURNS BIGINT LANGUAGE plpgsql AS"
                          " $$ BEGIN RAISE EXCEPTION USING ERRCODE = state; END $$");
    test_psql(direct.url, "CREATE TABLE late (state TEXT)");
    test_psql(direct.url, "CREATE FUNCTION raise_late() RETURNS TRIGGER LANGUAGE plpgsql AS"
                          " $$ BEGIN PERFORM raise(NEW.state); RETURN NULL; END $$");
    test_psql(direct.url, "CREATE CONSTRAINT TRIGGER t AFTER INSERT ON late DEFERRABLE INITIALLY DEFERRED"
                          " FOR EACH ROW EXECUTE FUNCTION raise_late()");
    open_workers(1, 0);
    static const struct {
        const char *state;
        enum err write, read, commit;
    } cases[] = {
        {"40001", ERR_UNAVAILABLE, ERR_UNAVAILABLE, ERR_UNAVAILABLE}, /* every time again */
        {"08006", ERR_UNAVAILABLE, ERR_UNAVAILABLE, ERR_UNAVAILABLE},
        {"25006", ERR_UNAVAILABLE, ERR_INTERNAL, ERR_UNAVAILABLE}, /* a replica does not write */
        {"57014", ERR_UNAVAILABLE, ERR_READ_TOO_LONG, ERR_UNAVAILABLE},
        {"53100", ERR_UNAVAILABLE, ERR_UNAVAILABLE, ERR_UNAVAILABLE},
        {"23514", ERR_INTERNAL, ERR_INTERNAL, ERR_INTERNAL},
        {"40003", ERR_INTERNAL, ERR_INTERNAL, ERR_OUTCOME_UNKNOWN},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[8];
        snprintf(text, sizeof text, "%s", cases[i].state);
        enum err got[] = {tx_call(d, TX_WRITE, raise, text, NULL), tx_call(d, TX_READ, raise, text, NULL),
                          tx_call(d, TX_WRITE, raise_late, text, NULL)};
        enum err want[] = {cases[i].write, cases[i].read, cases[i].commit};
        for (size_t k = 0; k < 3; k++)
            if (got[k] != want[k])
                print_error("%s %zu: %s, not %s\n", text, k, err_info(got[k])->code, err_info(want[k])->code);
        assert_memory_equal(got, want, sizeof got);
    }
    assert_int_equal(test_number(direct.d, "SELECT COUNT(*) FROM late"), 0);
    struct job j = {.n = 10};
    assert_int_equal(write_job(&j), OK);
}

int main(void)
{
    log_setup(LOG_ERROR + 1, LOG_LOGFMT); /* the failures here are wanted */
    const struct CMUnitTest tests[] = {
        ON(test_cut_after_commit),
        ON(test_cut_after_commit_of_group),
        ON(test_cut_before_commit),
        ON(test_cut_in_the_middle),
        ON(test_terminated),
        ON(test_terminated_idle),
        ON(test_cut_idle),
        ON(test_terminated_in_commit),
        ON(test_deadlock),
        ON(test_lock_timeout),
        ON(test_away),
        ON(test_states),
        ON(test_too_few_connections),
        ON(test_stale_statements),
        ON(test_commit_refused),
        ON(test_read_ends),
        ON(test_flood),
        ON(test_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
