/* tests/unit/test_writer.c - SQLite's writer beside jobs that take long: each is run by itself, after the others. */
#include <semaphore.h>

#include "database.h"
#include "db/engine.h"

#define LOG_PAGES 50

static struct test_database t;
static struct test_port port;

static int open_it(void **state)
{
    (void)state;
    test_database_open(&t, true, (struct database_options){.log_pages = LOG_PAGES});
    test_port_open(&port, t.d);
    return test_script(t.d, "CREATE TABLE thing (n INTEGER NOT NULL, bytes BLOB NOT NULL)") != OK;
}

static int close_it(void **state)
{
    (void)state;
    test_port_close(&port);
    test_database_close(&t);
    return 0;
}

static int64_t checkpoints(void)
{
    return atomic_load(&database_stats(t.d)->checkpoints);
}

/* Adds a row of so many pages. `is_held`: it waits before its end until it is let go. */
struct add {
    struct tx_job job;
    int64_t n, pages, seen; /* checkpoints, before it was run */
    bool is_held, has_no_room, is_told;
    enum err ended;
};

static sem_t entered, go_on;

static enum err add_run(struct tx_job *job, struct db *db)
{
    static const char insert[] = "INSERT INTO thing (n, bytes) VALUES ($1, zeroblob($2))";
    struct add *a = (struct add *)job;
    a->seen = checkpoints();
    struct stmt *st = db_prepare(db, insert);
    bind_int(st, a->n);
    bind_int(st, a->pages * 4096);
    enum err e = db_run(st);
    if (a->has_no_room) db_fail(db, ERR_UNAVAILABLE);
    if (!a->is_held) return e;
    sem_post(&entered);
    sem_wait(&go_on);
    return e;
}

static void add_done(struct tx_job *job, enum err e)
{
    struct add *a = (struct add *)job;
    a->is_told = true;
    a->ended = e;
}

static void submit(struct add *a, int64_t n)
{
    a->n = n;
    a->job.mode = TX_WRITE;
    a->job.run = add_run;
    a->job.done = add_done;
    tx_submit(port.port, &a->job);
}

/* From here on the writer waits. */
static void hold(struct add *a, int64_t n)
{
    sem_init(&entered, 0, 0);
    sem_init(&go_on, 0, 0);
    a->is_held = true;
    submit(a, n);
    sem_wait(&entered);
}

static void let_go(const struct add *last)
{
    sem_post(&go_on);
    while (!last->is_told) test_port_turn(&port);
}

/* Not even when there is no room for it does it take others with it. */
static void test_by_itself(void **state)
{
    (void)state;
    struct add first = {0}, adds[5] = {0};
    adds[0].job.by_itself = adds[0].has_no_room = true;
    adds[2].job.by_itself = true;
    hold(&first, 0);
    int64_t before = atomic_load(&database_stats(t.d)->batches);
    for (int i = 0; i < 5; i++) submit(&adds[i], i + 1);
    let_go(&adds[2]);
    for (int i = 0; i < 5; i++) {
        assert_true(adds[i].is_told);
        assert_int_equal(adds[i].ended, i ? OK : ERR_UNAVAILABLE);
    }
    assert_int_equal(atomic_load(&database_stats(t.d)->batches) - before, 3); /* with the first */
    assert_int_equal(test_number(t.d, "SELECT rowid FROM thing WHERE n = 3"), 5);
    assert_int_equal(test_number(t.d, "SELECT COUNT(*) FROM thing WHERE n <> 1"), 5);
}

/* One that adds so many pages to the log, while another waits: how many checkpoints there were before the other was
 * run, and when all was over. */
static void write_beside(int64_t pages, int before_other, int at_end)
{
    struct add one = {.job.by_itself = true, .pages = pages}, other = {0};
    int64_t before = checkpoints();
    hold(&one, 1);
    submit(&other, 2);
    let_go(&other);
    assert_int_equal(other.seen - before, before_other);
    assert_int_equal(test_write(t.d, "DELETE FROM thing WHERE n = 3"), OK); /* the writer is behind both of them */
    assert_int_equal(checkpoints() - before, at_end);
}

static void test_others_come_before_the_checkpoint(void **state)
{
    (void)state;
    write_beside(LOG_PAGES + 10, 0, 1);
    write_beside(1, 0, 0);
    write_beside(2 * LOG_PAGES + 10, 1, 1); /* but a log must not grow for ever */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_by_itself, open_it, close_it),
        cmocka_unit_test_setup_teardown(test_others_come_before_the_checkpoint, open_it, close_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
