/* tests/sim/seed.h - numbers that follow from a seed alone (splitmix64), and whatever in the server follows from it. */
#pragma once

#include <stdint.h>

struct random {
    uint64_t state;
};

static inline uint64_t random_mix(uint64_t z)
{
    z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
    return z ^ z >> 31;
}

/* Mixed, so that seeds beside each other do not give the same numbers one place apart. */
static inline void random_seed(struct random *r, uint64_t seed)
{
    r->state = random_mix(seed + UINT64_C(0x9e3779b97f4a7c15));
}

static inline uint64_t random_next(struct random *r)
{
    r->state += UINT64_C(0x9e3779b97f4a7c15);
    return random_mix(r->state);
}

/* 0 … n - 1 */
static inline uint32_t random_under(struct random *r, uint32_t n)
{
    return (uint32_t)(random_next(r) % n);
}

/* Before anything else: the server's random numbers are ours from here on. */
void seed_install(void);
/* Everything by chance begins again: random numbers, the disk, who runs next. */
void seed_all(uint64_t seed);
