/* base/str.h - text slices.
 *
 * A Str is a pointer and a length. It owns nothing, is not NUL-terminated, and may hold any bytes. The function that
 * makes a Str says where its bytes live: a request's arena, a connection's buffer, a literal. An empty Str may have a
 * NULL ptr. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct arena;

typedef struct Str {
    const char *ptr;
    size_t len;
} Str;

/* A Str over a string literal; usable in static initialisers. */
#define S(lit)                                                                                                         \
    {                                                                                                                  \
        "" lit, sizeof(lit) - 1                                                                                        \
    }
#define STR(lit) ((Str)S(lit))

/* For printf("%.*s"): STR_FMT(s). */
#define STR_FMT(s) (int)(s).len, (s).ptr

static inline Str str_from(const char *cstr)
{
    return cstr ? (Str){cstr, strlen(cstr)} : (Str){0};
}
static inline bool str_eq(Str a, Str b)
{
    return a.len == b.len && (a.len == 0 || memcmp(a.ptr, b.ptr, a.len) == 0);
}

/* ASCII case only; bytes past 0x7f compare as they are. */
bool str_eq_nocase(Str a, Str b);
bool str_starts(Str s, Str prefix);
bool str_ends(Str s, Str suffix);
/* Index of the first c, or -1. */
ptrdiff_t str_find(Str s, char c);
/* Splits at the first c: *head gets what stands before it, *tail what follows. False, and neither set, without a c. */
bool str_cut(Str s, char c, Str *head, Str *tail);
/* Without spaces, tabs and line ends at both ends (ASCII). */
Str str_trim(Str s);
/* The place of a word in a table that ends with NULL, or -1. */
int str_choice(Str s, const char *const *words);

/* Copies into the arena; str_cstr adds a NUL. */
Str str_dup(struct arena *a, Str s);
char *str_cstr(struct arena *a, Str s);
Str str_lower(struct arena *a, Str s);
Str str_upper(struct arena *a, Str s);
Str str_printf(struct arena *a, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* Decimal, optional '-', nothing else, no overflow. False leaves *ret alone. */
bool str_to_int64(Str s, int64_t *ret);

/* Bytes of the character at p, of which `left` > 0 may be read; 0 when it is not well-formed. */
size_t utf8_step(const char *p, size_t left);
/* Well-formed UTF-8: no overlong forms, no surrogates, nothing past U+10FFFF. */
bool utf8_valid(Str s);
/* Code points of valid UTF-8. */
size_t utf8_count(Str s);

/* Lower-case hex in both directions. hex_decode takes either case, false when s is not exactly 2*n hex digits. */
Str hex_encode(struct arena *a, const void *bytes, size_t n);
bool hex_decode(Str s, void *ret, size_t n);
