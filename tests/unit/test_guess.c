/* tests/unit/test_guess.c - how long a wrong guess makes its guesser wait, and nobody else. */
#include "unit.h"

#include <stdio.h>

#include "serve/guess.h"
#include "serve/limit.h"

#define SECOND INT64_C(1000000000)
#define FREE 3

static struct guesses *g;
static int64_t now;

static int setup(void **state)
{
    (void)state;
    g = guesses_new();
    now = 1000 * SECOND;
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    guesses_free(g);
    return 0;
}

/* Seconds to wait, 0: it may be tried. */
static int64_t guess(const char *who)
{
    int64_t wait = 0;
    return guess_begin(g, 'g', str_from(who), FREE, now, &wait) ? 0 : wait;
}

static void test_waits_double_up_to_a_quarter_of_an_hour(void **state)
{
    (void)state;
    static const int64_t waits[] = {15, 30, 60, 120, 240, 480, 900, 900, 900};
    for (int i = 0; i < FREE; i++) assert_int_equal(guess("ada"), 0);
    for (size_t i = 0; i < sizeof waits / sizeof *waits; i++) {
        assert_int_equal(guess("ada"), waits[i]);
        now += waits[i] * SECOND - 1;
        assert_int_equal(guess("ada"), 1);
        now += 1;
        assert_int_equal(guess("ada"), 0);
    }
}

static void test_nobody_else_waits(void **state)
{
    (void)state;
    int64_t wait;
    for (int i = 0; i < 10; i++) guess("ada");
    assert_true(guess("ada") > 0);
    assert_int_equal(guess("eve"), 0);
    assert_true(guess_begin(g, 'w', STR("ada"), FREE, now, &wait)); /* another count of the same name */
}

static void test_a_right_guess_ends_the_wait(void **state)
{
    (void)state;
    for (int i = 0; i < FREE; i++) guess("ada");
    assert_int_equal(guess("ada"), 15);
    guess_right(g, 'g', STR("ada"));
    for (int i = 0; i < FREE; i++) assert_int_equal(guess("ada"), 0);
    assert_int_equal(guess("ada"), 15);
}

static void test_what_is_undone_was_not_made(void **state)
{
    (void)state;
    for (int i = 0; i < 100; i++) {
        assert_int_equal(guess("ada"), 0);
        guess_undo(g, 'g', STR("ada"), FREE);
    }
    for (int i = 0; i < FREE; i++) assert_int_equal(guess("ada"), 0);
    now += 15 * SECOND;
    assert_int_equal(guess("ada"), 0); /* after the wait; undone, the next may follow at once, and costs what it did */
    guess_undo(g, 'g', STR("ada"), FREE);
    assert_int_equal(guess("ada"), 0);
    assert_int_equal(guess("ada"), 30);
    guess("eve");
    for (int i = 0; i < 2; i++) guess_undo(g, 'g', STR("eve"), FREE); /* there is nothing left to undo */
    guess_undo(g, 'g', STR("nobody"), FREE);
    guess_right(g, 'g', STR("nobody"));
    for (int i = 0; i < FREE; i++) assert_int_equal(guess("eve"), 0);
    assert_int_equal(guess("eve"), 15);
}

static void test_an_hour_without_a_guess_is_forgotten(void **state)
{
    (void)state;
    for (int i = 0; i < FREE; i++) guess("ada");
    now += (15 + 3600) * SECOND;
    assert_int_equal(guess("ada"), 0);
    now += 31 * SECOND;
    guess("ada"); /* still remembered until then: this one waits longer */
    for (int i = 0; i < 2; i++) now += 3 * 3600 * SECOND;
    for (int i = 0; i < FREE; i++) assert_int_equal(guess("ada"), 0);
    assert_int_equal(guess("ada"), 15);
}

static void test_memory_is_bounded_and_the_present_is_kept(void **state)
{
    (void)state;
    char who[32];
    for (int i = 0; i < 200000; i++) {
        snprintf(who, sizeof who, "stranger %d", i);
        now += 1000;
        guess(who);
    }
    for (int i = 0; i < FREE; i++) assert_int_equal(guess("ada"), 0);
    assert_int_equal(guess("ada"), 15);
}

/* The limiter keeps the newest callers as well, and knows rates that are none in effect. */
static void test_a_limit_is_kept_among_many_callers(void **state)
{
    (void)state;
    struct limiter *l = limiter_new();
    char who[32];
    for (int i = 0; i < 200000; i++) {
        snprintf(who, sizeof who, "stranger %d", i);
        now += 1000;
        limiter_charge(l, 'c', str_from(who), 10, now);
    }
    for (int i = 0; i < 10; i++) assert_true(limiter_charge(l, 'c', STR("ada"), 10, now).allowed);
    assert_false(limiter_charge(l, 'c', STR("ada"), 10, now).allowed);
    assert_true(limiter_charge(l, 'c', STR("eve"), INT64_C(100000000000), now).allowed);
    limiter_free(l);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_waits_double_up_to_a_quarter_of_an_hour, setup, teardown),
        cmocka_unit_test_setup_teardown(test_nobody_else_waits, setup, teardown),
        cmocka_unit_test_setup_teardown(test_a_right_guess_ends_the_wait, setup, teardown),
        cmocka_unit_test_setup_teardown(test_what_is_undone_was_not_made, setup, teardown),
        cmocka_unit_test_setup_teardown(test_an_hour_without_a_guess_is_forgotten, setup, teardown),
        cmocka_unit_test_setup_teardown(test_memory_is_bounded_and_the_present_is_kept, setup, teardown),
        cmocka_unit_test_setup_teardown(test_a_limit_is_kept_among_many_callers, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
