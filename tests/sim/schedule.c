/* tests/sim/schedule.c - see schedule.h. */
#include "schedule.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "base/fiber.h"
#include "seed.h"

#define TASKS 256
#define EPOCH_S INT64_C(1790000000) /* what the wall clock showed when the monotonic one began */

enum task_state { TASK_FREE, TASK_READY, TASK_WAITS, TASK_ENDED };

struct task {
    struct fiber *fiber;
    enum task_state state;
    void *(*run)(void *arg);
    void *arg, *result;
    const void *on; /* what it waits for */
    int64_t until_ns;
};

static struct task tasks[TASKS];
static int current = -1; /* the program itself */
static struct random rng;
static int64_t now_ns = 1000000000;
static bool main_woken;
static const void *main_on;

void sched_seed(uint64_t seed)
{
    random_seed(&rng, seed);
}

int64_t clock_ns(void)
{
    return now_ns;
}

static void wake_task(struct task *t)
{
    t->state = TASK_READY;
    t->on = NULL;
    t->until_ns = INT64_MAX;
}

void clock_set_ns(int64_t ns)
{
    if (ns > now_ns) now_ns = ns;
    for (int i = 0; i < TASKS; i++)
        if (tasks[i].state == TASK_WAITS && tasks[i].until_ns <= now_ns) wake_task(&tasks[i]);
}

void clock_rewind_ns(int64_t ns)
{
    for (int i = 0; i < TASKS; i++)
        if (tasks[i].state != TASK_FREE) abort();
    now_ns = ns;
}

int64_t sched_next_ns(void)
{
    int64_t next = INT64_MAX;
    for (int i = 0; i < TASKS; i++)
        if (tasks[i].state == TASK_WAITS && tasks[i].until_ns < next) next = tasks[i].until_ns;
    return next;
}

bool sched_step(void)
{
    int ready[TASKS], n = 0;
    for (int i = 0; i < TASKS; i++)
        if (tasks[i].state == TASK_READY) ready[n++] = i;
    if (!n) return false;
    current = ready[random_under(&rng, (uint32_t)n)];
    struct task *t = &tasks[current];
    bool waits = fiber_resume(t->fiber);
    current = -1;
    if (!waits) {
        t->state = TASK_ENDED;
        sched_wake(t);
    }
    return true;
}

void sched_settle(void)
{
    while (sched_step()) {
    }
}

/* The program itself waits: the others run, and time passes when they cannot. */
static void main_wait(const void *on, int64_t until_ns)
{
    main_on = on;
    main_woken = false;
    while (!main_woken && now_ns < until_ns) {
        if (sched_step()) continue;
        int64_t next = sched_next_ns();
        if (until_ns < next) next = until_ns;
        if (next == INT64_MAX) {
            fputs("sim: everybody waits for somebody else\n", stderr);
            abort();
        }
        clock_set_ns(next);
    }
    main_on = NULL;
}

void sched_wait(const void *on, int64_t until_ns)
{
    if (current < 0) {
        main_wait(on, until_ns);
        return;
    }
    struct task *t = &tasks[current];
    t->state = TASK_WAITS;
    t->on = on;
    t->until_ns = until_ns;
    fiber_wait(t->fiber);
}

static bool wake_one(const void *on)
{
    int waiting[TASKS], n = 0;
    for (int i = 0; i < TASKS; i++)
        if (tasks[i].state == TASK_WAITS && tasks[i].on == on) waiting[n++] = i;
    if (main_on == on && !main_woken) {
        main_woken = true;
        return true;
    }
    if (!n) return false;
    wake_task(&tasks[waiting[random_under(&rng, (uint32_t)n)]]);
    return true;
}

void sched_wake(const void *on)
{
    while (wake_one(on)) {
    }
}

/* ---- what the server calls ---- */

int __wrap_pthread_create(pthread_t *ret, const pthread_attr_t *attr, void *(*run)(void *), void *arg);
int __wrap_pthread_join(pthread_t thread, void **ret);
pthread_t __wrap_pthread_self(void);
pthread_t __real_pthread_self(void);
int __wrap_pthread_setname_np(pthread_t thread, const char *name);
int __wrap_pthread_mutex_lock(pthread_mutex_t *m);
int __wrap_pthread_mutex_unlock(pthread_mutex_t *m);
int __real_pthread_mutex_unlock(pthread_mutex_t *m);
int __wrap_pthread_cond_wait(pthread_cond_t *c, pthread_mutex_t *m);
int __wrap_pthread_cond_timedwait(pthread_cond_t *c, pthread_mutex_t *m, const struct timespec *until);
int __wrap_pthread_cond_signal(pthread_cond_t *c);
int __wrap_pthread_cond_broadcast(pthread_cond_t *c);
int __wrap_clock_gettime(clockid_t clock, struct timespec *ret);
int __wrap_nanosleep(const struct timespec *time, struct timespec *rest);
int __wrap_usleep(useconds_t us);

static void begin(void *arg)
{
    struct task *t = arg;
    t->result = t->run(t->arg);
}

static pthread_t name_of(int task)
{
    return (pthread_t)(task + 2);
}

int __wrap_pthread_create(pthread_t *ret, const pthread_attr_t *attr, void *(*run)(void *), void *arg)
{
    (void)attr;
    int i = 0;
    while (i < TASKS && tasks[i].state != TASK_FREE) i++;
    if (i == TASKS) return EAGAIN;
    struct task *t = &tasks[i];
    if (!t->fiber) t->fiber = fiber_new();
    if (!t->fiber) abort();
    t->run = run;
    t->arg = arg;
    wake_task(t);
    fiber_begin(t->fiber, begin, t);
    *ret = name_of(i);
    return 0;
}

int __wrap_pthread_join(pthread_t thread, void **ret)
{
    struct task *t = &tasks[thread - 2];
    while (t->state != TASK_ENDED) sched_wait(t, INT64_MAX);
    t->state = TASK_FREE;
    if (ret) *ret = t->result;
    return 0;
}

pthread_t __wrap_pthread_self(void)
{
    return current < 0 ? __real_pthread_self() : name_of(current);
}

int __wrap_pthread_setname_np(pthread_t thread, const char *name)
{
    (void)thread, (void)name;
    return 0;
}

int __wrap_pthread_mutex_lock(pthread_mutex_t *m)
{
    while (pthread_mutex_trylock(m) != 0) sched_wait(m, INT64_MAX);
    return 0;
}

int __wrap_pthread_mutex_unlock(pthread_mutex_t *m)
{
    int rc = __real_pthread_mutex_unlock(m);
    sched_wake(m);
    return rc;
}

int __wrap_pthread_cond_wait(pthread_cond_t *c, pthread_mutex_t *m)
{
    __wrap_pthread_mutex_unlock(m);
    sched_wait(c, INT64_MAX);
    return __wrap_pthread_mutex_lock(m);
}

int __wrap_pthread_cond_timedwait(pthread_cond_t *c, pthread_mutex_t *m, const struct timespec *until)
{
    int64_t until_ns = (int64_t)until->tv_sec * 1000000000 + until->tv_nsec;
    __wrap_pthread_mutex_unlock(m);
    sched_wait(c, until_ns);
    __wrap_pthread_mutex_lock(m);
    return now_ns >= until_ns ? ETIMEDOUT : 0;
}

int __wrap_pthread_cond_signal(pthread_cond_t *c)
{
    wake_one(c);
    return 0;
}

int __wrap_pthread_cond_broadcast(pthread_cond_t *c)
{
    sched_wake(c);
    return 0;
}

int __wrap_clock_gettime(clockid_t clock, struct timespec *ret)
{
    ret->tv_sec = (time_t)(now_ns / 1000000000 + (clock == CLOCK_REALTIME ? EPOCH_S : 0));
    ret->tv_nsec = (long)(now_ns % 1000000000);
    return 0;
}

int __wrap_nanosleep(const struct timespec *time, struct timespec *rest)
{
    (void)rest;
    static int nobody;
    sched_wait(&nobody, now_ns + (int64_t)time->tv_sec * 1000000000 + time->tv_nsec);
    return 0;
}

int __wrap_usleep(useconds_t us)
{
    return __wrap_nanosleep(&(struct timespec){us / 1000000, (long)(us % 1000000) * 1000}, NULL);
}
