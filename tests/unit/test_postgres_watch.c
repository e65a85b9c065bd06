/* Rows in memory on PostgreSQL: a look tells of every change that was committed since the last one, in whatever order,
 * and of no other. Skipped without SOUK_TEST_PG. */
#include "base/timestamp.h"
#include "database.h"
#include "domain/license_cache.h"

static struct test_database t;
static struct test_port port;

static int open_it(void **state)
{
    (void)state;
    test_postgres_open(
        &t, &port,
        (struct database_options){.workers = 8, .look = license_look, .look_back = license_look_back, .look_ms = 20000},
        "CREATE TABLE license (id BIGINT);"
        "CREATE TABLE revision (name TEXT PRIMARY KEY, number BIGINT);"
        "INSERT INTO revision VALUES ('catalog', 7);"
        "CREATE TABLE license_change (xid BIGINT, license_id BIGINT, PRIMARY KEY (xid, license_id))");
    return 0;
}

static int close_it(void **state)
{
    (void)state;
    test_postgres_close(&t, &port);
    return 0;
}

/* Looks whether a row under a mark holds; or reads something, and marks the row. */
struct visit {
    struct tx_job job;
    struct arena arena;
    int64_t id;
    bool reads;
    struct row_mark mark;
    bool told, has_looked, is_marked, holds, knows;
    int64_t number, generation;
};

static enum err visit_run(struct tx_job *job, struct db *db)
{
    static const char one[] = "SELECT 1";
    struct visit *v = (struct visit *)job;
    if (db_has_looked(db)) {
        v->has_looked = true;
        v->holds = db_row_holds(db, (Id){v->id}, v->mark);
        v->knows = db_watched_number(db, &v->number);
        v->generation = db_generation(db);
    }
    if (!v->reads) return OK;
    struct stmt *st = db_prepare(db, one);
    db_step(st);
    enum err e = db_done(st);
    if (!e) v->is_marked = db_row_mark(db, (Id){v->id}, &v->mark);
    return e;
}

static void visit_done(struct tx_job *job, enum err e)
{
    check(e == OK);
    ((struct visit *)job)->told = true;
}

static void submit(struct test_port *p, struct visit *v)
{
    v->job =
        (struct tx_job){.mode = TX_READ, .may_group = true, .may_remember = true, .run = visit_run, .done = visit_done};
    v->job.arena = &v->arena;
    v->told = v->has_looked = v->is_marked = v->holds = false;
    tx_submit(p->port, &v->job);
}

static void await(struct test_port *p, struct visit *v)
{
    while (!v->told) {
        test_port_turn(p);
        tx_port_pass(p->port);
    }
    arena_done(&v->arena);
}

static void visit_once(struct visit *v)
{
    submit(&port, v);
    tx_port_pass(port.port);
    await(&port, v);
}

/* While there is no connection to look with, nothing is known: until there is one again. */
static void visit(struct visit *v)
{
    int64_t until = time_monotonic_ns() + INT64_C(20000000000);
    do {
        visit_once(v);
        assert_true(time_monotonic_ns() < until);
    } while (!v->has_looked || (v->reads && !v->is_marked));
}

static struct row_mark mark(int64_t id)
{
    struct visit v = {.id = id, .reads = true};
    visit(&v);
    return v.mark;
}

static bool holds(int64_t id, struct row_mark m)
{
    struct visit v = {.id = id, .mark = m};
    visit(&v);
    return v.holds;
}

#define CHANGE(id) "INSERT INTO license_change VALUES (pg_current_xact_id()::text::bigint, " #id ");"

static void say(PGconn *c, const char *sql)
{
    PGresult *r = PQexec(c, sql);
    if (PQresultStatus(r) != PGRES_COMMAND_OK) fail_msg("%s: %s", sql, PQerrorMessage(c));
    PQclear(r);
}

static void test_changed(void **state)
{
    (void)state;
    if (!test_postgres()) skip();
    struct row_mark one = mark(1), two = mark(2);
    assert_true(holds(1, one) && holds(2, two));
    test_psql(t.url, CHANGE(1));
    assert_true(!holds(1, one) && holds(2, two));
    one = mark(1);
    assert_true(holds(1, one));
    test_psql(t.url, "BEGIN;" CHANGE(1) CHANGE(2) "COMMIT");
    assert_true(!holds(1, one) && !holds(2, two));
    test_psql(t.url, "BEGIN;" CHANGE(1) "ROLLBACK");
    one = mark(1);
    assert_true(holds(1, one));
}

/* The first to begin is the last to commit. */
static void test_order_of_commits(void **state)
{
    (void)state;
    if (!test_postgres()) skip();
    PGconn *early = PQconnectdb(t.url), *late = PQconnectdb(t.url);
    struct row_mark one = mark(1), two = mark(2);
    say(early, "BEGIN");
    say(early, CHANGE(1));
    say(late, "BEGIN");
    say(late, CHANGE(2));
    assert_true(holds(1, one) && holds(2, two));
    say(late, "COMMIT");
    assert_true(holds(1, one) && !holds(2, two));
    two = mark(2);
    assert_true(holds(1, one) && holds(2, two)); /* it was told of once, though the early one still runs */
    test_psql(t.url, CHANGE(3));
    assert_true(holds(1, one) && holds(2, two));
    struct row_mark again = mark(1);
    say(early, "COMMIT");
    assert_true(!holds(1, one) && !holds(1, again) && holds(2, two));
    PQfinish(early);
    PQfinish(late);
}

/* Parts of a transaction have numbers of their own, which nobody gets to see. */
static void test_savepoints(void **state)
{
    (void)state;
    if (!test_postgres()) skip();
    PGconn *c = PQconnectdb(t.url);
    struct row_mark one = mark(1), two = mark(2);
    say(c, "BEGIN");
    say(c, "SAVEPOINT a");
    say(c, CHANGE(1));
    say(c, "SAVEPOINT b");
    say(c, CHANGE(2));
    say(c, "ROLLBACK TO b");
    say(c, "RELEASE a");
    test_psql(t.url, CHANGE(3));
    assert_true(holds(1, one) && holds(2, two));
    say(c, "COMMIT");
    assert_true(!holds(1, one) && holds(2, two));
    PQfinish(c);
}

/* However much was changed, and however much of it has been seen while somebody is in a transaction since earlier. */
static void test_much_was_changed(void **state)
{
    (void)state;
    if (!test_postgres()) skip();
    PGconn *early = PQconnectdb(t.url), *c = PQconnectdb(t.url);
    say(early, "BEGIN");
    say(early, CHANGE(1));
    test_psql(t.url, "INSERT INTO license_change SELECT pg_current_xact_id()::text::bigint, n"
                     " FROM generate_series(1, 20000) n");
    const char *all[] = {"1", "1025", ""};
    PGresult *r = PQexecParams(c, license_look, 2, NULL, all, NULL, NULL, 0);
    assert_int_equal(PQntuples(r), 1025);
    PQclear(r);
    r = PQexecParams(c, license_look_back, 3, NULL, all, NULL, NULL, 0);
    assert_int_equal(PQntuples(r), 1025);
    PQclear(r);

    r = PQexec(c, "SET enable_seqscan = off; SELECT split_part(s, ':', 2), split_part(s, ':', 3)"
                  " FROM CAST(pg_current_snapshot() AS text) s");
    char *seen[] = {strdup(PQgetvalue(r, 0, 0)), strdup(PQgetvalue(r, 0, 1))};
    PQclear(r);
    say(early, "COMMIT");
    char explain[2048];
    snprintf(explain, sizeof explain, "EXPLAIN (ANALYZE, FORMAT JSON) %s", license_look_back);
    r = PQexecParams(c, explain, 3, NULL, (const char *[]){seen[0], "1025", seen[1]}, NULL, NULL, 0);
    assert_int_equal(PQntuples(r), 1);
    const char *plan = PQgetvalue(r, 0, 0);
    assert_null(strstr(plan, "\"Actual Rows\": 20000"));
    assert_null(strstr(plan, "\"Rows Removed by Filter\": 20000"));
    PQclear(r);
    for (int i = 0; i < 2; i++) free(seen[i]);
    PQfinish(early);
    PQfinish(c);
}

/* What no trigger sees: another table, as a restored one is, or all rows written again. */
static void test_table_is_another(void **state)
{
    static const char *const changes[] = {
        "ALTER TABLE license ALTER id TYPE BIGINT USING -id",
        "DROP TABLE license; CREATE TABLE license (id BIGINT)",
        "ALTER TABLE license RENAME TO license_before; CREATE TABLE license (id BIGINT)",
        "TRUNCATE license",
    };
    (void)state;
    if (!test_postgres()) skip();
    for (size_t i = 0; i < sizeof changes / sizeof *changes; i++) {
        struct row_mark one = mark(1);
        assert_true(holds(1, one));
        test_psql(t.url, changes[i]);
        assert_false(holds(1, one));
    }
}

static void test_all_rows(void **state)
{
    (void)state;
    if (!test_postgres()) skip();
    struct row_mark one = mark(1);
    test_psql(t.url, CHANGE(0));
    assert_false(holds(1, one));
    one = mark(1);
    test_psql(t.url, "INSERT INTO license_change SELECT pg_current_xact_id()::text::bigint, n"
                     " FROM generate_series(100, 1123) n");
    assert_true(holds(1, one));
    test_psql(t.url, "INSERT INTO license_change SELECT pg_current_xact_id()::text::bigint, n"
                     " FROM generate_series(100, 1124) n");
    assert_false(holds(1, one)); /* more than a look takes */
}

static void test_forgotten(void **state)
{
    (void)state;
    if (!test_postgres()) skip();
    struct row_mark one = mark(1);
    test_psql(t.url, CHANGE(-1)); /* what was forgotten had been told of */
    assert_true(holds(1, one));
    test_psql(t.url, "INSERT INTO license_change SELECT pg_current_xact_id()::text::bigint,"
                     " -pg_current_xact_id()::text::bigint - 1");
    assert_false(holds(1, one)); /* perhaps not */
    one = mark(1);
    assert_true(holds(1, one));
    /* From another server, whose transactions have higher numbers. */
    test_psql(t.url, "INSERT INTO license_change VALUES (9000000000000000000, 1), (9000000000000000000, 0)");
    assert_true(holds(1, one));
}

static enum err forget(void *arg, struct db *db)
{
    return license_changes_forget(db, arg);
}

#define CHANGES "SELECT COUNT(*) FROM license_change WHERE license_id >= 0"

/* What was there the last time: until nobody on the whole server is in a transaction that began earlier. */
static void forget_all(int64_t *last, struct row_mark *kept)
{
    int64_t until = time_monotonic_ns() + INT64_C(20000000000);
    while (test_number(t.d, CHANGES)) {
        assert_true(time_monotonic_ns() < until);
        assert_int_equal(tx_call(t.d, TX_READ, forget, last, NULL), OK);
        if (kept) assert_true(holds(1, *kept)); /* the look before saw what was forgotten */
    }
}

static void test_forgetting(void **state)
{
    (void)state;
    if (!test_postgres()) skip();
    int64_t last = 0;
    struct row_mark one = mark(1);
    test_psql(t.url, CHANGE(1) "INSERT INTO license_change VALUES (9000000000000000000, 1)");
    assert_int_equal(tx_call(t.d, TX_READ, forget, &last, NULL), OK); /* what comes from elsewhere goes at once */
    assert_int_equal(test_number(t.d, CHANGES), 1);
    assert_true(last > 0);
    forget_all(&last, NULL);
    assert_false(holds(1, one)); /* nobody had looked in between */
    int64_t rows = test_number(t.d, "SELECT COUNT(*) FROM license_change");
    one = mark(1);
    assert_int_equal(tx_call(t.d, TX_READ, forget, &last, NULL), OK); /* nothing to do, nothing is written */
    assert_int_equal(test_number(t.d, "SELECT COUNT(*) FROM license_change"), rows);
    assert_true(holds(1, one));
    test_psql(t.url, CHANGE(2));
    assert_true(holds(1, one));
    forget_all(&last, &one);
}

/* So many that they are forgotten by and by. */
static void test_forgetting_many(void **state)
{
    (void)state;
    if (!test_postgres()) skip();
    int64_t last = 0;
    char many[128];
    snprintf(many, sizeof many, "INSERT INTO license_change SELECT 3, n FROM generate_series(1, %d) n",
             LICENSE_CHANGES_FORGOTTEN + 7);
    test_psql(t.url, many);
    assert_int_equal(tx_call(t.d, TX_READ, forget, &last, NULL), OK); /* from now on they are old */
    assert_int_equal(tx_call(t.d, TX_READ, forget, &last, NULL), OK);
    assert_int_equal(test_number(t.d, CHANGES), 7);
    assert_int_equal(tx_call(t.d, TX_READ, forget, &last, NULL), OK);
    assert_int_equal(test_number(t.d, CHANGES), 0);
}

static void test_number_is_known(void **state)
{
    (void)state;
    if (!test_postgres()) skip();
    struct visit v = {.id = 1};
    visit(&v);
    assert_true(v.knows && v.number == 7);
    test_psql(t.url, "UPDATE revision SET number = 8");
    visit(&v);
    assert_true(v.knows && v.number == 8);
}

/* Who waits is answered all the same; what was kept before counts no longer. */
static void test_connection_lost(void **state)
{
    (void)state;
    if (!test_postgres()) skip();
    struct row_mark one = mark(1);
    assert_true(holds(1, one));
    test_psql(t.url, "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
                     " WHERE datname = current_database() AND pid <> pg_backend_pid()");
    struct visit v = {.id = 1, .mark = one, .reads = true};
    visit_once(&v);
    assert_false(holds(1, one));
    one = mark(1);
    assert_true(holds(1, one));
}

/* Nobody waits for a look that cannot be had: a job that did would be woken twice. */
static void test_no_look(void **state)
{
    (void)state;
    if (!test_postgres()) skip();
    mark(1); /* connected */
    test_psql(t.url, "ALTER TABLE license_change RENAME TO elsewhere");
    struct visit v = {.id = 1, .reads = true};
    visit_once(&v); /* finds out */
    assert_false(v.has_looked);
    int64_t until = time_monotonic_ns() + INT64_C(1500000000); /* a few attempts to connect */
    while (time_monotonic_ns() < until) {
        int wakes = atomic_load(&port.wakes);
        visit_once(&v);
        assert_int_equal(atomic_load(&port.wakes) - wakes, 1);
        assert_false(v.has_looked);
        usleep(1000);
    }
    test_psql(t.url, "ALTER TABLE elsewhere RENAME TO license_change");
    struct row_mark one = mark(1);
    assert_true(holds(1, one));
}

/* A row that was read by a transaction which began before the change became visible does not hold after it. */
static enum err mark_slowly(struct tx_job *job, struct db *db)
{
    static const char one[] = "SELECT 1";
    struct visit *v = (struct visit *)job;
    struct stmt *st = db_prepare(db, one);
    db_step(st);
    enum err e = db_done(st);
    if (e) return e;
    test_psql(t.url, CHANGE(1));
    v->is_marked = db_row_mark(db, (Id){1}, &v->mark);
    return OK;
}

static void test_read_before_the_change(void **state)
{
    (void)state;
    if (!test_postgres()) skip();
    mark(1); /* connected */
    struct visit v = {.id = 1};
    v.job = (struct tx_job){
        .mode = TX_READ, .may_group = true, .may_remember = true, .run = mark_slowly, .done = visit_done};
    v.job.arena = &v.arena;
    tx_submit(port.port, &v.job);
    tx_port_pass(port.port);
    while (!v.told) test_port_turn(&port);
    arena_done(&v.arena);
    assert_true(v.is_marked);
    assert_false(holds(1, v.mark));
}

/* Looks are counted, and wait for a lock as soon as they have begun. */
#define GATED                                                                                                          \
    "SELECT pg_current_snapshot()::text, nextval('looks'), 1::bigint, NULL::bigint FROM"                               \
    " (SELECT pg_advisory_xact_lock_shared(7)) g WHERE $1::bigint > 0 AND $2::bigint > 0"

static int open_gated(void **state)
{
    (void)state;
    const struct database_options o = {
        .workers = 8, .busy_ms = 20000, .look_ms = 20000, .look = GATED, .look_back = GATED " AND $3::text <> ''"};
    test_postgres_open(&t, &port, o, "CREATE SEQUENCE looks");
    return 0;
}

static void await_waiting_look(void)
{
    static const char waiting[] = "SELECT count(*) FROM pg_locks l JOIN pg_database d ON d.oid = l.database"
                                  " WHERE l.locktype = 'advisory' AND l.objid = 7 AND NOT l.granted"
                                  " AND d.datname = current_database()";
    int64_t until = time_monotonic_ns() + INT64_C(20000000000);
    while (!test_number(t.d, waiting)) assert_true(time_monotonic_ns() < until);
}

/* A look that has begun serves nobody who comes later; one that has not, serves all who come until then. */
static void test_who_shares_a_look(void **state)
{
    (void)state;
    if (!test_postgres()) skip();
    struct visit first = {0}, late = {0}, early = {0}, joins = {0};
    struct test_port other;
    test_port_open(&other, t.d);
    visit(&first); /* connected */
    PGconn *gate = PQconnectdb(t.url);
    say(gate, "DO $$BEGIN PERFORM pg_advisory_lock(7); END$$");
    submit(&port, &first);
    tx_port_pass(port.port);
    await_waiting_look();
    submit(&port, &late);
    tx_port_pass(port.port);
    submit(&other, &early);
    tx_port_pass(other.port);
    assert_int_equal(test_write(t.d, "CREATE TABLE later (n BIGINT)"), OK);
    submit(&other, &joins);
    tx_port_pass(other.port);
    say(gate, "DO $$BEGIN PERFORM pg_advisory_unlock(7); END$$");
    await(&port, &first);
    await(&other, &early);
    assert_true(joins.told);
    await(&other, &joins);
    await(&port, &late);
    assert_true(late.number > first.number && early.number == first.number + 1 && joins.number == early.number);
    assert_int_equal(joins.generation, atomic_load(&database_stats(t.d)->generation));
    PQfinish(gate);
    test_port_close(&other);
}

/* However many wait for a look, and whenever they came, all are told. */
static void test_crowds(void **state)
{
    (void)state;
    if (!test_postgres()) skip();
    struct visit v[50] = {0};
    visit(&v[0]); /* connected */
    for (int most = 50; most > 0; most--) {
        for (int i = 0; i < most; i++) {
            submit(&port, &v[i]);
            if (i % 3 == 0) tx_port_pass(port.port);
        }
        tx_port_pass(port.port);
        for (int i = 0; i < most; i++) await(&port, &v[i]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_changed, open_it, close_it),
        cmocka_unit_test_setup_teardown(test_order_of_commits, open_it, close_it),
        cmocka_unit_test_setup_teardown(test_savepoints, open_it, close_it),
        cmocka_unit_test_setup_teardown(test_much_was_changed, open_it, close_it),
        cmocka_unit_test_setup_teardown(test_table_is_another, open_it, close_it),
        cmocka_unit_test_setup_teardown(test_all_rows, open_it, close_it),
        cmocka_unit_test_setup_teardown(test_forgotten, open_it, close_it),
        cmocka_unit_test_setup_teardown(test_forgetting, open_it, close_it),
        cmocka_unit_test_setup_teardown(test_forgetting_many, open_it, close_it),
        cmocka_unit_test_setup_teardown(test_number_is_known, open_it, close_it),
        cmocka_unit_test_setup_teardown(test_connection_lost, open_it, close_it),
        cmocka_unit_test_setup_teardown(test_no_look, open_it, close_it),
        cmocka_unit_test_setup_teardown(test_read_before_the_change, open_it, close_it),
        cmocka_unit_test_setup_teardown(test_who_shares_a_look, open_gated, close_it),
        cmocka_unit_test_setup_teardown(test_crowds, open_it, close_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
