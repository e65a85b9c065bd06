/* gateway/cache_key.c - see cache_key.h. */
#include "gateway/cache_key.h"

#include <sodium.h>

struct cache_key cache_key_of(Str a, Str b, Str c)
{
    struct cache_key key;
    crypto_generichash_state s;
    crypto_generichash_init(&s, NULL, 0, sizeof key.bytes);
    const Str parts[] = {a, b, c};
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        uint64_t n = parts[i].len;
        crypto_generichash_update(&s, (const unsigned char *)&n, sizeof n);
        crypto_generichash_update(&s, (const unsigned char *)parts[i].ptr, parts[i].len);
    }
    crypto_generichash_final(&s, key.bytes, sizeof key.bytes);
    return key;
}

bool cache_key_is(const struct cache_key *a, const struct cache_key *b)
{
    return memcmp(a->bytes, b->bytes, sizeof a->bytes) == 0;
}
