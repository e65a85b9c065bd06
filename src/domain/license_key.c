/* domain/license_key.c - see license_key.h. */
#include "domain/license_key.h"

#include "base/random.h"

#include <assert.h>

#define GROUP 5

static const char alphabet[] = "0123456789ABCDEFGHJKMNPQRSTVWXYZ";

/* One step of Horner's rule in GF(32) = GF(2)[x] / (x^5 + x^2 + 1): x is primitive there, so the 25 positions have
 * different weights, which is what finds swaps. */
static unsigned step(unsigned sum, unsigned digit)
{
    sum <<= 1;
    if (sum & 32) sum ^= 0x25;
    return sum ^ digit;
}

/* Upper case, with look-alikes as the digits they stand for. 0 for a character that no key or prefix has. */
static char normal_char(char c)
{
    if (c >= 'a' && c <= 'z') c = (char)(c - 'a' + 'A');
    if (c == 'I' || c == 'L') return '1';
    if (c == 'O') return '0';
    return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') ? c : 0;
}

static bool is_separator(char c)
{
    return c == '-' || c == ' ';
}

/* What a character stands for: its place in the alphabet plus one; 0 for those that are not in it. */
static const uint8_t places[256] = {
    ['0'] = 1,  ['1'] = 2,  ['2'] = 3,  ['3'] = 4,  ['4'] = 5,  ['5'] = 6,  ['6'] = 7,  ['7'] = 8,
    ['8'] = 9,  ['9'] = 10, ['A'] = 11, ['B'] = 12, ['C'] = 13, ['D'] = 14, ['E'] = 15, ['F'] = 16,
    ['G'] = 17, ['H'] = 18, ['J'] = 19, ['K'] = 20, ['M'] = 21, ['N'] = 22, ['P'] = 23, ['Q'] = 24,
    ['R'] = 25, ['S'] = 26, ['T'] = 27, ['V'] = 28, ['W'] = 29, ['X'] = 30, ['Y'] = 31, ['Z'] = 32,
};

/* False: not a key. */
static bool normalise(Str text, char ret[LICENSE_KEY_NORMAL_MAX], size_t *ret_len)
{
    size_t n = 0;
    for (size_t i = 0; i < text.len; i++) {
        if (is_separator(text.ptr[i])) continue;
        char c = normal_char(text.ptr[i]);
        if (c == 0 || n == LICENSE_KEY_NORMAL_MAX) return false;
        ret[n++] = c;
    }
    if (n < LICENSE_KEY_CHARS) return false;

    unsigned sum = 0;
    for (size_t i = n - LICENSE_KEY_CHARS; i < n; i++) {
        unsigned place = places[(uint8_t)ret[i]];
        if (!place) return false;
        sum = step(sum, place - 1);
    }
    if (sum != 0) return false;
    *ret_len = n;
    return true;
}

bool license_key_prefix_is_valid(Str prefix)
{
    if (prefix.len > LICENSE_KEY_PREFIX_MAX) return false;
    for (size_t i = 0; i < prefix.len; i++)
        if (prefix.ptr[i] != '-' && !normal_char(prefix.ptr[i])) return false;
    return true;
}

Str license_key_make(struct arena *a, Str prefix)
{
    if (!license_key_prefix_is_valid(prefix)) prefix = (Str){0}; /* a key with it could never be verified */

    /* A byte has 256 = 8 * 32 values: its low five bits are uniform. */
    uint8_t random[LICENSE_KEY_CHARS - 1];
    random_bytes(random, sizeof random);

    Str upper = str_upper(a, prefix);
    size_t len = (upper.len ? upper.len + 1 : 0) + LICENSE_KEY_CHARS + LICENSE_KEY_CHARS / GROUP - 1;
    char *text = arena_alloc(a, len);
    char *p = text;
    if (upper.len) {
        memcpy(p, upper.ptr, upper.len);
        p += upper.len;
        *p++ = '-';
    }
    unsigned sum = 0;
    for (int i = 0; i < LICENSE_KEY_CHARS; i++) {
        /* The check digit is what brings the sum to 0. */
        unsigned digit = i < LICENSE_KEY_CHARS - 1 ? random[i] & 31 : step(sum, 0);
        sum = step(sum, digit);
        if (i > 0 && i % GROUP == 0) *p++ = '-';
        *p++ = alphabet[digit];
    }
    assert(sum == 0 && p == text + len);
    return (Str){text, len};
}

bool license_key_hash(Str text, uint8_t ret[LICENSE_HASH_BYTES])
{
    char normal[LICENSE_KEY_NORMAL_MAX];
    size_t len;
    if (!normalise(text, normal, &len)) return false;
    uint8_t hash[VAULT_HASH_BYTES];
    vault_hash(VAULT_LICENSE, (Str){normal, len}, hash);
    memcpy(ret, hash, LICENSE_HASH_BYTES);
    return true;
}

bool license_key_is_importable(Str text)
{
    if (text.len < 6 || text.len > 255) return false;
    for (size_t i = 0; i < text.len; i++)
        if (text.ptr[i] <= ' ' || text.ptr[i] > '~') return false;
    return true;
}

/* A space cannot be in either sort of key's text, so no two texts are hashed alike. */
#define FOREIGN "foreign "

bool license_key_hash_any(Str text, uint8_t ret[LICENSE_HASH_BYTES])
{
    char prefixed[sizeof FOREIGN - 1 + 255];
    uint8_t hash[VAULT_HASH_BYTES];
    if (license_key_hash(text, ret)) return true;
    if (!license_key_is_importable(text)) return false;
    memcpy(prefixed, FOREIGN, sizeof FOREIGN - 1);
    memcpy(prefixed + sizeof FOREIGN - 1, text.ptr, text.len);
    vault_hash(VAULT_LICENSE, (Str){prefixed, sizeof FOREIGN - 1 + text.len}, hash);
    memcpy(ret, hash, LICENSE_HASH_BYTES);
    return true;
}
