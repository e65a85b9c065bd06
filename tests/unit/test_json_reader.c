/* tests/unit/test_json_reader.c - nothing invalid is taken, nothing valid refused, and what is taken is read right. */
#include "unit.h"

#include <stdlib.h>
#include <time.h>

#include "base/buf.h"
#include "json_cases.h"
#include "json/reader.h"

static struct arena arena;

static int empty_arena(void **state)
{
    (void)state;
    arena_done(&arena);
    return 0;
}

/* A copy of exactly its size on the heap, so that the sanitizer sees any byte read past the end. */
static enum err read_copy(Str text, const struct json **ret, const char **why)
{
    char *copy = malloc(text.len ? text.len : 1);
    assert_non_null(copy);
    if (text.len) memcpy(copy, text.ptr, text.len);
    enum err e = json_read(&arena, (Str){copy, text.len}, ret, why);
    free(copy);
    return e;
}

static const struct json *must_read(const char *text)
{
    const struct json *root = NULL;
    const char *why = "";
    if (json_read(&arena, str_from(text), &root, &why)) fail_msg("%s: %s", text, why);
    return root;
}

static void takes_what_is_valid_and_nothing_else(void **state)
{
    (void)state;
    size_t wrong = 0, n = sizeof json_cases / sizeof *json_cases;
    for (size_t i = 0; i < n; i++) {
        const struct json_case *c = &json_cases[i];
        const struct json *root = NULL;
        const char *why = NULL;
        enum err e = read_copy(c->text, &root, &why);
        bool right = c->verdict == JSON_TAKEN ? e == OK && root && !why : e == ERR_MALFORMED_JSON && !root && why;
        if (!right) {
            print_error("%s: %s (%s)\n", c->name, e ? "refused" : "taken", why ? why : "-");
            wrong++;
        }
        arena_reset(&arena);
    }
    assert_int_equal(wrong, 0);
    assert_true(n >= 250);
}

/* Every proper prefix of an array or object is incomplete; every suffix of bytes behind it is too much. */
static void refuses_all_prefixes(void **state)
{
    (void)state;
    static const char text[] =
        "{\"a\":[1,-2.5e+3,\"x\\u00e9\\ud83d\\ude00\xc3\xa9\",true,false,null,{}],\"b\":{\"c\":[]}}";
    const struct json *root;
    for (size_t n = 0; n < sizeof text - 1; n++) assert_err(read_copy((Str){text, n}, &root, NULL), ERR_MALFORMED_JSON);
    assert_err(read_copy((Str){text, sizeof text - 1}, &root, NULL), OK);
    for (int c = 0; c < 256; c++) {
        char longer[sizeof text];
        memcpy(longer, text, sizeof text - 1);
        longer[sizeof text - 1] = (char)c;
        bool space = c == ' ' || c == '\t' || c == '\n' || c == '\r';
        assert_err(read_copy((Str){longer, sizeof text}, &root, NULL), space ? OK : ERR_MALFORMED_JSON);
    }
}

/* Each single byte inside a string, and each pair of bytes, against the plain definition of UTF-8. */
static void checks_every_byte_of_a_string(void **state)
{
    (void)state;
    const struct json *root;
    for (int c = 0; c < 256; c++) {
        char text[] = {'"', (char)c, '"'};
        bool valid = c >= 0x20 && c < 0x80 && c != '"' && c != '\\';
        assert_err(read_copy((Str){text, 3}, &root, NULL), valid ? OK : ERR_MALFORMED_JSON);
    }
    for (int c = 0x80; c < 256; c++) {
        for (int d = 0; d < 256; d++) {
            char text[] = {'"', (char)c, (char)d, '"'};
            bool valid = c >= 0xc2 && c <= 0xdf && d >= 0x80 && d <= 0xbf;
            assert_err(read_copy((Str){text, 4}, &root, NULL), valid ? OK : ERR_MALFORMED_JSON);
        }
    }
}

/* Every code point, raw and escaped, gives the same bytes; surrogates and NUL give none. */
static void reads_every_code_point(void **state)
{
    (void)state;
    for (unsigned c = 1; c <= 0x10ffff; c += c < 0x3000 || (c >= 0xd700 && c < 0xe100) ? 1 : 37) {
        char raw[8], escaped[16];
        size_t n = 0;
        if (c < 0x80)
            raw[n++] = (char)c;
        else if (c < 0x800)
            raw[n++] = (char)(0xc0 | c >> 6);
        else if (c < 0x10000)
            raw[n++] = (char)(0xe0 | c >> 12);
        else
            raw[n++] = (char)(0xf0 | c >> 18);
        if (c >= 0x10000) raw[n++] = (char)(0x80 | (c >> 12 & 0x3f));
        if (c >= 0x800) raw[n++] = (char)(0x80 | (c >> 6 & 0x3f));
        if (c >= 0x80) raw[n++] = (char)(0x80 | (c & 0x3f));
        raw[n] = '\0';
        if (c < 0x10000)
            snprintf(escaped, sizeof escaped, "\"\\u%04X\"", c);
        else
            snprintf(escaped, sizeof escaped, "\"\\u%04x\\u%04x\"", 0xd7c0 + (c >> 10), 0xdc00 + (c & 0x3ff));

        const struct json *root;
        enum err e = json_read(&arena, str_from(escaped), &root, NULL);
        if (c >= 0xd800 && c <= 0xdfff) {
            assert_err(e, ERR_MALFORMED_JSON);
            assert_false(utf8_valid((Str){raw, n}));
        } else {
            assert_err(e, OK);
            assert_str(root->text, raw);
            assert_true(utf8_valid((Str){raw, n}));
            assert_int_equal(utf8_count((Str){raw, n}), 1);
        }
        arena_reset(&arena);
    }
}

static void builds_the_tree(void **state)
{
    (void)state;
    const struct json *root = must_read(" {\"a\" : [ 1, \"two\" , null,true,false ], \"b\\n\":{}, \"c\":-1.50e+2} ");
    assert_int_equal(root->type, JSON_OBJECT);
    assert_int_equal(root->count, 3);
    assert_null(root->next);
    const struct json *a = root->first;
    assert_str(a->key, "a");
    assert_int_equal(a->type, JSON_ARRAY);
    assert_int_equal(a->count, 5);
    static const enum json_type kinds[] = {JSON_NUMBER, JSON_STRING, JSON_NULL, JSON_TRUE, JSON_FALSE};
    size_t i = 0;
    for (const struct json *v = a->first; v; v = v->next, i++) {
        assert_int_equal(v->type, kinds[i]);
        assert_int_equal(v->key.len, 0);
    }
    assert_int_equal(i, 5);
    assert_str(a->first->text, "1");
    assert_str(a->first->next->text, "two");
    const struct json *b = a->next;
    assert_str(b->key, "b\n");
    assert_int_equal(b->type, JSON_OBJECT);
    assert_int_equal(b->count, 0);
    assert_null(b->first);
    assert_str(b->next->text, "-1.50e+2"); /* as it was written */
    assert_null(b->next->next);
}

static void unescapes(void **state)
{
    (void)state;
    assert_str(must_read("\"\\b\\f\\n\\r\\t\\\"\\\\\\/\"")->text, "\b\f\n\r\t\"\\/");
    assert_str(must_read("\"x\\u0041\\u00e9\\u20ac\\ud83d\\ude00y\"")->text, "xA\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80y");
    assert_str(must_read("\"\\\\u0041\"")->text, "\\u0041");
    assert_str(must_read("\"12345678\\n12345678\"")->text, "12345678\n12345678");
    assert_int_equal(must_read("\"\"")->text.len, 0);
}

static void keeps_plain_text_in_place(void **state)
{
    (void)state;
    static const char text[] = "{\"key\":\"value\",\"n\":12}";
    const struct json *root = must_read(text);
    assert_ptr_equal(root->first->key.ptr, text + 2);
    assert_ptr_equal(root->first->text.ptr, text + 8);
    assert_ptr_equal(root->first->next->text.ptr, text + 19);
}

static void finds_members(void **state)
{
    (void)state;
    const struct json *root = must_read("{\"data\":{\"object\":{\"id\":\"pi_1\",\"n\":5}},\"list\":[{\"id\":1}]}");
    assert_non_null(json_get(root, "data"));
    assert_null(json_get(root, "dat"));
    assert_null(json_get(root, "data2"));
    assert_null(json_get(NULL, "data"));
    assert_null(json_get(json_get(root, "list"), "id"));
    const struct json *object = json_path(root, "data", "object", NULL);
    assert_str(json_text(object, "id"), "pi_1");
    assert_int_equal(json_text(object, "n").len, 0); /* a number is no text */
    assert_int_equal(json_text(object, "x").len, 0);
    assert_ptr_equal(json_path(root, NULL), root);
    assert_null(json_path(root, "data", "nothing", "id", NULL));
    assert_null(json_path(NULL, "data", NULL));
}

static void reads_integers(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        bool fits;
        int64_t value;
    } cases[] = {
        {"0", true, 0},
        {"5", true, 5},
        {"-5", true, -5},
        {"9223372036854775807", true, INT64_MAX},
        {"-9223372036854775808", true, INT64_MIN},
        {"9223372036854775808", false, 0},
        {"-9223372036854775809", false, 0},
        {"99999999999999999999999999", false, 0},
        {"-0", false, 0},
        {"5.0", false, 0},
        {"5e0", false, 0},
        {"\"5\"", false, 0},
        {"null", false, 0},
        {"true", false, 0},
        {"[5]", false, 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        int64_t v = 77;
        assert_int_equal(json_int64(must_read(cases[i].text), &v), cases[i].fits);
        assert_true(v == (cases[i].fits ? cases[i].value : 77));
    }
    int64_t v = 77;
    assert_false(json_int64(NULL, &v));
    assert_int_equal(v, 77);
}

static void leaves_the_result_alone_on_failure(void **state)
{
    (void)state;
    const struct json *root = (const struct json *)&arena;
    assert_err(json_read(&arena, STR("{\"a\":1,\"a\":2}"), &root, NULL), ERR_MALFORMED_JSON);
    assert_ptr_equal(root, &arena);
    assert_err(json_read(&arena, (Str){0}, &root, NULL), ERR_MALFORMED_JSON);
    assert_ptr_equal(root, &arena);
}

/* {"k0":0,"k1":0,…}; the name of member `again` is that of member 0. */
static Str members(size_t n, size_t again)
{
    struct buf b;
    buf_init(&b, &arena, SIZE_MAX);
    buf_char(&b, '{');
    for (size_t i = 0; i < n; i++) buf_printf(&b, "%s\"k%zu\":0", i ? "," : "", i == again ? 0 : i);
    buf_char(&b, '}');
    return buf_str(&b);
}

static void finds_the_double_among_many(void **state)
{
    (void)state;
    static const size_t sizes[] = {2, 15, 16, 17, 18, 31, 32, 33, 64, 65, 128, 129, 1000, 20000};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        const struct json *root;
        const char *why;
        assert_err(json_read(&arena, members(sizes[i], SIZE_MAX), &root, &why), OK);
        assert_int_equal(root->count, sizes[i]);
        assert_err(json_read(&arena, members(sizes[i], sizes[i] - 1), &root, &why), ERR_MALFORMED_JSON);
        assert_err(json_read(&arena, members(sizes[i], 1), &root, &why), ERR_MALFORMED_JSON);
        arena_reset(&arena);
    }
    /* Two objects of many names in one text. */
    const struct json *root;
    Str one = members(20, SIZE_MAX), twice = members(20, 1);
    assert_err(json_read(&arena, str_printf(&arena, "[%.*s,%.*s]", STR_FMT(one), STR_FMT(one)), &root, NULL), OK);
    assert_err(json_read(&arena, str_printf(&arena, "[%.*s,%.*s]", STR_FMT(one), STR_FMT(twice)), &root, NULL),
               ERR_MALFORMED_JSON);
}

static double seconds_to_read(Str text, enum err want)
{
    struct timespec from, to;
    const struct json *root;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &from);
    enum err e = json_read(&arena, text, &root, NULL);
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &to);
    assert_err(e, want);
    return (double)(to.tv_sec - from.tv_sec) + (double)(to.tv_nsec - from.tv_nsec) / 1e9;
}

/* Comparing each name with each other one would take minutes for these; linear time takes well under a second, also
 * with a sanitizer. */
static void stays_linear(void **state)
{
    (void)state;
    assert_true(seconds_to_read(members(UNIT_MANY(1000000), SIZE_MAX), OK) < 10);
    arena_done(&arena);

    struct buf b; /* names of one length that share all but their last bytes */
    buf_init(&b, &arena, SIZE_MAX);
    for (size_t i = 0; i < UNIT_MANY(100000); i++) buf_printf(&b, "%s\"%0100zu\":[]", i ? "," : "{", i);
    buf_char(&b, '}');
    assert_true(seconds_to_read(buf_str(&b), OK) < 10);
    arena_done(&arena);

    buf_init(&b, &arena, SIZE_MAX); /* one string of escapes */
    buf_char(&b, '"');
    for (size_t i = 0; i < UNIT_MANY(1000000); i++) buf_lit(&b, "\\u00e9");
    buf_char(&b, '"');
    assert_true(seconds_to_read(buf_str(&b), OK) < 10);
}

static void limits_the_number_of_values(void **state)
{
    (void)state;
    struct buf b;
    buf_init(&b, &arena, SIZE_MAX);
    buf_lit(&b, "[0");
    for (int i = 2; i < JSON_VALUES_MAX; i++) buf_lit(&b, ",0"); /* the array itself is one */
    size_t most = b.len;
    buf_lit(&b, "]");
    seconds_to_read(buf_str(&b), OK);
    b.len = most;
    buf_lit(&b, ",0]");
    seconds_to_read(buf_str(&b), ERR_MALFORMED_JSON);
}

/* Any change of one byte of a valid text is either refused or gives a tree that can be walked; the sanitizers watch. */
static void survives_flipped_bytes(void **state)
{
    (void)state;
    static const char text[] =
        "{\"id\":\"evt_1\",\"n\":[1,-2.5e3,true],\"s\":\"\\ud83d\\ude00 \xe2\x82\xac\",\"o\":{\"a\":null}}";
    for (size_t i = 0; i < sizeof text - 1; i++) {
        for (int c = 0; c < 256; c++) {
            char changed[sizeof text];
            memcpy(changed, text, sizeof text);
            changed[i] = (char)c;
            const struct json *root = NULL;
            enum err e = json_read(&arena, (Str){changed, sizeof text - 1}, &root, NULL);
            assert_true(e == OK || e == ERR_MALFORMED_JSON);
            if (!e) {
                size_t n = 0;
                for (const struct json *m = root->first; m; m = m->next, n++)
                    assert_true(utf8_valid(m->key) && utf8_valid(m->text));
                assert_int_equal(n, root->count);
            }
            arena_reset(&arena);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(takes_what_is_valid_and_nothing_else, empty_arena),
        cmocka_unit_test_teardown(refuses_all_prefixes, empty_arena),
        cmocka_unit_test_teardown(checks_every_byte_of_a_string, empty_arena),
        cmocka_unit_test_teardown(reads_every_code_point, empty_arena),
        cmocka_unit_test_teardown(builds_the_tree, empty_arena),
        cmocka_unit_test_teardown(unescapes, empty_arena),
        cmocka_unit_test_teardown(keeps_plain_text_in_place, empty_arena),
        cmocka_unit_test_teardown(finds_members, empty_arena),
        cmocka_unit_test_teardown(reads_integers, empty_arena),
        cmocka_unit_test_teardown(leaves_the_result_alone_on_failure, empty_arena),
        cmocka_unit_test_teardown(finds_the_double_among_many, empty_arena),
        cmocka_unit_test_teardown(stays_linear, empty_arena),
        cmocka_unit_test_teardown(limits_the_number_of_values, empty_arena),
        cmocka_unit_test_teardown(survives_flipped_bytes, empty_arena),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
