/* base/pool.c - see pool.h. One lock, one condition, a list for each lane. A thread is idle from its wait
 * until it has the lock again, so that a job which one was woken for is still queued then. */
#include "base/pool.h"
#include "base/memory.h"
#include "base/thread.h"

#include <stdio.h>
#include <stdlib.h>

struct pool {
    pthread_mutex_t lock;
    pthread_cond_t work;
    struct lane {
        struct letter *head, *tail;
    } lanes[2]; /* urgent jobs first */
    int queued, queue_max, idle;
    bool stopping;
    int thread_count, threads_max;
    pthread_t threads[];
};

static struct lane *filled_lane(struct pool *p)
{
    return p->lanes[0].head ? &p->lanes[0] : p->lanes[1].head ? &p->lanes[1] : NULL;
}

static struct pool_job *next_job(struct pool *p)
{
    struct letter *l = NULL;
    pthread_mutex_lock(&p->lock);
    while (!filled_lane(p) && !p->stopping) {
        p->idle++;
        pthread_cond_wait(&p->work, &p->lock);
        p->idle--;
    }
    struct lane *lane = filled_lane(p);
    if (lane) {
        l = lane->head;
        lane->head = l->next;
        p->queued--;
    }
    pthread_mutex_unlock(&p->lock);
    return (struct pool_job *)l;
}

static void *work(void *arg)
{
    struct pool *p = arg;
    for (struct pool_job *job; (job = next_job(p));) job->run(job);
    return NULL;
}

static bool start_thread(struct pool *p)
{
    if (pthread_create(&p->threads[p->thread_count], NULL, work, p) != 0) return false;
    p->thread_count++;
    return true;
}

struct pool *pool_new(int threads_max, int queue_max)
{
    struct pool *p = memory_zeroed(1, sizeof *p + (size_t)threads_max * sizeof *p->threads);
    p->queue_max = queue_max;
    p->threads_max = threads_max;
    pthread_mutex_init(&p->lock, NULL);
    pthread_cond_init(&p->work, NULL);
    thread_start(&p->threads[0], work, p);
    p->thread_count = 1;
    return p;
}

bool pool_submit(struct pool *p, struct pool_job *job)
{
    pthread_mutex_lock(&p->lock);
    bool taken = p->queued < p->queue_max && !p->stopping;
    if (taken) {
        job->letter.next = NULL;
        struct lane *lane = &p->lanes[job->is_first ? 0 : 1];
        *(lane->head ? &lane->tail->next : &lane->head) = &job->letter;
        lane->tail = &job->letter;
        p->queued++;
        pthread_cond_signal(&p->work);
        /* A machine that gives no further thread leaves the job to those that are there. Without memory none is asked
         * for: its stack would take the room that the reserve leaves to what has begun (0063). */
        if (p->queued > p->idle && p->thread_count < p->threads_max && !memory_is_short()) start_thread(p);
    }
    pthread_mutex_unlock(&p->lock);
    return taken;
}

void pool_free(struct pool *p)
{
    if (!p) return;
    pthread_mutex_lock(&p->lock);
    p->stopping = true;
    pthread_cond_broadcast(&p->work);
    pthread_mutex_unlock(&p->lock);
    for (int i = 0; i < p->thread_count; i++) pthread_join(p->threads[i], NULL);
    pthread_cond_destroy(&p->work);
    pthread_mutex_destroy(&p->lock);
    free(p);
}
