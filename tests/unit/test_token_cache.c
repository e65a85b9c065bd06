/* tests/unit/test_token_cache.c - what is remembered of tokens, and for how long. */
#include "unit.h"

#include <unistd.h>

#include "domain/token_cache.h"

static struct token_known known(uint8_t n)
{
    return (struct token_known){.name = {n}, .hash = {n, n}};
}

static bool is_kept(uint8_t n, int64_t generation)
{
    struct token_known k = {0}, wanted = known(n);
    if (!token_cache_find(wanted.name, &k)) return false;
    assert_memory_equal(k.hash, wanted.hash, sizeof k.hash);
    assert_int_equal(k.row.token_id.v, n);
    return token_cache_holds(&k, generation);
}

static void keep(uint8_t n, int64_t generation)
{
    struct token_known k = known(n);
    assert_false(token_cache_holds(&k, generation));
    token_cache_keep(&k, generation, &(struct token_row){.token_id = {n}});
    assert_true(token_cache_holds(&k, generation) && !token_cache_holds(&k, generation + 1));
}

/* How many of the first so many, from shelf 0, are kept. The second and third byte of the hash are the shelf. */
static int kept_of(uint8_t count)
{
    int kept = 0;
    for (uint8_t n = 1; n <= count; n++) kept += is_kept(n, 1);
    return kept;
}

/* A machine that is busy elsewhere for so long proves nothing: again. */
static bool took_too_long(int64_t from_ns)
{
    return time_monotonic_ns() - from_ns > TOKEN_CACHE_MS * INT64_C(500000);
}

static void test_tokens_of_one_shelf(void **state)
{
    (void)state;
    int64_t from;
    int four, again, five;
    bool newest;
    do {
        from = time_monotonic_ns();
        for (uint8_t n = 1; n <= 4; n++) keep(n, 1);
        four = kept_of(4);
        keep(3, 1); /* its own place */
        again = kept_of(4);
        keep(5, 1); /* that of another */
        five = kept_of(5);
        newest = is_kept(5, 1);
    } while (took_too_long(from));
    assert_int_equal(four, 4);
    assert_int_equal(again, 4);
    assert_int_equal(five, 4);
    assert_true(newest);
    assert_false(is_kept(6, 1));
}

static void test_another_generation(void **state)
{
    (void)state;
    int64_t from;
    bool first, second;
    do {
        from = time_monotonic_ns();
        keep(7, 1);
        first = is_kept(7, 1) && !is_kept(7, 2);
        keep(7, 2);
        second = is_kept(7, 2) && !is_kept(7, 1);
    } while (took_too_long(from));
    assert_true(first);
    assert_true(second);
}

static void test_for_a_moment(void **state)
{
    (void)state;
    keep(8, 1);
    int64_t from = time_monotonic_ns();
    while (is_kept(8, 1)) usleep(1000);
    int64_t ms = (time_monotonic_ns() - from) / 1000000;
    assert_in_range(ms, TOKEN_CACHE_MS - 100, INT32_MAX);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_tokens_of_one_shelf),
        cmocka_unit_test(test_another_generation),
        cmocka_unit_test(test_for_a_moment),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
