/* db/job_queue.h - the queue in which a job waits, and its way back to the thread that asked. For db/ only. */
#pragma once

#include <pthread.h>

#include "db/engine.h"

struct tx_port {
    struct database *database;
    struct mailbox finished;
    struct letter *reads, **reads_end; /* waiting for tx_port_pass; the owner's alone */
    struct db *reader;                 /* SQLite: the owner's read connection */
    struct port_memory *memory;        /* PostgreSQL: what jobs that may_remember are run with; or NULL */
    int64_t under_way;                 /* submitted and not yet told; the owner's alone */
};

static inline struct tx_job *job_of(struct letter *l)
{
    return (struct tx_job *)l;
}

/* Tells the job's port. The `done` of a job without one (tx_call) is called at once, on this thread. */
void job_finish(struct tx_job *job, enum err e);
/* The same for many, with the result that each has: one wake-up for each port. jobs[] is used up. */
void jobs_finish(struct tx_job **jobs, int n);
/* One more batch of so many jobs was committed. */
void count_batch(struct database_stats *stats, int jobs);

/* Jobs on their way to threads that sleep when there are none. */
struct job_queue {
    pthread_mutex_t lock;
    pthread_cond_t filled, overfull; /* for who takes; for who would first have to get ready (queue_wait) */
    struct job_lane {
        struct letter *head, **end;
        _Atomic int64_t length, length_max; /* changed under the lock */
        /* The pace at which jobs are taken while others wait behind them. */
        int64_t paced_jobs, paced_ns;
        int64_t left_ns;   /* when jobs were last taken and others left; 0: none were left */
    } lanes[2];            /* urgent jobs first */
    int sleepers, waiters; /* in queue_take, in queue_wait */
    int coming;            /* between queue_wait or queue_coming and queue_came */
    bool closed;
    _Atomic int64_t *length; /* the figure in database_stats */
};

void queue_init(struct job_queue *q, _Atomic int64_t *length);
void queue_done(struct job_queue *q);
/* A lane holds about as many jobs as are taken from it in QUEUE_WAIT_MS, at the pace of the last moments, and never
 * fewer than QUEUE_LEAST: few that wait for one slow commit are no crowd. */
#define QUEUE_WAIT_MS 500
#define QUEUE_LEAST 256
#define QUEUE_FIRST 1024 /* until its pace is known */
#define QUEUE_MOST 4096
/* False: the queue is full, and the job was not taken. A job that a thread waits for (without a port) is always taken:
 * the number of threads is bounded. */
bool queue_put(struct job_queue *q, struct tx_job *job);
/* Whether queue_put would take the job just now. Without a lock. */
bool queue_has_room(struct job_queue *q, const struct tx_job *job);
/* In front of all others in its lane; also once the queue is closed. */
void queue_put_back(struct job_queue *q, struct tx_job *job);
/* Waits for jobs, then takes up to `max` of them in order; the number taken, 0 once the queue is closed and empty. */
int queue_take(struct job_queue *q, struct tx_job **ret, int max);
/* For who would first have to get ready: waits until there are more jobs than sleep in queue_take or are on their way
 * there, and takes none; false once the queue is closed and empty. Then queue_came, ready or not; and who is not calls
 * queue_nudge: it was woken in another's place. */
bool queue_wait(struct job_queue *q);
/* Who is ready, and will soon sleep in queue_take, says so, too: then queue_came. */
void queue_coming(struct job_queue *q);
void queue_came(struct job_queue *q);
void queue_nudge(struct job_queue *q);
/* Takes what is there, without waiting. */
int queue_take_now(struct job_queue *q, struct tx_job **ret, int max);
/* One job, waiting until a point of the monotonic clock (0: not at all): 1, 0 when there was none, QUEUE_CLOSED. */
#define QUEUE_CLOSED (-1)
int queue_take_until(struct job_queue *q, struct tx_job **ret, int64_t until_ns);
/* Jobs in the queue are still taken; no more may be added. */
void queue_close(struct job_queue *q);
/* And nothing is in it. */
bool queue_has_ended(struct job_queue *q);
