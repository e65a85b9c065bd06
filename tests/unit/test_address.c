/* Addresses that calls, events and mails go to: which are taken, and which of them are private. */
#include "gateway.h"

#include <arpa/inet.h>
#include <netinet/in.h>

#include "outbound/address.h"
#include "outbound/http_call.h"
#include "outbound/outbound.h"

#define LABEL50 "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa."
#define LABEL250 LABEL50 LABEL50 LABEL50 LABEL50 LABEL50

struct wanted {
    const char *url;
    bool fine, names_private;
};

static void check(bool (*parse)(Str, struct base_address *), const struct wanted *wants, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        struct base_address at;
        if (parse(str_from(wants[i].url), &at) != wants[i].fine) fail_msg("%s", wants[i].url);
        if (wants[i].fine && at.names_private != wants[i].names_private) fail_msg("private? %s", wants[i].url);
    }
}

static void bases(void **state)
{
    (void)state;
    static const struct wanted wants[] = {
        {"https://X-Y.Example/a.b/c-d", true, false},
        {"https://x.example/a/.b", false, false},
        {"https://x.example/a\x7f", false, false},
        {"https://x.example/%2e", false, false},
        {"https://" LABEL250 "abc", true, false},
        {"https://" LABEL250 "abcd", false, false},
        {"https://x.example:123456", false, false},
        {"https://x.example:8o", false, false},
        {"https://[::1", false, false},
        {"https://[::1}", false, false},
        {"https://x{y.example", false, false},
        {"https://[not.an.address]", true, false},
        {"https://[1111:2222:3333:4444:5555:6666:7777:8888:9999:aaaa]", true, false},
        {"https://a-very-long-name-that-is-longer-than-an-address-in-digits.lan", true, true},
        {"https://.lan", true, false},
    };
    check(base_address_parse, wants, sizeof wants / sizeof *wants);
}

/* Where events may be sent: a path and a query are the merchant's own matter. */
static void hooks(void **state)
{
    (void)state;
    static const struct wanted wants[] = {
        {"https://x.example", true, false},        {"https://x.example/a/?b=%20c", true, false},
        {"https://x.example?b", true, false},      {"http://10.0.0.1/a", true, true},
        {"ftp://x.example", false, false},         {"https://", false, false},
        {"https://x.example#a", false, false},     {"https://x.example/a#b", false, false},
        {"https://x.example/a b", false, false},   {"https://x.example/a\x7f", false, false},
        {"https://x.example/{a}", false, false},   {"https://x.example:99999/", false, false},
        {"https://user@x.example/", false, false},
    };
    check(hook_address_parse, wants, sizeof wants / sizeof *wants);
    assert_true(webhook_url_is_fine(STR("https://x.example/a"), false));
    assert_false(webhook_url_is_fine(STR("http://x.example/a"), false));
    assert_false(webhook_url_is_fine(STR("https://10.0.0.1/a"), false));
    assert_true(webhook_url_is_fine(STR("http://10.0.0.1/a"), true));
    assert_false(webhook_url_is_fine(STR("gopher://x.example/a"), true));
}

static void mail_servers(void **state)
{
    (void)state;
    static const struct wanted wants[] = {
        {"smtp://mail.example:587", true, false},
        {"smtps://mail.example", true, false},
        {"smtp://localhost", true, true},
        {"http://mail.example", false, false},
        {"smtp://", false, false},
        {"smtp://mail.example/x", false, false},
        {"smtp://u@mail.example", false, false},
    };
    check(mail_address_parse, wants, sizeof wants / sizeof *wants);
}

/* What a name was resolved to. Whatever is not known is private. */
static void sockets(void **state)
{
    (void)state;
    struct sockaddr_in in = {.sin_family = AF_INET};
    struct sockaddr_in6 in6 = {.sin6_family = AF_INET6};
    struct sockaddr other = {.sa_family = AF_UNIX};
    assert_int_equal(inet_pton(AF_INET, "8.8.8.8", &in.sin_addr), 1);
    assert_int_equal(inet_pton(AF_INET6, "2606:4700::1", &in6.sin6_addr), 1);
    assert_false(address_is_private((struct sockaddr *)&in, sizeof in));
    assert_true(address_is_private((struct sockaddr *)&in, sizeof in - 1));
    assert_false(address_is_private((struct sockaddr *)&in6, sizeof in6));
    assert_true(address_is_private((struct sockaddr *)&in6, sizeof in6 - 1));
    assert_true(address_is_private(&other, sizeof other));
    assert_int_equal(inet_pton(AF_INET6, "2001:db8::1", &in6.sin6_addr), 1);
    assert_false(address_is_private((struct sockaddr *)&in6, sizeof in6));
}

static void words_in_addresses(void **state)
{
    (void)state;
    char text[129];
    memset(text, 'a', sizeof text);
    assert_true(ref_is_safe((Str){text, 128}));
    assert_false(ref_is_safe((Str){text, 129}));
    assert_true(ref_is_safe(STR("aZ09_-")));
    assert_false(ref_is_safe(STR("a{b")));
    assert_false(ref_is_safe(STR("a.b")));
    assert_false(ref_is_safe((Str){0}));
    struct arena a = {0};
    struct buf form;
    buf_init(&form, &a, 100);
    form_pair_int(&form, STR("n"), -7);
    form_pair(&form, STR("t"), STR("a b"));
    assert_str(buf_str(&form), STR("n=-7&t=a%20b"));
    arena_done(&a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bases),
        cmocka_unit_test(hooks),
        cmocka_unit_test(mail_servers),
        cmocka_unit_test(sockets),
        cmocka_unit_test(words_in_addresses),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
