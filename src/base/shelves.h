/* base/shelves.h - a memory of fixed size that threads share: a key has a few places beside each other, its shelf, and
 * what is put there takes the place of something else.
 *
 * Who looks takes no lock and writes nothing, so that threads on different processors do not wait for each other's
 * cache lines. An entry begins with the SHELF_KEY_BYTES bytes of its key. Who looks while the shelf is being changed
 * may find nothing, and does what is done for everything that is not kept; nobody gets half an entry. */
#pragma once

#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/sanitized.h"

#define SHELF_KEY_BYTES 16
#define SHELF_LOCKS 64

struct shelves {
    size_t places, words; /* of a shelf; of an entry */
    /* A shelf: its version, odd while it is being changed; the first word of each key, beside each other, so that they
     * are a cache line with seven places; its places. */
    _Atomic uint64_t *first;
    pthread_mutex_t locks[SHELF_LOCKS]; /* of those who change */
};

#define SHELF_WORDS(places, words) ((1 + (places) * (1 + (words)) + 7) / 8 * 8)

/* For static variables: `name`, and the memory behind it. sizeof(type) is a multiple of 8. */
#define SHELVES(name, type, shelf_count, place_count)                                                                  \
    _Alignas(64) static _Atomic uint64_t name##_words[(shelf_count)*SHELF_WORDS(place_count, sizeof(type) / 8)];       \
    static struct shelves name = {.places = (place_count),                                                             \
                                  .words = sizeof(type) / 8,                                                           \
                                  .first = name##_words,                                                               \
                                  .locks = {[0 ... SHELF_LOCKS - 1] = PTHREAD_MUTEX_INITIALIZER}};                     \
    static_assert(sizeof(type) % 8 == 0, "entries are copied by words")

static inline _Atomic uint64_t *shelf_at(const struct shelves *s, size_t shelf)
{
    return s->first + shelf * SHELF_WORDS(s->places, s->words);
}

static inline _Atomic uint64_t *shelf_place(const struct shelves *s, size_t shelf, size_t place)
{
    return shelf_at(s, shelf) + 1 + s->places + place * s->words;
}

/* The order of loads is kept by one fence, or, for ThreadSanitizer, which knows none, by each load. */
#ifdef WITH_TSAN
#define SHELF_ORDER memory_order_acquire
#define SHELF_FENCE() ((void)0)
#else
#define SHELF_ORDER memory_order_relaxed
#define SHELF_FENCE() atomic_thread_fence(memory_order_acquire)
#endif

/* The entry of this key. What is read counts only if the version was the same before and after. */
static inline bool shelves_find(const struct shelves *s, size_t shelf, const void *key, void *ret)
{
    uint64_t wanted[2];
    memcpy(wanted, key, sizeof wanted);
    const _Atomic uint64_t *version = shelf_at(s, shelf);
    uint64_t before = atomic_load_explicit(version, SHELF_ORDER);
    SHELF_FENCE();
    if (before & 1) return false;
    for (size_t place = 0; place < s->places; place++) {
        if (atomic_load_explicit(&version[1 + place], memory_order_relaxed) != wanted[0]) continue;
        const _Atomic uint64_t *w = shelf_place(s, shelf, place);
        if (atomic_load_explicit(&w[1], memory_order_relaxed) != wanted[1]) continue;
        for (size_t i = 0; i < s->words; i++) {
            uint64_t word = atomic_load_explicit(&w[i], SHELF_ORDER);
            memcpy((char *)ret + 8 * i, &word, sizeof word);
        }
        SHELF_FENCE();
        return atomic_load_explicit(version, memory_order_relaxed) == before;
    }
    return false;
}

/* To change a shelf: lock it, look at its places, put something into one, unlock it. */
void shelves_lock(struct shelves *s, size_t shelf);
void shelves_unlock(struct shelves *s, size_t shelf);
void shelves_look(const struct shelves *s, size_t shelf, size_t place, void *ret);
void shelves_put(struct shelves *s, size_t shelf, size_t place, const void *entry);
