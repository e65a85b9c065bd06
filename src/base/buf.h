/* base/buf.h - bytes that grow, up to a maximum.
 *
 * Appending past bytes_max sets `full` and drops what does not fit; every later append is dropped too, so a writer
 * appends freely and checks once, at the end. Memory comes from the arena. */
#pragma once

#include "base/arena.h"
#include "base/str.h"

struct buf {
    struct arena *arena;
    char *ptr;
    size_t len;
    size_t cap;
    size_t bytes_max;
    bool full;
};

static inline void buf_init(struct buf *b, struct arena *a, size_t bytes_max)
{
    *b = (struct buf){.arena = a, .bytes_max = bytes_max};
}
static inline Str buf_str(const struct buf *b)
{
    return (Str){b->ptr, b->len};
}

char *buf_reserve_more(struct buf *b, size_t n);
/* Room for n more bytes, or NULL (and `full`). The caller writes there and then adds to len. */
static inline char *buf_reserve(struct buf *b, size_t n)
{
    return !b->full && n <= b->cap - b->len ? b->ptr + b->len : buf_reserve_more(b, n);
}
void buf_append(struct buf *b, Str s);
void buf_char(struct buf *b, char c);
void buf_int(struct buf *b, int64_t v);
/* Percent-encodes everything but unreserved characters: safe as a path segment and as a query or form value. */
void buf_url_encoded(struct buf *b, Str s);
void buf_printf(struct buf *b, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* Starts over, keeping the memory. */
void buf_reset(struct buf *b);
#define buf_lit(b, lit) buf_append((b), STR(lit))
