/* tests/unit/test_mail_text.c - texts of mails: what may stand in them, and both parts written from one tree. */
#include "unit.h"

#include "page/mail_text.h"
#include "page/words.h"

static struct arena arena;
static struct mail_parts parts;
static const struct mail_look look = {
    .store = S("Shop & Co"), .base_url = S("https://shop.example"), .accent = S("#ffcc00")};

static int clean(void **state)
{
    (void)state;
    arena_done(&arena);
    return 0;
}

static void render(const char *body, const struct mail_values *v)
{
    struct mail_text t = {.subject = STR("Re: {{subject}}"), .body = str_from(body)};
    mail_text_render(&arena, LANG_en, MAIL_ticket_answered, &t, v, &look, &parts);
}

/* What stands before the foot. */
static Str text_body(void)
{
    char *end = memmem(parts.text.ptr, parts.text.len, "\n-- \n", 5);
    assert_non_null(end);
    return (Str){parts.text.ptr, (size_t)(end - parts.text.ptr)};
}

static bool has(Str s, const char *what)
{
    return memmem(s.ptr, s.len, what, strlen(what)) != NULL;
}

static void values_stay_text(void **state)
{
    (void)state;
    struct mail_values v = {0};
    v.of[PARAM_subject] = STR("**x** [a](javascript:1)\r\nBcc: y <b>&amp;\n# {{link}}");
    v.of[PARAM_link] = STR("https://shop.example/a?b=1&c=2");
    render("Hi {{ subject }}!\n\n{{link}}\n\n[*see*]({{link}}) or `{{subject}}`\n", &v);
    assert_str(parts.subject, "Re: **x** [a](javascript:1)  Bcc: y <b>&amp; # {{link}}");
    assert_true(
        has(parts.html, "<p>Hi **x** [a](javascript:1)<br />\nBcc: y &lt;b&gt;&amp;amp;<br />\n# {{link}}!</p>"));
    assert_true(
        has(parts.html, "<a href=\"https://shop.example/a?b=1&amp;c=2\">https://shop.example/a?b=1&amp;c=2</a>"));
    assert_true(has(parts.html, "<a href=\"https://shop.example/a?b=1&amp;c=2\"><em>see</em></a>"));
    assert_false(has(parts.html, "<b>&"));
    assert_true(has(text_body(),
                    "Hi **x** [a](javascript:1)\nBcc: y <b>&amp;\n# {{link}}!\n\nhttps://shop.example/a?b=1&c=2\n\n"));
    assert_true(has(text_body(), "see (https://shop.example/a?b=1&c=2) or "));
}

static void empty_values_take_their_paragraph(void **state)
{
    (void)state;
    struct mail_values v = {0};
    v.of[PARAM_answer] = STR("yes");
    render("Hello {{name}},\n\n- {{answer}}\n- {{subject}}\n\n> [go]({{link}})\n\n1. {{link}}\n\nEnd\n", &v);
    assert_str(text_body(), "- yes\n\nEnd\n");
    assert_false(has(parts.html, "<blockquote>"));
    assert_false(has(parts.html, "<ol>"));
}

static void text_part(void **state)
{
    (void)state;
    struct mail_values v = {0};
    v.of[PARAM_answer] = STR("one\n\ntwo");
    render("# Title\n\nsoft\nbreak, **bold** and `code`\n\n> {{answer}}\n>\n> more\n\n1. a\n2. b\n\n   c\n\n"
           "```\nblock\n```\n\n---\n\n"
           "[Terms](/page/terms)\n\n![alt](https://evil.example/x.png) <script>x</script>\n",
           &v);
    assert_str(text_body(),
               "Title\n\nsoft break, bold and code\n\n> one\n>\n> two\n>\n> more\n\n1. a\n\n2. b\n\n   c\n\n    "
               "block\n\n---\n\nTerms:\nhttps://shop.example/page/terms\n\nalt <script>x</script>\n");
    assert_false(has(parts.html, "<img"));
    assert_false(has(parts.html, "<script"));
    assert_false(has(parts.html, "evil.example"));
    assert_true(has(parts.html, "<a href=\"https://shop.example/page/terms\">Terms</a>"));
    assert_true(has(parts.html, "bgcolor=\"#ffcc00\""));
    assert_true(has(parts.html, "color=\"#000000\"><b>Shop &amp; Co</b>"));
    assert_true(has(parts.text, "This message was sent by Shop & Co.\nhttps://shop.example/\n"));
}

static void lists(void **state)
{
    (void)state;
    struct mail_values v = {0};
    struct mail_text t = {.subject = STR("s"), .body = STR("You bought:\n\n{{items}}\n\nBye\n")};
    v.of[PARAM_items] = STR("*2 × *Editor*\n=KEY-1\n=KEY-2\n@https://shop.example/d Get it\n*\n*<b>\n");
    mail_text_render(&arena, LANG_de, MAIL_order, &t, &v, &look, &parts);
    assert_str(
        text_body(),
        "You bought:\n\n- 2 × *Editor*\n  - KEY-1\n  - KEY-2\n  - Get it: https://shop.example/d\n- <b>\n\nBye\n");
    assert_true(has(parts.html, "<li>2 × *Editor*\n<ul>\n<li><code>KEY-1</code></li>"));
    assert_true(has(parts.html, "<li>&lt;b&gt;</li>"));
    assert_true(has(parts.html, "lang=\"de\""));
}

static void check(const char *text, bool is_subject, enum mail_fault want, const char *name)
{
    Str got;
    enum mail_fault fault = mail_text_check(&arena, MAIL_order, str_from(text), is_subject, &got);
    if (fault != want) fail_msg("%s: %d, not %d", text, fault, want);
    assert_str(got, name);
}

static void faults(void **state)
{
    (void)state;
    check("{{number}} {{ total }} {x}", true, MAIL_FAULT_NONE, "");
    check("", false, MAIL_FAULT_NONE, "");
    check("{{nubmer}}", true, MAIL_FAULT_PARAM, "nubmer");
    check("x {{answer}}", false, MAIL_FAULT_PARAM, "answer");
    check("{{}}", false, MAIL_FAULT_PARAM, "");
    check("{{number", false, MAIL_FAULT_BRACE, "");
    check("number}} {{total}}", false, MAIL_FAULT_BRACE, "");
    check("{{number\n}}", false, MAIL_FAULT_BRACE, "");
    check("{{items}}", true, MAIL_FAULT_PLACE, "items");
    check("a {{items}}", false, MAIL_FAULT_PLACE, "items");
    check("**{{items}}**", false, MAIL_FAULT_PLACE, "items");
    check("    {{items}}", false, MAIL_FAULT_PLACE, "items");
    check("a\n\n{{ items }}\n\nb", false, MAIL_FAULT_NONE, "");
    check("> {{items}}", false, MAIL_FAULT_NONE, "");
    check("[x]({{number}})", false, MAIL_FAULT_PLACE, "number");
    check("[x]({{link}})", false, MAIL_FAULT_NONE, "");
    check("\356\200\200", false, MAIL_FAULT_NONE, "");
    check("\356\201\200 \356\200\277 \356\200", false, MAIL_FAULT_NONE, "");
    check("{{a{{number}}", false, MAIL_FAULT_BRACE, "");
    check("{{number} }}", false, MAIL_FAULT_PARAM, "number}");
}

/* Every text that comes with the program is one that could be saved, and shows its samples. */
static void defaults(void **state)
{
    (void)state;
    for (int lang = 0; lang < LANG_COUNT; lang++)
        for (int kind = 0; kind < MAIL_KIND_COUNT; kind++) {
            const struct mail_text *t = &mail_defaults[lang][kind];
            struct mail_values v;
            Str name;
            assert_int_equal(mail_text_check(&arena, (enum mail_kind)kind, t->subject, true, &name), MAIL_FAULT_NONE);
            assert_int_equal(mail_text_check(&arena, (enum mail_kind)kind, t->body, false, &name), MAIL_FAULT_NONE);
            mail_samples((enum mail_kind)kind, &v);
            mail_text_render(&arena, (enum lang)lang, (enum mail_kind)kind, t, &v, &look, &parts);
            assert_true(parts.subject.len && !has(parts.subject, "{{"));
            assert_false(has(parts.text, "{{"));
            assert_false(has(parts.html, "{{"));
        }
}

/* A subject is one line of at most 400 bytes, cut between characters. */
static void subjects(void **state)
{
    (void)state;
    struct mail_values v = {0};
    char text[600];
    memset(text, 'x', sizeof text);
    v.of[PARAM_subject] = (Str){text, sizeof text};
    Str cut = mail_subject(&arena, MAIL_ticket_answered, STR("{{subject}} {{items}} {{nothing}}"), &v);
    size_t most = cut.len;
    assert_true(most > 100 && most < sizeof text);
    memcpy(text + most - 1, "\303\244", 2);
    assert_int_equal(mail_subject(&arena, MAIL_ticket_answered, STR("{{subject}}"), &v).len, most - 1);
    v.of[PARAM_subject] = STR("s");
    assert_str(mail_subject(&arena, MAIL_ticket_answered, STR("{{subject}} {{items}} {{nothing}}"), &v),
               "s {{items}} {{nothing}}");
}

/* Markup that stands where none is needed: links in links, addresses of the shop and of others, raw HTML. */
static void odd_markup(void **state)
{
    (void)state;
    struct mail_values v = {0};
    v.of[PARAM_link] = STR("https://shop.example/a");
    v.of[PARAM_subject] = STR("s");
    render("[{{link}}]({{link}}) [o](//other.example/x) [h](/help) ![p](/media/p.png)\n\n<div>{{subject}}</div>\n\n"
           "## [x](/y)\n\n- [](/empty)\n",
           &v);
    assert_true(has(parts.html, "<a href=\"https://shop.example/a\">https://shop.example/a</a>"));
    assert_true(has(parts.html, "href=\"//other.example/x\""));
    assert_true(has(parts.html, "href=\"https://shop.example/help\""));
    assert_false(has(parts.html, "<div>s") || has(parts.html, "<img"));
    render("![](javascript:1)\n\nx\n", &v); /* nothing is left of the first paragraph */
    assert_true(has(text_body(), "x\n"));
    struct mail_text t = {.subject = STR("s"), .body = STR("{{items}}\n")};
    struct mail_values list = {0};
    list.of[PARAM_items] = STR("=KEY-ALONE\n");
    mail_text_render(&arena, LANG_en, MAIL_order, &t, &list, &look, &parts);
    assert_true(has(parts.text, "- KEY-ALONE"));
}

/* Whatever is typed: it ends, and no markup comes out that the renderer does not write. */
static void deep(void **state)
{
    (void)state;
    struct buf b;
    struct mail_values v = {0};
    v.of[PARAM_subject] = STR("s");
    for (int i = 0; i < 4; i++) {
        buf_init(&b, &arena, SIZE_MAX);
        const Str begin[] = {STR("> "), STR("- "), STR("*_["), STR("*a _b ")}, end[] = {{0}, {0}, {0}, STR("_*")};
        for (int n = 0; n < 3000; n++) buf_append(&b, begin[i]);
        buf_lit(&b, "{{subject}}");
        for (int n = 0; n < 3000; n++) buf_append(&b, end[i]);
        buf_char(&b, '\0');
        render(b.ptr, &v);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(values_stay_text, clean),
        cmocka_unit_test_setup(empty_values_take_their_paragraph, clean),
        cmocka_unit_test_setup(text_part, clean),
        cmocka_unit_test_setup(lists, clean),
        cmocka_unit_test_setup(subjects, clean),
        cmocka_unit_test_setup(odd_markup, clean),
        cmocka_unit_test_setup(faults, clean),
        cmocka_unit_test_setup(defaults, clean),
        cmocka_unit_test_setup(deep, clean),
    };
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    arena_done(&arena);
    return failed;
}
