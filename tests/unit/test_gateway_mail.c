/* tests/unit/test_gateway_mail.c - messages as bytes, whatever is put into them. */
#include "gateway.h"

#include "outbound/smtp.h"

static const struct mail plain = {
    .from_name = S("Souk Store"),
    .from_address = S("shop@shop.example"),
    .to_address = S("customer+tag@example.com"),
    .subject = S("Order 42"),
    .text = S("Hello\n\nYour key: ABCDE\n"),
    .message_id = S("m1.abc@shop.example"),
    .date = {1700000000 * TIME_SECOND},
};

/* Lines of at most 76, CRLF everywhere, 7-bit, no line that starts with a dot. */
static void check_form(Str s)
{
    size_t column = 0;
    for (size_t i = 0; i < s.len; i++) {
        unsigned char c = (unsigned char)s.ptr[i];
        if (c == '\r') {
            assert_true(i + 1 < s.len && s.ptr[i + 1] == '\n');
            assert_true(column <= 76);
            i++;
            column = 0;
            continue;
        }
        if (c < 0x20 || c > 0x7e) fail_msg("byte %02x at %zu", c, i);
        if (column == 0 && c == '.') fail_msg("a line starts with a dot: %.*s", STR_FMT(s));
        column++;
    }
    assert_int_equal(column, 0);
}

static Str qp_decode(struct arena *a, Str s)
{
    char *out = arena_alloc(a, s.len + 1);
    size_t n = 0;
    for (size_t i = 0; i < s.len; i++) {
        if (s.ptr[i] == '=' && s.ptr[i + 1] == '\r') {
            i += 2;
        } else if (s.ptr[i] == '=') {
            uint8_t byte;
            assert_true(hex_decode((Str){s.ptr + i + 1, 2}, &byte, 1));
            out[n++] = (char)byte;
            i += 2;
        } else if (s.ptr[i] != '\r') {
            out[n++] = s.ptr[i];
        }
    }
    return (Str){out, n};
}

static Str body_of(Str message)
{
    for (size_t i = 0; i + 4 <= message.len; i++)
        if (memcmp(message.ptr + i, "\r\n\r\n", 4) == 0) return (Str){message.ptr + i + 4, message.len - i - 4};
    fail_msg("no body");
    return (Str){0};
}

static void test_message(void **state)
{
    (void)state;
    struct arena a = {0};
    Str got;
    assert_true(mail_message(&a, &plain, &got));
    assert_str(got, STR("Date: Tue, 14 Nov 2023 22:13:20 +0000\r\n"
                        "From: Souk Store\r\n <shop@shop.example>\r\n"
                        "To: <customer+tag@example.com>\r\n"
                        "Message-ID: <m1.abc@shop.example>\r\n"
                        "Subject: Order 42\r\n"
                        "Auto-Submitted: auto-generated\r\n"
                        "MIME-Version: 1.0\r\n"
                        "Content-Type: text/plain; charset=utf-8\r\n"
                        "Content-Transfer-Encoding: quoted-printable\r\n"
                        "\r\n"
                        "Hello\r\n\r\nYour key: ABCDE\r\n"));
    struct mail both = plain;
    both.html = STR("<p class=\"x\">--=_souk</p>");
    assert_true(mail_message(&a, &both, &got));
    check_form(got);
    assert_str(body_of(got), STR("--=_souk\r\n"
                                 "Content-Type: text/plain; charset=utf-8\r\n"
                                 "Content-Transfer-Encoding: quoted-printable\r\n"
                                 "\r\n"
                                 "Hello\r\n\r\nYour key: ABCDE\r\n"
                                 "\r\n--=_souk\r\n"
                                 "Content-Type: text/html; charset=utf-8\r\n"
                                 "Content-Transfer-Encoding: quoted-printable\r\n"
                                 "\r\n"
                                 "<p class=3D\"x\">--=3D_souk</p>\r\n"
                                 "\r\n--=_souk--\r\n"));
    arena_done(&a);
}

static void test_texts(void **state)
{
    (void)state;
    static const char *const texts[] = {
        ".\n",
        "..\n.\n..a\n",
        "a\n.\nb\n",
        "trailing space \nand tab\t\n",
        "=20=\n",
        "Zoë – 北京 €\n",
        "\xff\xfe raw\n",
        ("a very long line that goes on and on and on and on and on and on and on and on and on and "
         "on.and.on.and.on.and.on.\n"),
        "......................................................................................................\n",
        "\n\n\n",
        "",
    };
    struct arena a = {0};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        struct mail m = plain;
        m.text = str_from(texts[i]);
        Str got;
        assert_true(mail_message(&a, &m, &got));
        check_form(got);
        assert_str(qp_decode(&a, body_of(got)), m.text);
    }
    /* Every length around the place where lines break, with a dot at every place. */
    for (int n = 60; n < 90; n++)
        for (int dot = 0; dot < n; dot++) {
            struct arena scratch = {0};
            char *line = arena_alloc(&scratch, (size_t)n + 1);
            memset(line, 'x', (size_t)n);
            line[dot] = '.';
            line[n] = '\n';
            struct mail m = plain;
            m.text = (Str){line, (size_t)n + 1};
            Str got;
            assert_true(mail_message(&scratch, &m, &got));
            check_form(got);
            assert_str(qp_decode(&scratch, body_of(got)), m.text);
            arena_done(&scratch);
        }
    arena_done(&a);
}

/* What cannot be sent is not written: other addresses that are none, and more than a mail may have. */
static void test_not_messages(void **state)
{
    (void)state;
    struct arena a = {0};
    Str got;
    struct mail m = plain;
    m.from_address = STR("nobody");
    assert_false(mail_message(&a, &m, &got));
    m = plain;
    m.message_id = STR("no id");
    assert_false(mail_message(&a, &m, &got));
    m = plain;
    char *most = arena_alloc(&a, 1 << 20);
    memset(most, 'a', 1 << 20);
    m.text = (Str){most, 1 << 20};
    assert_false(mail_message(&a, &m, &got));
    m = plain;
    m.from_name = (Str){0};
    m.text = STR("one \r\ntwo\x7f\rthree");
    assert_true(mail_message(&a, &m, &got));
    check_form(got);
    char *text = str_cstr(&a, got);
    assert_non_null(strstr(text, "\r\nFrom: <shop@shop.example>\r\n"));
    assert_non_null(strstr(text, "one=20\r\ntwo=7Fthree\r\n"));
    m.from_name = STR("Souk Inc.");
    m.subject = STR("del\x7f");
    assert_true(mail_message(&a, &m, &got));
    assert_non_null(strstr(str_cstr(&a, got), "\r\nFrom: =?UTF-8?B?U291ayBJbmMu?=\r\n <"));
    assert_non_null(strstr(str_cstr(&a, got), "\r\nSubject: =?UTF-8?B?ZGVsfw==?=\r\n"));
    arena_done(&a);
}

/* What came from somebody else cannot start a header. */
static void test_headers(void **state)
{
    (void)state;
    static const char *const nasty[] = {
        "x\r\nBcc: all@example.com",
        "x\nBcc: y",
        "x\rBcc: y",
        "Zoë – 北京",
        "=?UTF-8?B?eA==?=",
        "a subject that is far too long to stand in one line as it is, and goes on until it needs a second and third "
        "word, ÄÖÜ",
        "\xf0\x9f\x98\x80\xf0\x9f\x98\x80\xf0\x9f\x98\x80\xf0\x9f\x98\x80\xf0\x9f\x98\x80\xf0\x9f\x98\x80\xf0\x9f\x98"
        "\x80"
        "\xf0\x9f\x98\x80\xf0\x9f\x98\x80\xf0\x9f\x98\x80\xf0\x9f\x98\x80\xf0\x9f\x98\x80\xf0\x9f\x98\x80",
        "\"quoted\" <evil@example.com>",
    };
    struct arena a = {0};
    for (size_t i = 0; i < sizeof nasty / sizeof *nasty; i++) {
        struct mail m = plain;
        m.subject = m.from_name = str_from(nasty[i]);
        Str got;
        assert_true(mail_message(&a, &m, &got));
        check_form(got);
        char *text = str_cstr(&a, got);
        assert_null(strstr(text, "\nBcc"));
        char *from = strstr(text, "\r\nFrom: "), *to = strstr(text, "\r\nTo: <");
        assert_true(from && to && from < to);
        assert_null(memmem(from, (size_t)(to - from), "<evil", 5));
        assert_non_null(strstr(text, "\r\n <shop@shop.example>\r\n"));
    }
    struct mail m = plain;
    m.subject = STR("Zoë");
    Str got;
    assert_true(mail_message(&a, &m, &got));
    assert_non_null(strstr(str_cstr(&a, got), "Subject: =?UTF-8?B?Wm/Dqw==?=\r\n"));
    arena_done(&a);
}

static void test_addresses(void **state)
{
    (void)state;
    static const char *const good[] = {"a@b", "a.b+c@x.example", "o'brien@x.example", "x_y-z@sub.x.example"};
    static const char *const bad[] = {
        "",
        "a",
        "@",
        "a@",
        "@b",
        "a@b@c",
        "a b@c",
        "a@b c",
        "a@b\r\nRCPT TO:<x>",
        "a@b>",
        "<a@b",
        "a\"@b",
        "-oQ@b",
        ".a@b",
        "a@.b",
        "a@-b",
        "a@b.",
        "a,b@c",
        "a;b@c",
        "ä@b",
        "a@ä",
        "a@[127.0.0.1]",
        "a:b@c",
        "a\\@b",
        "a@b,c",
    };
    for (size_t i = 0; i < sizeof good / sizeof *good; i++)
        if (!mail_address_is_fine(str_from(good[i]))) fail_msg("refused: %s", good[i]);
    struct arena a = {0};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        if (mail_address_is_fine(str_from(bad[i]))) fail_msg("accepted: %s", bad[i]);
        struct mail m = plain;
        m.to_address = str_from(bad[i]);
        Str got;
        assert_false(mail_message(&a, &m, &got));
    }
    static const char letters[] = "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"; /* 64 */
    assert_true(mail_address_is_fine(str_printf(&a, "%s@Mail-1.Example", letters)));
    assert_false(mail_address_is_fine(str_printf(&a, "a%s@b", letters)));
    assert_false(mail_address_is_fine(str_printf(&a, "a@%s%s%s%s", letters, letters, letters, letters)));
    assert_false(mail_address_is_fine(STR("A{Z@b{c")));
    assert_false(mail_address_is_fine((Str){"a@b\0c", 5}));
    assert_false(mail_address_is_fine((Str){"a\0@b", 4}));
    arena_done(&a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_message), cmocka_unit_test(test_texts),     cmocka_unit_test(test_not_messages),
        cmocka_unit_test(test_headers), cmocka_unit_test(test_addresses),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
