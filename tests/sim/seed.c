/* tests/sim/seed.c - see seed.h. */
#include "seed.h"

#include <sodium.h>
#include <stdlib.h>

#include "disk.h"
#include "schedule.h"

static struct random server;

static const char *name(void)
{
    return "sim";
}
static uint32_t word(void)
{
    return (uint32_t)random_next(&server);
}
static void bytes(void *const ret, const size_t n)
{
    for (size_t i = 0; i < n; i++) ((uint8_t *)ret)[i] = (uint8_t)random_next(&server);
}

void seed_install(void)
{
    static struct randombytes_implementation ours = {.implementation_name = name, .random = word, .buf = bytes};
    if (randombytes_set_implementation(&ours) != 0 || sodium_init() < 0) abort();
}

void seed_all(uint64_t seed)
{
    random_seed(&server, seed + 1);
    vfs_install(seed + 3);
    sched_seed(seed + 4);
}
