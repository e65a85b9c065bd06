/* http/charset.h - which bytes may stand where, as one table (RFC 9110 and 9112, a little stricter). */
#pragma once

#include <stdbool.h>
#include <stdint.h>

enum {
    CHAR_TOKEN = 1,  /* methods and header names */
    CHAR_TARGET = 2, /* request targets: visible ASCII without '#' */
    CHAR_VALUE = 4,  /* header values: no control characters but the tab; bytes past 0x7f are opaque */
    CHAR_HOST = 8,   /* names in a Host header */
};

extern const uint8_t http_charset[256];

static inline bool char_is(char c, int class)
{
    return http_charset[(unsigned char)c] & class;
}

static inline int hex_value(char c)
{
    if (c >= '0' && c <= '9') return c - '0';
    if (c >= 'a' && c <= 'f') return c - 'a' + 10;
    if (c >= 'A' && c <= 'F') return c - 'A' + 10;
    return -1;
}
