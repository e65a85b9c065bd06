/* tests/fuzz/fuzz_markdown.c - whatever the Markdown: no tag but those of CommonMark, no address but the allowed ones.
 */
#include "fuzz.h"

#include "page/markdown.h"

static bool is_one_of(Str name, const char *const *list)
{
    for (; *list; list++)
        if (str_eq(name, str_from(*list))) return true;
    return false;
}

static Str up_to(Str s, const char *ends)
{
    size_t n = 0;
    while (n < s.len && !strchr(ends, s.ptr[n])) n++;
    return (Str){s.ptr, n};
}

/* A tag, from its name on: a known one, without attributes that run or lead anywhere else. */
static void check_tag(Str tag)
{
    static const char *const names[] = {"p",  "h2", "h3",   "h4",  "h5", "h6", "em",  "strong",     "a", "ul",
                                        "ol", "li", "code", "pre", "hr", "br", "img", "blockquote", NULL};
    if (tag.len && tag.ptr[0] == '/') tag = (Str){tag.ptr + 1, tag.len - 1};
    MUST(is_one_of(up_to(tag, " >/"), names));
    for (size_t i = 0; i + 6 < tag.len; i++) {
        Str rest = {tag.ptr + i, tag.len - i};
        bool is_address = str_starts(rest, STR(" href=\"")) || str_starts(rest, STR(" src=\""));
        if (!is_address) continue;
        Str before, value;
        str_cut(rest, '"', &before, &value);
        MUST(page_url_is_fine(up_to(value, "\"")));
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct arena arena = {0};
    Str source = {(const char *)data, size};
    struct markup m = markdown_render(&arena, source);
    for (size_t i = 0; i < m.html.len; i++) {
        if (m.html.ptr[i] != '<') continue;
        Str tag = up_to((Str){m.html.ptr + i + 1, m.html.len - i - 1}, ">");
        check_tag(tag);
        i += tag.len;
    }
    Str summary = markdown_summary(&arena, source, 160);
    MUST(summary.len <= 160);
    if (utf8_valid(source)) MUST(utf8_valid(summary));
    arena_done(&arena);
    return 0;
}
