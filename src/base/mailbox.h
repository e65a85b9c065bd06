/* base/mailbox.h - letters from any thread to one thread.
 *
 * Any thread may call post(); only the owner calls take(), which returns everything posted so far, in order, as a
 * chain. post() calls `wake` on the posting thread, and only when the box was empty, so that a batch of letters costs
 * one wake-up. `wake` runs under the box's lock and must not touch the box. A letter is embedded in the value that is
 * sent. */
#pragma once

#include <pthread.h>
#include <stddef.h>

struct letter {
    struct letter *next;
};

struct mailbox {
    pthread_mutex_t lock;
    struct letter *head, *tail;
    void (*wake)(void *ctx);
    void *ctx;
};

void mailbox_init(struct mailbox *m, void (*wake)(void *ctx), void *ctx);
void mailbox_done(struct mailbox *m);
void mailbox_post(struct mailbox *m, struct letter *l);
/* Posts a chain (linked by next, NULL at its end) with one lock and at most one wake-up. */
void mailbox_post_all(struct mailbox *m, struct letter *first);
struct letter *mailbox_take(struct mailbox *m);
