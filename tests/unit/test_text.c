/* tests/unit/test_text.c - which texts from outside are taken for lines, addresses, slugs and links. */
#include "unit.h"

#include <stdlib.h>

#include "base/text.h"

static struct arena arena;

static int empty_arena(void **state)
{
    (void)state;
    arena_done(&arena);
    return 0;
}

static void check_all(bool (*is)(Str), bool want, const char *const *texts)
{
    for (; *texts; texts++)
        if (is(str_from(*texts)) != want) fail_msg("\"%s\" was %s", *texts, want ? "refused" : "taken");
}

static void trims_white_space_of_all_scripts(void **state)
{
    (void)state;
    assert_str(text_trim(STR(" \t\n\v\f\r a b \n")), "a b");
    static const char *const spaces[] = {"\xc2\x85",     "\xc2\xa0",     "\xe1\x9a\x80", "\xe2\x80\x80",
                                         "\xe2\x80\x8a", "\xe2\x80\xa8", "\xe2\x80\xa9", "\xe2\x80\xaf",
                                         "\xe2\x81\x9f", "\xe3\x80\x80", "\xef\xbb\xbf"};
    for (size_t i = 0; i < sizeof spaces / sizeof *spaces; i++) {
        Str s = str_printf(&arena, "%s %sx%s %s", spaces[i], spaces[i], spaces[i], spaces[i]);
        assert_str(text_trim(s), "x");
        assert_int_equal(text_trim(str_from(spaces[i])).len, 0);
    }
    static const char *const kept[] = {"\xc2\x84",     "\xc2\xa1",     "\xe2\x80\x8b",
                                       "\xe2\x80\x99", "\xe2\x80\xaa", "\xe2\x82\xac",
                                       "\xe3\x80\x81", "\xc3\xa9",     "\xf0\x9f\x98\x80"};
    for (size_t i = 0; i < sizeof kept / sizeof *kept; i++) assert_str(text_trim(str_from(kept[i])), kept[i]);
    assert_int_equal(text_trim((Str){0}).len, 0);
    assert_str(text_trim(STR("\xa0")), "\xa0"); /* not UTF-8: left alone, nothing read before or behind it */
    assert_str(text_trim(STR("\xe2")), "\xe2");
    assert_str(text_trim(STR("\xf0\x9f\x98\x80 ")), "\xf0\x9f\x98\x80");
}

static void finds_control_characters(void **state)
{
    (void)state;
    for (unsigned c = 0; c < 0x100; c++) {
        char text[2];
        size_t n = 0;
        if (c < 0x80)
            text[n++] = (char)c;
        else
            text[n++] = (char)(0xc0 | c >> 6), text[n++] = (char)(0x80 | (c & 0x3f));
        bool control = c < 0x20 || (c >= 0x7f && c < 0xa0);
        assert_int_equal(text_is_line((Str){text, n}), !control);
        assert_int_equal(text_is_lines((Str){text, n}), !control || c == '\t' || c == '\n');
    }
    assert_true(text_is_line((Str){0}));
    assert_true(text_is_line((Str){"a\xc2", 2})); /* cut off: nothing is read behind it */
    assert_true(text_is_line(STR("\xe2\x82\xac \xf0\x9f\x98\x80 \xc3\x80")));
}

static void knows_email_addresses(void **state)
{
    (void)state;
    static const char *const good[] = {"a@b.co",
                                       "first.last@example.com",
                                       "first+tag@example.co.uk",
                                       "UPPER@EXAMPLE.COM",
                                       "o'brien@example.ie",
                                       "x!#$%&'*+/=?^_`{|}~-@example.com",
                                       "1@2.cd",
                                       "a@xn--bcher-kva.example",
                                       "a@sub.sub.sub.example.museum",
                                       "a@1.2.example.c0m",
                                       NULL};
    static const char *const bad[] = {"",
                                      "a",
                                      "@",
                                      "a@",
                                      "@b.co",
                                      "a@b",
                                      "a@localhost",
                                      "a@@b.co",
                                      "a@b@c.co",
                                      "a b@c.co",
                                      "a@b c.co",
                                      ".a@b.co",
                                      "a.@b.co",
                                      "a..b@c.co",
                                      "a@.b.co",
                                      "a@b.co.",
                                      "a@b..co",
                                      "a@-b.co",
                                      "a@b-.co",
                                      "a@b_c.co",
                                      "a@[127.0.0.1]",
                                      "a@127.0.0.1",
                                      "a@b.1",
                                      "\"a b\"@c.co",
                                      "a\\@b.co",
                                      "a,b@c.co",
                                      "a;b@c.co",
                                      "a<b@c.co>",
                                      "a\n@b.co",
                                      "a@b.co\nBcc: x@y.zz",
                                      "a@b.co\r",
                                      "\xc3\xa9@b.co",
                                      "a@\xc3\xa9.co",
                                      " a@b.co",
                                      NULL};
    check_all(email_is_plausible, true, good);
    check_all(email_is_plausible, false, bad);
    assert_false(email_is_plausible((Str){"a\0b@c.co", 8}));
    assert_false(email_is_plausible((Str){0}));

    Str local64 = str_printf(&arena, "%064d@example.com", 1), local65 = str_printf(&arena, "%065d@example.com", 1);
    assert_true(email_is_plausible(local64));
    assert_false(email_is_plausible(local65));
    assert_true(email_is_plausible(str_printf(&arena, "a@%063d.com", 1)));
    assert_false(email_is_plausible(str_printf(&arena, "a@%064d.com", 1)));
    Str most = str_printf(&arena, "a@%063d.%063d.%063d.%055d.com", 1, 1, 1, 1);
    assert_int_equal(most.len, 253);
    assert_true(email_is_plausible(most));
    assert_false(email_is_plausible(str_printf(&arena, "ab%.*s", STR_FMT(most))));
}

static void knows_slugs(void **state)
{
    (void)state;
    static const char *const good[] = {"a", "0", "abc", "a-b", "a-1-b", "2026", NULL};
    static const char *const bad[] = {"",    "-",   "-a", "a-",  "a--b", "A",        "a b",           "a_b",
                                      "a.b", "a/b", "..", "a%b", "a\n",  "\xc3\xa9", "a\xe2\x80\x8b", "a{b",
                                      NULL};
    check_all(slug_is_valid, true, good);
    check_all(slug_is_valid, false, bad);
    assert_true(slug_is_valid(str_printf(&arena, "%0100d", 1)));
    assert_false(slug_is_valid(str_printf(&arena, "%0101d", 1)));
    assert_false(slug_is_valid((Str){0}));
}

static void knows_links(void **state)
{
    (void)state;
    static const char *const good[] = {"http://a",
                                       "https://example.com",
                                       "HTTPS://EXAMPLE.COM/",
                                       "https://example.com/a/b?c=d&e=%20f#g",
                                       "https://example.com?x",
                                       "https://example.com#x",
                                       "http://127.0.0.1:8080/x",
                                       "http://[::1]/",
                                       "http://[2001:db8::1]:443/x",
                                       "http://[::ffff:127.0.0.1]/",
                                       "http://a:1",
                                       "http://a:65535/",
                                       "https://a.b-c.example/~x/(y)",
                                       "https://a/@b:c",
                                       NULL};
    static const char *const bad[] = {"",
                                      "http",
                                      "http:",
                                      "http://",
                                      "https://",
                                      "http:///x",
                                      "http://?x",
                                      "http:/a",
                                      "//a/b",
                                      "/a",
                                      "a.b/c",
                                      "ftp://a",
                                      "javascript:alert(1)",
                                      "javascript://a/%0aalert(1)",
                                      "data:text/html,x",
                                      "file:///etc/passwd",
                                      "http://user@a/",
                                      "http://user:pw@a/",
                                      "http://a@b",
                                      "http://a:0",
                                      "http://a:65536",
                                      "http://a:",
                                      "http://a:x",
                                      "http://a:+1",
                                      "http://a:-1",
                                      "http://:80",
                                      "http://a:1:2",
                                      "http://a b/",
                                      "http://a/b c",
                                      " http://a",
                                      "http://a ",
                                      "http://a\n",
                                      "http://a/\r\nX: y",
                                      "http://a\\b",
                                      "http://a/\\b",
                                      "http://a/<x>",
                                      "http://a/\"x\"",
                                      "http://a/%",
                                      "http://a/%2",
                                      "http://a/%zz",
                                      "http://a/%2z",
                                      "http://a/]",
                                      "http://[1:2:3:4:5:6:7:8:9:]/",
                                      "http://[0000:0000:0000:0000:0000:0000:000.000.000.000.0]/",
                                      "http://a%2eb/",
                                      "http://\xc3\xa9/",
                                      "http://a/\xc3\xa9",
                                      "http://[::1",
                                      "http://[]",
                                      "http://[:]",
                                      "http://[::1]x",
                                      "http://[::1]:",
                                      "http://[x::1]/",
                                      "http://::1/",
                                      "http://a/[x]",
                                      "http://-a/",
                                      "http://a..b/",
                                      "http://.a/",
                                      "http://a_b/",
                                      NULL};
    check_all(url_is_web, true, good);
    check_all(url_is_web, false, bad);
    assert_false(url_is_web((Str){0}));
    assert_false(url_is_web((Str){"http://a/\0", 10}));
    char long_host[300] = "http://";
    for (size_t i = 7; i + 1 < sizeof long_host; i++) long_host[i] = i % 2 ? 'a' : '.';
    long_host[260] = 'a', long_host[261] = '\0';
    assert_false(url_is_web((Str){long_host, 261})); /* 254 bytes of host */
    assert_true(url_is_web(str_printf(&arena, "http://a/%02039d", 1)));
    assert_false(url_is_web(str_printf(&arena, "http://a/%02040d", 1)));
}

static void decodes_percents(void **state)
{
    (void)state;
    Str s;
    assert_true(percent_decode(&arena, STR("a%20b+c%2B%C3%a9"), true, &s));
    assert_str(s, "a b c+\xc3\xa9");
    assert_true(percent_decode(&arena, STR("a+b%2fc"), false, &s));
    assert_str(s, "a+b/c");
    static const char plain[] = "plain";
    assert_true(percent_decode(&arena, str_from(plain), true, &s));
    assert_ptr_equal(s.ptr, plain);
    assert_true(percent_decode(&arena, STR("%2525"), true, &s));
    assert_str(s, "%25"); /* once, never twice */
    assert_true(percent_decode(&arena, (Str){0}, true, &s));
    assert_int_equal(s.len, 0);
    static const char *const bad[] = {"%",         "%2",     "a%",   "a%2",   "%zz", "%2g", "%g2",
                                      "%%20",      "% 20",   "%00",  "a%00b", "%ff", "%c3", "%c3%28",
                                      "%ed%a0%80", "%c0%af", "\xff", "%+1",   "%-1", "%0x", NULL};
    for (const char *const *b = bad; *b; b++) {
        s = STR("untouched");
        if (percent_decode(&arena, str_from(*b), true, &s)) fail_msg("%s was taken", *b);
        assert_str(s, "untouched");
    }
    assert_false(percent_decode(&arena, (Str){"a\0", 2}, true, &s));
    for (int c = 1; c < 0x80; c++) {
        char text[4];
        snprintf(text, sizeof text, "%%%02X", c);
        assert_true(percent_decode(&arena, str_from(text), true, &s));
        assert_int_equal(s.len, 1);
        assert_int_equal(s.ptr[0], c);
    }
}

static void makes_patterns(void **state)
{
    (void)state;
    assert_str(text_like_pattern(&arena, STR("")), "%%");
    assert_str(text_like_pattern(&arena, STR("Ab")), "%ab%");
    assert_str(text_like_pattern(&arena, STR("100%_\\x")), "%100\\%\\_\\\\x%");
    assert_str(text_like_pattern(&arena, STR("%%%%%%%%")), "%\\%\\%\\%\\%\\%\\%\\%\\%%");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(trims_white_space_of_all_scripts, empty_arena),
        cmocka_unit_test_teardown(finds_control_characters, empty_arena),
        cmocka_unit_test_teardown(knows_email_addresses, empty_arena),
        cmocka_unit_test_teardown(knows_slugs, empty_arena),
        cmocka_unit_test_teardown(knows_links, empty_arena),
        cmocka_unit_test_teardown(decodes_percents, empty_arena),
        cmocka_unit_test_teardown(makes_patterns, empty_arena),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
