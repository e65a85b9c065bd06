/* base/buf.c - see buf.h. */
#include "base/buf.h"

#include <stdarg.h>
#include <stdio.h>

char *buf_reserve_more(struct buf *b, size_t n)
{
    if (b->full) return NULL;
    if (n > b->bytes_max || b->len > b->bytes_max - n) {
        b->full = true;
        return NULL;
    }
    size_t cap = b->cap ? b->cap * 2 : 256;
    if (cap < b->len + n) cap = b->len + n;
    if (cap > b->bytes_max) cap = b->bytes_max;
    b->ptr = arena_grow(b->arena, b->ptr, b->cap, cap);
    b->cap = cap;
    return b->ptr + b->len;
}

void buf_append(struct buf *b, Str s)
{
    if (!s.len) return;
    char *p = buf_reserve(b, s.len);
    if (!p) return;
    memcpy(p, s.ptr, s.len);
    b->len += s.len;
}

void buf_char(struct buf *b, char c)
{
    char *p = buf_reserve(b, 1);
    if (!p) return;
    *p = c;
    b->len++;
}

void buf_int(struct buf *b, int64_t v)
{
    char digits[20], *end = digits + sizeof digits, *p = end;
    uint64_t u = v < 0 ? 0 - (uint64_t)v : (uint64_t)v;
    do *--p = (char)('0' + u % 10);
    while (u /= 10);
    if (v < 0) *--p = '-';
    buf_append(b, (Str){p, (size_t)(end - p)});
}

void buf_printf(struct buf *b, const char *fmt, ...)
{
    va_list args, again;
    va_start(args, fmt);
    va_copy(again, args);
    int n = vsnprintf(NULL, 0, fmt, args);
    va_end(args);
    if (n >= 0 && buf_reserve(b, (size_t)n)) {
        /* Into a temporary text first: vsnprintf adds a NUL, for which the buf may have no room. */
        char small[256], *text = (size_t)n < sizeof small ? small : arena_take(b->arena, (size_t)n + 1);
        vsnprintf(text, (size_t)n + 1, fmt, again);
        buf_append(b, (Str){text, (size_t)n});
    }
    va_end(again);
}

void buf_reset(struct buf *b)
{
    b->len = 0;
    b->full = false;
}

void buf_url_encoded(struct buf *b, Str s)
{
    static const char hex[] = "0123456789ABCDEF";
    for (size_t i = 0; i < s.len; i++) {
        char c = s.ptr[i];
        bool is_alnum = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
        if (is_alnum || c == '-' || c == '.' || c == '_' || c == '~') {
            buf_char(b, c);
        } else {
            buf_char(b, '%');
            buf_char(b, hex[(unsigned char)c >> 4]);
            buf_char(b, hex[(unsigned char)c & 15]);
        }
    }
}
