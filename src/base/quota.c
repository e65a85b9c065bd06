/* base/quota.c - see quota.h. */
#include "base/quota.h"

#include <sodium.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "base/memory.h"
#include "base/random.h"

#define PLACES 65536

struct quota {
    unsigned char key[crypto_shorthash_KEYBYTES];
    _Atomic int64_t held[PLACES];
};

struct quota *quota_new(void)
{
    struct quota *q = memory_zeroed(1, sizeof *q);
    random_bytes(q->key, sizeof q->key);
    return q;
}

void quota_free(struct quota *q)
{
    free(q);
}

size_t quota_place(const struct quota *q, Str caller)
{
    unsigned char out[crypto_shorthash_BYTES];
    uint64_t h;
    crypto_shorthash(out, (const unsigned char *)caller.ptr, caller.len, q->key);
    memcpy(&h, out, sizeof h);
    return h % PLACES;
}

bool quota_take(struct quota *q, size_t place, int64_t n, int64_t max)
{
    if (atomic_fetch_add_explicit(&q->held[place], n, memory_order_relaxed) + n <= max) return true;
    quota_give(q, place, n);
    return false;
}

void quota_give(struct quota *q, size_t place, int64_t n)
{
    atomic_fetch_sub_explicit(&q->held[place], n, memory_order_relaxed);
}
