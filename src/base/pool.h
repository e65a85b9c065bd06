/* base/pool.h - a few threads for work that waits or burns CPU time: password hashing, calls to gateways.
 *
 * The queue is bounded: a job that does not fit is refused at once, so that a flood of logins can neither pile up
 * memory nor starve the machine. */
#pragma once

#include <stdbool.h>

#include "base/mailbox.h"

struct pool;

struct pool_job {
    struct letter letter; /* first */
    void (*run)(struct pool_job *job);
    bool is_first; /* runs before every job that is not */
};

/* The first thread starts now, each further one when a job finds none that is idle. */
struct pool *pool_new(int threads_max, int queue_max);
/* False when the queue is full: the job was not taken. */
bool pool_submit(struct pool *p, struct pool_job *job);
/* Runs what is queued, then ends the threads. */
void pool_free(struct pool *p);
