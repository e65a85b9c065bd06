/* base/pack.c - see pack.h. */
#include "base/pack.h"

#define INT_BYTES_MAX 10

void pack_int(struct buf *b, int64_t v)
{
    uint64_t u = ((uint64_t)v << 1) ^ (v < 0 ? UINT64_MAX : 0);
    char bytes[INT_BYTES_MAX];
    size_t n = 0;
    do {
        uint8_t low = u & 0x7f;
        u >>= 7;
        bytes[n++] = (char)(u ? low | 0x80 : low);
    } while (u);
    buf_append(b, (Str){bytes, n});
}

void pack_bytes(struct buf *b, Str s)
{
    pack_int(b, (int64_t)s.len);
    buf_append(b, s);
}

static uint64_t fail(struct unpack *u)
{
    u->bad = true;
    u->rest = (Str){0};
    return 0;
}

int64_t unpack_int(struct unpack *u)
{
    uint64_t v = 0;
    size_t n = 0;
    for (;; n++) {
        if (n == INT_BYTES_MAX || n == u->rest.len) return (int64_t)fail(u);
        uint8_t byte = (uint8_t)u->rest.ptr[n];
        bool is_last = !(byte & 0x80);
        if (n == INT_BYTES_MAX - 1 && byte > 1) return (int64_t)fail(u); /* more than 64 bits */
        if (is_last && n && !byte) return (int64_t)fail(u);              /* a longer form of the same number */
        v |= (uint64_t)(byte & 0x7f) << (7 * n);
        if (is_last) break;
    }
    u->rest.ptr += n + 1;
    u->rest.len -= n + 1;
    return (int64_t)((v >> 1) ^ (v & 1 ? UINT64_MAX : 0));
}

Str unpack_raw(struct unpack *u, size_t n)
{
    if (n > u->rest.len) {
        fail(u);
        return (Str){0};
    }
    Str s = {u->rest.ptr, n};
    if (n) u->rest.ptr += n;
    u->rest.len -= n;
    return s;
}

Str unpack_bytes(struct unpack *u)
{
    int64_t n = unpack_int(u);
    if (n < 0) {
        fail(u);
        return (Str){0};
    }
    return unpack_raw(u, (size_t)n);
}
