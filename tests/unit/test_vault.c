/* tests/unit/test_vault.c - hashes of several texts, and those that are remembered; no seal looks like another. */
#include "unit.h"

#include <pthread.h>
#include <stdio.h>

#include "vault.h"

static void hash_two(const char *one, const char *two, uint8_t ret[VAULT_HASH_BYTES])
{
    const Str parts[] = {str_from(one), str_from(two)};
    vault_hash_parts(VAULT_FINGERPRINT, parts, 2, ret);
}

static void test_parts_are_told_apart(void **state)
{
    (void)state;
    static const char *const pairs[][2] = {{"ab", "c"}, {"a", "bc"}, {"", "abc"}, {"abc", ""}, {"c", "ab"}};
    enum { COUNT = sizeof pairs / sizeof *pairs };
    uint8_t hashes[COUNT][VAULT_HASH_BYTES], again[VAULT_HASH_BYTES];
    for (size_t i = 0; i < COUNT; i++) {
        hash_two(pairs[i][0], pairs[i][1], hashes[i]);
        for (size_t j = 0; j < i; j++) assert_memory_not_equal(hashes[i], hashes[j], VAULT_HASH_BYTES);
        hash_two(pairs[i][0], pairs[i][1], again);
        assert_memory_equal(hashes[i], again, VAULT_HASH_BYTES);
    }
    const Str one[] = {STR("abc")};
    vault_hash_parts(VAULT_FINGERPRINT, one, 1, again);
    for (size_t i = 0; i < COUNT; i++) assert_memory_not_equal(hashes[i], again, VAULT_HASH_BYTES);
}

static void test_no_nonce_twice(void **state)
{
    (void)state;
    enum { COUNT = 200, NONCE = 24 };
    Str sealed[COUNT], plain;
    for (size_t i = 0; i < COUNT; i++) {
        sealed[i] = vault_seal(&arena, STR("here"), STR("the same text"));
        for (size_t j = 0; j < i; j++) assert_memory_not_equal(sealed[i].ptr, sealed[j].ptr, NONCE);
        assert_true(vault_unseal(&arena, STR("here"), sealed[i], &plain));
        assert_true(str_eq(plain, STR("the same text")));
        assert_false(vault_unseal(&arena, STR("there"), sealed[i], &plain));
    }
}

static void test_names(void **state)
{
    (void)state;
    uint8_t one[VAULT_NAME_BYTES], same[VAULT_NAME_BYTES], other[VAULT_NAME_BYTES];
    vault_name(VAULT_TOKEN, STR("text"), one);
    vault_name(VAULT_TOKEN, STR("text"), same);
    assert_memory_equal(one, same, sizeof one);
    vault_name(VAULT_TOKEN, STR("texu"), other);
    assert_memory_not_equal(one, other, sizeof one);
    vault_name(VAULT_LICENSE, STR("text"), other); /* for another use */
    assert_memory_not_equal(one, other, sizeof one);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(test_parts_are_told_apart, empty_arena),
        cmocka_unit_test_teardown(test_no_nonce_twice, empty_arena),
        cmocka_unit_test(test_names),
    };
    return cmocka_run_group_tests(tests, open_vault, NULL);
}
