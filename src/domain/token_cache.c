/* domain/token_cache.c - see token_cache.h. A table of fixed size: a token has one of a few places beside each other,
 * and takes that of the one that was kept first. */
#include "domain/token_cache.h"

#include "base/shelves.h"

#define TOKEN_SHELVES 1024
#define TOKEN_PLACES 4

struct token_place {
    uint8_t hash[TOKEN_HASH_BYTES];
    int64_t generation;
    int64_t until_ns; /* 0: free */
    struct token_row row;
};
static_assert(TOKEN_HASH_BYTES >= SHELF_KEY_BYTES, "the hash begins with the key");
SHELVES(token_shelves, struct token_place, TOKEN_SHELVES, TOKEN_PLACES);

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
    struct token_place p;
    if (!shelves_find(&token_shelves, token_shelf(hash), hash, &p)) return false;
    if (!is_place_of(&p, hash) || p.generation != generation || time_tick_ns() >= p.until_ns) return false;
    *ret = p.row;
    return true;
}

/* Its own, or that of the one that was kept first. */
static size_t place_for(size_t shelf, const uint8_t hash[TOKEN_HASH_BYTES])
{
    size_t first = 0;
    int64_t first_ns = INT64_MAX;
    for (size_t i = 0; i < TOKEN_PLACES; i++) {
        struct token_place p;
        shelves_look(&token_shelves, shelf, i, &p);
        if (is_place_of(&p, hash)) return i;
        if (p.until_ns >= first_ns) continue;
        first = i;
        first_ns = p.until_ns;
    }
    return first;
}

void token_cache_keep(const uint8_t hash[TOKEN_HASH_BYTES], int64_t generation, const struct token_row *row)
{
    size_t shelf = token_shelf(hash);
    struct token_place p = {
        .generation = generation, .until_ns = time_tick_ns() + TOKEN_CACHE_MS * INT64_C(1000000), .row = *row};
    memcpy(p.hash, hash, sizeof p.hash);
    shelves_lock(&token_shelves, shelf);
    shelves_put(&token_shelves, shelf, place_for(shelf, hash), &p);
    shelves_unlock(&token_shelves, shelf);
}
