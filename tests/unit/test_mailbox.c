/* tests/unit/test_mailbox.c - every letter arrives once, in its sender's order, and no wake-up is ever missing. */
#include "unit.h"

#include <semaphore.h>
#include <stdatomic.h>

#include "base/mailbox.h"

struct note {
    struct letter letter;
    int from, number;
};

static int wakes;

static void count_wake(void *ctx)
{
    (*(int *)ctx)++;
}

static void hands_over_in_order(void **state)
{
    (void)state;
    struct mailbox box;
    struct note notes[5] = {0};
    wakes = 0;
    mailbox_init(&box, count_wake, &wakes);
    assert_null(mailbox_take(&box));
    mailbox_post(&box, &notes[0].letter);
    assert_int_equal(wakes, 1);
    mailbox_post(&box, &notes[1].letter);
    assert_int_equal(wakes, 1); /* it was not empty */
    notes[2].letter.next = &notes[3].letter;
    notes[3].letter.next = NULL;
    mailbox_post_all(&box, &notes[2].letter);
    mailbox_post_all(&box, NULL);
    assert_int_equal(wakes, 1);
    notes[4].letter.next = &notes[0].letter; /* post() forgets where it was linked before */
    mailbox_post(&box, &notes[4].letter);

    struct letter *l = mailbox_take(&box);
    for (int i = 0; i < 5; i++, l = l->next) assert_ptr_equal(l, &notes[i].letter);
    assert_null(l);
    assert_null(mailbox_take(&box));
    mailbox_post_all(&box, &notes[4].letter);
    assert_int_equal(wakes, 2);
    assert_ptr_equal(mailbox_take(&box), &notes[4].letter);
    mailbox_done(&box);
}

static void works_without_a_wake(void **state)
{
    (void)state;
    struct mailbox box;
    struct note note = {0};
    mailbox_init(&box, NULL, NULL);
    mailbox_post(&box, &note.letter);
    assert_ptr_equal(mailbox_take(&box), &note.letter);
    mailbox_done(&box);
}

enum { SENDERS = 4, EACH = 20000 };

static struct note notes[SENDERS][EACH];
static struct mailbox shared;
static sem_t rung;
static atomic_int rings;

static void ring(void *ctx)
{
    (void)ctx;
    atomic_fetch_add(&rings, 1);
    sem_post(&rung);
}

static void *send_all(void *arg)
{
    struct note *mine = arg;
    for (int i = 0; i < EACH; i++) {
        if (i % 5 || i + 2 >= EACH) {
            mailbox_post(&shared, &mine[i].letter);
        } else { /* now and then three at once */
            mine[i].letter.next = &mine[i + 1].letter;
            mine[i + 1].letter.next = &mine[i + 2].letter;
            mine[i + 2].letter.next = NULL;
            mailbox_post_all(&shared, &mine[i].letter);
            i += 2;
        }
    }
    return NULL;
}

/* The owner sleeps until it is woken and then takes everything: were a wake-up lost, it would sleep for ever. */
static void loses_nothing_between_threads(void **state)
{
    (void)state;
    pthread_t senders[SENDERS];
    int next[SENDERS] = {0}, received = 0, batches = 0;
    sem_init(&rung, 0, 0);
    mailbox_init(&shared, ring, NULL);
    for (int s = 0; s < SENDERS; s++) {
        for (int i = 0; i < EACH; i++) notes[s][i] = (struct note){.from = s, .number = i};
        assert_int_equal(pthread_create(&senders[s], NULL, send_all, notes[s]), 0);
    }
    while (received < SENDERS * EACH) {
        while (sem_wait(&rung)) continue;
        struct letter *l = mailbox_take(&shared);
        batches++;
        for (struct letter *after; l; l = after, received++) {
            after = l->next; /* the letter is ours now: its sender may not be asked again */
            struct note *n = (struct note *)l;
            assert_int_equal(n->number, next[n->from]++);
        }
    }
    for (int s = 0; s < SENDERS; s++) pthread_join(senders[s], NULL);
    assert_null(mailbox_take(&shared));
    assert_true(atomic_load(&rings) >= 1 && atomic_load(&rings) <= received);
    assert_true(batches <= atomic_load(&rings));
    mailbox_done(&shared);
    sem_destroy(&rung);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(hands_over_in_order),
        cmocka_unit_test(works_without_a_wake),
        cmocka_unit_test(loses_nothing_between_threads),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
