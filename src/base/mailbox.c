/* base/mailbox.c - see mailbox.h. */
#include "base/mailbox.h"

void mailbox_init(struct mailbox *m, void (*wake)(void *ctx), void *ctx)
{
    *m = (struct mailbox){.wake = wake, .ctx = ctx};
    pthread_mutex_init(&m->lock, NULL);
}

void mailbox_done(struct mailbox *m)
{
    pthread_mutex_destroy(&m->lock);
}

void mailbox_post_all(struct mailbox *m, struct letter *first)
{
    if (!first) return;
    struct letter *last = first;
    while (last->next) last = last->next;

    pthread_mutex_lock(&m->lock);
    int was_empty = !m->head;
    if (was_empty)
        m->head = first;
    else
        m->tail->next = first;
    m->tail = last;
    /* Before the lock is released: an owner that has the letters may take the box down at once. */
    if (was_empty && m->wake) m->wake(m->ctx);
    pthread_mutex_unlock(&m->lock);
}

void mailbox_post(struct mailbox *m, struct letter *l)
{
    l->next = NULL;
    mailbox_post_all(m, l);
}

struct letter *mailbox_take(struct mailbox *m)
{
    pthread_mutex_lock(&m->lock);
    struct letter *l = m->head;
    m->head = m->tail = NULL;
    pthread_mutex_unlock(&m->lock);
    return l;
}
