/* tests/unit/test_random.c - bytes that differ, numbers within bounds, every character about equally often. */
#include "unit.h"

#include "base/random.h"

static void fills_all_bytes(void **state)
{
    (void)state;
    unsigned char seen[64] = {0}, bytes[66];
    for (int i = 0; i < 100; i++) {
        memset(bytes, 0, sizeof bytes);
        random_bytes(bytes + 1, 64);
        assert_int_equal(bytes[0] | bytes[65], 0); /* nothing before or behind */
        for (int k = 0; k < 64; k++) seen[k] |= bytes[k + 1];
    }
    for (int k = 0; k < 64; k++) assert_int_equal(seen[k], 0xff);
    random_bytes(bytes, 0);
    assert_true(random_u64() != random_u64());
}

static void stays_below(void **state)
{
    (void)state;
    int seen[7] = {0};
    for (int i = 0; i < 70000; i++) {
        uint32_t v = random_below(7);
        assert_true(v < 7);
        seen[v]++;
    }
    for (int i = 0; i < 7; i++) assert_in_range(seen[i], 9400, 10600); /* over six standard deviations */
    assert_int_equal(random_below(1), 0);
}

static void spreads_over_62_characters(void **state)
{
    (void)state;
    enum { LEN = 62000 };
    static char text[LEN + 1];
    int seen[256] = {0}, kinds = 0;
    random_base62(text, LEN);
    assert_int_equal(text[LEN], '\0');
    for (int i = 0; i < LEN; i++) seen[(unsigned char)text[i]]++;
    for (int c = 0; c < 256; c++) {
        bool allowed = (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z');
        if (!allowed)
            assert_int_equal(seen[c], 0);
        else
            assert_in_range(seen[c], 780, 1220), kinds++; /* about seven standard deviations */
    }
    assert_int_equal(kinds, 62);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(fills_all_bytes),
        cmocka_unit_test(stays_below),
        cmocka_unit_test(spreads_over_62_characters),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
