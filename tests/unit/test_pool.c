/* tests/unit/test_pool.c - a pool has as many threads as jobs that wait for each other, up to its most, and runs each
 * job once. */
#include "unit.h"

#include <dirent.h>
#include <semaphore.h>
#include <stdatomic.h>

#include "base/pool.h"

enum { THREADS = 8, JOBS = 100 };

static sem_t arrived, may_go;
static atomic_int done;

static int threads_now(void)
{
    int n = 0;
    DIR *dir = opendir("/proc/self/task");
    assert_non_null(dir);
    for (struct dirent *e; (e = readdir(dir));) n += e->d_name[0] != '.';
    closedir(dir);
    return n;
}

static void wait_for_the_others(struct pool_job *job)
{
    (void)job;
    sem_post(&arrived);
    sem_wait(&may_go);
    atomic_fetch_add(&done, 1);
}

static void count(struct pool_job *job)
{
    (void)job;
    atomic_fetch_add(&done, 1);
    sem_post(&arrived);
}

static int setup(void **state)
{
    (void)state;
    atomic_store(&done, 0);
    return sem_init(&arrived, 0, 0) || sem_init(&may_go, 0, 0);
}

static int teardown(void **state)
{
    (void)state;
    return sem_destroy(&arrived) || sem_destroy(&may_go);
}

static void jobs_that_wait_run_side_by_side(void **state)
{
    (void)state;
    struct pool_job jobs[THREADS + 2] = {0};
    struct pool *p = pool_new(THREADS, 2);
    for (int i = 0; i < THREADS; i++) {
        jobs[i].run = wait_for_the_others;
        assert_true(pool_submit(p, &jobs[i]));
        sem_wait(&arrived); /* although all before it are waiting */
    }
    for (int i = THREADS; i < THREADS + 2; i++) {
        jobs[i].run = wait_for_the_others;
        assert_true(pool_submit(p, &jobs[i]));
    }
    struct pool_job refused = {.run = count};
    assert_false(pool_submit(p, &refused)); /* every thread is busy, and two wait */
    for (int i = 0; i < THREADS + 2; i++) sem_post(&may_go);
    pool_free(p);
    assert_int_equal(atomic_load(&done), THREADS + 2);
}

static void threads_start_when_they_are_needed(void **state)
{
    (void)state;
    struct pool_job jobs[JOBS] = {0};
    int before = threads_now();
    struct pool *p = pool_new(JOBS, JOBS);
    assert_int_equal(threads_now(), before + 1);
    for (int i = 0; i < JOBS; i++) jobs[i].run = count;
    for (int i = 0; i < JOBS; i++) assert_true(pool_submit(p, &jobs[i]));
    for (int i = 0; i < JOBS; i++) sem_wait(&arrived);
    pool_free(p);
    assert_int_equal(atomic_load(&done), JOBS);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(jobs_that_wait_run_side_by_side, setup, teardown),
        cmocka_unit_test_setup_teardown(threads_start_when_they_are_needed, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
