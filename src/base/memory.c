/* base/memory.c - see memory.h. The reserve is mapped, not touched: it costs address space alone, which is what limits
 * and strict accounting count. */
#include "base/memory.h"

#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define PART_BYTES ((size_t)1024 * 1024)
#define PARTS 16

static struct {
    pthread_mutex_t lock;
    void *parts[PARTS];
    int count;
    bool is_wanted; /* memory_refill was called */
    _Atomic bool is_short;
    _Atomic int64_t given_up;
} reserve = {.lock = PTHREAD_MUTEX_INITIALIZER};

bool memory_is_short(void)
{
    if (reserve.is_short) memory_refill();
    return reserve.is_short;
}

int64_t memory_given_up(void)
{
    return reserve.given_up;
}

void memory_refill(void)
{
    pthread_mutex_lock(&reserve.lock);
    reserve.is_wanted = true;
    while (reserve.count < PARTS) {
        void *part = mmap(NULL, PART_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (part == MAP_FAILED) break;
        reserve.parts[reserve.count++] = part;
    }
    reserve.is_short = reserve.count < PARTS;
    pthread_mutex_unlock(&reserve.lock);
}

/* False: nothing is left to give. */
static bool give_way(void)
{
    pthread_mutex_lock(&reserve.lock);
    bool has_part = reserve.count > 0;
    if (has_part) {
        munmap(reserve.parts[--reserve.count], PART_BYTES);
        reserve.given_up++;
    }
    if (reserve.is_wanted) reserve.is_short = true;
    pthread_mutex_unlock(&reserve.lock);
    return has_part;
}

void memory_out(void)
{
    fputs("souk: out of memory\n", stderr);
    abort();
}

static void *must(void *p)
{
    if (!p) memory_out();
    return p;
}

void *memory_try(size_t bytes)
{
    void *p;
    while (!(p = malloc(bytes ? bytes : 1)) && give_way()) {
    }
    return p;
}

void *memory_try_zeroed(size_t n, size_t bytes)
{
    void *p;
    while (!(p = calloc(n ? n : 1, bytes ? bytes : 1)) && give_way()) {
    }
    return p;
}

void *memory_try_grow(void *p, size_t bytes)
{
    void *grown;
    while (!(grown = realloc(p, bytes ? bytes : 1)) && give_way()) {
    }
    return grown;
}

void *memory_take(size_t bytes)
{
    return must(memory_try(bytes));
}

void *memory_zeroed(size_t n, size_t bytes)
{
    return must(memory_try_zeroed(n, bytes));
}

void *memory_grow(void *p, size_t bytes)
{
    return must(memory_try_grow(p, bytes));
}

char *memory_copy(const char *text)
{
    size_t bytes = strlen(text) + 1;
    return memcpy(memory_take(bytes), text, bytes);
}
