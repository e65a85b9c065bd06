/* domain/token_cache.c - see token_cache.h. A table of fixed size: a token that finds another one in its slot takes it.
 */
#include "domain/token_cache.h"

#include <pthread.h>

#define SLOTS 4096
#define LOCKS 64

struct token_slot {
    uint8_t hash[TOKEN_HASH_BYTES];
    int64_t generation;
    int64_t until_ns;
    struct token_row row;
};

static struct token_slot slots[SLOTS];
static pthread_mutex_t locks[LOCKS] = {[0 ... LOCKS - 1] = PTHREAD_MUTEX_INITIALIZER};

/* The hash is keyed: nobody can choose a slot. */
static size_t slot_of(const uint8_t hash[TOKEN_HASH_BYTES])
{
    return (size_t)(hash[1] << 8 | hash[2]) % SLOTS;
}

bool token_cache_find(const uint8_t hash[TOKEN_HASH_BYTES], int64_t generation, struct token_row *ret)
{
    size_t i = slot_of(hash);
    const struct token_slot *s = &slots[i];
    pthread_mutex_lock(&locks[i % LOCKS]);
    bool found = s->until_ns && s->generation == generation && memcmp(s->hash, hash, sizeof s->hash) == 0 &&
                 time_tick_ns() < s->until_ns;
    if (found) *ret = s->row;
    pthread_mutex_unlock(&locks[i % LOCKS]);
    return found;
}

void token_cache_keep(const uint8_t hash[TOKEN_HASH_BYTES], int64_t generation, const struct token_row *row)
{
    size_t i = slot_of(hash);
    struct token_slot *s = &slots[i];
    pthread_mutex_lock(&locks[i % LOCKS]);
    memcpy(s->hash, hash, sizeof s->hash);
    s->generation = generation;
    s->until_ns = time_tick_ns() + TOKEN_CACHE_MS * INT64_C(1000000);
    s->row = *row;
    pthread_mutex_unlock(&locks[i % LOCKS]);
}
