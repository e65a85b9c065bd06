/* base/arena.c - see arena.h. Blocks are chained newest first; each holds its size and then its bytes. */
#include "base/arena.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FIRST_BLOCK_BYTES 4096
#define BLOCK_BYTES_MAX (256 * 1024)
#define ALIGN 16

struct arena_block {
    struct arena_block *older;
    size_t bytes; /* of data */
    _Alignas(ALIGN) char data[];
};

static void out_of_memory(void)
{
    fputs("souk: out of memory\n", stderr);
    abort();
}

static size_t aligned(size_t bytes)
{
    if (bytes > SIZE_MAX / 2) out_of_memory();
    return (bytes + ALIGN - 1) & ~(size_t)(ALIGN - 1);
}

static void add_block(struct arena *a, size_t least)
{
    size_t bytes = a->block ? a->block->bytes * 2 : FIRST_BLOCK_BYTES;
    if (bytes > BLOCK_BYTES_MAX) bytes = BLOCK_BYTES_MAX;
    if (bytes < least) bytes = least;
    struct arena_block *b = malloc(sizeof *b + bytes);
    if (!b) out_of_memory();
    b->older = a->block;
    b->bytes = bytes;
    a->block = b;
    a->used = 0;
}

static void *take(struct arena *a, size_t bytes)
{
    size_t n = aligned(bytes);
    if (!a->block || a->block->bytes - a->used < n) add_block(a, n);
    void *p = a->block->data + a->used;
    a->used += n;
    return p;
}

void *arena_alloc(struct arena *a, size_t bytes)
{
    void *p = take(a, bytes);
    memset(p, 0, bytes);
    return p;
}

void *arena_calloc(struct arena *a, size_t n, size_t bytes)
{
    size_t total;
    if (__builtin_mul_overflow(n, bytes, &total)) out_of_memory();
    return arena_alloc(a, total);
}

void *arena_grow(struct arena *a, void *old, size_t old_bytes, size_t new_bytes)
{
    if (old && a->block) {
        size_t had = aligned(old_bytes), wants = aligned(new_bytes);
        char *last = a->block->data + a->used - had;
        if (had <= a->used && old == last && a->block->bytes - (a->used - had) >= wants) {
            a->used = a->used - had + wants;
            return old;
        }
    }
    void *p = take(a, new_bytes);
    if (old) memcpy(p, old, old_bytes < new_bytes ? old_bytes : new_bytes);
    return p;
}

void arena_reset(struct arena *a)
{
    while (a->block && a->block->older) {
        struct arena_block *older = a->block->older;
        free(a->block);
        a->block = older;
    }
    a->used = 0;
}

void arena_done(struct arena *a)
{
    arena_reset(a);
    free(a->block);
    a->block = NULL;
}
