/* db/job_queue.c - see job_queue.h. */
#include "db/job_queue.h"

#include <assert.h>
#include <time.h>

#include "base/timestamp.h"

#define PACE_NS INT64_C(400000000) /* how far back the pace looks, about */

void job_finish(struct tx_job *job, enum err e)
{
    job->result = e;
    if (job->port)
        mailbox_post(&job->port->finished, &job->letter);
    else
        job->done(job, e);
}

/* Once a job is posted it belongs to its port's thread again. */
void jobs_finish(struct tx_job **jobs, int n)
{
    while (n) {
        struct tx_port *port = jobs[0]->port;
        struct letter *first = NULL, **end = &first;
        int left = 0;
        for (int i = 0; i < n; i++) {
            struct tx_job *job = jobs[i];
            if (job->port != port) {
                jobs[left++] = job;
            } else if (!port) {
                job_finish(job, job->result);
            } else {
                job->letter.next = NULL;
                *end = &job->letter;
                end = &job->letter.next;
            }
        }
        if (port) mailbox_post_all(&port->finished, first);
        n = left;
    }
}

void count_batch(struct database_stats *stats, int jobs)
{
    int bucket = 0;
    while (bucket < 9 && jobs > 1 << bucket) bucket++;
    atomic_fetch_add_explicit(&stats->batches, 1, memory_order_relaxed);
    atomic_fetch_add_explicit(&stats->batch_jobs, jobs, memory_order_relaxed);
    atomic_fetch_add_explicit(&stats->batch_buckets[bucket], 1, memory_order_relaxed);
}

static bool is_filled(const struct job_queue *q)
{
    return q->lanes[0].head || q->lanes[1].head;
}

void queue_init(struct job_queue *q, _Atomic int64_t *length)
{
    *q = (struct job_queue){.length = length};
    for (int i = 0; i < 2; i++) {
        q->lanes[i].end = &q->lanes[i].head;
        q->lanes[i].length_max = QUEUE_FIRST;
    }
    pthread_mutex_init(&q->lock, NULL);
    pthread_cond_init(&q->filled, NULL);
    pthread_cond_init(&q->overfull, NULL);
}

void queue_done(struct job_queue *q)
{
    assert(!is_filled(q));
    pthread_cond_destroy(&q->filled);
    pthread_cond_destroy(&q->overfull);
    pthread_mutex_destroy(&q->lock);
}

static struct job_lane *lane_of(struct job_queue *q, const struct tx_job *job)
{
    return &q->lanes[job->is_first ? 0 : 1];
}

/* One that was woken counts as a sleeper until it has the lock, and until then its job is there, too. */
static bool is_overfull(const struct job_queue *q)
{
    return q->lanes[0].length + q->lanes[1].length > q->sleepers + q->coming;
}

/* Under the lock; ends it. */
static void wake_one(struct job_queue *q, struct job_lane *lane)
{
    lane->length++;
    atomic_fetch_add_explicit(q->length, 1, memory_order_relaxed);
    bool wake = q->sleepers > 0, wake_other = is_overfull(q) && q->waiters > 0;
    pthread_mutex_unlock(&q->lock);
    if (wake) pthread_cond_signal(&q->filled);
    if (wake_other) pthread_cond_signal(&q->overfull);
}

bool queue_put(struct job_queue *q, struct tx_job *job)
{
    job->letter.next = NULL;
    pthread_mutex_lock(&q->lock);
    assert(!q->closed);
    struct job_lane *lane = lane_of(q, job);
    if (job->port && lane->length >= lane->length_max) {
        pthread_mutex_unlock(&q->lock);
        return false;
    }
    *lane->end = &job->letter;
    lane->end = &job->letter.next;
    wake_one(q, lane);
    return true;
}

bool queue_has_room(struct job_queue *q, const struct tx_job *job)
{
    struct job_lane *lane = lane_of(q, job);
    return atomic_load_explicit(&lane->length, memory_order_relaxed) <
           atomic_load_explicit(&lane->length_max, memory_order_relaxed);
}

void queue_put_back(struct job_queue *q, struct tx_job *job)
{
    pthread_mutex_lock(&q->lock);
    struct job_lane *lane = lane_of(q, job);
    job->letter.next = lane->head;
    if (!lane->head) lane->end = &job->letter.next;
    lane->head = &job->letter;
    wake_one(q, lane);
}

/* So many more were taken, after a time in which there was always something to take. */
static void learn_pace(struct job_lane *lane, int jobs, int64_t ns)
{
    lane->paced_jobs += jobs;
    lane->paced_ns += ns;
    for (; lane->paced_ns > PACE_NS; lane->paced_ns /= 2) lane->paced_jobs /= 2;
    if (lane->paced_ns < PACE_NS / 8) return; /* too little to tell */
    int64_t most = lane->paced_jobs * (QUEUE_WAIT_MS * INT64_C(1000000)) / lane->paced_ns;
    lane->length_max = most < QUEUE_LEAST ? QUEUE_LEAST : most > QUEUE_MOST ? QUEUE_MOST : most;
}

static int take_from(struct job_lane *lane, struct tx_job **ret, int max)
{
    int n = 0;
    for (; n < max && lane->head; n++) {
        ret[n] = job_of(lane->head);
        lane->head = lane->head->next;
    }
    lane->length -= n;
    if (!lane->head) lane->end = &lane->head;
    int64_t now = lane->left_ns || lane->head ? time_monotonic_ns() : 0;
    if (lane->left_ns) learn_pace(lane, n, now - lane->left_ns);
    lane->left_ns = lane->head ? now : 0;
    return n;
}

static int take(struct job_queue *q, struct tx_job **ret, int max)
{
    int n = take_from(&q->lanes[0], ret, max);
    n += take_from(&q->lanes[1], ret + n, max - n);
    atomic_fetch_sub_explicit(q->length, n, memory_order_relaxed);
    return n;
}

/* Under the lock. */
static void sleep_until_filled(struct job_queue *q)
{
    while (!is_filled(q) && !q->closed) {
        q->sleepers++;
        pthread_cond_wait(&q->filled, &q->lock);
        q->sleepers--;
    }
}

bool queue_wait(struct job_queue *q)
{
    pthread_mutex_lock(&q->lock);
    while (!is_overfull(q) && !q->closed) {
        q->waiters++;
        pthread_cond_wait(&q->overfull, &q->lock);
        q->waiters--;
    }
    bool filled = is_filled(q);
    if (filled) q->coming++;
    pthread_mutex_unlock(&q->lock);
    return filled;
}

static void count_coming(struct job_queue *q, int more)
{
    pthread_mutex_lock(&q->lock);
    q->coming += more;
    pthread_mutex_unlock(&q->lock);
}

void queue_coming(struct job_queue *q)
{
    count_coming(q, 1);
}

void queue_came(struct job_queue *q)
{
    count_coming(q, -1);
}

void queue_nudge(struct job_queue *q)
{
    pthread_cond_signal(&q->filled);
    pthread_cond_signal(&q->overfull);
}

int queue_take(struct job_queue *q, struct tx_job **ret, int max)
{
    pthread_mutex_lock(&q->lock);
    sleep_until_filled(q);
    int n = take(q, ret, max);
    pthread_mutex_unlock(&q->lock);
    return n;
}

int queue_take_now(struct job_queue *q, struct tx_job **ret, int max)
{
    pthread_mutex_lock(&q->lock);
    int n = take(q, ret, max);
    pthread_mutex_unlock(&q->lock);
    return n;
}

int queue_take_until(struct job_queue *q, struct tx_job **ret, int64_t until_ns)
{
    struct timespec until = {.tv_sec = until_ns / 1000000000, .tv_nsec = until_ns % 1000000000};
    int rc = 0;
    pthread_mutex_lock(&q->lock);
    while (until_ns && !is_filled(q) && !q->closed && rc == 0) {
        q->sleepers++;
        rc = pthread_cond_clockwait(&q->filled, &q->lock, CLOCK_MONOTONIC, &until);
        q->sleepers--;
    }
    int n = take(q, ret, 1);
    if (!n && q->closed) n = QUEUE_CLOSED;
    pthread_mutex_unlock(&q->lock);
    return n;
}

void queue_close(struct job_queue *q)
{
    pthread_mutex_lock(&q->lock);
    q->closed = true;
    pthread_mutex_unlock(&q->lock);
    pthread_cond_broadcast(&q->filled);
    pthread_cond_broadcast(&q->overfull);
}

bool queue_has_ended(struct job_queue *q)
{
    pthread_mutex_lock(&q->lock);
    bool ended = q->closed && !is_filled(q);
    pthread_mutex_unlock(&q->lock);
    return ended;
}
