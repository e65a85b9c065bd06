/* base/shelves.c - see shelves.h. */
#include "base/shelves.h"

void shelves_lock(struct shelves *s, size_t shelf)
{
    pthread_mutex_lock(&s->locks[shelf % SHELF_LOCKS]);
}

void shelves_unlock(struct shelves *s, size_t shelf)
{
    pthread_mutex_unlock(&s->locks[shelf % SHELF_LOCKS]);
}

void shelves_look(const struct shelves *s, size_t shelf, size_t place, void *ret)
{
    const _Atomic uint64_t *w = shelf_place(s, shelf, place);
    for (size_t i = 0; i < s->words; i++) {
        uint64_t word = atomic_load_explicit(&w[i], memory_order_relaxed);
        memcpy((char *)ret + 8 * i, &word, sizeof word);
    }
}

/* Each store releases: no word is seen before the version is odd, nor the even version before the last word. */
void shelves_put(struct shelves *s, size_t shelf, size_t place, const void *entry)
{
    _Atomic uint64_t *version = shelf_at(s, shelf), *w = shelf_place(s, shelf, place);
    uint64_t before = atomic_load_explicit(version, memory_order_relaxed);
    atomic_store_explicit(version, before + 1, memory_order_relaxed);
    for (size_t i = 0; i < s->words; i++) {
        uint64_t word;
        memcpy(&word, (const char *)entry + 8 * i, sizeof word);
        if (i == 0) atomic_store_explicit(&version[1 + place], word, memory_order_release);
        atomic_store_explicit(&w[i], word, memory_order_release);
    }
    atomic_store_explicit(version, before + 2, memory_order_release);
}
