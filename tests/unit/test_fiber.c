/* tests/unit/test_fiber.c - functions that stop in the middle: many at once, again and again, each with a stack. */
#include "unit.h"

#include "base/fiber.h"

#define MANY 64

struct counter {
    struct fiber *fiber;
    int steps, done;
    char on_stack; /* the last byte of what it keeps on its stack */
};

static void count(void *arg)
{
    struct counter *c = arg;
    volatile char kept[8192];
    memset((char *)(uintptr_t)kept, c->steps, sizeof kept);
    for (c->done = 0; c->done < c->steps; c->done++) fiber_wait(c->fiber);
    c->on_stack = kept[sizeof kept - 1];
}

static void run_in_turn(void **state)
{
    (void)state;
    struct counter c[MANY];
    for (int i = 0; i < MANY; i++) {
        c[i] = (struct counter){.fiber = fiber_new()};
        assert_non_null(c[i].fiber);
    }
    for (int round = 0; round < 3; round++) { /* a fiber that has ended begins again */
        for (int i = 0; i < MANY; i++) {
            c[i].steps = i + round;
            fiber_begin(c[i].fiber, count, &c[i]);
        }
        int running = MANY;
        for (int step = 0; running; step++)
            for (int i = 0; i < MANY; i++) {
                if (step > c[i].steps) continue;
                bool waits = fiber_resume(c[i].fiber);
                assert_int_equal(waits, step < c[i].steps);
                assert_int_equal(c[i].done, step);
                running -= !waits;
            }
        for (int i = 0; i < MANY; i++) assert_int_equal(c[i].on_stack, (char)(i + round));
    }
    for (int i = 0; i < MANY; i++) fiber_free(c[i].fiber);
    fiber_free(fiber_new()); /* never began */
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(run_in_turn)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
