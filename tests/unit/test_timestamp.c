/* tests/unit/test_timestamp.c - RFC 3339 in and out, real dates only, checked against libc's calendar. */
#include "unit.h"

#include <time.h>

#include "base/timestamp.h"

static void shows(int64_t ms, const char *want)
{
    char text[TIME_TEXT_LEN + 1];
    memset(text, '#', sizeof text);
    time_format((Time){ms}, text);
    assert_string_equal(text, want);
}

static void formats(void **state)
{
    (void)state;
    shows(0, "1970-01-01T00:00:00Z");
    shows(999, "1970-01-01T00:00:00Z");
    shows(1000, "1970-01-01T00:00:01Z");
    shows(1794705825000, "2026-11-15T01:23:45Z");
    shows(951782400000, "2000-02-29T00:00:00Z");
    shows(4107542399000, "2100-02-28T23:59:59Z");
    shows(4107542400000, "2100-03-01T00:00:00Z");
    shows(253402300799999, "9999-12-31T23:59:59Z");
    shows(253402300800000, "9999-12-31T23:59:59Z"); /* held at the last year of four digits */
    shows(INT64_MAX, "9999-12-31T23:59:59Z");
    shows(-1, "1970-01-01T00:00:00Z");
    shows(INT64_MIN, "1970-01-01T00:00:00Z");
}

static void reads(const char *text, int64_t want)
{
    Time t = {77};
    if (!time_parse(str_from(text), &t) || t.ms != want) fail_msg("%s gave %lld", text, (long long)t.ms);
}

static void parses(void **state)
{
    (void)state;
    reads("2026-11-15T01:23:45Z", 1794705825000);
    reads("2026-11-15t01:23:45z", 1794705825000);
    reads("2026-11-15T01:23:45.0Z", 1794705825000);
    reads("2026-11-15T01:23:45.5Z", 1794705825500);
    reads("2026-11-15T01:23:45.123Z", 1794705825123);
    reads("2026-11-15T01:23:45.123999999Z", 1794705825123);
    reads("2026-11-15T03:23:45+02:00", 1794705825000);
    reads("2026-11-14T19:53:45-05:30", 1794705825000);
    reads("2026-11-15T01:23:45+00:00", 1794705825000);
    reads("2026-11-15T01:23:45-00:00", 1794705825000);
    reads("2000-02-29T00:00:00Z", 951782400000);
    reads("2024-02-29T12:00:00Z", 1709208000000);
    reads("1970-01-01T00:00:01Z", 1000);
    reads("9999-12-31T23:59:59.999Z", 253402300799999);
    reads("1970-01-01T00:00:00.001Z", 1);
}

static void refuses(void **state)
{
    (void)state;
    static const char *const bad[] = {
        "",
        "2026",
        "2026-11-15",
        "2026-11-15T01:23Z",
        "2026-11-15T01:23:45",
        "2026-11-15 01:23:45Z",
        "2026-11-15T01:23:45 Z",
        " 2026-11-15T01:23:45Z",
        "2026-11-15T01:23:45Z ",
        "2026-11-15T01:23:45ZZ",
        "2026-11-15T01:23:45UTC",
        "20261115T012345Z",
        "26-11-15T01:23:45Z",
        "02026-11-15T01:23:45Z",
        "-026-11-15T01:23:45Z",
        "+2026-11-15T01:23:45Z",
        "2026-1-15T01:23:45Z",
        "2026-11-5T01:23:45Z",
        "2026-00-15T01:23:45Z",
        "2026-13-15T01:23:45Z",
        "2026-11-00T01:23:45Z",
        "2026-11-31T01:23:45Z",
        "2026-02-29T01:23:45Z",
        "2100-02-29T01:23:45Z",
        "2024-02-30T01:23:45Z",
        "2026-11-15T:23:45Z",
        "2026-11-15T24:00:00Z",
        "2026-11-15T23:60:00Z",
        "2026-11-15T23:59:60Z",
        "2026-11-15T01:23:45.Z",
        "2026-11-15T01:23:45.1234567890Z",
        "2026-11-15T01:23:45,5Z",
        "2026-11-15T01:23:45+0200",
        "2026-11-15T01:23:45+02",
        "2026-11-15T01:23:45+24:00",
        "2026-11-15T01:23:45+02:60",
        "2026-11-15T01:23:45+02:00Z",
        "2026-11-15T01:23:45+",
        "2026-11-15T01:23:45+02:x0",
        "1969-12-31T23:59:59Z",
        "1970-01-01T00:00:00Z", /* 0 is "none" */
        "1970-01-01T00:59:59+01:00",
        "0000-01-01T00:00:00Z",
        "9999-12-31T23:59:59-00:01",
        "2026-11-15T01:23:4\xd9\xa1",
        "now",
        "1794705825",
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        Time t = {77};
        if (time_parse(str_from(bad[i]), &t)) fail_msg("%s was taken", bad[i]);
        assert_int_equal(t.ms, 77);
    }
    Time t;
    assert_false(time_parse((Str){0}, &t));
}

static void agrees_with_the_c_library(void **state)
{
    (void)state;
    uint64_t seed = 5;
    for (int i = 0; i < 100000; i++) {
        int64_t seconds = 1 + (int64_t)(unit_random(&seed) % UINT64_C(253402300798));
        time_t unix_time = (time_t)seconds;
        struct tm tm;
        assert_non_null(gmtime_r(&unix_time, &tm));
        char want[32], text[TIME_TEXT_LEN + 1], http[30];
        assert_int_equal(strftime(want, sizeof want, "%Y-%m-%dT%H:%M:%SZ", &tm), TIME_TEXT_LEN);
        time_format((Time){seconds * 1000}, text);
        assert_string_equal(text, want);
        Time back;
        assert_true(time_parse(str_from(text), &back));
        assert_true(back.ms == seconds * 1000);
        assert_int_equal(strftime(want, sizeof want, "%a, %d %b %Y %H:%M:%S GMT", &tm), 29);
        time_format_http((Time){seconds * 1000}, http);
        assert_string_equal(http, want);
    }
}

static void formats_for_http(void **state)
{
    (void)state;
    char text[30];
    time_format_http((Time){784111777000}, text);
    assert_string_equal(text, "Sun, 06 Nov 1994 08:49:37 GMT");
}

static void appends_to_a_buffer(void **state)
{
    (void)state;
    struct arena arena = {0};
    struct buf b;
    buf_init(&b, &arena, 100);
    buf_time(&b, (Time){1794705825000});
    assert_str(buf_str(&b), "2026-11-15T01:23:45Z");
    arena_done(&arena);
}

static void clocks_go_forward(void **state)
{
    (void)state;
    assert_true(time_now().ms > INT64_C(1700000000000));
    int64_t a = time_monotonic_ns(), b = time_monotonic_ns();
    assert_true(a > 0 && b >= a);
    assert_true(time_is((Time){1}) && !time_is((Time){0}));
    assert_int_equal(time_add((Time){5}, -2).ms, 3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(formats),           cmocka_unit_test(parses),
        cmocka_unit_test(refuses),           cmocka_unit_test(agrees_with_the_c_library),
        cmocka_unit_test(formats_for_http),  cmocka_unit_test(appends_to_a_buffer),
        cmocka_unit_test(clocks_go_forward),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
