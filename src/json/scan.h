/* json/scan.h - finds the next byte of a text that is not plain, eight bytes at a time.
 *
 * Strings are most of what is read and written, and nearly all of their bytes are plain. The trick is the usual one: in
 * (x - 0x01…) & ~x & 0x80… the lowest bit set belongs to the lowest zero byte of x. Bytes above a hit may be reported
 * falsely (a borrow runs upwards), bytes below never, so only the lowest hit is used. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define SCAN_EACH(byte) (UINT64_C(0x0101010101010101) * (byte))

static inline uint64_t scan_load(const char *p)
{
    uint64_t x;
    memcpy(&x, p, sizeof x);
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    x = __builtin_bswap64(x);
#endif
    return x;
}

static inline uint64_t scan_zero(uint64_t x)
{
    return (x - SCAN_EACH(1)) & ~x & SCAN_EACH(0x80);
}
static inline uint64_t scan_below_space(uint64_t x)
{
    return (x - SCAN_EACH(0x20)) & ~x & SCAN_EACH(0x80);
}
static inline size_t scan_first(uint64_t hits)
{
    return (size_t)__builtin_ctzll(hits) / 8;
}

/* The first byte that ends or complicates a JSON string: quote, backslash, control, past ASCII. Or end. */
static inline const char *scan_read(const char *p, const char *end)
{
    while (end - p >= 8) {
        uint64_t x = scan_load(p);
        uint64_t hits = (x & SCAN_EACH(0x80)) | scan_below_space(x) | scan_zero(x ^ SCAN_EACH('"')) |
                        scan_zero(x ^ SCAN_EACH('\\'));
        if (hits) return p + scan_first(hits);
        p += 8;
    }
    while (p < end && (unsigned char)*p >= 0x20 && (unsigned char)*p < 0x80 && *p != '"' && *p != '\\') p++;
    return p;
}

/* The first byte that cannot be written unescaped: those above, and '<', '>', '&'. Or end. Two pairs differ in one bit.
 */
static inline const char *scan_write(const char *p, const char *end)
{
    while (end - p >= 8) {
        uint64_t x = scan_load(p);
        uint64_t hits = (x & SCAN_EACH(0x80)) | scan_below_space(x) | scan_zero((x | SCAN_EACH(4)) ^ SCAN_EACH('&')) |
                        scan_zero((x | SCAN_EACH(2)) ^ SCAN_EACH('>')) | scan_zero(x ^ SCAN_EACH('\\'));
        if (hits) return p + scan_first(hits);
        p += 8;
    }
    while (p < end && (unsigned char)*p >= 0x20 && (unsigned char)*p < 0x80 && (*p | 4) != '&' && (*p | 2) != '>' &&
           *p != '\\')
        p++;
    return p;
}
