/* tests/unit/test_field_text.c - fields that are texts: lengths, lines, addresses, slugs, links and times. */
#include "field_case.h"

static const char *repeat(const char *part, size_t n)
{
    struct buf b;
    buf_init(&b, &arena, 1 << 20);
    buf_char(&b, '"');
    for (size_t i = 0; i < n; i++) buf_append(&b, str_from(part));
    buf_char(&b, '"');
    return str_cstr(&arena, buf_str(&b));
}

static void counts_code_points(void **state)
{
    (void)state;
    static const enum field_type texts[] = {FIELD_LINE, FIELD_TEXT, FIELD_SECRET};
    static const char *const parts[] = {"a",       "\xc3\xa9", "\xe2\x82\xac", "\xf0\x9f\x98\x80", "\\ud83d\\ude00",
                                        "\\u00e9", "\\\""};
    const struct one *one;
    for (size_t i = 0; i < 3; i++) {
        for (size_t k = 0; k < sizeof parts / sizeof *parts; k++) {
            const struct field f = {.type = texts[i], .flags = REQUIRED, .min = 2, .max = 255};
            assert_err(read_one(f, repeat(parts[k], 255), &one), OK);
            assert_int_equal(utf8_count(one->text), 255);
            assert_err(read_one(f, repeat(parts[k], 256), &one), ERR_FIELD_TOO_LONG);
            assert_err(read_one(f, repeat(parts[k], 2), &one), OK);
            assert_err(read_one(f, repeat(parts[k], 1), &one), ERR_FIELD_TOO_SHORT);
            assert_err(read_one(f, "\"\"", &one), ERR_FIELD_REQUIRED);
            arena_reset(&arena);
        }
        assert_err(read_one((struct field){.type = texts[i], .min = 1}, "\"\"", &one), ERR_FIELD_TOO_SHORT);
        assert_err(read_one((struct field){.type = texts[i]}, "\"\"", &one), OK);
        assert_true(one->has && one->text.len == 0);
        assert_err(read_one((struct field){.type = texts[i], .flags = REQUIRED}, "\"\"", &one), ERR_FIELD_REQUIRED);
        assert_err(read_one((struct field){.type = texts[i]}, repeat("a", 50000), &one), OK); /* no limit of its own */
    }
}

static void reads_lines_and_texts(void **state)
{
    (void)state;
    const struct one *one;
    const struct field line = {.type = FIELD_LINE, .flags = REQUIRED, .max = 20},
                       text = {.type = FIELD_TEXT, .max = 20},
                       secret = {.type = FIELD_SECRET, .flags = REQUIRED, .max = 20};
    const struct field exact_line = {.type = FIELD_LINE, .flags = REQUIRED | AS_SENT, .max = 20},
                       exact_text = {.type = FIELD_TEXT, .flags = REQUIRED | AS_SENT, .max = 20};
    assert_err(read_one(line, "\" a b \\u00a0 \"", &one), OK);
    assert_str(one->text, "a b");
    assert_err(read_one(exact_line, "\" a b \\u00a0 \"", &one), OK);
    assert_str(one->text, " a b \xc2\xa0 ");
    assert_err(read_one(exact_text, "\"\\r\\n a\\r\\n\\tb\\n \"", &one), OK);
    assert_str(one->text, "\r\n a\r\n\tb\n ");
    check(exact_line, (struct value_case[]){
                          {"\" \"", ERR_FIELD_REQUIRED},
                          {"\"a\\n\"", ERR_FIELD_CHARACTERS},
                          {"\"                    a\"", ERR_FIELD_TOO_LONG},
                          {0},
                      });
    check(exact_text, (struct value_case[]){
                          {"\" \\r\\n\"", ERR_FIELD_REQUIRED},
                          {"\"a\\r\"", ERR_FIELD_CHARACTERS},
                          {"\"a\\u0007\"", ERR_FIELD_CHARACTERS},
                          {0},
                      });
    assert_err(read_one(secret, "\"  a b \"", &one), OK);
    assert_str(one->text, "  a b ");
    assert_err(read_one(text, "\"\\r\\n a\\r\\n\\tb\\n\\r\\nc \\r\\n\"", &one), OK);
    assert_str(one->text, "a\n\tb\n\nc");
    assert_err(read_one(text, "\"12345\\r\\n12345\\r\\n12345\\r\\n12\"", &one), OK); /* 20 once CRLF is LF */
    assert_int_equal(one->text.len, 20);

    check(line, (struct value_case[]){
                    {"\"a\\nb\"", ERR_FIELD_CHARACTERS},
                    {"\"a\\n\"", ERR_FIELD_CHARACTERS}, /* at the ends like inside */
                    {"\"\\ta\"", ERR_FIELD_CHARACTERS},
                    {"\"a\\tb\"", ERR_FIELD_CHARACTERS},
                    {"\"a\\rb\"", ERR_FIELD_CHARACTERS},
                    {"\"a\\u0001b\"", ERR_FIELD_CHARACTERS},
                    {"\"a\\u007fb\"", ERR_FIELD_CHARACTERS},
                    {"\"a\\u0085b\"", ERR_FIELD_CHARACTERS},
                    {"\"a\\u009fb\"", ERR_FIELD_CHARACTERS},
                    {"\"a\\u00a0b\"", OK},
                    {"\"   \"", ERR_FIELD_REQUIRED},
                    {"\"\\u3000\\ufeff\"", ERR_FIELD_REQUIRED},
                    {"\"                    a                    \"", OK},
                    {"\"<script>alert('x')</script>\"", ERR_FIELD_TOO_LONG},
                    {"\"'; DROP TABLE a; --\"", OK},
                    {0},
                });
    check(text, (struct value_case[]){
                    {"\"a\\nb\\tc\"", OK},
                    {"\"a\\rb\"", ERR_FIELD_CHARACTERS},
                    {"\"a\\r\\rb\"", ERR_FIELD_CHARACTERS},
                    {"\"a\\r\\r\\nb\"", ERR_FIELD_CHARACTERS},
                    {"\"a\\u000bb\"", ERR_FIELD_CHARACTERS},
                    {"\"a\\u001bb\"", ERR_FIELD_CHARACTERS},
                    {"\"a\\u0090b\"", ERR_FIELD_CHARACTERS},
                    {"\" \\n \"", OK},
                    {"\"a\\r\"", ERR_FIELD_CHARACTERS},
                    {"\"\\u000ba\"", ERR_FIELD_CHARACTERS},
                    {0},
                });
    check(secret, (struct value_case[]){
                      {"\" \"", OK},
                      {"\"a\\tb\"", ERR_FIELD_CHARACTERS},
                      {"\"a\\n\"", ERR_FIELD_CHARACTERS},
                      {"\"\\u0080\"", ERR_FIELD_CHARACTERS},
                      {0},
                  });
}

static void reads_emails(void **state)
{
    (void)state;
    const struct one *one;
    const struct field f = {.type = FIELD_EMAIL, .flags = REQUIRED};
    assert_err(read_one(f, "\" Ann.Lee+X@Example.COM  \"", &one), OK);
    assert_str(one->text, "ann.lee+x@example.com");
    check(f, (struct value_case[]){
                 {"\"a@b.co\"", OK},
                 {"\"\"", ERR_FIELD_REQUIRED},
                 {"\"  \"", ERR_FIELD_REQUIRED},
                 {"\"a\"", ERR_FIELD_FORMAT},
                 {"\"a@b\"", ERR_FIELD_FORMAT},
                 {"\"a@b.co\\nBcc: c@d.ee\"", ERR_FIELD_CHARACTERS},
                 {"\"a@b.co\\n\"", ERR_FIELD_CHARACTERS},
                 {"\"\\u00e9@b.co\"", ERR_FIELD_FORMAT},
                 {0},
             });
    assert_err(read_one(f, repeat("abcdefgh@b.", 24), &one), ERR_FIELD_TOO_LONG);
    assert_err(read_one((struct field){.type = FIELD_EMAIL}, "\"\"", &one),
               ERR_FIELD_FORMAT); /* an empty one is none */
}

static void reads_slugs_links_and_times(void **state)
{
    (void)state;
    const struct one *one;
    const struct field slug = {.type = FIELD_SLUG, .flags = REQUIRED}, url = {.type = FIELD_URL},
                       time = {.type = FIELD_TIME};
    assert_err(read_one(slug, "\"antivirus-2026\"", &one), OK);
    assert_str(one->text, "antivirus-2026");
    check(slug, (struct value_case[]){
                    {"\"\"", ERR_FIELD_REQUIRED},
                    {"\"A\"", ERR_FIELD_FORMAT},
                    {"\" a\"", ERR_FIELD_FORMAT},
                    {"\"../a\"", ERR_FIELD_FORMAT},
                    {0},
                });
    assert_err(read_one(slug, repeat("a", 100), &one), OK);
    assert_err(read_one(slug, repeat("a", 101), &one), ERR_FIELD_TOO_LONG);

    assert_err(read_one(url, "\"https:\\/\\/a.example\\/b?c=d\"", &one), OK);
    assert_str(one->text, "https://a.example/b?c=d");
    check(url, (struct value_case[]){
                   {"\"\"", ERR_FIELD_FORMAT},
                   {"\"javascript:alert(1)\"", ERR_FIELD_FORMAT},
                   {"\"http://u:p@a/\"", ERR_FIELD_FORMAT},
                   {"\"http://a/\\n\"", ERR_FIELD_FORMAT},
                   {0},
               });
    assert_err(read_one(url, repeat("http://a/", 228), &one), ERR_FIELD_TOO_LONG);

    assert_err(read_one(time, "\"2026-11-15T01:23:45.250Z\"", &one), OK);
    assert_true(one->time.ms == 1794705825250);
    check(time, (struct value_case[]){
                    {"\"2026-11-15\"", ERR_FIELD_FORMAT},
                    {"\"\"", ERR_FIELD_FORMAT},
                    {"\"2026-02-30T00:00:00Z\"", ERR_FIELD_FORMAT},
                    {"1794705825", ERR_FIELD_TYPE},
                    {0},
                });
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(counts_code_points, empty_arena),
        cmocka_unit_test_teardown(reads_lines_and_texts, empty_arena),
        cmocka_unit_test_teardown(reads_emails, empty_arena),
        cmocka_unit_test_teardown(reads_slugs_links_and_times, empty_arena),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
