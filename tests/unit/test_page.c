/* tests/unit/test_page.c - values in pages: escaping, addresses, amounts, dates, words, Markdown. */
#include "unit.h"

#include "page/markdown.h"
#include "page/words.h"

static struct arena arena;
static struct buf out;
static struct page page;

static int fresh(void **state)
{
    (void)state;
    arena_done(&arena);
    buf_init(&out, &arena, SIZE_MAX);
    page = (struct page){.arena = &arena, .out = &out, .currency = STR("EUR")};
    return 0;
}

static enum lang lang(const char *code)
{
    enum lang l = LANG_COUNT;
    assert_true(lang_find(str_from(code), &l));
    return l;
}

/* What a function of the page writes. */
static Str written(void (*write)(struct page *, Str), const char *value)
{
    buf_init(&out, &arena, SIZE_MAX);
    write(&page, str_from(value));
    return buf_str(&out);
}

static void text_is_escaped(void **state)
{
    (void)state;
    assert_str(written(page_text, "<b a=\"1\" c='2'>&amp;</b>"),
               "&lt;b a=&quot;1&quot; c=&#39;2&#39;&gt;&amp;amp;&lt;/b&gt;");
    assert_str(written(page_text, "plain äöü"), "plain äöü");
    assert_str(written(page_text, ""), "");
    assert_str(written(page_plain, "<b>"), "<b>");
}

static void addresses_are_checked(void **state)
{
    (void)state;
    static const char *const fine[] = {"https://a.example/x?y#z",
                                       "HTTP://a",
                                       "mailto:a@b.example",
                                       "otpauth://totp/x?secret=y",
                                       "/p/x",
                                       "x/y:z",
                                       "?a:b",
                                       "#top",
                                       ""};
    static const char *const wrong[] = {
        "javascript:alert(1)", "JaVaScRiPt:x", " javascript:x", "java\tscript:x", "\1javascript:x", "data:text/html,x",
        "vbscript:x",          "file:///etc",  "a\\b",          "a\177b",         "x\n/y",          ":x"};
    for (size_t i = 0; i < sizeof fine / sizeof *fine; i++) assert_true(page_url_is_fine(str_from(fine[i])));
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        if (page_url_is_fine(str_from(wrong[i]))) fail_msg("%s", wrong[i]);
        assert_str(written(page_url, wrong[i]), "#");
    }
    assert_str(written(page_url, "/a?b=\"&c=1"), "/a?b=&quot;&amp;c=1");
    assert_str(written(page_component, "a b/c?d&\"ä"), "a%20b%2Fc%3Fd%26%22%C3%A4");
}

static void json_ends_no_script(void **state)
{
    (void)state;
    assert_str(written(page_json, "a\"b\\</script>&\n\342\200\250\342\200\251\342\200\252"),
               "\"a\\u0022b\\u005c\\u003c/script\\u003e\\u0026\\u000a\\u2028\\u2029\342\200\252\"");
    assert_str(written(page_json, "\177\342\202\254\342\200"), "\"\\u007f\342\202\254\342\200\"");
    assert_str(written(page_component, "aZ0-_.~ /\303\244"), "aZ0-_.~%20%2F%C3%A4");
    buf_init(&out, &arena, SIZE_MAX);
    page_json_bool(&page, true);
    page_json_bool(&page, false);
    assert_str(buf_str(&out), "truefalse");
}

static void check_money(const char *code, const char *currency, int64_t minor, const char *want)
{
    page.lang = lang(code);
    page.currency = str_from(currency);
    assert_str(page_money(&page, (Money){minor}), want);
}

static void amounts(void **state)
{
    (void)state;
    check_money("en", "EUR", 123456, "€1,234.56");
    check_money("en", "USD", -5, "−$0.05");
    check_money("en", "KWD", 1500, "KWD\u00a01.500");
    check_money("de", "EUR", 123456789, "1.234.567,89\u00a0€");
    check_money("fr", "EUR", 123456, "1\u202f234,56\u00a0€");
    check_money("es", "EUR", 123456, "1234,56\u00a0€");
    check_money("es", "EUR", 1234567, "12.345,67\u00a0€");
    check_money("de", "JPY", 1000, "1.000\u00a0¥");
    check_money("en", "EUR", INT64_MIN, "−€92,233,720,368,547,758.08");
}

static void dates(void **state)
{
    (void)state;
    static const char *const want[][2] = {
        {"en", "1 March 2026"}, {"de", "1. März 2026"}, {"fr", "1er mars 2026"}, {"es", "1 de marzo de 2026"}};
    Time t;
    assert_true(time_parse(STR("2026-03-01T09:05:59Z"), &t));
    for (size_t i = 0; i < sizeof want / sizeof *want; i++) {
        page.lang = lang(want[i][0]);
        assert_str(page_date(&page, t), want[i][1]);
    }
    page.lang = lang("de");
    assert_str(page_moment(&page, t), "1. März 2026, 09:05 UTC");
    assert_str(page_iso(&page, t), "2026-03-01T09:05:59Z");
}

static void words_are_found(void **state)
{
    (void)state;
    for (int i = 1; i < WORD_COUNT; i++) assert_int_equal(words_find(str_from(word_names[i])), i);
    assert_int_equal(words_find(STR("no_such_word")), WORD_NONE);
    assert_int_equal(words_find(STR("")), WORD_NONE);
    assert_int_equal(words_find((Str){0}), WORD_NONE);
    assert_str(words_text(lang("de"), WORD_month_3), "März");
}

static void languages_are_chosen(void **state)
{
    (void)state;
    enum lang offered[] = {lang("en"), lang("de"), lang("fr")};
    static const char *const cases[][2] = {{"", "en"},
                                           {"de", "de"},
                                           {"de-AT, en;q=0.5", "de"},
                                           {"es, fr;q=0.8, de;q=0.9", "de"},
                                           {"es;q=1, it", "en"},
                                           {"fr;q=0, de;q=0.001", "de"},
                                           {"*;q=0.5, de", "de"},
                                           {"*", "en"},
                                           {";;,,q=,de;q=x,fr", "fr"},
                                           {"de;level=1, fr;q=0.5", "de"},
                                           {"de;q=0.12345, fr;q=0.124", "fr"},
                                           {"de;q=9, fr;q=1", "de"},
                                           {"de;q=-1, fr;q=0.1", "fr"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        assert_str(str_from(lang_codes[lang_choose(str_from(cases[i][0]), offered, 3)]), cases[i][1]);
    enum lang listed[LANG_COUNT];
    assert_int_equal(lang_list(STR("fr,xx,de"), listed), 2);
    assert_int_equal(listed[1], lang("de"));
    assert_int_equal(lang_list(STR(""), listed), 1);
    assert_int_equal(lang_list(STR("en,en,en,en,en,en,en,en,en,en,en,en"), listed), LANG_COUNT);
}

static void markdown_is_safe(void **state)
{
    (void)state;
    static const char *const cases[][2] = {
        {"# A\n\n*b* `c`", "<h2>A</h2>\n<p><em>b</em> <code>c</code></p>\n"},
        {"a <b>c</b> d", "<p>a &lt;b&gt;c&lt;/b&gt; d</p>\n"},
        {"<script>alert(1)</script>", "<p>&lt;script&gt;alert(1)&lt;/script&gt;\n</p>\n"},
        {"<!-- x -->", "<p>&lt;!-- x --&gt;\n</p>\n"},
        {"[a](javascript:alert(1))", "<p>a</p>\n"},
        {"[a](https://b.example/?c&d)", "<p><a href=\"https://b.example/?c&amp;d\">a</a></p>\n"},
        {"[a](/page/terms) <x@y.example>",
         "<p><a href=\"/page/terms\">a</a> <a href=\"mailto:x@y.example\">x@y.example</a></p>\n"},
        {"![a](https://b.example/c.png)", "<p><a href=\"https://b.example/c.png\">a</a></p>\n"},
        {"![a](/media/c.png)", "<p><img src=\"/media/c.png\" alt=\"a\" /></p>\n"},
        {"![a](//b.example/c.png)", "<p><a href=\"//b.example/c.png\">a</a></p>\n"},
        {"[![a](https://b.example/c.png)](https://d.example)", "<p><a href=\"https://d.example\">a</a></p>\n"},
        {"![a](/media\\\\c.png)", "<p>a</p>\n"},
        {"![](data:image/png;base64,x)", "<p></p>\n"},
        {"![](https://b.example/c.png)", "<p><a href=\"https://b.example/c.png\">https://b.example/c.png</a></p>\n"},
        {"###### A", "<h6>A</h6>\n"},
        {"", ""},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        assert_str(markdown_render(&arena, str_from(cases[i][0])).html, cases[i][1]);
}

static void summaries(void **state)
{
    (void)state;
    assert_str(markdown_summary(&arena, STR("# A title\n\nSome *words* and\nmore <b>x</b>"), 100),
               "A title Some words and more <b>x</b>");
    assert_str(markdown_summary(&arena, STR("one two three"), 9), "one two");
    assert_str(markdown_summary(&arena, STR("ääää"), 3), "ä");
    assert_str(markdown_summary(&arena, STR(""), 10), "");
    assert_str(markdown_summary(&arena, STR("a `b` c\\\nd\n\n> e"), 100), "a b c d e");
    assert_str(markdown_summary(&arena, STR("äöüäöüäöü"), 9), "äöüä");
    assert_str(markdown_summary(&arena, STR("ä"), 1), "");
    assert_str(markdown_summary(&arena, STR("a*b*c"), 10), "abc");
    struct buf b;
    buf_init(&b, &arena, SIZE_MAX);
    buf_char(&b, 'a'); /* so that the end of what is read falls into a character */
    for (int i = 0; i < 200; i++) buf_lit(&b, "ä");
    assert_str(markdown_summary(&arena, buf_str(&b), 9), "aääää");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(text_is_escaped, fresh),
        cmocka_unit_test_setup(addresses_are_checked, fresh),
        cmocka_unit_test_setup(json_ends_no_script, fresh),
        cmocka_unit_test_setup(amounts, fresh),
        cmocka_unit_test_setup(dates, fresh),
        cmocka_unit_test_setup(words_are_found, fresh),
        cmocka_unit_test_setup(languages_are_chosen, fresh),
        cmocka_unit_test_setup(markdown_is_safe, fresh),
        cmocka_unit_test_setup(summaries, fresh),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
