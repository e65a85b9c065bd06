/* page/template.c - values on their way into a page. */
#include "page/template.h"

void page_raw(struct page *p, Str s)
{
    buf_append(p->out, s);
}

void page_markup(struct page *p, struct markup m)
{
    buf_append(p->out, m.html);
}

void page_plain(struct page *p, Str s)
{
    buf_append(p->out, s);
}

static Str escape_of(char c)
{
    switch (c) {
    case '<': return STR("&lt;");
    case '>': return STR("&gt;");
    case '&': return STR("&amp;");
    case '"': return STR("&quot;");
    case '\'': return STR("&#39;");
    default: return (Str){0};
    }
}

void page_text(struct page *p, Str s)
{
    size_t from = 0;
    for (size_t i = 0; i < s.len; i++) {
        Str escaped = escape_of(s.ptr[i]);
        if (!escaped.len) continue;
        buf_append(p->out, (Str){s.ptr + from, i - from});
        buf_append(p->out, escaped);
        from = i + 1;
    }
    if (from < s.len) buf_append(p->out, (Str){s.ptr + from, s.len - from});
}

/* Browsers drop control characters and white space from addresses before they read the scheme, so both are refused.
 * Browsers read a backslash as a slash. */
bool page_url_is_fine(Str s)
{
    for (size_t i = 0; i < s.len; i++)
        if ((unsigned char)s.ptr[i] <= ' ' || s.ptr[i] == '\\' || s.ptr[i] == 0x7f) return false;
    for (size_t i = 0; i < s.len; i++) {
        if (s.ptr[i] == '/' || s.ptr[i] == '?' || s.ptr[i] == '#') return true;
        if (s.ptr[i] != ':') continue;
        Str scheme = {s.ptr, i};
        return str_eq_nocase(scheme, STR("http")) || str_eq_nocase(scheme, STR("https")) ||
               str_eq_nocase(scheme, STR("mailto")) || str_eq_nocase(scheme, STR("otpauth"));
    }
    return true;
}

void page_url(struct page *p, Str s)
{
    page_text(p, page_url_is_fine(s) ? s : STR("#"));
}

void page_component(struct page *p, Str s)
{
    for (size_t i = 0; i < s.len; i++) {
        unsigned char c = (unsigned char)s.ptr[i];
        bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
                     c == '_' || c == '.' || c == '~';
        if (plain)
            buf_char(p->out, s.ptr[i]);
        else
            buf_printf(p->out, "%%%02X", c);
    }
}

/* The end of the script, and characters that some readers take for line ends, are written as escapes. */
void page_json(struct page *p, Str s)
{
    buf_char(p->out, '"');
    for (size_t i = 0; i < s.len; i++) {
        unsigned char c = (unsigned char)s.ptr[i];
        bool is_separator = c == 0xe2 && i + 2 < s.len && (unsigned char)s.ptr[i + 1] == 0x80 &&
                            ((unsigned char)s.ptr[i + 2] & 0xfe) == 0xa8;
        if (is_separator) {
            buf_printf(p->out, "\\u20%02x", 0x28 + ((unsigned char)s.ptr[i + 2] & 1));
            i += 2;
        } else if (c < 0x20 || c == '<' || c == '>' || c == '&' || c == '"' || c == '\\' || c == 0x7f) {
            buf_printf(p->out, "\\u%04x", c);
        } else {
            buf_char(p->out, s.ptr[i]);
        }
    }
    buf_char(p->out, '"');
}

void page_json_bool(struct page *p, bool b)
{
    buf_append(p->out, b ? STR("true") : STR("false"));
}

void page_json_int(struct page *p, int64_t n)
{
    buf_int(p->out, n);
}
