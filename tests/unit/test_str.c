/* tests/unit/test_str.c - slices, numbers, UTF-8 and hex. */
#include "unit.h"

#include <stdlib.h>

static struct arena arena;

static int empty_arena(void **state)
{
    (void)state;
    arena_done(&arena);
    return 0;
}

static void compares(void **state)
{
    (void)state;
    assert_true(str_eq(STR("abc"), STR("abc")));
    assert_false(str_eq(STR("abc"), STR("abd")));
    assert_false(str_eq(STR("abc"), STR("ab")));
    assert_true(str_eq((Str){0}, STR("")));
    assert_true(str_eq_nocase(STR("Content-Type"), STR("content-TYPE")));
    assert_false(str_eq_nocase(STR("a"), STR("b")));
    assert_false(str_eq_nocase(STR("["), STR("{"))); /* 0x5b and 0x7b differ in the case bit only */
    assert_false(str_eq_nocase(STR("@"), STR("`")));
    assert_false(str_eq_nocase(STR("\xc3\x89"), STR("\xc3\xa9")));
    assert_true(str_eq_nocase((Str){0}, STR("")));
    assert_true(str_starts(STR("abc"), STR("ab")));
    assert_true(str_starts(STR("abc"), STR("")));
    assert_true(str_starts((Str){0}, (Str){0}));
    assert_false(str_starts(STR("ab"), STR("abc")));
    assert_true(str_ends(STR("abc"), STR("bc")));
    assert_true(str_ends(STR("abc"), STR("abc")));
    assert_true(str_ends(STR("abc"), (Str){0}));
    assert_false(str_ends(STR("bc"), STR("abc")));
    assert_false(str_ends(STR("abc"), STR("ab")));
}

static void cuts(void **state)
{
    (void)state;
    Str head = STR("untouched"), tail = STR("untouched");
    assert_false(str_cut(STR("abc"), '=', &head, &tail));
    assert_false(str_cut((Str){0}, '=', &head, &tail));
    assert_str(head, "untouched");
    assert_true(str_cut(STR("a=b=c"), '=', &head, &tail));
    assert_str(head, "a");
    assert_str(tail, "b=c");
    assert_true(str_cut(STR("="), '=', &head, &tail));
    assert_int_equal(head.len + tail.len, 0);
    Str s = STR("x,y,z"); /* the slice being cut may be its own tail */
    assert_true(str_cut(s, ',', &head, &s));
    assert_str(s, "y,z");
    assert_int_equal(str_find(STR("abc"), 'c'), 2);
    assert_int_equal(str_find(STR("abc"), 'd'), -1);
    assert_int_equal(str_find((Str){0}, 'd'), -1);
    assert_int_equal(str_find((Str){"a\0b", 3}, '\0'), 1);
}

static void trims(void **state)
{
    (void)state;
    assert_str(str_trim(STR(" \t\r\n a b \n")), "a b");
    assert_int_equal(str_trim(STR(" \t ")).len, 0);
    assert_int_equal(str_trim((Str){0}).len, 0);
    assert_str(str_trim(STR("a")), "a");
}

static void copies(void **state)
{
    (void)state;
    char text[] = "MiXed \xc3\x89";
    Str copy = str_dup(&arena, str_from(text));
    text[0] = 'x';
    assert_str(copy, "MiXed \xc3\x89");
    assert_str(str_lower(&arena, copy), "mixed \xc3\x89");
    assert_str(str_upper(&arena, copy), "MIXED \xc3\x89");
    assert_str(str_upper(&arena, STR("az{`@")), "AZ{`@");
    assert_string_equal(str_cstr(&arena, (Str){"abcdef", 3}), "abc");
    assert_string_equal(str_cstr(&arena, (Str){0}), "");
    assert_int_equal(str_from(NULL).len, 0);
}

static void formats(void **state)
{
    (void)state;
    assert_str(str_printf(&arena, "%s-%d", "a", 5), "a-5");
    assert_int_equal(str_printf(&arena, "%s", "").len, 0);
    Str long_text = str_printf(&arena, "%0*d", 10000, 7);
    assert_int_equal(long_text.len, 10000);
    assert_int_equal(long_text.ptr[9999], '7');
}

static void reads_integers(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        bool ok;
        int64_t value;
    } cases[] = {
        {"0", true, 0},
        {"-0", true, 0},
        {"007", true, 7},
        {"9223372036854775807", true, INT64_MAX},
        {"9223372036854775808", false, 0},
        {"-9223372036854775808", true, INT64_MIN},
        {"-9223372036854775809", false, 0},
        {"18446744073709551616", false, 0},
        {"99999999999999999999", false, 0},
        {"", false, 0},
        {"-", false, 0},
        {"--1", false, 0},
        {"+1", false, 0},
        {" 1", false, 0},
        {"1 ", false, 0},
        {"1.0", false, 0},
        {"0x1", false, 0},
        {"1e3", false, 0},
        {"\xd9\xa1", false, 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        int64_t v = 77;
        assert_int_equal(str_to_int64(str_from(cases[i].text), &v), cases[i].ok);
        assert_true(v == (cases[i].ok ? cases[i].value : 77));
    }
    int64_t v;
    assert_false(str_to_int64((Str){0}, &v));
    assert_false(str_to_int64((Str){"1\0", 2}, &v));
}

/* All sequences of up to four bytes around the edges, against a decoder that does it the long way. */
static bool decodes(const unsigned char *p, size_t n)
{
    for (size_t i = 0; i < n;) {
        unsigned c = p[i];
        size_t more = c < 0x80 ? 0 : (c & 0xe0) == 0xc0 ? 1 : (c & 0xf0) == 0xe0 ? 2 : (c & 0xf8) == 0xf0 ? 3 : 9;
        if (more == 9 || i + more >= n) return false;
        static const unsigned least[] = {0, 0x80, 0x800, 0x10000};
        unsigned v = more == 0 ? c : c & (0x3fu >> more);
        for (size_t k = 1; k <= more; k++) {
            if ((p[i + k] & 0xc0) != 0x80) return false;
            v = v << 6 | (p[i + k] & 0x3fu);
        }
        if (v < least[more] || v > 0x10ffff || (v >= 0xd800 && v <= 0xdfff)) return false;
        i += more + 1;
    }
    return true;
}

static void checks_utf8(void **state)
{
    (void)state;
    static const unsigned char edges[] = {0x00, 0x41, 0x7f, 0x80, 0x8f, 0x90, 0x9f, 0xa0, 0xbf,
                                          0xc0, 0xc1, 0xc2, 0xdf, 0xe0, 0xe1, 0xec, 0xed, 0xee,
                                          0xef, 0xf0, 0xf1, 0xf3, 0xf4, 0xf5, 0xf8, 0xfe, 0xff};
    const size_t n = sizeof edges;
    size_t valid = 0;
    for (size_t len = 0; len <= 4; len++) {
        size_t all = 1;
        for (size_t i = 0; i < len; i++) all *= n;
        for (size_t k = 0; k < all; k++) {
            unsigned char *p = malloc(len ? len : 1);
            assert_non_null(p);
            for (size_t i = 0, rest = k; i < len; i++, rest /= n) p[i] = edges[rest % n];
            bool ok = utf8_valid((Str){(char *)p, len});
            if (ok != decodes(p, len)) fail_msg("%02x %02x…: %d", p[0], len > 1 ? p[1] : 0, ok);
            valid += ok;
            free(p);
        }
    }
    assert_true(valid > 1000);
    assert_int_equal(utf8_count(STR("a\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80")), 4);
    assert_int_equal(utf8_count((Str){0}), 0);
}

static void converts_hex(void **state)
{
    (void)state;
    static const unsigned char bytes[] = {0x00, 0x7f, 0x80, 0xff, 0x1a};
    assert_str(hex_encode(&arena, bytes, sizeof bytes), "007f80ff1a");
    assert_int_equal(hex_encode(&arena, NULL, 0).len, 0);
    unsigned char back[5];
    assert_true(hex_decode(STR("007F80fF1a"), back, 5));
    assert_memory_equal(back, bytes, 5);
    unsigned char same[2] = {7, 7};
    assert_false(hex_decode(STR("00"), same, 2));
    assert_false(hex_decode(STR("000000"), same, 2));
    assert_false(hex_decode(STR("000g"), same, 2));
    assert_false(hex_decode(STR(" 000"), same, 2));
    assert_int_equal(same[0], 7);
    assert_true(hex_decode((Str){0}, same, 0));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(compares),
        cmocka_unit_test(cuts),
        cmocka_unit_test(trims),
        cmocka_unit_test_teardown(copies, empty_arena),
        cmocka_unit_test_teardown(formats, empty_arena),
        cmocka_unit_test(reads_integers),
        cmocka_unit_test(checks_utf8),
        cmocka_unit_test_teardown(converts_hex, empty_arena),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
