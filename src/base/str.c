/* base/str.c - see str.h. */
#include "base/str.h"

#include <stdarg.h>
#include <stdio.h>

#include "base/arena.h"

static char lower(char c)
{
    return c >= 'A' && c <= 'Z' ? (char)(c + 32) : c;
}
static char upper(char c)
{
    return c >= 'a' && c <= 'z' ? (char)(c - 32) : c;
}

bool str_eq_nocase(Str a, Str b)
{
    if (a.len != b.len) return false;
    for (size_t i = 0; i < a.len; i++)
        if (a.ptr[i] != b.ptr[i] && lower(a.ptr[i]) != lower(b.ptr[i])) return false;
    return true;
}

bool str_starts(Str s, Str prefix)
{
    return s.len >= prefix.len && (prefix.len == 0 || memcmp(s.ptr, prefix.ptr, prefix.len) == 0);
}

bool str_ends(Str s, Str suffix)
{
    return s.len >= suffix.len && (suffix.len == 0 || memcmp(s.ptr + s.len - suffix.len, suffix.ptr, suffix.len) == 0);
}

ptrdiff_t str_find(Str s, char c)
{
    const char *p = s.len ? memchr(s.ptr, c, s.len) : NULL;
    return p ? p - s.ptr : -1;
}

bool str_cut(Str s, char c, Str *head, Str *tail)
{
    ptrdiff_t i = str_find(s, c);
    if (i < 0) return false;
    *head = (Str){s.ptr, (size_t)i};
    *tail = (Str){s.ptr + i + 1, s.len - (size_t)i - 1};
    return true;
}

static bool is_space(char c)
{
    return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

Str str_trim(Str s)
{
    while (s.len && is_space(s.ptr[0])) s.ptr++, s.len--;
    while (s.len && is_space(s.ptr[s.len - 1])) s.len--;
    return s;
}

int str_choice(Str s, const char *const *words)
{
    for (int i = 0; words[i]; i++)
        if (str_eq(s, str_from(words[i]))) return i;
    return -1;
}

char *str_cstr(struct arena *a, Str s)
{
    char *p = arena_alloc(a, s.len + 1);
    if (s.len) memcpy(p, s.ptr, s.len);
    return p;
}

Str str_dup(struct arena *a, Str s)
{
    return (Str){str_cstr(a, s), s.len};
}

Str str_lower(struct arena *a, Str s)
{
    char *p = arena_alloc(a, s.len + 1);
    for (size_t i = 0; i < s.len; i++) p[i] = lower(s.ptr[i]);
    return (Str){p, s.len};
}

Str str_upper(struct arena *a, Str s)
{
    char *p = arena_alloc(a, s.len + 1);
    for (size_t i = 0; i < s.len; i++) p[i] = upper(s.ptr[i]);
    return (Str){p, s.len};
}

Str str_printf(struct arena *a, const char *fmt, ...)
{
    va_list args, again;
    va_start(args, fmt);
    va_copy(again, args);
    int n = vsnprintf(NULL, 0, fmt, args);
    va_end(args);
    Str s = {0};
    if (n >= 0) {
        char *p = arena_alloc(a, (size_t)n + 1);
        vsnprintf(p, (size_t)n + 1, fmt, again);
        s = (Str){p, (size_t)n};
    }
    va_end(again);
    return s;
}

bool str_to_int64(Str s, int64_t *ret)
{
    bool negative = s.len && s.ptr[0] == '-';
    size_t i = negative;
    if (i == s.len) return false;
    int64_t v = 0;
    for (; i < s.len; i++) {
        if (s.ptr[i] < '0' || s.ptr[i] > '9') return false;
        int digit = s.ptr[i] - '0';
        if (__builtin_mul_overflow(v, 10, &v) || __builtin_add_overflow(v, negative ? -digit : digit, &v)) return false;
    }
    *ret = v;
    return true;
}

/* Table 3-7 of the Unicode standard. */
size_t utf8_step(const char *text, size_t left)
{
    const unsigned char *p = (const unsigned char *)text;
    unsigned char c = p[0];
    if (c < 0x80) return 1;
    size_t n = c >= 0xc2 && c <= 0xdf ? 2 : c >= 0xe0 && c <= 0xef ? 3 : c >= 0xf0 && c <= 0xf4 ? 4 : 0;
    if (!n || left < n) return 0;
    unsigned char low = c == 0xe0 ? 0xa0 : c == 0xf0 ? 0x90 : 0x80;
    unsigned char high = c == 0xed ? 0x9f : c == 0xf4 ? 0x8f : 0xbf;
    if (p[1] < low || p[1] > high) return 0;
    for (size_t i = 2; i < n; i++)
        if (p[i] < 0x80 || p[i] > 0xbf) return 0;
    return n;
}

bool utf8_valid(Str s)
{
    for (size_t i = 0; i < s.len;) {
        size_t n = utf8_step(s.ptr + i, s.len - i);
        if (!n) return false;
        i += n;
    }
    return true;
}

size_t utf8_count(Str s)
{
    size_t n = 0;
    for (size_t i = 0; i < s.len; i++) n += ((unsigned char)s.ptr[i] & 0xc0) != 0x80;
    return n;
}

Str hex_encode(struct arena *a, const void *bytes, size_t n)
{
    static const char digits[] = "0123456789abcdef";
    char *p = arena_alloc(a, 2 * n + 1);
    for (size_t i = 0; i < n; i++) {
        unsigned char b = ((const unsigned char *)bytes)[i];
        p[2 * i] = digits[b >> 4];
        p[2 * i + 1] = digits[b & 15];
    }
    return (Str){p, 2 * n};
}

static int hex_digit(char c)
{
    return c >= '0' && c <= '9'   ? c - '0'
           : c >= 'a' && c <= 'f' ? c - 'a' + 10
           : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                  : -1;
}

bool hex_decode(Str s, void *ret, size_t n)
{
    if (s.len != 2 * n) return false;
    for (size_t i = 0; i < s.len; i++)
        if (hex_digit(s.ptr[i]) < 0) return false;
    for (size_t i = 0; i < n; i++)
        ((unsigned char *)ret)[i] = (unsigned char)(hex_digit(s.ptr[2 * i]) * 16 + hex_digit(s.ptr[2 * i + 1]));
    return true;
}
