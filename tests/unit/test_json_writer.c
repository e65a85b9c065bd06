/* tests/unit/test_json_writer.c - commas, escapes, numbers; what was written is read back; misuse is an assert. */
#include "unit.h"

#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "json/reader.h"
#include "json/writer.h"

static struct arena arena;
static struct buf out;
static struct json_writer w;

static int start(void **state)
{
    (void)state;
    arena_done(&arena);
    buf_init(&out, &arena, 1 << 20);
    json_writer_init(&w, &out, 2);
    return 0;
}

static int stop(void **state)
{
    (void)state;
    arena_done(&arena);
    return 0;
}

static void puts_commas_where_they_belong(void **state)
{
    (void)state;
    json_begin_object(&w);
    json_kv_int(&w, "a", 1);
    json_key(&w, "b");
    json_begin_array(&w);
    json_end_array(&w);
    json_key(&w, "c");
    json_begin_array(&w);
    json_int(&w, 1);
    json_begin_object(&w);
    json_end_object(&w);
    json_begin_array(&w);
    json_null(&w);
    json_null(&w);
    json_end_array(&w);
    json_str(&w, STR("x"));
    json_end_array(&w);
    json_key(&w, "d");
    json_begin_object(&w);
    json_kv_null(&w, "e");
    json_kv_bool(&w, "f", true);
    json_end_object(&w);
    json_kv_bool(&w, "g", false);
    json_end_object(&w);
    assert_str(buf_str(&out),
               "{\"a\":1,\"b\":[],\"c\":[1,{},[null,null],\"x\"],\"d\":{\"e\":null,\"f\":true},\"g\":false}");
}

static void writes_each_kind(void **state)
{
    (void)state;
    json_begin_array(&w);
    json_int(&w, 0);
    json_int(&w, -1);
    json_int(&w, INT64_MAX);
    json_int(&w, INT64_MIN);
    json_id(&w, (Id){ID_MAX});
    json_money(&w, (Money){1999});
    json_money(&w, (Money){0});
    json_money(&w, (Money){-5});
    json_money(&w, (Money){INT64_MIN});
    json_time(&w, (Time){1794705825000});
    json_time(&w, (Time){0});
    json_raw(&w, STR("{\"ready\":1}"));
    json_bool(&w, true);
    json_end_array(&w);
    assert_str(buf_str(&out), "[0,-1,9223372036854775807,-9223372036854775808,9007199254740991,19.99,0.00,-0.05,"
                              "-92233720368547758.08,\"2026-11-15T01:23:45Z\",null,{\"ready\":1},true]");
}

static void writes_members(void **state)
{
    (void)state;
    json_begin_object(&w);
    json_kv_str(&w, "a", STR("x"));
    json_kv_str(&w, "b", (Str){0});
    json_kv_opt_str(&w, "c", (Str){0});
    json_kv_opt_str(&w, "d", STR("y"));
    json_kv_cstr(&w, "e", "z");
    json_kv_id(&w, "f", (Id){7});
    json_kv_opt_id(&w, "g", (Id){0});
    json_kv_opt_id(&w, "h", (Id){8});
    json_kv_money(&w, "i", (Money){100});
    json_kv_time(&w, "j", (Time){1000});
    json_end_object(&w);
    assert_str(buf_str(&out),
               "{\"a\":\"x\",\"b\":\"\",\"c\":null,\"d\":\"y\",\"e\":\"z\",\"f\":7,\"g\":null,\"h\":8,\"i\":1.00,"
               "\"j\":\"1970-01-01T00:00:01Z\"}");
}

static void follows_the_currency(void **state)
{
    (void)state;
    w.exponent = 0;
    json_begin_array(&w);
    json_money(&w, (Money){1999});
    w.exponent = 3;
    json_money(&w, (Money){1999});
    json_money(&w, (Money){-1});
    json_end_array(&w);
    assert_str(buf_str(&out), "[1999,1.999,-0.001]");
}

static Str written(Str s)
{
    start(NULL);
    json_str(&w, s);
    return buf_str(&out);
}

static void escapes_text(void **state)
{
    (void)state;
    assert_str(written(STR("")), "\"\"");
    assert_str(written(STR("plain text of some length")), "\"plain text of some length\"");
    assert_str(written(STR("\"\\\b\f\n\r\t")), "\"\\\"\\\\\\b\\f\\n\\r\\t\"");
    assert_str(written(STR("\x01\x1f\x7f/")), "\"\\u0001\\u001f\x7f/\"");
    assert_str(written((Str){"a\0b", 3}), "\"a\\u0000b\"");
    assert_str(written(STR("</script>&")), "\"\\u003c/script\\u003e\\u0026\"");
    assert_str(written(STR("\xe2\x80\xa8\xe2\x80\xa9\xe2\x80\xa7")), "\"\\u2028\\u2029\xe2\x80\xa7\"");
    assert_str(written(STR("1234567\n12345678<9")), "\"1234567\\n12345678\\u003c9\"");
    assert_str(written(STR("caf\xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80")),
               "\"caf\xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80\"");
}

static void replaces_what_is_not_utf8(void **state)
{
    (void)state;
    assert_str(written(STR("a\xff"
                           "b")),
               "\"a\xef\xbf\xbd"
               "b\"");
    assert_str(written(STR("\xc3")), "\"\xef\xbf\xbd\"");
    assert_str(written(STR("\xe2\x82")), "\"\xef\xbf\xbd\xef\xbf\xbd\"");
    assert_str(written(STR("\xed\xa0\x80")), "\"\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\"");
    assert_str(written(STR("\xc0\xaf<")), "\"\xef\xbf\xbd\xef\xbf\xbd\\u003c\"");
}

/* Whatever bytes go in, what comes out is JSON, holds no byte that HTML obeys, and valid text comes back unchanged. */
static void round_trips_any_text(void **state)
{
    (void)state;
    static const char *const parts[] = {"a",        "\"",       "\\",           "<",
                                        ">",        "&",        "\n",           "\x01",
                                        "\x7f",     "\xc3\xa9", "\xe2\x80\xa8", "\xf0\x9f\x98\x80",
                                        "12345678", "\xff",     "\xe2\x82",     "'",
                                        "/"};
    uint64_t seed = 1;
    for (int round = 0; round < 20000; round++) {
        char text[128];
        size_t len = 0, n = unit_random(&seed) % 12;
        for (size_t i = 0; i < n; i++) {
            Str part = str_from(parts[unit_random(&seed) % (sizeof parts / sizeof *parts)]);
            memcpy(text + len, part.ptr, part.len);
            len += part.len;
        }
        char *exact = malloc(len ? len : 1);
        assert_non_null(exact);
        memcpy(exact, text, len);
        Str json = written((Str){exact, len});
        free(exact);
        for (size_t i = 0; i < json.len; i++) assert_null(memchr("<>&", json.ptr[i], 3));
        const struct json *root = NULL;
        assert_err(json_read(&arena, json, &root, NULL), OK);
        if (utf8_valid((Str){text, len})) assert_true(str_eq(root->text, (Str){text, len}));
    }
}

static void drops_what_does_not_fit(void **state)
{
    (void)state;
    for (size_t max = 0; max < 64; max++) {
        arena_reset(&arena);
        buf_init(&out, &arena, max);
        json_writer_init(&w, &out, 2);
        json_begin_object(&w);
        json_kv_cstr(&w, "name", "a <b> c");
        json_kv_int(&w, "n", 123456);
        json_end_object(&w);
        static const char whole[] = "{\"name\":\"a \\u003cb\\u003e c\",\"n\":123456}";
        assert_true(out.len <= max);
        if (max > sizeof whole) assert_str(buf_str(&out), whole);
        if (max < sizeof whole - 1) assert_true(out.full);
        if (!out.full) assert_str(buf_str(&out), whole);
    }
}

static bool aborts(void (*misuse)(void))
{
    pid_t child = fork();
    assert_true(child >= 0);
    if (!child) {
        signal(SIGABRT, SIG_DFL);
        if (!freopen("/dev/null", "w", stderr)) _exit(3);
        misuse();
        _exit(0);
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    return WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT;
}

static void value_without_key(void)
{
    json_begin_object(&w);
    json_int(&w, 1);
}
static void key_in_array(void)
{
    json_begin_array(&w);
    json_key(&w, "a");
}
static void key_twice(void)
{
    json_begin_object(&w);
    json_key(&w, "a");
    json_key(&w, "b");
}
static void key_without_value(void)
{
    json_begin_object(&w);
    json_key(&w, "a");
    json_end_object(&w);
}
static void closed_wrongly(void)
{
    json_begin_array(&w);
    json_end_object(&w);
}
static void closed_twice(void)
{
    json_begin_array(&w);
    json_end_array(&w);
    json_end_array(&w);
}
static void two_values(void)
{
    json_int(&w, 1);
    json_int(&w, 2);
}
static void too_deep(void)
{
    for (int i = 0; i <= JSON_WRITER_DEPTH_MAX; i++) json_begin_array(&w);
}
static void right_use(void)
{
    json_begin_array(&w);
    json_end_array(&w);
}

static void asserts_on_misuse(void **state)
{
    (void)state;
    assert_true(aborts(value_without_key));
    assert_true(aborts(key_in_array));
    assert_true(aborts(key_twice));
    assert_true(aborts(key_without_value));
    assert_true(aborts(closed_wrongly));
    assert_true(aborts(closed_twice));
    assert_true(aborts(two_values));
    assert_true(aborts(too_deep));
    assert_false(aborts(right_use));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(puts_commas_where_they_belong, start, stop),
        cmocka_unit_test_setup_teardown(writes_each_kind, start, stop),
        cmocka_unit_test_setup_teardown(writes_members, start, stop),
        cmocka_unit_test_setup_teardown(follows_the_currency, start, stop),
        cmocka_unit_test_setup_teardown(escapes_text, start, stop),
        cmocka_unit_test_setup_teardown(replaces_what_is_not_utf8, start, stop),
        cmocka_unit_test_setup_teardown(round_trips_any_text, start, stop),
        cmocka_unit_test_setup_teardown(drops_what_does_not_fit, start, stop),
        cmocka_unit_test_setup_teardown(asserts_on_misuse, start, stop),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
