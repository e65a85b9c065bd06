/* Rows in memory: what of them still holds after a change, by us or by others. Started with a file and a
 * statement the program is the other process. */
#include <pthread.h>
#include <spawn.h>
#include <sqlite3.h>
#include <sys/wait.h>

#include "database.h"
#include "db/sqlite_watch.h"

extern char **environ;

static struct test_database t;
static struct test_port port;

static const char number_of[] = "SELECT n FROM thing WHERE id = $1";

static int open_it(void **state)
{
    (void)state;
    test_database_open(&t, true, (struct database_options){.watched = "thing"});
    test_port_open(&port, t.d);
    return test_script(t.d, "CREATE TABLE box (id INTEGER PRIMARY KEY, name TEXT);"
                            "CREATE TABLE thing (id INTEGER PRIMARY KEY, n INTEGER UNIQUE,"
                            " box_id INTEGER REFERENCES box (id) ON DELETE CASCADE);"
                            "CREATE TABLE bare (id INTEGER PRIMARY KEY, n INTEGER) WITHOUT ROWID;"
                            "INSERT INTO box VALUES (1, 'a'), (2, 'b');"
                            "INSERT INTO thing VALUES (1, 10, 1), (2, 20, 2), (3, 30, NULL);") != OK;
}

static int close_it(void **state)
{
    (void)state;
    test_port_close(&port);
    test_database_close(&t);
    return 0;
}

/* A row, out of memory if it holds, else out of the table, as a loop would have it. */
struct look {
    struct tx_job job;
    Id id;
    struct row_mark mark;
    int64_t n; /* -1: no such row */
    bool held, marked, told;
};

static enum err look_run(struct tx_job *job, struct db *db)
{
    struct look *l = (struct look *)job;
    l->held = db_row_holds(db, l->id, l->mark);
    if (l->held) return OK;
    struct stmt *st = db_prepare(db, number_of);
    bind_id(st, l->id);
    l->n = db_step(st) ? col_int(st) : -1;
    enum err e = db_done(st);
    l->marked = !e && db_row_mark(db, l->id, &l->mark);
    return e;
}

static void look_done(struct tx_job *job, enum err e)
{
    check(e == OK);
    ((struct look *)job)->told = true;
}

/* Whether it was in memory. */
static bool look(struct look *l)
{
    l->job = (struct tx_job){.mode = TX_READ, .run = look_run, .done = look_done};
    l->told = false;
    tx_submit(port.port, &l->job);
    tx_port_pass(port.port);
    assert_true(l->told);
    return l->held;
}

static struct look rows[3];

static void remember(void)
{
    for (int i = 0; i < 3; i++) {
        rows[i] = (struct look){.id = {i + 1}};
        assert_false(look(&rows[i]));
        assert_true(rows[i].marked);
        assert_true(look(&rows[i]));
    }
}

static void expect(bool first, bool second)
{
    assert_int_equal(look(&rows[0]), first);
    assert_int_equal(look(&rows[1]), second);
    look(&rows[2]);
    for (int i = 0; i < 3; i++) assert_true(look(&rows[i])); /* and are in memory again */
}

static void other_connection(const char *sql)
{
    test_commit_elsewhere(&t, sql);
}

static void other_process(const char *sql)
{
    char name[] = "change", *const args[] = {name, t.url, (char *)(uintptr_t)sql, NULL};
    pid_t pid;
    int status;
    assert_int_equal(posix_spawn(&pid, "/proc/self/exe", NULL, NULL, args, environ), 0);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
}

static int be_other_process(const char *file, const char *sql)
{
    sqlite3 *other;
    if (sqlite3_open_v2(file, &other, SQLITE_OPEN_READWRITE, NULL) != SQLITE_OK) return 1;
    sqlite3_busy_timeout(other, 20000);
    sqlite3_db_config(other, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, NULL);
    int rc = sqlite3_exec(other, sql, NULL, NULL, NULL);
    return sqlite3_close(other) == SQLITE_OK && rc == SQLITE_OK ? 0 : 1;
}

/* Our own commits: the rows that they change, and no others. */
static void test_own_changes(void **state)
{
    (void)state;
    static const char *const exact[] = {
        "UPDATE thing SET n = 11 WHERE id = 1",
        "UPDATE thing SET n = 12 WHERE n = 11 RETURNING id",
        "INSERT INTO thing (id, n) VALUES (1, 1) ON CONFLICT (id) DO UPDATE SET n = 13",
        "INSERT INTO thing (n) VALUES (13) ON CONFLICT (n) DO UPDATE SET n = 14",
        "DELETE FROM box WHERE id = 1", /* takes the first row with it */
        "INSERT INTO thing (id, n) VALUES (1, 15) ON CONFLICT DO NOTHING",
        "DELETE FROM thing WHERE id = 1",
    };
    remember();
    for (size_t i = 0; i < sizeof exact / sizeof *exact; i++) {
        bool adds = strstr(exact[i], "DO NOTHING"); /* a row that is not there is kept by nobody but this test */
        int64_t before = rows[0].n;
        assert_int_equal(test_write(t.d, exact[i]), OK);
        if (adds) {
            remember();
            continue;
        }
        expect(false, true);
        assert_int_not_equal(rows[0].n, before);
    }
    assert_int_equal(rows[0].n, -1);
}

static void test_other_tables(void **state)
{
    (void)state;
    remember();
    assert_int_equal(test_write(t.d, "INSERT INTO thing (n) VALUES (40)"), OK);
    assert_int_equal(test_write(t.d, "UPDATE box SET name = 'c' WHERE id = 1"), OK);
    assert_int_equal(test_write(t.d, "INSERT INTO bare (id, n) VALUES (1, 1)"), OK);
    assert_int_equal(test_write(t.d, "UPDATE bare SET n = 2 WHERE id = 1"), OK);
    expect(true, true);
}

/* Changes that SQLite does not tell row by row. */
static void test_hidden_changes(void **state)
{
    (void)state;
    static const char *const hidden[] = {
        "INSERT OR REPLACE INTO thing (id, n) VALUES (7, 10)", /* takes the place of the first row */
        "REPLACE INTO thing (id, n) VALUES (8, 10)",
        "UPDATE OR REPLACE thing SET n = 20 WHERE id = 3",
        "UPDATE thing SET id = 1 WHERE id = 8",
        "WITH few AS (SELECT 1 AS n WHERE 1) DELETE FROM thing",
        "REPLACE INTO thing (id, n) VALUES (1, 10)",
        "DELETE FROM thing",
    };
    for (size_t i = 0; i < sizeof hidden / sizeof *hidden; i++) {
        remember();
        assert_int_equal(test_write(t.d, hidden[i]), OK);
        expect(false, false);
    }
    assert_int_equal(rows[0].n, -1);
    remember();
    assert_int_equal(test_script(t.d, "INSERT INTO thing (id, n) VALUES (1, 1)"), OK);
    expect(false, false);
    assert_int_equal(rows[0].n, 1);
}

static enum err change_many(void *arg, struct db *db)
{
    static const char change[] = "UPDATE thing SET n = $1 WHERE id = 3",
                      first[] = "UPDATE thing SET n = 99 WHERE id = 1";
    int64_t times = *(const int64_t *)arg;
    for (int64_t i = 0; i < times; i++) {
        struct stmt *st = db_prepare(db, change);
        bind_int(st, 1000 + i);
        db_run(st);
    }
    return db_run(db_prepare(db, first));
}

static enum err change_and_spare(void *arg, struct db *db)
{
    static const char spared[] = "UPDATE thing SET box_id = 2 WHERE id = 1",
                      noted[] = "UPDATE thing SET n = 21 WHERE id = 2";
    struct stmt *st = db_prepare(db, spared);
    if (*(const bool *)arg) stmt_spares_marks(st);
    db_run(st);
    return db_run(db_prepare(db, noted));
}

/* A statement that says so spares the marks; the next one does not, nor does the same text the next time. */
static void test_spared(void **state)
{
    (void)state;
    remember();
    assert_int_equal(tx_call(t.d, TX_WRITE, change_and_spare, &(bool){true}, NULL), OK);
    expect(true, false);
    assert_int_equal(tx_call(t.d, TX_WRITE, change_and_spare, &(bool){false}, NULL), OK);
    expect(false, false);
}

/* As many as are counted, and one more. */
static void test_many_changes(void **state)
{
    (void)state;
    int64_t times = WATCH_CHANGES_MAX - 1;
    remember();
    assert_int_equal(tx_call(t.d, TX_WRITE, change_many, &times, NULL), OK);
    expect(false, true);
    times++;
    assert_int_equal(tx_call(t.d, TX_WRITE, change_many, &times, NULL), OK);
    expect(false, false);
}

static enum err change_and_fail(void *arg, struct db *db)
{
    (void)arg;
    static const char change[] = "UPDATE thing SET n = 77 WHERE id = 1";
    db_run(db_prepare(db, change));
    return ERR_CONFLICT;
}

static void test_rolled_back(void **state)
{
    (void)state;
    remember();
    assert_int_equal(tx_call(t.d, TX_WRITE, change_and_fail, NULL, NULL), ERR_CONFLICT);
    expect(true, true);
    assert_int_equal(rows[0].n, 10);
}

/* Two jobs in one commit, of which the first is undone. */
struct pair_job {
    struct tx_job job;
    const char *sql;
    enum err answer, ended;
    bool told;
};

static enum err pair_run(struct tx_job *job, struct db *db)
{
    struct pair_job *p = (struct pair_job *)job;
    db_run(db_prepare(db, p->sql));
    return p->answer;
}

static void pair_done(struct tx_job *job, enum err e)
{
    struct pair_job *p = (struct pair_job *)job;
    p->ended = e;
    p->told = true;
}

struct gate {
    pthread_mutex_t held;
};

static enum err gate_run(void *arg, struct db *db)
{
    struct gate *g = arg;
    (void)db;
    pthread_mutex_lock(&g->held);
    pthread_mutex_unlock(&g->held);
    return OK;
}

static void *gate_main(void *arg)
{
    check(tx_call(t.d, TX_WRITE, gate_run, arg, NULL) == OK);
    return NULL;
}

static void test_savepoint_rolled_back(void **state)
{
    (void)state;
    remember();
    struct gate gate = {.held = PTHREAD_MUTEX_INITIALIZER};
    struct pair_job jobs[2] = {{.sql = "UPDATE thing SET n = 78 WHERE id = 1", .answer = ERR_CONFLICT},
                               {.sql = "UPDATE thing SET n = 79 WHERE id = 2"}};
    pthread_t holder;
    pthread_mutex_lock(&gate.held);
    assert_int_equal(pthread_create(&holder, NULL, gate_main, &gate), 0);
    for (int i = 0; i < 2; i++) {
        jobs[i].job = (struct tx_job){.mode = TX_WRITE, .run = pair_run, .done = pair_done};
        tx_submit(port.port, &jobs[i].job);
    }
    pthread_mutex_unlock(&gate.held);
    while (!jobs[0].told || !jobs[1].told) test_port_turn(&port);
    pthread_join(holder, NULL);
    assert_int_equal(jobs[0].ended, ERR_CONFLICT);
    assert_int_equal(jobs[1].ended, OK);
    look(&rows[0]);
    assert_false(look(&rows[1]));
    assert_int_equal(rows[0].n, 10);
    assert_int_equal(rows[1].n, 79);
}

static int64_t generation(void)
{
    return atomic_load(&database_stats(t.d)->generation);
}

/* What is remembered of tokens outlives a commit of jobs that may group (orders), and no other. */
static void test_generation(void **state)
{
    (void)state;
    remember();
    for (int i = 0; i < 2; i++) {
        int64_t before = generation();
        struct pair_job job = {.sql =
                                   i ? "UPDATE thing SET n = 81 WHERE id = 1" : "UPDATE thing SET n = 80 WHERE id = 1"};
        job.job = (struct tx_job){.mode = TX_WRITE, .run = pair_run, .done = pair_done, .may_group = i == 0};
        tx_submit(port.port, &job.job);
        while (!job.told) test_port_turn(&port);
        assert_int_equal(job.ended, OK);
        assert_false(look(&rows[0]));
        assert_int_equal(generation() > before, i == 1);
    }
}

/* A commit of anybody else counts as a change of all rows. */
static void test_others(void **state)
{
    (void)state;
    static void (*const others[])(const char *sql) = {other_connection, other_process};
    for (int i = 0; i < 2; i++) {
        remember();
        int64_t before = generation();
        others[i](i ? "UPDATE thing SET n = 51 WHERE id = 1" : "UPDATE thing SET n = 50 WHERE id = 1");
        expect(false, false);
        assert_int_equal(rows[0].n, 50 + i);
        assert_true(generation() > before); /* tokens, too */
        others[i]("DELETE FROM thing WHERE id = 3");
        expect(false, false);
        assert_int_equal(rows[2].n, -1);
        others[i]("INSERT INTO thing (id, n) VALUES (3, 30)");
        expect(false, false);
    }
}

/* Somebody else before and after a commit of our own, before anybody looks. */
static void test_others_between(void **state)
{
    (void)state;
    remember();
    other_connection("UPDATE thing SET n = 61 WHERE id = 1");
    assert_int_equal(test_write(t.d, "UPDATE thing SET n = 62 WHERE id = 2"), OK);
    expect(false, false);
    assert_int_equal(test_write(t.d, "UPDATE thing SET n = 63 WHERE id = 2"), OK);
    other_process("UPDATE thing SET n = 64 WHERE id = 1");
    expect(false, false);
    assert_int_equal(rows[0].n, 64);
    assert_int_equal(rows[1].n, 63);
}

/* A log that starts over keeps what our own commits have not changed. */
static void test_log_starts_over(void **state)
{
    (void)state;
    static const char change[] = "UPDATE thing SET n = n + 100 WHERE id = 1";
    test_port_close(&port);
    database_close(t.d);
    char why[256];
    struct database_options o = {.url = t.url, .watched = "thing", .log_pages = 4};
    assert_int_equal(database_open(&o, &t.d, why, sizeof why), OK);
    test_port_open(&port, t.d);
    remember();
    int64_t n = rows[0].n;
    for (int i = 1; i <= 40; i++) {
        assert_int_equal(test_write(t.d, change), OK);
        assert_false(look(&rows[0]));
        assert_int_equal(rows[0].n, n + i * 100);
        assert_true(look(&rows[0]));
        look(&rows[1]);
        assert_int_equal(rows[1].n, 20);
    }
    assert_true(atomic_load(&database_stats(t.d)->checkpoints) > 1);
}

/* Two writers, ours and another's, and a reader: what was acknowledged before the read began, it sees. */
#define ROUNDS 40

static _Atomic int64_t acknowledged[2];

static void *change_from_outside(void *arg)
{
    (void)arg;
    sqlite3 *other;
    check(sqlite3_open_v2(t.url, &other, SQLITE_OPEN_READWRITE, NULL) == SQLITE_OK);
    sqlite3_busy_timeout(other, 60000);
    sqlite3_exec(other, "PRAGMA synchronous = OFF", NULL, NULL, NULL);
    for (int i = 1; i <= ROUNDS; i++) {
        char sql[96];
        snprintf(sql, sizeof sql, "UPDATE thing SET n = %d WHERE id = 1", 1000000 + i);
        check(sqlite3_exec(other, sql, NULL, NULL, NULL) == SQLITE_OK);
        atomic_store(&acknowledged[0], 1000000 + i);
    }
    sqlite3_db_config(other, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, NULL);
    check(sqlite3_close(other) == SQLITE_OK);
    return NULL;
}

static enum err set_second(void *arg, struct db *db)
{
    static const char change[] = "UPDATE thing SET n = $1 WHERE id = 2";
    struct stmt *st = db_prepare(db, change);
    bind_int(st, *(const int64_t *)arg);
    return db_run(st);
}

static void *change_from_inside(void *arg)
{
    (void)arg;
    for (int64_t n = 2000001; n <= 2000000 + ROUNDS; n++) {
        check(tx_call(t.d, TX_WRITE, set_second, &n, NULL) == OK);
        atomic_store(&acknowledged[1], n);
    }
    return NULL;
}

static void test_race(void **state)
{
    (void)state;
    pthread_t writers[2];
    atomic_store(&acknowledged[0], 0);
    atomic_store(&acknowledged[1], 0);
    assert_int_equal(pthread_create(&writers[0], NULL, change_from_outside, NULL), 0);
    assert_int_equal(pthread_create(&writers[1], NULL, change_from_inside, NULL), 0);
    struct look looks[2] = {{.id = {1}}, {.id = {2}}};
    int64_t last[2] = {0};
    for (int n = 0; last[0] < 1000000 + ROUNDS || last[1] < 2000000 + ROUNDS; n++) {
        if (n % 20 == 19) poll(NULL, 0, 1); /* two writers in each other's way take their time */
        for (int i = 0; i < 2; i++) {
            int64_t least = atomic_load(&acknowledged[i]);
            look(&looks[i]);
            assert_true(looks[i].n >= least && looks[i].n >= last[i]);
            last[i] = looks[i].n;
        }
    }
    for (int i = 0; i < 2; i++) pthread_join(writers[i], NULL);
}

static enum err ask_in_write(void *arg, struct db *db)
{
    struct row_mark mark;
    const struct look *l = arg;
    return db_row_holds(db, l->id, l->mark) || db_row_mark(db, l->id, &mark) ? ERR_INTERNAL : OK;
}

/* A transaction that writes, and one outside a loop, ask the table. */
static void test_elsewhere(void **state)
{
    (void)state;
    remember();
    assert_int_equal(tx_call(t.d, TX_WRITE, ask_in_write, &rows[0], NULL), OK);
    assert_int_equal(tx_call(t.d, TX_READ, ask_in_write, &rows[0], NULL), OK);
}

static void test_without_watch(void **state)
{
    (void)state;
    test_port_close(&port);
    database_close(t.d);
    char why[256];
    assert_int_equal(database_open(&(struct database_options){.url = t.url}, &t.d, why, sizeof why), OK);
    test_port_open(&port, t.d);
    struct look l = {.id = {1}};
    for (int i = 0; i < 2; i++) {
        assert_false(look(&l));
        assert_false(l.marked);
        assert_int_equal(l.n, 10);
    }
}

static void set_head(uint32_t index[24], uint32_t change, uint32_t frames)
{
    index[2] = index[14] = change;
    index[4] = index[16] = frames;
}

/* What is no head of an index, or one of a format that is not known, is not watched. */
static void test_heads(void **state)
{
    (void)state;
    struct database_stats stats = {0};
    uint32_t index[24] = {0};
    assert_null(watch_new(NULL, &stats));
    assert_null(watch_new(index, &stats));
    index[0] = 3007000;
    assert_null(watch_new(index, &stats)); /* the copies differ */
    index[12] = 3007000;
    struct watch *w = watch_new(index, &stats);
    assert_non_null(w);
    struct db db = {0};
    struct row_mark mark = {0};
    assert_true(watch_look(w, &db));
    assert_true(db_row_mark(&db, (Id){1}, &mark));
    assert_true(db_row_holds(&db, (Id){1}, mark));
    index[2] = 1; /* somebody is writing it, or has died doing so */
    assert_false(db_row_mark(&db, (Id){1}, &mark));
    assert_false(watch_look(w, &db));
    assert_false(db_row_holds(&db, (Id){1}, mark));
    index[2] = 0;
    assert_true(watch_look(w, &db));
    assert_true(db_row_holds(&db, (Id){1}, mark));

    /* Our own commit: not yet seen, seen but not yet noted, noted. */
    watch_begin(w);
    watch_changed(w, 1);
    watch_commit_begins(w);
    assert_true(watch_look(w, &db));
    set_head(index, 1, 5);
    assert_false(watch_look(w, &db));
    watch_commit_ended(w, 5);
    assert_true(watch_look(w, &db));
    assert_false(db_row_holds(&db, (Id){1}, mark));
    mark.changes++;
    assert_true(db_row_holds(&db, (Id){1}, mark));

    /* What was read before it is not kept after it. */
    watch_commit_begins(w);
    set_head(index, 2, 7);
    assert_false(db_row_mark(&db, (Id){1}, &(struct row_mark){0}));
    watch_commit_ended(w, 7);
    assert_false(db_row_mark(&db, (Id){1}, &(struct row_mark){0}));
    assert_true(watch_look(w, &db));
    assert_true(db_row_holds(&db, (Id){1}, mark));

    /* Somebody else right behind our own commit: by the counter, by the length of the log. */
    static const uint32_t strange[][2] = {{4, 9}, {5, 8}};
    for (int i = 0; i < 2; i++) {
        assert_true(db_row_mark(&db, (Id){1}, &mark));
        watch_commit_begins(w);
        set_head(index, strange[i][0], strange[i][1]);
        watch_commit_ended(w, 9);
        assert_true(watch_look(w, &db));
        assert_false(db_row_holds(&db, (Id){1}, mark));
    }
    /* And before it. */
    assert_true(db_row_mark(&db, (Id){1}, &mark));
    set_head(index, 6, 10);
    watch_commit_begins(w);
    set_head(index, 7, 11);
    watch_commit_ended(w, 11);
    assert_true(watch_look(w, &db));
    assert_false(db_row_holds(&db, (Id){1}, mark));
    watch_free(w);
}

int main(int argc, char **argv)
{
    if (argc == 3) return be_other_process(argv[1], argv[2]);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_own_changes, open_it, close_it),
        cmocka_unit_test_setup_teardown(test_other_tables, open_it, close_it),
        cmocka_unit_test_setup_teardown(test_hidden_changes, open_it, close_it),
        cmocka_unit_test_setup_teardown(test_spared, open_it, close_it),
        cmocka_unit_test_setup_teardown(test_many_changes, open_it, close_it),
        cmocka_unit_test_setup_teardown(test_rolled_back, open_it, close_it),
        cmocka_unit_test_setup_teardown(test_savepoint_rolled_back, open_it, close_it),
        cmocka_unit_test_setup_teardown(test_generation, open_it, close_it),
        cmocka_unit_test_setup_teardown(test_others, open_it, close_it),
        cmocka_unit_test_setup_teardown(test_others_between, open_it, close_it),
        cmocka_unit_test_setup_teardown(test_log_starts_over, open_it, close_it),
        cmocka_unit_test_setup_teardown(test_race, open_it, close_it),
        cmocka_unit_test_setup_teardown(test_elsewhere, open_it, close_it),
        cmocka_unit_test_setup_teardown(test_without_watch, open_it, close_it),
        cmocka_unit_test(test_heads),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
