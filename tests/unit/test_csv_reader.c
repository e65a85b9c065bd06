/* tests/unit/test_csv_reader.c - RFC 4180: what is a field, what is a line, what is neither. */
#include "unit.h"

#include "base/csv_reader.h"

static struct arena arena;

static int stop(void **state)
{
    (void)state;
    arena_done(&arena);
    return 0;
}

/* All records as "a|b;c" with the lines where they begin; "!why" at a bad end. */
static const char *read_all(const char *text)
{
    static char got[1024];
    struct csv_reader r;
    const char *why = "";
    size_t n = 0;
    csv_reader_init(&r, str_from(text));
    for (enum csv_result result; (result = csv_next(&r, &arena, &why)) != CSV_END;) {
        if (result == CSV_BAD) {
            n += (size_t)snprintf(got + n, sizeof got - n, "%zu!%s", r.line, why);
            return got;
        }
        n += (size_t)snprintf(got + n, sizeof got - n, "%zu:", r.line);
        for (size_t i = 0; i < r.count; i++)
            n += (size_t)snprintf(got + n, sizeof got - n, "%s%.*s", i ? "|" : "", STR_FMT(r.fields[i]));
        n += (size_t)snprintf(got + n, sizeof got - n, ";");
    }
    got[n] = '\0';
    return got;
}

static void reads_records(void **state)
{
    (void)state;
    assert_string_equal(read_all(""), "");
    assert_string_equal(read_all("\r\"x\""), "1!a quote inside a field that does not begin with one");
    assert_string_equal(read_all("\"x\"\ry"), "1!text behind a closing quote");
    assert_string_equal(read_all("a,\"x\""), "1:a|x;");
    assert_string_equal(read_all("a,b\r\nc,d\r\n"), "1:a|b;2:c|d;");
    assert_string_equal(read_all("a,b\nc,d"), "1:a|b;2:c|d;");
    assert_string_equal(read_all("\xef\xbb\xbf"
                                 "a\n"),
                        "1:a;");
    assert_string_equal(read_all("a,,\n"), "1:a||;");
    assert_string_equal(read_all("\n\r\na\n\nb\n"), "3:a;5:b;");
    assert_string_equal(read_all("\"a,\"\"b\"\"\",c\n"), "1:a,\"b\"|c;");
    assert_string_equal(read_all("\"a\nb\"\nc\n"), "1:a\nb;3:c;");
    assert_string_equal(read_all("\"\",\"\"\n"), "1:|;");
    assert_string_equal(read_all(" a , b\n"), "1: a | b;");
}

static void refuses_the_rest(void **state)
{
    (void)state;
    assert_string_equal(read_all("a\nb\"c\n"), "1:a;2!a quote inside a field that does not begin with one");
    assert_string_equal(read_all("\"a\nb"), "1!a quote is never closed");
    assert_string_equal(read_all("\"a\"b,c\n"), "1!text behind a closing quote");
    static char wide[CSV_FIELDS_MAX + 2], lengthy[CSV_FIELD_BYTES_MAX + 3];
    memset(wide, ',', CSV_FIELDS_MAX);
    assert_string_equal(read_all(wide), "1!too many fields");
    wide[CSV_FIELDS_MAX - 1] = '\0';
    assert_null(strchr(read_all(wide), '!'));
    memset(lengthy, 'x', CSV_FIELD_BYTES_MAX + 1);
    assert_string_equal(read_all(lengthy), "1!a field is too long");
    lengthy[0] = '"';
    lengthy[CSV_FIELD_BYTES_MAX + 1] = 'x';
    assert_string_equal(read_all(lengthy), "1!a field is too long");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_records),
        cmocka_unit_test(refuses_the_rest),
    };
    return cmocka_run_group_tests(tests, NULL, stop);
}
