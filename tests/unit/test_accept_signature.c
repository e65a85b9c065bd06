/* tests/unit/test_accept_signature.c - which signatures a caller can ask for. */
#include "unit.h"

#include <stdlib.h>

#include "api/v1/accept_signature.h"

static struct arena arena;

static int empty_arena(void **state)
{
    (void)state;
    arena_done(&arena);
    return 0;
}

static struct wanted_signature take(const char *field)
{
    struct wanted_signature w = {0};
    if (!accept_signature_read(&arena, str_from(field), STR("our-key"), &w)) fail_msg("ignored: %s", field);
    return w;
}

static void takes_what_it_can_give(void **state)
{
    (void)state;
    struct wanted_signature w = take("sig1=(\"@status\" \"content-digest\");created;keyid=\"our-key\";nonce=\"abc\"");
    assert_str(w.label, "sig1");
    assert_str(w.nonce, "abc");
    assert_false(w.expires);

    assert_str(take("s=()").label, "s");
    assert_str(take("*a_b-c.d*9=( \"content-digest\"   \"@status\"  )").label, "*a_b-c.d*9");
    w = take("x=();  nonce=\"a\\\"b\\\\c\";tag=\"app\";alg=\"ed25519\";created=?1;expires");
    assert_str(w.nonce, "a\"b\\c");
    assert_str(w.tag, "app");
    assert_true(w.expires);
    assert_str(take("s=();nonce=\"a\";nonce=\"b\"").nonce, "b"); /* of one name the last counts: RFC 8941 */
    assert_int_equal(take("s=();nonce=\"\"").nonce.len, 0);
}

static void passes_over_what_it_can_not(void **state)
{
    (void)state;
    static const char *const others[] = {"a=(\"@method\")",
                                         "a=(\"@status\";req)",
                                         "a=(\"content-digest\" \"date\")",
                                         "a=();keyid=\"another\"",
                                         "a=();alg=\"rsa-pss-sha512\"",
                                         "a=();created=5",
                                         "a=();created=?0",
                                         "a=();expires=1.5",
                                         "a=();nonce=5",
                                         "a=();nonce=:YQ==:",
                                         "a=();tag=word",
                                         "a=();other",
                                         "a",
                                         "a;b=1",
                                         "a=1",
                                         "a=word;x",
                                         "a=\"text\"",
                                         "a=:YQ==:",
                                         "a=?1",
                                         "a=(1 2)",
                                         "a=-12.345",
                                         "a=999999999999999",
                                         "a=*t0ken",
                                         "a=(\"content-digest\";sf)",
                                         "a=(\"content-digest\";req=1)",
                                         "a=();keyid=5",
                                         "a=();alg=ed25519",
                                         "a=:MTIz0Z==:"};
    struct wanted_signature w;
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        if (accept_signature_read(&arena, str_from(others[i]), STR("our-key"), &w)) fail_msg("taken: %s", others[i]);
        Str two = str_printf(&arena, "%s ,\t good=();nonce=\"n\"", others[i]);
        if (!accept_signature_read(&arena, two, STR("our-key"), &w)) fail_msg("stopped at: %s", others[i]);
        assert_str(w.label, "good");
        assert_str(w.nonce, "n");
    }
    assert_str(take("first=(), second=()").label, "first");
    char longest[600];
    memset(longest, 'n', sizeof longest);
    Str field = str_printf(&arena, "a=();nonce=\"%.*s\"", 512, longest);
    assert_true(accept_signature_read(&arena, field, STR("our-key"), &w));
    field = str_printf(&arena, "a=();nonce=\"%.*s\"", 513, longest);
    assert_false(accept_signature_read(&arena, field, STR("our-key"), &w));
    field = str_printf(&arena, "a=();tag=\"%.*s\"", 513, longest);
    assert_false(accept_signature_read(&arena, field, STR("our-key"), &w));
    field = str_printf(&arena, "%.*s=()", 65, longest);
    assert_false(accept_signature_read(&arena, field, STR("our-key"), &w));
}

/* A field that does not parse is ignored as a whole, whatever its first member says. */
static void ignores_what_does_not_parse(void **state)
{
    (void)state;
    static const char *const broken[] = {"",
                                         " ",
                                         ",",
                                         "A=()",
                                         "1=()",
                                         "=()",
                                         "a=(",
                                         "a=)",
                                         "a=()x",
                                         "a=(\"@status\"\"content-digest\")",
                                         "a=();",
                                         "a=();nonce=",
                                         "a=();nonce=\"x",
                                         "a=();nonce=\"\\x\"",
                                         "a=();nonce=\"\x01\"",
                                         "a=();nonce=\"\xc3\xa4\"",
                                         "a=();Nonce=\"x\"",
                                         "a=(),",
                                         "a=(),,b=()",
                                         "a=() b=()",
                                         "a=();created=?2",
                                         "a=:YQ==",
                                         "a=1234567890123456",
                                         "a=1.",
                                         "a=1.2345",
                                         "a=1234567890123.1",
                                         "a=--1",
                                         "a=(\"x\" ",
                                         "a=(a b",
                                         "a=()\n",
                                         "a=\"\x7f\"",
                                         "a=(();x)",
                                         "a=(\"content-digest\";1)",
                                         "a=word{",
                                         "a=WORD[",
                                         "a{=1"};
    struct wanted_signature w;
    for (size_t i = 0; i < sizeof broken / sizeof *broken; i++) {
        if (accept_signature_read(&arena, str_from(broken[i]), STR("our-key"), &w)) fail_msg("taken: %s", broken[i]);
        Str two = str_printf(&arena, "good=(), %s", broken[i]);
        if (accept_signature_read(&arena, two, STR("our-key"), &w)) fail_msg("taken behind a good one: %s", broken[i]);
    }
    assert_false(accept_signature_read(&arena, (Str){0}, STR("our-key"), &w));
}

/* Never reads past the end: every beginning of a good field, each in memory of its own. */
static void stops_at_the_end(void **state)
{
    (void)state;
    static const char field[] =
        "a=(\"@status\" \"content-digest\");created;nonce=\"x\\\\y\";tag=\"t\", b=:YQ==:;c=?1;d=-1.5;e=w/o, c=()";
    for (size_t n = 0; n < sizeof field; n++) {
        char *copy = malloc(n + 1);
        assert_non_null(copy);
        memcpy(copy, field, n);
        struct wanted_signature w;
        accept_signature_read(&arena, (Str){copy, n}, STR("our-key"), &w);
        free(copy);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(takes_what_it_can_give, empty_arena),
        cmocka_unit_test_teardown(passes_over_what_it_can_not, empty_arena),
        cmocka_unit_test_teardown(ignores_what_does_not_parse, empty_arena),
        cmocka_unit_test_teardown(stops_at_the_end, empty_arena),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
