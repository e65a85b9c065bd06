/* domain/token_cache.c - see token_cache.h. A table of fixed size: a token has one of a few places beside each other,
 * and takes that of the one that was kept first. */
#include "domain/token_cache.h"

#include <pthread.h>

#define TOKEN_SHELVES 1024
#define TOKEN_PLACES 4
#define TOKEN_LOCKS 64

struct token_place {
    uint8_t hash[TOKEN_HASH_BYTES];
    int64_t generation;
    int64_t until_ns; /* 0: free */
    struct token_row row;
};

static struct token_place token_shelves[TOKEN_SHELVES][TOKEN_PLACES];
static pthread_mutex_t token_locks[TOKEN_LOCKS] = {[0 ... TOKEN_LOCKS - 1] = PTHREAD_MUTEX_INITIALIZER};

/* The hash is keyed: nobody can choose a shelf. */
static size_t token_shelf(const uint8_t hash[TOKEN_HASH_BYTES])
{
    return (size_t)(hash[1] << 8 | hash[2]) % TOKEN_SHELVES;
}

static bool is_place_of(const struct token_place *p, const uint8_t hash[TOKEN_HASH_BYTES])
{
    return p->until_ns && memcmp(p->hash, hash, sizeof p->hash) == 0;
}

bool token_cache_find(const uint8_t hash[TOKEN_HASH_BYTES], int64_t generation, struct token_row *ret)
{
    size_t shelf = token_shelf(hash);
    bool found = false;
    pthread_mutex_lock(&token_locks[shelf % TOKEN_LOCKS]);
    for (int i = 0; i < TOKEN_PLACES && !found; i++) {
        const struct token_place *p = &token_shelves[shelf][i];
        found = is_place_of(p, hash) && p->generation == generation && time_tick_ns() < p->until_ns;
        if (found) *ret = p->row;
    }
    pthread_mutex_unlock(&token_locks[shelf % TOKEN_LOCKS]);
    return found;
}

static struct token_place *place_for(size_t shelf, const uint8_t hash[TOKEN_HASH_BYTES])
{
    struct token_place *first = &token_shelves[shelf][0];
    for (int i = 0; i < TOKEN_PLACES; i++) {
        struct token_place *p = &token_shelves[shelf][i];
        if (is_place_of(p, hash)) return p;
        if (p->until_ns < first->until_ns) first = p;
    }
    return first;
}

void token_cache_keep(const uint8_t hash[TOKEN_HASH_BYTES], int64_t generation, const struct token_row *row)
{
    size_t shelf = token_shelf(hash);
    pthread_mutex_lock(&token_locks[shelf % TOKEN_LOCKS]);
    struct token_place *p = place_for(shelf, hash);
    memcpy(p->hash, hash, sizeof p->hash);
    p->generation = generation;
    p->until_ns = time_tick_ns() + TOKEN_CACHE_MS * INT64_C(1000000);
    p->row = *row;
    pthread_mutex_unlock(&token_locks[shelf % TOKEN_LOCKS]);
}
