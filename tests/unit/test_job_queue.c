/* tests/unit/test_job_queue.c - who is woken for a job: a thread that is ready, and only without one a thread that is
 * not. */
#include "unit.h"

#include <pthread.h>
#include <semaphore.h>

#include "db/job_queue.h"

static struct job_queue queue;
static _Atomic int64_t length;
static sem_t taken, go_on, woken;

static void *take_two(void *arg)
{
    struct tx_job **jobs = arg;
    for (int i = 0; i < 2; i++) {
        if (queue_take(&queue, &jobs[i], 1) != 1) return NULL;
        sem_post(&taken);
        sem_wait(&go_on);
    }
    return NULL;
}

static void *get_ready(void *arg)
{
    bool *is_asked = arg;
    *is_asked = queue_wait(&queue);
    sem_post(&woken);
    if (*is_asked) queue_came(&queue);
    return NULL;
}

static void wait_for(const int *count, int wanted)
{
    for (bool is_so = false; !is_so;) {
        pthread_mutex_lock(&queue.lock);
        is_so = *count == wanted;
        pthread_mutex_unlock(&queue.lock);
    }
}

static int open_queue(void **state)
{
    (void)state;
    queue_init(&queue, &length);
    return sem_init(&taken, 0, 0) || sem_init(&go_on, 0, 0) || sem_init(&woken, 0, 0);
}

static int close_queue(void **state)
{
    (void)state;
    queue_done(&queue);
    return sem_destroy(&taken) || sem_destroy(&go_on) || sem_destroy(&woken);
}

static void ready_threads_come_first(void **state)
{
    (void)state;
    pthread_t unready, ready;
    bool is_asked = false;
    struct tx_job jobs[3] = {0}, *got[2] = {0}, *last = NULL;
    assert_int_equal(pthread_create(&unready, NULL, get_ready, &is_asked), 0);
    wait_for(&queue.waiters, 1);
    assert_int_equal(pthread_create(&ready, NULL, take_two, got), 0);
    wait_for(&queue.sleepers, 1);

    /* One job after the other, with somebody there for each. */
    assert_true(queue_put(&queue, &jobs[0]));
    sem_wait(&taken);
    sem_post(&go_on);
    wait_for(&queue.sleepers, 1);
    assert_true(queue_put(&queue, &jobs[1]));
    sem_wait(&taken);
    assert_ptr_equal(got[0], &jobs[0]);
    assert_ptr_equal(got[1], &jobs[1]);
    assert_int_not_equal(sem_trywait(&woken), 0);

    /* Somebody will soon be there. */
    queue_coming(&queue);
    assert_true(queue_put(&queue, &jobs[2]));
    wait_for(&queue.waiters, 1);
    assert_int_equal(queue_take_now(&queue, &last, 1), 1);
    queue_came(&queue);

    /* Nobody is: everybody who could be has work. */
    assert_true(queue_put(&queue, &jobs[2]));
    sem_wait(&woken);
    assert_int_equal(queue_take_now(&queue, &last, 1), 1);
    assert_ptr_equal(last, &jobs[2]);
    sem_post(&go_on);
    pthread_join(ready, NULL);
    pthread_join(unready, NULL);
    assert_true(is_asked);
}

static void an_end_wakes_everybody(void **state)
{
    (void)state;
    pthread_t unready;
    bool is_asked = true;
    assert_int_equal(pthread_create(&unready, NULL, get_ready, &is_asked), 0);
    wait_for(&queue.waiters, 1);
    queue_close(&queue);
    pthread_join(unready, NULL);
    assert_false(is_asked);
}

/* What a worker without a connection does: it waits for a while, and refuses what it finds. */
static void waiting_ends(void **state)
{
    (void)state;
    struct tx_job job = {0}, *got = NULL;
    assert_int_equal(queue_take_until(&queue, &got, 0), 0);
    assert_int_equal(queue_take_until(&queue, &got, 1), 0); /* long past */
    assert_true(queue_put(&queue, &job));
    assert_false(queue_has_ended(&queue));
    assert_int_equal(queue_take_until(&queue, &got, INT64_MAX), 1);
    assert_ptr_equal(got, &job);
    assert_false(queue_has_ended(&queue));
    queue_put_back(&queue, &job);
    queue_close(&queue);
    assert_false(queue_has_ended(&queue)); /* there is still work */
    assert_int_equal(queue_take_until(&queue, &got, INT64_MAX), 1);
    assert_true(queue_has_ended(&queue));
    assert_int_equal(queue_take_until(&queue, &got, INT64_MAX), QUEUE_CLOSED);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(ready_threads_come_first, open_queue, close_queue),
        cmocka_unit_test_setup_teardown(an_end_wakes_everybody, open_queue, close_queue),
        cmocka_unit_test_setup_teardown(waiting_ends, open_queue, close_queue),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
