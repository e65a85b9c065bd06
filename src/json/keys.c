/* json/keys.c - see keys.h. Open addressing, at most half full, the hash kept beside each name. */
#include "json/keys.h"

#include <sodium.h>

#include "base/random.h"

#define COMPARED_MAX ((size_t)16)

_Static_assert(sizeof(((struct keys_secret *)0)->bytes) == crypto_shorthash_KEYBYTES, "SipHash takes this key");

struct key_slot {
    uint64_t hash;
    const struct json *member; /* NULL: free */
};

static uint64_t hash_of(const struct keys_secret *secret, Str name)
{
    uint64_t h;
    crypto_shorthash((unsigned char *)&h, (const unsigned char *)name.ptr, name.len, secret->bytes);
    return h;
}

static bool insert(struct keys *k, uint64_t hash, const struct json *member)
{
    size_t i = hash & (k->cap - 1);
    for (; k->slots[i].member; i = (i + 1) & (k->cap - 1))
        if (k->slots[i].hash == hash && str_eq(k->slots[i].member->key, member->key)) return false;
    k->slots[i] = (struct key_slot){hash, member};
    return true;
}

static void grow(struct keys *k, struct arena *a)
{
    struct keys bigger = {.cap = k->cap * 2};
    bigger.slots = arena_array(a, struct key_slot, bigger.cap);
    for (size_t i = 0; i < k->cap; i++)
        if (k->slots[i].member) insert(&bigger, k->slots[i].hash, k->slots[i].member);
    *k = bigger;
}

static bool compare_all(const struct json *object, const struct json *member)
{
    for (const struct json *m = object->first; m != member; m = m->next)
        if (str_eq(m->key, member->key)) return false;
    return true;
}

bool keys_add(struct keys *k, struct keys_secret *secret, struct arena *a, const struct json *object,
              const struct json *member)
{
    if (object->count <= COMPARED_MAX) return compare_all(object, member);
    if (!k->cap) {
        if (!secret->drawn) random_bytes(secret->bytes, sizeof secret->bytes);
        secret->drawn = true;
        k->cap = 4 * COMPARED_MAX;
        k->slots = arena_array(a, struct key_slot, k->cap);
        for (const struct json *m = object->first; m != member; m = m->next) insert(k, hash_of(secret, m->key), m);
    } else if (object->count * 2 > k->cap) {
        grow(k, a);
    }
    return insert(k, hash_of(secret, member->key), member);
}
