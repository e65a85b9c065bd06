/* db/job_queue.c - see job_queue.h. */
#include "db/job_queue.h"

#include <assert.h>
#include <time.h>

void job_finish(struct tx_job *job, enum err e)
{
    job->result = e;
    if (job->port)
        mailbox_post(&job->port->finished, &job->letter);
    else
        job->done(job, e);
}

void queue_init(struct job_queue *q, _Atomic int64_t *length)
{
    *q = (struct job_queue){.length = length};
    q->end = &q->head;
    pthread_mutex_init(&q->lock, NULL);
    pthread_cond_init(&q->filled, NULL);
}

void queue_done(struct job_queue *q)
{
    assert(!q->head);
    pthread_cond_destroy(&q->filled);
    pthread_mutex_destroy(&q->lock);
}

void queue_put(struct job_queue *q, struct tx_job *job)
{
    job->letter.next = NULL;
    pthread_mutex_lock(&q->lock);
    assert(!q->closed);
    *q->end = &job->letter;
    q->end = &job->letter.next;
    atomic_fetch_add_explicit(q->length, 1, memory_order_relaxed);
    bool wake = q->sleepers > 0;
    pthread_mutex_unlock(&q->lock);
    if (wake) pthread_cond_signal(&q->filled);
}

void queue_put_back(struct job_queue *q, struct tx_job *job)
{
    pthread_mutex_lock(&q->lock);
    job->letter.next = q->head;
    if (!q->head) q->end = &job->letter.next;
    q->head = &job->letter;
    atomic_fetch_add_explicit(q->length, 1, memory_order_relaxed);
    bool wake = q->sleepers > 0;
    pthread_mutex_unlock(&q->lock);
    if (wake) pthread_cond_signal(&q->filled);
}

static int take(struct job_queue *q, struct tx_job **ret, int max)
{
    int n = 0;
    for (; n < max && q->head; n++) {
        ret[n] = job_of(q->head);
        q->head = q->head->next;
    }
    if (!q->head) q->end = &q->head;
    atomic_fetch_sub_explicit(q->length, n, memory_order_relaxed);
    return n;
}

int queue_take(struct job_queue *q, struct tx_job **ret, int max)
{
    pthread_mutex_lock(&q->lock);
    while (!q->head && !q->closed) {
        q->sleepers++;
        pthread_cond_wait(&q->filled, &q->lock);
        q->sleepers--;
    }
    int n = take(q, ret, max);
    pthread_mutex_unlock(&q->lock);
    return n;
}

int queue_take_until(struct job_queue *q, struct tx_job **ret, int64_t until_ns)
{
    struct timespec until = {.tv_sec = until_ns / 1000000000, .tv_nsec = until_ns % 1000000000};
    int rc = 0;
    pthread_mutex_lock(&q->lock);
    while (until_ns && !q->head && !q->closed && rc == 0) {
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
}

bool queue_is_closed(struct job_queue *q)
{
    pthread_mutex_lock(&q->lock);
    bool closed = q->closed;
    pthread_mutex_unlock(&q->lock);
    return closed;
}
