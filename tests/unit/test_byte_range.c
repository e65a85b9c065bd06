/* tests/unit/test_byte_range.c - every form of a Range header, on files of every size. */
#include "unit.h"

#include <stdlib.h>

#include "api/open/byte_range.h"

static void assert_part(const char *value, int64_t size, int64_t offset, int64_t length)
{
    struct byte_range r = {-1, -1};
    enum range_result got = byte_range_read(str_from(value), size, &r);
    if (got != RANGE_PART || r.offset != offset || r.length != length)
        fail_msg("%s of %lld: %d, %lld+%lld", value, (long long)size, (int)got, (long long)r.offset,
                 (long long)r.length);
}

static void assert_none(const char *value, int64_t size, enum range_result want)
{
    struct byte_range r = {-1, -1};
    enum range_result got = byte_range_read(str_from(value), size, &r);
    if (got != want || r.offset != -1 || r.length != -1) fail_msg("%s of %lld: %d", value, (long long)size, (int)got);
}

static void gives_the_part(void **state)
{
    (void)state;
    assert_part("bytes=0-0", 10, 0, 1);
    assert_part("bytes=0-9", 10, 0, 10);
    assert_part("bytes=0-", 10, 0, 10);
    assert_part("bytes=3-5", 10, 3, 3);
    assert_part("bytes=9-", 10, 9, 1);
    assert_part("bytes=5-99", 10, 5, 5);
    assert_part("bytes=-1", 10, 9, 1);
    assert_part("bytes=-10", 10, 0, 10);
    assert_part("bytes=-11", 10, 0, 10);
    assert_part("BYTES= 1-2 ", 10, 1, 2);
    assert_part("bytes=00-01", 10, 0, 2);
    assert_part("bytes=0-99999999999999999999999999", 10, 0, 10);
    assert_part("bytes=-99999999999999999999999999", 10, 0, 10);
    assert_part("bytes=9223372036854775806-", INT64_MAX, INT64_MAX - 1, 1);
    assert_part("bytes=0-9223372036854775809", 10, 0, 10);
    assert_part("bytes=0-9223372036854775807", INT64_MAX, 0, INT64_MAX);
}

static void says_what_lies_outside(void **state)
{
    (void)state;
    assert_none("bytes=10-", 10, RANGE_OUTSIDE);
    assert_none("bytes=10-20", 10, RANGE_OUTSIDE);
    assert_none("bytes=99999999999999999999999999-", 10, RANGE_OUTSIDE);
    assert_none("bytes=-0", 10, RANGE_OUTSIDE);
    assert_none("bytes=0-", 0, RANGE_OUTSIDE);
    assert_none("bytes=-1", 0, RANGE_OUTSIDE);
}

static void leaves_the_rest_alone(void **state)
{
    (void)state;
    static const char *const values[] = {"",          "bytes",      "bytes=",      "bytes=-",     "bytes=1",
                                         "bytes=5-3", "bytes=a-b",  "bytes=1-b",   "bytes=+1-2",  "bytes=1-2,4-5",
                                         "lines=1-2", "bytes=1 -2", "bytes=0x1-2", "bytes=--1",   "bytes=1-2-3",
                                         "bytes=-1-", "bytes =1-2", "=1-2",        "bytes=1-2;x", "bytes=\xff-1"};
    for (size_t i = 0; i < sizeof values / sizeof *values; i++) assert_none(values[i], 10, RANGE_WHOLE);
}

/* Whatever is said, a part lies inside the file. */
static void never_leaves_the_file(void **state)
{
    (void)state;
    uint64_t seed = 7;
    static const char chars[] = "0123456789-=, bytes";
    for (int n = 0; n < 200000; n++) {
        char text[32] = "bytes=";
        size_t len = 6 + unit_random(&seed) % 24;
        for (size_t i = 6; i < len; i++) text[i] = chars[unit_random(&seed) % (n % 2 ? 11 : sizeof chars - 1)];
        int64_t size = (int64_t)(unit_random(&seed) >> (unit_random(&seed) % 63 + 1));
        struct byte_range r;
        if (byte_range_read((Str){text, len}, size, &r) != RANGE_PART) continue;
        if (r.offset < 0 || r.length < 1 || r.offset > size - r.length) fail_msg("%.*s", (int)len, text);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gives_the_part),
        cmocka_unit_test(says_what_lies_outside),
        cmocka_unit_test(leaves_the_rest_alone),
        cmocka_unit_test(never_leaves_the_file),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
