/* tests/unit/test_turn.c - a limit at once, the others one after the other, too many are refused; and counts of quotas.
 */
#include "unit.h"

#include "base/quota.h"
#include "serve/turn.h"

static struct turn *resumed[8];
static size_t resumed_count;

static void note(struct turn *t)
{
    resumed[resumed_count++] = t;
}

static void hands_turns_on_in_order(void **state)
{
    (void)state;
    struct turns *s = turns_new(2, 2);
    struct turn t[6] = {0};
    resumed_count = 0;
    assert_true(turn_try(s, &t[0], 7));
    assert_true(turn_try(s, &t[0], 7)); /* it has one: nothing more is taken */
    assert_int_equal(turn_wait(s, &t[0], 7, note), TURN_TAKEN);
    assert_int_equal(turn_wait(s, &t[1], 7, note), TURN_TAKEN);
    assert_false(turn_try(s, &t[2], 7));
    assert_int_equal(turn_wait(s, &t[2], 7, note), TURN_WAITS);
    assert_int_equal(turn_wait(s, &t[3], 7, note), TURN_WAITS);
    assert_int_equal(turn_wait(s, &t[4], 7, note), TURN_REFUSED);
    assert_true(turn_try(s, &t[5], 8)); /* somebody else */
    assert_int_equal(resumed_count, 0);

    turn_give(&t[1]);
    turn_give(&t[1]); /* harmless */
    assert_int_equal(resumed_count, 1);
    assert_ptr_equal(resumed[0], &t[2]);
    assert_true(t[2].is_taken);
    assert_false(turn_try(s, &t[1], 7)); /* nobody overtakes who waits */
    turn_give(&t[0]);
    assert_ptr_equal(resumed[1], &t[3]);
    turn_give(&t[2]);
    turn_give(&t[3]);
    assert_true(turn_try(s, &t[0], 7));
    assert_true(turn_try(s, &t[1], 7));
    assert_false(turn_try(s, &t[2], 7));
    turns_free(s);
}

static void counts_what_is_held(void **state)
{
    (void)state;
    struct quota *q = quota_new();
    size_t a = quota_place(q, STR("192.0.2.1")), b = quota_place(q, STR("192.0.2.2"));
    assert_int_equal(a, quota_place(q, STR("192.0.2.1")));
    assert_true(quota_take(q, a, 60, 100));
    assert_false(quota_take(q, a, 41, 100));
    assert_true(quota_take(q, a, 40, 100));
    if (a != b) assert_true(quota_take(q, b, 100, 100));
    quota_give(q, a, 60);
    assert_true(quota_take(q, a, 60, 100));
    assert_false(quota_take(q, a, 1, 100));
    quota_free(q);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(hands_turns_on_in_order),
        cmocka_unit_test(counts_what_is_held),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
