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

#define TEXTS 40000 /* more than are remembered */

/* Whether the text has the same hash both ways. */
static bool is_same(enum vault_use use, int n)
{
    char text[32];
    int len = snprintf(text, sizeof text, "text %d", n);
    Str s = {text, (size_t)len};
    uint8_t made[VAULT_HASH_BYTES], found[VAULT_HASH_BYTES];
    vault_hash(use, s, made);
    vault_hash_often(use, s, found);
    return memcmp(made, found, sizeof made) == 0;
}

static void test_remembered(void **state)
{
    (void)state;
    for (int round = 0; round < 2; round++)
        for (int n = 0; n < TEXTS; n++) {
            assert_true(is_same(VAULT_TOKEN, n));
            assert_true(is_same(VAULT_TOKEN, n));
            assert_true(is_same(VAULT_LICENSE, n)); /* the same text for another use */
        }
}

static void test_remembered_empty(void **state)
{
    (void)state;
    uint8_t made[VAULT_HASH_BYTES], found[VAULT_HASH_BYTES];
    vault_hash(VAULT_TOKEN, (Str){0}, made);
    for (int i = 0; i < 2; i++) {
        vault_hash_often(VAULT_TOKEN, (Str){0}, found);
        assert_memory_equal(made, found, sizeof made);
    }
}

static void *ask(void *arg)
{
    bool *is_right = arg;
    for (int n = 0; n < 5000; n++) *is_right = is_same(VAULT_TOKEN, n % 100) && *is_right;
    return NULL;
}

static void test_remembered_by_threads(void **state)
{
    (void)state;
    pthread_t threads[4];
    bool is_right[4] = {true, true, true, true};
    for (int i = 0; i < 4; i++) assert_int_equal(pthread_create(&threads[i], NULL, ask, &is_right[i]), 0);
    for (int i = 0; i < 4; i++) {
        pthread_join(threads[i], NULL);
        assert_true(is_right[i]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(test_parts_are_told_apart, empty_arena),
        cmocka_unit_test_teardown(test_no_nonce_twice, empty_arena),
        cmocka_unit_test(test_remembered),
        cmocka_unit_test(test_remembered_empty),
        cmocka_unit_test(test_remembered_by_threads),
    };
    return cmocka_run_group_tests(tests, open_vault, NULL);
}
