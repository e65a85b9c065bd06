/* tests/fuzz/fuzz_mail.c - texts of mails as a merchant writes them, with values as a customer chooses them.
 *
 * The first byte picks the kind, the second the language. Subject, body and the value of every parameter follow, each
 * up to a NUL; a value that is missing is a hostile one. */
#include "fuzz.h"

#include "page/mail_text.h"

#define HOSTILE "<script>\"'&{{store}}\r\nBcc: x](javascript:1) \xee\x80\x80"

static Str next_part(Str *rest)
{
    Str part = *rest, after = {0};
    str_cut(*rest, '\0', &part, &after);
    *rest = after;
    return part;
}

static bool has(Str in, const char *what)
{
    size_t n = strlen(what);
    for (size_t i = 0; i + n <= in.len; i++)
        if (!memcmp(in.ptr + i, what, n)) return true;
    return false;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 2) return 0;
    struct arena a = {0};
    enum mail_kind kind = (enum mail_kind)(data[0] % MAIL_KIND_COUNT);
    enum lang lang = (enum lang)(data[1] % LANG_COUNT);
    Str rest = {(const char *)data + 2, size - 2}, name;
    if (!utf8_valid(rest)) return 0; /* bodies of requests are */
    struct mail_text text = {.subject = next_part(&rest), .body = next_part(&rest)};
    bool subject_fits = mail_text_check(&a, kind, text.subject, true, &name) == MAIL_FAULT_NONE;
    bool body_fits = mail_text_check(&a, kind, text.body, false, &name) == MAIL_FAULT_NONE;
    if (subject_fits && body_fits) {
        struct mail_values values;
        struct mail_parts parts;
        struct mail_look look = {.store = STR(HOSTILE), .base_url = STR("https://shop.example")};
        for (size_t i = 0; i < MAIL_PARAM_COUNT; i++) {
            Str given = next_part(&rest);
            values.of[i] = given.len ? given : STR(HOSTILE);
        }
        mail_text_render(&a, lang, kind, &text, &values, &look, &parts);
        MUST(!has(parts.html, "<script") && !has(parts.html, "=\"javascript:"));
        MUST(utf8_valid(parts.html) && utf8_valid(parts.text) && utf8_valid(parts.subject));
        for (size_t i = 0; i < parts.subject.len; i++) MUST((unsigned char)parts.subject.ptr[i] >= ' ');
    }
    arena_done(&a);
    return 0;
}
