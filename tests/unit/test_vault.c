/* tests/unit/test_vault.c - hashes of several texts, and those that are remembered; no seal looks like another. */
#include "unit.h"

#include <pthread.h>
#include <sodium.h>
#include <stdio.h>

#include "vault.h"

static void hash_two(Str one, Str two, uint8_t ret[VAULT_SHORT_BYTES])
{
    vault_short_hash(VAULT_REQUEST, (const Str[]){one, two}, 2, ret);
}

static void test_parts_are_told_apart(void **state)
{
    (void)state;
    static const char *const pairs[][2] = {{"ab", "c"}, {"a", "bc"}, {"", "abc"}, {"abc", ""}, {"c", "ab"}};
    enum { COUNT = sizeof pairs / sizeof *pairs };
    uint8_t hashes[COUNT][VAULT_SHORT_BYTES], again[VAULT_SHORT_BYTES];
    for (size_t i = 0; i < COUNT; i++) {
        hash_two(str_from(pairs[i][0]), str_from(pairs[i][1]), hashes[i]);
        for (size_t j = 0; j < i; j++) assert_memory_not_equal(hashes[i], hashes[j], VAULT_SHORT_BYTES);
        hash_two(str_from(pairs[i][0]), str_from(pairs[i][1]), again);
        assert_memory_equal(hashes[i], again, VAULT_SHORT_BYTES);
    }
    vault_short_hash(VAULT_REQUEST, (const Str[]){STR("abc")}, 1, again);
    for (size_t i = 0; i < COUNT; i++) assert_memory_not_equal(hashes[i], again, VAULT_SHORT_BYTES);
    hash_two(STR("ab"), STR("c"), again);
    vault_short_hash(VAULT_IDEMPOTENCY, (const Str[]){STR("ab"), STR("c")}, 2, hashes[0]); /* for another use */
    assert_memory_not_equal(hashes[0], again, VAULT_SHORT_BYTES);
}

/* Every way to cut a text in two, around the length from which parts are hashed first. */
static void test_long_parts_are_told_apart(void **state)
{
    (void)state;
    enum { LONG = 140 };
    static uint8_t hashes[2 * LONG + 2][VAULT_SHORT_BYTES];
    char same[LONG], other[LONG];
    memset(same, 'x', LONG);
    size_t count = 0;
    for (size_t n = 0; n <= LONG; n++) hash_two((Str){same, n}, (Str){same, LONG - n}, hashes[count++]);
    for (size_t n = 0; n < LONG; n++) { /* the last byte counts, too */
        memset(other, 'x', LONG);
        other[n] = 'y';
        hash_two((Str){other, n + 1}, (Str){0}, hashes[count++]);
    }
    for (size_t i = 0; i < count; i++)
        for (size_t j = 0; j < i; j++) assert_memory_not_equal(hashes[i], hashes[j], VAULT_SHORT_BYTES);
}

/* Rows hold these hashes: another version of the program, or another machine, must make the same. */
static void test_short_hashes_last(void **state)
{
    (void)state;
    static const char list[] = "\x03\0\0\0\0\0\0\0one\0\0\0\0\0\0\0\0\x41\0\0\0\0\0\0\0";
    uint8_t master[32], key[32], framed[sizeof list - 1 + VAULT_SHORT_BYTES], hash[VAULT_SHORT_BYTES],
        expected[VAULT_SHORT_BYTES];
    for (size_t i = 0; i < sizeof master; i++) master[i] = (uint8_t)(0x11 * (i % 16));
    crypto_kdf_derive_from_key(key, sizeof key, VAULT_REQUEST + 1, "souk key", master);
    char text[65];
    memset(text, 'z', sizeof text);
    memcpy(framed, list, sizeof list - 1);
    crypto_shorthash_siphashx24(framed + sizeof list - 1, (const unsigned char *)text, sizeof text, key);
    crypto_shorthash_siphashx24(expected, framed, sizeof framed, key + 16);
    vault_short_hash(VAULT_REQUEST, (const Str[]){STR("one"), {0}, {text, sizeof text}}, 3, hash);
    assert_memory_equal(hash, expected, sizeof hash);
    assert_int_equal(VAULT_REQUEST, 12); /* the number of the key */
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
        cmocka_unit_test(test_parts_are_told_apart),
        cmocka_unit_test(test_long_parts_are_told_apart),
        cmocka_unit_test(test_short_hashes_last),
        cmocka_unit_test_teardown(test_no_nonce_twice, empty_arena),
        cmocka_unit_test(test_names),
    };
    return cmocka_run_group_tests(tests, open_vault, NULL);
}
