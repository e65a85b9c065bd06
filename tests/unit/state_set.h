/* tests/unit/state_set.h - the states that a walk has met, by a 128-bit hash of their text. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <sodium.h>

struct state_key {
    unsigned char bytes[crypto_generichash_BYTES_MIN];
};

struct state {
    struct state_key key;
    bool is_used;
    bool has_next;
    int more;              /* how many events were played from here */
    struct state_key next; /* of all states that one event leads to */
};

struct state_set {
    struct state *slots;
    size_t cap, count;
};

static inline size_t state_home(const struct state_set *s, const struct state_key *key)
{
    uint64_t h;
    memcpy(&h, key->bytes, sizeof h);
    return (size_t)(h & (s->cap - 1));
}

static inline struct state *state_slot(const struct state_set *s, const struct state_key *key)
{
    size_t at = state_home(s, key);
    while (s->slots[at].is_used && memcmp(&s->slots[at].key, key, sizeof *key) != 0) at = (at + 1) & (s->cap - 1);
    return &s->slots[at];
}

static inline void state_grow(struct state_set *s)
{
    struct state_set bigger = {.cap = s->cap ? 2 * s->cap : 1024};
    bigger.slots = calloc(bigger.cap, sizeof *bigger.slots);
    if (!bigger.slots) abort();
    for (size_t i = 0; i < s->cap; i++)
        if (s->slots[i].is_used) *state_slot(&bigger, &s->slots[i].key) = s->slots[i];
    bigger.count = s->count;
    free(s->slots);
    *s = bigger;
}

/* Adds it where it is missing. Good until the next call. */
static inline struct state *state_find(struct state_set *s, const struct state_key *key, bool *ret_is_new)
{
    if (2 * (s->count + 1) > s->cap) state_grow(s);
    struct state *found = state_slot(s, key);
    *ret_is_new = !found->is_used;
    if (*ret_is_new) {
        *found = (struct state){.key = *key, .is_used = true, .more = -1};
        s->count++;
    }
    return found;
}

/* Of the set, whatever the order in which its states were met. */
static inline uint64_t state_fingerprint(const struct state_set *s)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < s->cap; i++) {
        uint64_t h;
        memcpy(&h, s->slots[i].key.bytes + sizeof h, sizeof h);
        if (s->slots[i].is_used) sum += h;
    }
    return sum;
}

static inline void state_set_done(struct state_set *s)
{
    free(s->slots);
    *s = (struct state_set){0};
}
