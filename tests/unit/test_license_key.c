/* tests/unit/test_license_key.c - keys: their form, what a typing mistake does, and how they are read. */
#include "unit.h"

#include <stdio.h>

#include "domain/license_key.h"
#include "vault.h"

static const char alphabet[] = "0123456789ABCDEFGHJKMNPQRSTVWXYZ";

static bool is_key(Str s)
{
    uint8_t hash[LICENSE_HASH_BYTES];
    return license_key_hash(s, hash);
}

static void assert_same(Str a, Str b)
{
    uint8_t x[LICENSE_HASH_BYTES], y[LICENSE_HASH_BYTES];
    assert_true(license_key_hash(a, x));
    if (!license_key_hash(b, y)) fail_msg("\"%.*s\" is refused", STR_FMT(b));
    assert_memory_equal(x, y, sizeof x);
}

static void has_five_groups_of_five(void **state)
{
    (void)state;
    for (int n = 0; n < 1000; n++) {
        Str key = license_key_make(&arena, (Str){0});
        assert_int_equal(key.len, 29);
        for (size_t i = 0; i < key.len; i++) {
            if (i % 6 == 5)
                assert_int_equal(key.ptr[i], '-');
            else
                assert_non_null(memchr(alphabet, key.ptr[i], 32));
        }
        assert_true(is_key(key));
    }
}

static void every_character_is_random(void **state)
{
    (void)state;
    enum { KEYS = 6400 };
    static int count[29][128];
    memset(count, 0, sizeof count);
    for (int n = 0; n < KEYS; n++) {
        Str key = license_key_make(&arena, (Str){0});
        for (size_t i = 0; i < key.len; i++) count[i][(unsigned char)key.ptr[i]]++;
    }
    /* 200 expected of each; 5 standard deviations are 70. The check character follows from the others and is as even.
     */
    for (size_t i = 0; i < 29; i++)
        for (const char *c = alphabet; *c && i % 6 != 5; c++) {
            int got = count[i][(unsigned char)*c];
            if (got < 120 || got > 280) fail_msg("'%c' stands %d times at %zu", *c, got, i);
        }
}

static void a_wrong_character_is_found(void **state)
{
    (void)state;
    char text[29];
    Str key = license_key_make(&arena, (Str){0});
    for (size_t i = 0; i < key.len; i++) {
        if (i % 6 == 5) continue;
        for (const char *c = alphabet; *c; c++) {
            memcpy(text, key.ptr, sizeof text);
            text[i] = *c;
            if (is_key((Str){text, sizeof text}) != (*c == key.ptr[i])) fail_msg("'%c' at %zu", *c, i);
        }
    }
}

/* Characters beside the letters and digits, on either side. */
static void another_character_is_none(void **state)
{
    (void)state;
    char text[29];
    Str key = license_key_make(&arena, (Str){0});
    for (const char *c = "/:@[`{~\x7f\xff"; *c; c++) {
        memcpy(text, key.ptr, sizeof text);
        text[0] = *c;
        assert_false(is_key((Str){text, sizeof text}));
    }
}

static void a_swap_of_any_two_is_found(void **state)
{
    (void)state;
    char text[29];
    for (int n = 0; n < 50; n++) {
        Str key = license_key_make(&arena, (Str){0});
        for (size_t i = 0; i < key.len; i++)
            for (size_t j = i + 1; j < key.len; j++) {
                if (i % 6 == 5 || j % 6 == 5) continue;
                memcpy(text, key.ptr, sizeof text);
                text[i] = key.ptr[j];
                text[j] = key.ptr[i];
                if (is_key((Str){text, sizeof text}) != (key.ptr[i] == key.ptr[j])) fail_msg("%zu and %zu", i, j);
            }
    }
}

/* What people make of a key on the phone and on paper. */
static void is_read_generously(void **state)
{
    (void)state;
    for (int n = 0; n < 200; n++) {
        Str key = license_key_make(&arena, STR("tool-Pro"));
        assert_true(str_starts(key, STR("TOOL-PRO-")));
        assert_same(key, str_lower(&arena, key));
        char bare[64], spaced[128], alike[64];
        size_t b = 0, s = 0;
        for (size_t i = 0; i < key.len; i++) {
            char c = key.ptr[i];
            if (c != '-') bare[b++] = c;
            spaced[s++] = c == '-' ? ' ' : c;
            spaced[s++] = ' ';
            alike[i] = c == '1' ? (n % 2 ? 'l' : 'I') : c == '0' ? (n % 2 ? 'o' : 'O') : c;
        }
        assert_same(key, (Str){bare, b});
        assert_same(key, (Str){spaced, s});
        assert_same(key, (Str){alike, key.len});
    }
}

static void the_prefix_is_part_of_the_key(void **state)
{
    (void)state;
    Str key = license_key_make(&arena, STR("AB"));
    Str bare = {key.ptr + 3, key.len - 3};
    uint8_t with[LICENSE_HASH_BYTES], without[LICENSE_HASH_BYTES];
    assert_true(license_key_hash(key, with));
    assert_true(license_key_hash(bare, without)); /* well-formed, but another key */
    assert_memory_not_equal(with, without, sizeof with);

    assert_true(license_key_prefix_is_valid(STR("")));
    assert_true(license_key_prefix_is_valid(STR("A-b-9")));
    assert_true(license_key_prefix_is_valid(STR("12345678901234567890123456789012")));
    assert_false(license_key_prefix_is_valid(STR("123456789012345678901234567890123")));
    assert_false(license_key_prefix_is_valid(STR("A B")));
    assert_false(license_key_prefix_is_valid(STR("\xc3\x84")));
    assert_int_equal(license_key_make(&arena, STR("no good")).len, 29);
    Str longest = license_key_make(&arena, STR("12345678901234567890123456789012"));
    assert_true(is_key(longest));
}

static void refuses_what_is_no_key(void **state)
{
    (void)state;
    static const char *const texts[] = {"",
                                        "-",
                                        "A",
                                        "00000-00000-00000-00000-0000",
                                        "00000-00000-00000-00000-0000!",
                                        "00000_00000_00000_00000_00000",
                                        "U0000-00000-00000-00000-00000"};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        if (is_key(str_from(texts[i]))) fail_msg("\"%s\" is taken", texts[i]);
    char many[255];
    memset(many, '0', sizeof many);
    assert_false(is_key((Str){many, sizeof many}));
    memset(many, '-', sizeof many);
    assert_false(is_key((Str){many, sizeof many}));
    assert_true(is_key(STR("00000-00000-00000-00000-00000"))); /* the zero word: well-formed, never made */
    assert_false(is_key((Str){"00000-00000-00000-00000-0000\0", 29}));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(has_five_groups_of_five, empty_arena),
        cmocka_unit_test_teardown(every_character_is_random, empty_arena),
        cmocka_unit_test_teardown(a_wrong_character_is_found, empty_arena),
        cmocka_unit_test_teardown(another_character_is_none, empty_arena),
        cmocka_unit_test_teardown(a_swap_of_any_two_is_found, empty_arena),
        cmocka_unit_test_teardown(is_read_generously, empty_arena),
        cmocka_unit_test_teardown(the_prefix_is_part_of_the_key, empty_arena),
        cmocka_unit_test_teardown(refuses_what_is_no_key, empty_arena),
    };
    return cmocka_run_group_tests(tests, open_vault, NULL);
}
