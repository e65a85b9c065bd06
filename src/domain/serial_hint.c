/* domain/serial_hint.c - see serial_hint.h. A table of fixed size: a pool that finds another one in its slot takes it.
 */
#include "domain/serial_hint.h"

#include <pthread.h>

#define SLOTS 1024

struct pool_hint {
    Id product, variant, low;
    Time looked_at; /* when a search last began at the start */
};

static struct pool_hint hints[SLOTS];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static struct pool_hint *hint_of(Id product, Id variant)
{
    uint64_t h =
        (uint64_t)product.v * UINT64_C(0x9e3779b97f4a7c15) + (uint64_t)variant.v * UINT64_C(0xc2b2ae3d27d4eb4f);
    return &hints[(h >> 32) % SLOTS];
}

static bool is_of(const struct pool_hint *s, Id product, Id variant)
{
    return id_eq(s->product, product) && id_eq(s->variant, variant);
}

Id serial_hint(Id product, Id variant, Time now)
{
    struct pool_hint *s = hint_of(product, variant);
    pthread_mutex_lock(&lock);
    if (!is_of(s, product, variant)) *s = (struct pool_hint){.product = product, .variant = variant, .looked_at = now};
    bool is_old = now.ms < s->looked_at.ms || now.ms - s->looked_at.ms >= SERIAL_HINT_LASTS;
    Id low = is_old ? (Id){0} : s->low;
    if (is_old) s->looked_at = now; /* one searches, the others need not */
    pthread_mutex_unlock(&lock);
    return low;
}

Id serial_hint_peek(Id product, Id variant)
{
    const struct pool_hint *s = hint_of(product, variant);
    pthread_mutex_lock(&lock);
    Id low = is_of(s, product, variant) ? s->low : (Id){0};
    pthread_mutex_unlock(&lock);
    return low;
}

void serial_hint_note(Id product, Id variant, Id from, Id taken)
{
    struct pool_hint *s = hint_of(product, variant);
    pthread_mutex_lock(&lock);
    /* A search that began above `low` says nothing: another has found a code further down since. */
    bool moves_on = from.v <= s->low.v && taken.v > s->low.v;
    if (is_of(s, product, variant) && (!id_is(from) || moves_on)) s->low = taken;
    pthread_mutex_unlock(&lock);
}

void serial_hint_forget(Id product)
{
    pthread_mutex_lock(&lock);
    for (size_t i = 0; i < SLOTS; i++)
        if (id_eq(hints[i].product, product)) hints[i] = (struct pool_hint){0};
    pthread_mutex_unlock(&lock);
}
