/* base/text.c - see text.h. */
#include "base/text.h"

#include "base/arena.h"
#include "base/buf.h"

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}
static bool is_alpha(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

/* Unicode's White_Space past ASCII, and U+FEFF: all but two take three bytes. */
static bool is_wide_space(const unsigned char *p, size_t n)
{
    if (n == 2) return p[0] == 0xc2 && (p[1] == 0x85 || p[1] == 0xa0);
    if (n != 3) return false;
    unsigned c = (unsigned)(p[0] & 0x0f) << 12 | (unsigned)(p[1] & 0x3f) << 6 | (unsigned)(p[2] & 0x3f);
    return c == 0x1680 || (c >= 0x2000 && c <= 0x200a) || c == 0x2028 || c == 0x2029 || c == 0x202f || c == 0x205f ||
           c == 0x3000 || c == 0xfeff;
}

static bool is_ascii_space(unsigned char c)
{
    return c == ' ' || (c >= '\t' && c <= '\r');
}

/* Bytes of the white space that s starts with, or ends with; 0 when there is none. */
static size_t space_at_start(Str s)
{
    const unsigned char *p = (const unsigned char *)s.ptr;
    if (!s.len) return 0;
    if (p[0] < 0x80) return is_ascii_space(p[0]);
    size_t n = p[0] < 0xe0 ? 2 : 3;
    return s.len >= n && is_wide_space(p, n) ? n : 0;
}

static size_t space_at_end(Str s)
{
    if (!s.len) return 0;
    const unsigned char *end = (const unsigned char *)s.ptr + s.len;
    if (end[-1] < 0x80) return is_ascii_space(end[-1]);
    if (s.len >= 2 && end[-2] >= 0xc0) return is_wide_space(end - 2, 2) ? 2 : 0;
    return s.len >= 3 && (end[-3] & 0xf0) == 0xe0 && is_wide_space(end - 3, 3) ? 3 : 0;
}

Str text_trim(Str s)
{
    for (size_t n; (n = space_at_start(s));) s.ptr += n, s.len -= n;
    for (size_t n; (n = space_at_end(s));) s.len -= n;
    return s;
}

static bool no_controls(Str s, bool lines)
{
    const unsigned char *p = (const unsigned char *)s.ptr;
    for (size_t i = 0; i < s.len; i++) {
        if (p[i] < 0x20 && !(lines && (p[i] == '\t' || p[i] == '\n'))) return false;
        if (p[i] == 0x7f) return false;
        if (p[i] == 0xc2 && i + 1 < s.len && p[i + 1] < 0xa0) return false; /* U+0080 to U+009F */
    }
    return true;
}

bool text_is_line(Str s)
{
    return no_controls(s, false);
}
bool text_is_lines(Str s)
{
    return no_controls(s, true);
}

/* Labels of letters, digits and inner hyphens, 1 to 63 bytes each, joined by dots. */
static bool is_host_name(Str s, size_t labels_min)
{
    if (!s.len || s.len > 253) return false;
    size_t labels = 0;
    for (size_t i = 0; i <= s.len; i++) { /* i: start of a label */
        size_t start = i;
        while (i < s.len && s.ptr[i] != '.') {
            if (!is_alpha(s.ptr[i]) && !is_digit(s.ptr[i]) && s.ptr[i] != '-') return false;
            i++;
        }
        if (i == start || i - start > 63 || s.ptr[start] == '-' || s.ptr[i - 1] == '-') return false;
        labels++;
    }
    return labels >= labels_min;
}

static bool ends_in_number(Str host)
{
    size_t i = host.len;
    while (i && is_digit(host.ptr[i - 1])) i--;
    return !i || host.ptr[i - 1] == '.';
}

bool email_is_plausible(Str s)
{
    Str local, domain;
    if (s.len > EMAIL_BYTES_MAX || !str_cut(s, '@', &local, &domain)) return false;
    if (!local.len || local.len > 64 || local.ptr[0] == '.' || local.ptr[local.len - 1] == '.') return false;
    for (size_t i = 0; i < local.len; i++) {
        char c = local.ptr[i];
        if (c == '.' && local.ptr[i + 1] == '.') return false; /* not the last: '.' does not end it */
        if (!is_alpha(c) && !is_digit(c) && (!c || !strchr(".!#$%&'*+/=?^_`{|}~-", c))) return false;
    }
    return is_host_name(domain, 2) && !ends_in_number(domain);
}

bool slug_is_valid(Str s)
{
    if (!s.len || s.len > SLUG_BYTES_MAX || s.ptr[0] == '-' || s.ptr[s.len - 1] == '-') return false;
    for (size_t i = 0; i < s.len; i++) {
        char c = s.ptr[i];
        if (c == '-' ? s.ptr[i + 1] == '-' : !(c >= 'a' && c <= 'z') && !is_digit(c)) return false;
    }
    return true;
}

static int hex_value(char c)
{
    return is_digit(c) ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

/* RFC 3986's unreserved and reserved characters and whole escapes. */
static bool is_uri_text(Str s)
{
    for (size_t i = 0; i < s.len; i++) {
        char c = s.ptr[i];
        if (c == '%') {
            if (s.len - i < 3 || hex_value(s.ptr[i + 1]) < 0 || hex_value(s.ptr[i + 2]) < 0) return false;
        } else if (!is_alpha(c) && !is_digit(c) && (!c || !strchr("-._~:/?#[]@!$&'()*+,;=", c))) {
            return false;
        }
    }
    return true;
}

/* What stands between the brackets of an address like [::1]: form only, whether the address exists is up to the
 * network. */
static bool is_ipv6(Str s)
{
    size_t colons = 0;
    for (size_t i = 0; i < s.len; i++) {
        if (s.ptr[i] == ':')
            colons++;
        else if (hex_value(s.ptr[i]) < 0 && s.ptr[i] != '.')
            return false;
    }
    return s.len <= 45 && colons >= 2 && colons <= 8;
}

static bool is_port(Str s)
{
    int64_t port;
    return s.len <= 5 && str_to_int64(s, &port) && port >= 1 && port <= 65535;
}

bool url_is_web(Str s)
{
    if (s.len > URL_BYTES_MAX || !is_uri_text(s)) return false;
    size_t scheme = str_eq_nocase((Str){s.ptr, s.len < 8 ? s.len : 8}, STR("https://"))  ? 8
                    : str_eq_nocase((Str){s.ptr, s.len < 7 ? s.len : 7}, STR("http://")) ? 7
                                                                                         : 0;
    if (!scheme) return false;
    Str authority = {s.ptr + scheme, 0}, rest;
    while (scheme + authority.len < s.len && !strchr("/?#", authority.ptr[authority.len])) authority.len++;
    rest = (Str){authority.ptr + authority.len, s.len - scheme - authority.len};
    if (str_find(rest, '[') >= 0 || str_find(rest, ']') >= 0) return false;

    Str host = authority, port;
    if (authority.len && authority.ptr[0] == '[') {
        Str after;
        if (!str_cut((Str){authority.ptr + 1, authority.len - 1}, ']', &host, &after) || !is_ipv6(host)) return false;
        return !after.len || (after.ptr[0] == ':' && is_port((Str){after.ptr + 1, after.len - 1}));
    }
    if (str_cut(authority, ':', &host, &port) && !is_port(port)) return false;
    return is_host_name(host, 1); /* no '@' is a letter: no userinfo */
}

bool percent_decode(struct arena *a, Str s, bool plus_is_space, Str *ret)
{
    bool encoded = str_find(s, '%') >= 0 || (plus_is_space && str_find(s, '+') >= 0);
    Str text = s;
    if (encoded) {
        char *out = arena_take(a, s.len);
        text = (Str){out, 0};
        for (size_t i = 0; i < s.len; i++) {
            char c = s.ptr[i];
            if (c == '%') {
                int high = s.len - i > 2 ? hex_value(s.ptr[i + 1]) : -1, low = high < 0 ? -1 : hex_value(s.ptr[i + 2]);
                if (low < 0) return false;
                c = (char)(high << 4 | low);
                i += 2;
            } else if (c == '+' && plus_is_space) {
                c = ' ';
            }
            out[text.len++] = c;
        }
    }
    if (str_find(text, '\0') >= 0 || !utf8_valid(text)) return false;
    *ret = text;
    return true;
}

Str text_like_pattern(struct arena *a, Str s)
{
    struct buf b;
    buf_init(&b, a, 2 * s.len + 2);
    buf_char(&b, '%');
    Str low = str_lower(a, s);
    for (size_t i = 0; i < low.len; i++) {
        char c = low.ptr[i];
        if (c == '%' || c == '_' || c == '\\') buf_char(&b, '\\');
        buf_char(&b, c);
    }
    buf_char(&b, '%');
    return buf_str(&b);
}
