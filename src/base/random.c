/* base/random.c - libsodium's generator, which reads getrandom(2). */
#include "base/random.h"

#include <assert.h>
#include <sodium.h>

void random_bytes(void *ret, size_t n)
{
    randombytes_buf(ret, n);
}

uint64_t random_u64(void)
{
    uint64_t v;
    randombytes_buf(&v, sizeof v);
    return v;
}

uint32_t random_below(uint32_t n)
{
    return randombytes_uniform(n);
}

void random_base62(char *ret, size_t n)
{
    static const char digits[] = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
    for (size_t i = 0; i < n; i++) ret[i] = digits[randombytes_uniform(62)];
}

int64_t random_delay_ms(const int64_t *delays_ms, size_t count, int64_t attempts)
{
    assert(attempts >= 1);
    if ((size_t)attempts > count) return 0;
    int64_t delay = delays_ms[attempts - 1], fifth = delay / 5;
    return delay - fifth + (int64_t)random_below((uint32_t)(2 * fifth + 1));
}
