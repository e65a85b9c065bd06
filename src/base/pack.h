/* base/pack.h - numbers and texts one after the other, in bytes that are the same on every machine.
 *
 * A number takes one byte for each 7 bits it needs, small ones of either sign are short (zigzag, LEB128); a text is its
 * length and its bytes. Each value has one encoding only: unpack_int refuses all others, so equal bytes mean equal
 * values and the other way round. */
#pragma once

#include "base/buf.h"

void pack_int(struct buf *b, int64_t v);
void pack_bytes(struct buf *b, Str s);

/* Reading past the end, or what pack did not write, sets `bad`; from then on everything reads as 0 or empty, so that a
 * reader checks once, at its end. */
struct unpack {
    Str rest;
    bool bad;
};

int64_t unpack_int(struct unpack *u);
/* Points into the bytes that are read. */
Str unpack_bytes(struct unpack *u);
/* The next n bytes as they are. */
Str unpack_raw(struct unpack *u, size_t n);
/* Everything was read, and all of it was good. */
static inline bool unpack_is_done(const struct unpack *u)
{
    return !u->bad && u->rest.len == 0;
}
