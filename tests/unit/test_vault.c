/* tests/unit/test_vault.c - hashes of several texts, and those that are remembered; seals, of which none looks like
 * another. */
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
    enum { COUNT = 600, NONCE = 24 };
    Str sealed[COUNT], plain;
    for (size_t i = 0; i < COUNT; i++) {
        sealed[i] = vault_seal(&arena, STR("here"), STR("the same text"));
        for (size_t j = 0; j < i; j++) assert_memory_not_equal(sealed[i].ptr, sealed[j].ptr, NONCE);
        assert_true(vault_unseal(&arena, STR("here"), sealed[i], &plain));
        assert_true(str_eq(plain, STR("the same text")));
        assert_false(vault_unseal(&arena, STR("there"), sealed[i], &plain));
    }
}

/* What libsodium itself makes of a text under our key, and what we make of its own. */
static void test_seals_are_libsodiums(void **state)
{
    (void)state;
    enum { LONGEST = 2000, NONCE = 24, TAG = 16 };
    static uint8_t master[32], key[32], text[LONGEST], out[NONCE + LONGEST + TAG];
    for (size_t i = 0; i < sizeof master; i++) master[i] = (uint8_t)(0x11 * (i % 16));
    for (size_t i = 0; i < sizeof text; i++) text[i] = (uint8_t)(i * 7);
    crypto_kdf_derive_from_key(key, sizeof key, VAULT_SEAL + 1, "souk key", master);
    for (size_t n = 0; n <= LONGEST; n++) {
        Str plain = {(const char *)text, n}, context = {(const char *)text, n % 40}, opened;
        Str sealed = vault_seal(&arena, context, plain);
        assert_int_equal(sealed.len, NONCE + n + TAG);
        const uint8_t *bytes = (const uint8_t *)sealed.ptr;
        unsigned long long len = 0;
        assert_int_equal(crypto_aead_xchacha20poly1305_ietf_decrypt(out, &len, NULL, bytes + NONCE, n + TAG, text,
                                                                    context.len, bytes, key),
                         0);
        assert_int_equal(len, n);
        assert_memory_equal(out, text, n);
        memcpy(out, bytes, NONCE);
        crypto_aead_xchacha20poly1305_ietf_encrypt(out + NONCE, &len, text, n, text, context.len, NULL, out, key);
        assert_memory_equal(out, bytes, sealed.len);
        assert_true(vault_unseal(&arena, context, (Str){(const char *)out, sealed.len}, &opened));
        assert_true(str_eq(opened, plain));
        if (n % 100 == 0) arena_done(&arena);
    }
}

static void test_changed_seals_are_refused(void **state)
{
    (void)state;
    char changed[200];
    Str plain = STR("a text of which every bit counts"), opened = STR("as before");
    Str sealed = vault_seal(&arena, STR("here"), plain);
    assert_true(sealed.len <= sizeof changed);
    for (size_t bit = 0; bit < 8 * sealed.len; bit++) {
        memcpy(changed, sealed.ptr, sealed.len);
        changed[bit / 8] = (char)(changed[bit / 8] ^ 1 << bit % 8);
        assert_false(vault_unseal(&arena, STR("here"), (Str){changed, sealed.len}, &opened));
    }
    for (size_t n = 0; n < sealed.len; n++)
        assert_false(vault_unseal(&arena, STR("here"), (Str){sealed.ptr, n}, &opened));
    assert_true(str_eq(opened, STR("as before")));
}

/* Of several threads, and after the vault was opened again. */
enum { SEALERS = 4, SEALED_BY_ONE = 300 };
static Str sealed_by[SEALERS][SEALED_BY_ONE];
static struct arena sealers_arenas[SEALERS];

static void *seal_many(void *arg)
{
    size_t number = (size_t)((Str(*)[SEALED_BY_ONE])arg - sealed_by);
    for (size_t i = 0; i < SEALED_BY_ONE; i++)
        sealed_by[number][i] = vault_seal(&sealers_arenas[number], STR("x"), STR("y"));
    return NULL;
}

static void test_threads_share_no_nonce(void **state)
{
    (void)state;
    enum { COUNT = SEALERS * SEALED_BY_ONE, NONCE = 24 };
    pthread_t threads[SEALERS];
    Str plain;
    for (size_t i = 0; i < SEALERS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, seal_many, sealed_by[i]), 0);
    for (size_t i = 0; i < SEALERS; i++) pthread_join(threads[i], NULL);
    const Str *all = sealed_by[0];
    for (size_t i = 0; i < COUNT; i++) {
        assert_true(vault_unseal(&arena, STR("x"), all[i], &plain));
        for (size_t j = 0; j < i; j++) assert_memory_not_equal(all[i].ptr, all[j].ptr, NONCE);
    }
    for (size_t i = 0; i < SEALERS; i++) arena_done(&sealers_arenas[i]);
}

static void test_another_master_key(void **state)
{
    (void)state;
    char why[256];
    Str ours = vault_seal(&arena, STR("here"), STR("text")), plain;
    assert_int_equal(
        vault_open(NULL, "00112233445566778899aabbccddeeff00112233445566778899aabbccddeefe", false, why, sizeof why),
        OK);
    assert_false(vault_unseal(&arena, STR("here"), ours, &plain));
    Str theirs = vault_seal(&arena, STR("here"), STR("text"));
    assert_true(vault_unseal(&arena, STR("here"), theirs, &plain));
    assert_int_equal(open_vault(NULL), 0);
    assert_true(vault_unseal(&arena, STR("here"), ours, &plain));
    assert_false(vault_unseal(&arena, STR("here"), theirs, &plain));
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
        cmocka_unit_test_teardown(test_seals_are_libsodiums, empty_arena),
        cmocka_unit_test_teardown(test_changed_seals_are_refused, empty_arena),
        cmocka_unit_test_teardown(test_threads_share_no_nonce, empty_arena),
        cmocka_unit_test_teardown(test_another_master_key, empty_arena),
        cmocka_unit_test(test_names),
    };
    return cmocka_run_group_tests(tests, open_vault, NULL);
}
