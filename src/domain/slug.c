/* domain/slug.c - see slug.h. */
#include "domain/slug.h"

#include <assert.h>
#include <stdint.h>

#include "base/buf.h"

/* The plain letter of U+00C0 … U+017F, one per code point; a space for the two signs among them. */
static const char latin[] = "aaaaaaaceeeeiiiidnooooo ouuuuyts"
                            "aaaaaaaceeeeiiiidnooooo ouuuuyty"
                            "aaaaaaccccccccddddeeeeeeeeeegggggggghhhhiiiiiiiiiiiijjkkkllllllllllnnnnnnnnnoooooooorrrrrr"
                            "ssssssssttttttuuuuuuuuuuuuwwyyyzzzzzzs";
static_assert(sizeof latin - 1 == 0x180 - 0xc0, "one letter per code point");

/* The letter or digit for the character at s, or 0; *ret_bytes is its length. */
static char plain(Str s, size_t *ret_bytes)
{
    unsigned char c = (unsigned char)s.ptr[0];
    *ret_bytes = c < 0x80 ? 1 : c < 0xe0 ? 2 : c < 0xf0 ? 3 : 4;
    if (*ret_bytes > s.len) *ret_bytes = s.len;
    if ((c >= '0' && c <= '9') || (c >= 'a' && c <= 'z')) return (char)c;
    if (c >= 'A' && c <= 'Z') return (char)(c - 'A' + 'a');
    if (c < 0xc3 || c > 0xc5 || s.len < 2) return 0;
    unsigned code = (c & 0x1fu) << 6 | ((unsigned char)s.ptr[1] & 0x3fu);
    return latin[code - 0xc0] == ' ' ? 0 : latin[code - 0xc0]; /* those three bytes begin U+00C0 to U+017F */
}

static Str without_dashes_at_end(Str s)
{
    while (s.len && s.ptr[s.len - 1] == '-') s.len--;
    return s;
}

Str slug_from_name(struct arena *a, Str name)
{
    struct buf b;
    buf_init(&b, a, SLUG_BYTES_MAX);
    bool gap = false;
    while (name.len) {
        size_t bytes;
        char c = plain(name, &bytes);
        /* "Bob's" is one word, not two. */
        bool is_apostrophe = name.ptr[0] == '\'' || str_starts(name, STR("\u2019"));
        if (c) {
            if (gap && b.len) buf_char(&b, '-');
            buf_char(&b, c);
            gap = false;
        } else if (!is_apostrophe) {
            gap = true;
        }
        name = (Str){name.ptr + bytes, name.len - bytes};
    }
    Str slug = without_dashes_at_end(buf_str(&b));
    return slug.len ? slug : STR("product");
}

Str slug_numbered(struct arena *a, Str slug, int number)
{
    const size_t room = SLUG_BYTES_MAX - sizeof "-2147483647" + 1;
    if (slug.len > room) slug = without_dashes_at_end((Str){slug.ptr, room});
    return str_printf(a, "%.*s-%d", STR_FMT(slug), number);
}
