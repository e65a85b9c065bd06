/* domain/token_cache.c - see token_cache.h. A table of fixed size: a token has one of a few places beside each other,
 * and takes that of the one that was kept first. */
#include "domain/token_cache.h"

#include "base/shelves.h"

#define TOKEN_SHELVES 1024
#define TOKEN_PLACES 4

static_assert(VAULT_NAME_BYTES == SHELF_KEY_BYTES, "the name is the key");
SHELVES(token_shelves, struct token_known, TOKEN_SHELVES, TOKEN_PLACES);

/* The name is made with a key: nobody can choose a shelf. */
static size_t token_shelf(const uint8_t name[VAULT_NAME_BYTES])
{
    return (size_t)(name[1] << 8 | name[2]) % TOKEN_SHELVES;
}

bool token_cache_find(const uint8_t name[VAULT_NAME_BYTES], struct token_known *ret)
{
    return shelves_find(&token_shelves, token_shelf(name), name, ret) && ret->until_ns;
}

bool token_cache_holds(const struct token_known *k, int64_t generation)
{
    return k->until_ns && k->generation == generation && time_tick_ns() < k->until_ns;
}

/* Its own, or that of the one that was kept first. */
static size_t place_for(size_t shelf, const uint8_t name[VAULT_NAME_BYTES])
{
    size_t first = 0;
    int64_t first_ns = INT64_MAX;
    for (size_t i = 0; i < TOKEN_PLACES; i++) {
        struct token_known k;
        shelves_look(&token_shelves, shelf, i, &k);
        if (k.until_ns && memcmp(k.name, name, sizeof k.name) == 0) return i;
        if (k.until_ns >= first_ns) continue;
        first = i;
        first_ns = k.until_ns;
    }
    return first;
}

void token_cache_keep(struct token_known *k, int64_t generation, const struct token_row *row)
{
    size_t shelf = token_shelf(k->name);
    k->generation = generation;
    k->until_ns = time_tick_ns() + TOKEN_CACHE_MS * INT64_C(1000000);
    k->row = *row;
    shelves_lock(&token_shelves, shelf);
    shelves_put(&token_shelves, shelf, place_for(shelf, k->name), k);
    shelves_unlock(&token_shelves, shelf);
}
