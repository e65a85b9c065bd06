/* domain/order_ref.c - see order_ref.h. 32 hex digits of hash, 'o' or 'p', and the number in hex. */
#include "domain/order_ref.h"

#include <stdio.h>

#include "domain/vault.h"

#define HASH_BYTES 16
#define HASH_CHARS (2 * HASH_BYTES)
static const char letters[] = {[REF_ORDER] = 'o', [REF_PAYMENT] = 'p'};

static void hash(enum ref_kind kind, Id id, uint8_t ret[VAULT_HASH_BYTES])
{
    char text[32];
    int n = snprintf(text, sizeof text, "%c%llx", letters[kind], (unsigned long long)id.v);
    vault_hash(VAULT_REF, (Str){text, (size_t)n}, ret);
}

Str ref_make(struct arena *a, enum ref_kind kind, Id id)
{
    uint8_t h[VAULT_HASH_BYTES];
    hash(kind, id, h);
    return str_printf(a, "%.*s%c%llx", STR_FMT(hex_encode(a, h, HASH_BYTES)), letters[kind], (unsigned long long)id.v);
}

bool ref_parse(Str ref, enum ref_kind *ret_kind, Id *ret)
{
    uint8_t given[HASH_BYTES], right[VAULT_HASH_BYTES];
    if (ref.len < HASH_CHARS + 2 || ref.len > HASH_CHARS + 1 + 13) return false;
    if (!hex_decode((Str){ref.ptr, HASH_CHARS}, given, sizeof given)) return false;
    enum ref_kind kind = ref.ptr[HASH_CHARS] == letters[REF_ORDER] ? REF_ORDER : REF_PAYMENT;
    if (ref.ptr[HASH_CHARS] != letters[kind]) return false;
    int64_t v = 0; /* of 13 digits at most: less than ID_MAX */
    for (size_t i = HASH_CHARS + 1; i < ref.len; i++) {
        char c = ref.ptr[i];
        int digit = c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
        if (digit < 0) return false;
        v = v * 16 + digit;
    }
    hash(kind, (Id){v}, right);
    if (v < 1 || !vault_equal(given, right, sizeof given)) return false;
    *ret_kind = kind;
    *ret = (Id){v};
    return true;
}
