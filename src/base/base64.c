/* base/base64.c - libsodium's coder, behind a check for bytes that it would wrongly accept.
 *
 * libsodium 1.0.18 compares plain chars: where char is signed, every byte from 0x80 up is read as some digit. */
#include "base/base64.h"

#include <sodium.h>

static int variant(enum base64_kind kind)
{
    return kind == BASE64_PADDED ? sodium_base64_VARIANT_ORIGINAL : sodium_base64_VARIANT_URLSAFE_NO_PADDING;
}

static bool is_ascii(Str s)
{
    for (size_t i = 0; i < s.len; i++)
        if ((unsigned char)s.ptr[i] >= 0x80) return false;
    return true;
}

static bool decode(enum base64_kind kind, Str text, void *ret, size_t room, size_t *ret_n)
{
    const char *end = NULL;
    return is_ascii(text) && sodium_base642bin(ret, room, text.ptr, text.len, NULL, ret_n, &end, variant(kind)) == 0 &&
           end == text.ptr + text.len;
}

Str base64_encode(struct arena *a, enum base64_kind kind, Str bytes)
{
    size_t room = sodium_base64_encoded_len(bytes.len, variant(kind));
    char *text = arena_alloc(a, room);
    base64_put(kind, bytes.ptr, bytes.len, text, room);
    return (Str){text, room - 1};
}

bool base64_decode(struct arena *a, enum base64_kind kind, Str text, Str *ret)
{
    size_t room = text.len / 4 * 3 + 3, n = 0;
    char *bytes = arena_alloc(a, room);
    if (!decode(kind, text, bytes, room, &n)) return false;
    *ret = (Str){bytes, n};
    return true;
}

void base64_put(enum base64_kind kind, const void *bytes, size_t n, char *ret, size_t room)
{
    sodium_bin2base64(ret, room, bytes, n, variant(kind));
}

bool base64_get(enum base64_kind kind, Str text, void *ret, size_t n)
{
    size_t got = 0;
    return decode(kind, text, ret, n, &got) && got == n;
}
