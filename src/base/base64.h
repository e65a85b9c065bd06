/* base/base64.h - bytes as text, RFC 4648. */
#pragma once

#include "base/arena.h"
#include "base/str.h"

enum base64_kind {
    BASE64_PADDED, /* + and /, filled up with = */
    BASE64_URL,    /* - and _, nothing behind */
};

Str base64_encode(struct arena *a, enum base64_kind kind, Str bytes);
/* Canonical texts only: of all texts for the same bytes exactly one is accepted. */
bool base64_decode(struct arena *a, enum base64_kind kind, Str text, Str *ret);

/* The same for a known number of bytes: `ret` has room for the text and a NUL. */
#define BASE64_PADDED_ROOM(n) (((n) + 2) / 3 * 4 + 1)
#define BASE64_URL_ROOM(n) (((n)*4 + 2) / 3 + 1)
void base64_put(enum base64_kind kind, const void *bytes, size_t n, char *ret, size_t room);
/* False unless the text stands for exactly n bytes. */
bool base64_get(enum base64_kind kind, Str text, void *ret, size_t n);
