/* tests/unit/test_money.c - amounts are read and written exactly, or refused; arithmetic never wraps. */
#include "unit.h"

#include <stdlib.h>

#include "base/money.h"

static void reads(const char *text, int exponent, int64_t want)
{
    Money m = {77};
    if (money_parse(str_from(text), exponent, &m) != MONEY_OK || m.minor != want)
        fail_msg("%s with %d decimals gave %lld", text, exponent, (long long)m.minor);
}

static void refuses(const char *text, int exponent, enum money_text want)
{
    Money m = {77};
    enum money_text got = money_parse(str_from(text), exponent, &m);
    if (got != want || m.minor != 77) fail_msg("%s with %d decimals: %d, want %d", text, exponent, got, want);
}

static void reads_amounts(void **state)
{
    (void)state;
    reads("0", 2, 0);
    reads("-0", 2, 0);
    reads("-0.00", 2, 0);
    reads("0e999999999999999999999999999", 2, 0);
    reads("0.000e-99999999999999999999", 2, 0);
    reads("19.99", 2, 1999);
    reads("19.9", 2, 1990);
    reads("19", 2, 1900);
    reads("-19.99", 2, -1999);
    reads("0.01", 2, 1);
    reads("-0.01", 2, -1);
    reads("0.1", 2, 10);
    reads("19.990", 2, 1999);
    reads("19.99000000000000000000000000000000000000", 2, 1999);
    reads("100", 0, 100);
    reads("100.0", 0, 100);
    reads("1.234", 3, 1234);
    reads("1.2340", 3, 1234);
    reads("0.001", 3, 1);
    reads("0.29", 2, 29);                            /* 28.999… as a double */
    reads("1.005", 3, 1005);                         /* 1.00499… as a double */
    reads("90071992547409.93", 2, 9007199254740993); /* 2^53 + 1 */
}

static void reads_exponents(void **state)
{
    (void)state;
    reads("1e2", 2, 10000);
    reads("1E2", 2, 10000);
    reads("1e+2", 2, 10000);
    reads("1.5e2", 2, 15000);
    reads("1999e-2", 2, 1999);
    reads("1999E-02", 2, 1999);
    reads("0.01e2", 2, 100);
    reads("19.99e0", 2, 1999);
    reads("100e-4", 2, 1);
    reads("100e-2", 0, 1);
    reads("1e-2", 2, 1);
    reads("1e16", 2, 1000000000000000000);
    reads("0.0000000000000000000001e20", 2, 1);
    reads("100000000000000000000e-20", 2, 100);
    refuses("1e-3", 2, MONEY_TOO_PRECISE);
    refuses("1.5e-2", 2, MONEY_TOO_PRECISE);
    refuses("1e17", 2, MONEY_OUT_OF_RANGE);
    refuses("1e400", 2, MONEY_OUT_OF_RANGE);
    refuses("-1e400", 2, MONEY_OUT_OF_RANGE);
    refuses("1e-400", 2, MONEY_TOO_PRECISE);
    refuses("1e9223372036854775807", 2, MONEY_OUT_OF_RANGE);
    refuses("1e9223372036854775808", 2, MONEY_OUT_OF_RANGE);
    refuses("1e-9223372036854775809", 2, MONEY_TOO_PRECISE);
    refuses("1e99999999999999999999999999999999999999", 2, MONEY_OUT_OF_RANGE);
    refuses("1e-99999999999999999999999999999999999999", 2, MONEY_TOO_PRECISE);
}

static void knows_its_limits(void **state)
{
    (void)state;
    reads("92233720368547758.07", 2, INT64_MAX);
    reads("-92233720368547758.08", 2, INT64_MIN);
    refuses("92233720368547758.08", 2, MONEY_OUT_OF_RANGE);
    refuses("-92233720368547758.09", 2, MONEY_OUT_OF_RANGE);
    refuses("92233720368547759", 2, MONEY_OUT_OF_RANGE);
    refuses("92233720368547758070", 2, MONEY_OUT_OF_RANGE);
    reads("9223372036854775807", 0, INT64_MAX);
    reads("-9223372036854775808", 0, INT64_MIN);
    refuses("9223372036854775808", 0, MONEY_OUT_OF_RANGE);
    reads("9223372036854775.807", 3, INT64_MAX);
    refuses("9223372036854775.808", 3, MONEY_OUT_OF_RANGE);
    reads("922337203685477580.7e-1", 2, INT64_MAX);
    refuses("1e18", 2, MONEY_OUT_OF_RANGE);
    refuses("99999999999999999999999999999999999999999999999999", 2, MONEY_OUT_OF_RANGE);
}

static void refuses_what_is_too_precise(void **state)
{
    (void)state;
    refuses("19.999", 2, MONEY_TOO_PRECISE);
    refuses("0.001", 2, MONEY_TOO_PRECISE);
    refuses("-0.001", 2, MONEY_TOO_PRECISE);
    refuses("19.9900000000000000000000000000000001", 2, MONEY_TOO_PRECISE);
    refuses("0.5", 0, MONEY_TOO_PRECISE);
    refuses("1.2345", 3, MONEY_TOO_PRECISE);
    refuses("99999999999999999999.999", 2, MONEY_TOO_PRECISE); /* wins over out of range */
}

static void refuses_what_is_no_number(void **state)
{
    (void)state;
    static const char *const bad[] = {"",         "-",     "+1",  "01",   "00",    "-01", ".5", "5.",   "-.5",
                                      "1e",       "1e+",   "1e-", "1.e1", "e1",    "1 ",  " 1", "1,00", "1.2.3",
                                      "0x1",      "1e1.0", "NaN", "--1",  "1e1e1", "a",   "1a", "1.0f", "Infinity",
                                      "\xd9\xa1", "1_0",   "$1",  "1\n",  "1e 1",  "- 1", "1-", "1e1-"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) refuses(bad[i], 2, MONEY_MALFORMED);
    Money m;
    assert_int_equal(money_parse((Str){0}, 2, &m), MONEY_MALFORMED);
    assert_int_equal(money_parse((Str){"1\0", 2}, 2, &m), MONEY_MALFORMED);
}

/* An exponent that names as many places as the text has zeros, in texts far longer than the exponent has digits. */
static void is_exact_in_long_texts(void **state)
{
    (void)state;
    const size_t zeros = 1234567;
    char *text = malloc(zeros + 32);
    assert_non_null(text);
    text[0] = '1';
    memset(text + 1, '0', zeros);
    snprintf(text + 1 + zeros, 31, "e-1234567");
    reads(text, 2, 100);
    snprintf(text + 1 + zeros, 31, "e-12345678");
    refuses(text, 2, MONEY_TOO_PRECISE);
    snprintf(text + 1 + zeros, 31, "e-1234500");
    refuses(text, 2, MONEY_OUT_OF_RANGE);
    memcpy(text, "0.", 2);
    memset(text + 2, '0', zeros - 2);
    snprintf(text + zeros, 31, "1e1234567");
    reads(text, 2, 1000); /* the 1 is decimal number 1234566 */
    snprintf(text + zeros, 31, "1e12345678");
    refuses(text, 2, MONEY_OUT_OF_RANGE);
    free(text);
}

static void writes(int64_t minor, int exponent, const char *want)
{
    char text[MONEY_TEXT_MAX];
    memset(text, '#', sizeof text);
    size_t n = money_format((Money){minor}, exponent, text);
    assert_str(((Str){text, n}), want);
    assert_int_equal(text[n], '\0');
}

static void writes_amounts(void **state)
{
    (void)state;
    writes(0, 0, "0");
    writes(0, 2, "0.00");
    writes(0, 3, "0.000");
    writes(5, 2, "0.05");
    writes(-5, 2, "-0.05");
    writes(99, 2, "0.99");
    writes(100, 2, "1.00");
    writes(1999, 2, "19.99");
    writes(1999, 0, "1999");
    writes(1999, 3, "1.999");
    writes(-1999, 3, "-1.999");
    writes(INT64_MAX, 2, "92233720368547758.07");
    writes(INT64_MIN, 2, "-92233720368547758.08");
    writes(INT64_MIN, 0, "-9223372036854775808");
    writes(INT64_MIN, 18, "-9.223372036854775808");
    writes(1, 18, "0.000000000000000001");
    writes(1000000000000000000, 0, "1000000000000000000");
    writes(999999999999999999, 0, "999999999999999999");
}

static void appends_to_a_buffer(void **state)
{
    (void)state;
    struct arena arena = {0};
    struct buf b;
    buf_init(&b, &arena, 100);
    buf_money(&b, (Money){-1999}, 2);
    assert_str(buf_str(&b), "-19.99");
    arena_done(&arena);
}

static int64_t any(uint64_t *seed)
{
    uint64_t v = unit_random(seed), shift = unit_random(seed) % 64;
    return (int64_t)v >> shift; /* all magnitudes, both signs */
}

static void round_trips(void **state)
{
    (void)state;
    static const int exponents[] = {0, 2, 3};
    uint64_t seed = 42;
    for (int i = 0; i < 200000; i++) {
        Money m = {any(&seed)}, back;
        int exponent = exponents[i % 3];
        char text[MONEY_TEXT_MAX + 8];
        size_t n = money_format(m, exponent, text);
        assert_true(n < MONEY_TEXT_MAX);
        assert_int_equal(money_parse((Str){text, n}, exponent, &back), MONEY_OK);
        assert_true(back.minor == m.minor);
        if (exponent) { /* zeros behind change nothing, another digit is too much */
            text[n] = '0';
            assert_int_equal(money_parse((Str){text, n + 1}, exponent, &back), MONEY_OK);
            assert_true(back.minor == m.minor);
            text[n] = '7';
            assert_int_equal(money_parse((Str){text, n + 1}, exponent, &back), MONEY_TOO_PRECISE);
        }
    }
}

/* Against 128-bit arithmetic, which cannot overflow here. */
static void computes_like_wider_integers(void **state)
{
    (void)state;
    static const int64_t edges[] = {
        0,         1,         -1,           2, 100, INT32_MAX, (INT64_C(1) << 31), (INT64_C(1) << 53), INT64_MAX - 1,
        INT64_MAX, INT64_MIN, INT64_MIN + 1};
    const size_t n = sizeof edges / sizeof *edges;
    uint64_t seed = 7;
    for (size_t i = 0; i < 100000; i++) {
        int64_t a = i < n * n ? edges[i / n] : any(&seed), b = i < n * n ? edges[i % n] : any(&seed);
        const __int128 exact[] = {(__int128)a + b, (__int128)a - b, (__int128)a * b};
        bool (*const functions[])(Money, Money, Money *) = {money_add, money_sub};
        for (int k = 0; k < 3; k++) {
            Money r = {77};
            bool ok = k < 2 ? functions[k]((Money){a}, (Money){b}, &r) : money_times((Money){a}, b, &r);
            bool fits = exact[k] <= INT64_MAX && exact[k] >= INT64_MIN;
            assert_int_equal(ok, fits);
            assert_true(r.minor == (fits ? (int64_t)exact[k] : 77));
        }
    }
}

static void takes_percents(void **state)
{
    (void)state;
    static const struct {
        int64_t amount, percent, want;
    } cases[] = {
        {10000, 1000, 1000},
        {1999, 10000, 1999},
        {1999, 0, 0},
        {1999, 1000, 200},
        {5, 1000, 1},
        {4, 1000, 0},
        {15, 1000, 2},
        {-5, 1000, -1},
        {-4, 1000, 0},
        {-1999, 1000, -200},
        {1, 5000, 1},
        {1, 4999, 0},
        {3, 3333, 1},
        {INT64_MAX, 10000, INT64_MAX},
        {INT64_MIN, 10000, INT64_MIN},
        {1, 1, 0},
        {5000, 1, 1},
        {4999, 1, 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        Money r;
        assert_true(money_percent((Money){cases[i].amount}, cases[i].percent, &r));
        assert_true(r.minor == cases[i].want);
    }
    Money r = {77};
    assert_false(money_percent((Money){INT64_MAX}, 10001, &r));
    assert_false(money_percent((Money){INT64_MIN}, 20000, &r));
    assert_int_equal(r.minor, 77);

    uint64_t seed = 3; /* up to 100 % a discount is never more than the amount, nor off by more than half a unit */
    for (int i = 0; i < 100000; i++) {
        int64_t amount = any(&seed), percent = (int64_t)(unit_random(&seed) % 10001);
        if (amount < 0) continue;
        assert_true(money_percent((Money){amount}, percent, &r));
        assert_true(r.minor >= 0 && r.minor <= amount);
        __int128 twice_off = ((__int128)r.minor * 10000 - (__int128)amount * percent) * 2;
        assert_true(twice_off <= 10000 && twice_off > -10000);
    }
}

static void knows_currencies(void **state)
{
    (void)state;
    assert_int_equal(currency_exponent(STR("USD")), 2);
    assert_int_equal(currency_exponent(STR("EUR")), 2);
    assert_int_equal(currency_exponent(STR("AED")), 2);
    assert_int_equal(currency_exponent(STR("ZWL")), 2);
    assert_int_equal(currency_exponent(STR("JPY")), 0);
    assert_int_equal(currency_exponent(STR("XPF")), 0);
    assert_int_equal(currency_exponent(STR("KWD")), 3);
    assert_int_equal(currency_exponent(STR("TND")), 3);
    static const char *const unknown[] = {"usd", "XXX", "US", "USDX", "", "   ", "SD ", "D E", "EUR "};
    for (size_t i = 0; i < sizeof unknown / sizeof *unknown; i++)
        assert_int_equal(currency_exponent(str_from(unknown[i])), -1);
    assert_int_equal(currency_exponent((Str){0}), -1);
}

static void compares(void **state)
{
    (void)state;
    assert_int_equal(money_cmp((Money){1}, (Money){2}), -1);
    assert_int_equal(money_cmp((Money){2}, (Money){2}), 0);
    assert_int_equal(money_cmp((Money){INT64_MAX}, (Money){INT64_MIN}), 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_amounts),
        cmocka_unit_test(reads_exponents),
        cmocka_unit_test(knows_its_limits),
        cmocka_unit_test(refuses_what_is_too_precise),
        cmocka_unit_test(refuses_what_is_no_number),
        cmocka_unit_test(is_exact_in_long_texts),
        cmocka_unit_test(writes_amounts),
        cmocka_unit_test(appends_to_a_buffer),
        cmocka_unit_test(round_trips),
        cmocka_unit_test(computes_like_wider_integers),
        cmocka_unit_test(takes_percents),
        cmocka_unit_test(knows_currencies),
        cmocka_unit_test(compares),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
