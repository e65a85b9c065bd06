/* base/random.c - libsodium's generator, which reads getrandom(2). */
#include "base/random.h"

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
