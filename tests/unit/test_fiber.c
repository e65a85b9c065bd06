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

/* Twelve whole numbers and ten others, made from `seed` where the compiler cannot see it, which are needed again behind
 * each `SWITCH`: the processor has registers for both kinds that a function keeps for its caller. */
#define KEEP_AND_SWITCH(seed, SWITCH)                                                                                  \
    volatile int from = (seed);                                                                                        \
    int64_t a = from, b = from + 1, c = from + 2, d = from + 3, e = from + 4, f = from + 5;                            \
    int64_t g = from + 6, h = from + 7, i = from + 8, j = from + 9, k = from + 10, l = from + 11;                      \
    double m = from, n = m + 1, o = m + 2, p = m + 3, q = m + 4, r = m + 5, s = m + 6, t = m + 7, u = m + 8,           \
           v = m + 9;                                                                                                  \
    for (int round = 0; round < 5; round++) {                                                                          \
        SWITCH;                                                                                                        \
        a += round, b += a, c += b, d += c, e += d, f += e, g += f, h += g, i += h, j += i, k += j, l += k;            \
        m += round, n += m, o += n, p += o, q += p, r += q, s += r, t += s, u += t, v += u;                            \
    }                                                                                                                  \
    assert_int_equal(l, 8568 + 4368 * (int64_t)from);                                                                  \
    assert_true(v == 3367 + 2002.0 * from)

static void keep_in_fiber(void *arg)
{
    struct counter *self = arg;
    KEEP_AND_SWITCH(self->steps, fiber_wait(self->fiber));
    self->done++;
}

static void keep_and_resume(struct counter *one, struct counter *other)
{
    KEEP_AND_SWITCH(3, assert_true(fiber_resume(one->fiber) && fiber_resume(other->fiber)));
}

static void registers_are_kept_on_both_sides(void **state)
{
    (void)state;
    struct counter one = {.fiber = fiber_new(), .steps = 7}, other = {.fiber = fiber_new(), .steps = 11};
    fiber_begin(one.fiber, keep_in_fiber, &one);
    fiber_begin(other.fiber, keep_in_fiber, &other);
    keep_and_resume(&one, &other);
    assert_false(fiber_resume(one.fiber));
    assert_false(fiber_resume(other.fiber));
    assert_int_equal(one.done + other.done, 2);
    fiber_free(one.fiber);
    fiber_free(other.fiber);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(run_in_turn),
                                       cmocka_unit_test(registers_are_kept_on_both_sides)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
