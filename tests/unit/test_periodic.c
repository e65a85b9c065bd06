/* tests/unit/test_periodic.c - the jobs that a server runs again and again. */
#include <semaphore.h>

#include "database.h"
#include "db/job_queue.h"

#include "serve/periodic.h"

static struct test_database t;
static struct test_port port;
static int looks, writes, left; /* how much there is to do */

static int open_it(void **state)
{
    (void)state;
    test_database_open(&t, true, (struct database_options){0});
    test_port_open(&port, t.d);
    looks = writes = 0;
    return test_script(t.d, "CREATE TABLE thing (n BIGINT NOT NULL)") != OK;
}

static int close_it(void **state)
{
    (void)state;
    test_port_close(&port);
    test_database_close(&t);
    return 0;
}

static enum err work(struct app *app, struct db *db)
{
    static const char insert[] = "INSERT INTO thing (n) VALUES (1)";
    (void)app;
    if (!db_can_write(db)) {
        looks++;
        return left ? ERR_NEEDS_WRITE : OK;
    }
    left--;
    writes++;
    return db_run(db_prepare(db, insert));
}

/* Of jobs that are due once in this test. */
static void run_until(const struct periodic *jobs, int looked)
{
    struct periodic_state *p = periodic_new(NULL, jobs, port.port);
    while (looks == 0) periodic_tick(p);
    while (looks < looked) {
        test_port_turn(&port);
        tx_port_pass(port.port);
    }
    periodic_free(p);
}

static void test_goes_on_while_there_is_work(void **state)
{
    (void)state;
    static const struct periodic jobs[] = {{"work", 1, TX_READ, work, .flags = BY_ITSELF | GOES_ON}, {0}};
    left = 3;
    run_until(jobs, 4);
    assert_int_equal(writes, 3);
    assert_int_equal(test_number(t.d, "SELECT COUNT(*) FROM thing"), 3);
}

static const struct periodic endless[] = {{"work", 1, TX_READ, work, .flags = GOES_ON}, {0}};

/* And not when nothing more may begin: who frees it waits for what is running. */
static void test_ends_while_there_is_work(void **state)
{
    (void)state;
    left = 1000000;
    run_until(endless, 1);
    assert_int_equal(writes, 1);
}

static void test_ends_before_the_next_look(void **state)
{
    (void)state;
    left = 1000000;
    struct periodic_state *p = periodic_new(NULL, endless, port.port);
    while (looks == 0) periodic_tick(p);
    test_port_turn(&port); /* the next one has been submitted */
    periodic_free(p);
    assert_int_equal(looks, 2);
    assert_int_equal(writes, 2);
}

/* A crowd of jobs before the writer, the first of which holds it. */
static sem_t entered, go_on;
static int told;

static enum err hold_run(struct tx_job *job, struct db *db)
{
    (void)job, (void)db;
    sem_post(&entered);
    sem_wait(&go_on);
    return OK;
}

static enum err idle_run(struct tx_job *job, struct db *db)
{
    (void)job, (void)db;
    return OK;
}

static void count_told(struct tx_job *job, enum err e)
{
    (void)job;
    assert_int_equal(e, OK);
    told++;
}

/* However many wait: a job by itself has its place, or it would never be run at full load. */
static void test_has_a_place_beside_a_crowd(void **state)
{
    (void)state;
    enum { N = QUEUE_FIRST + 1 };
    static const struct periodic jobs[] = {{"work", 1, TX_READ, work, .flags = BY_ITSELF}, {0}};
    static struct tx_job crowd[N];
    sem_init(&entered, 0, 0);
    sem_init(&go_on, 0, 0);
    left = 1;
    told = 0;
    for (int i = 0; i < N; i++) {
        crowd[i] = (struct tx_job){.mode = TX_WRITE, .run = i ? idle_run : hold_run, .done = count_told};
        tx_submit(port.port, &crowd[i]);
        if (!i) sem_wait(&entered);
    }
    assert_false(tx_has_room(port.port, &crowd[1], TX_WRITE));
    struct periodic_state *p = periodic_new(NULL, jobs, port.port);
    while (looks == 0) periodic_tick(p);
    sem_post(&go_on);
    while (told < N) test_port_turn(&port);
    periodic_free(p);
    assert_int_equal(writes, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_goes_on_while_there_is_work, open_it, close_it),
        cmocka_unit_test_setup_teardown(test_ends_while_there_is_work, open_it, close_it),
        cmocka_unit_test_setup_teardown(test_ends_before_the_next_look, open_it, close_it),
        cmocka_unit_test_setup_teardown(test_has_a_place_beside_a_crowd, open_it, close_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
