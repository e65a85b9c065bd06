/* base/arena.c - see arena.h. Blocks are chained newest first; each holds its size and then its bytes. Large
 * allocations have a block each, in a second chain, so that a growing buffer can give its old block back.
 *
 * Under AddressSanitizer memory that was not handed out is poisoned and a gap follows each allocation, so that a read
 * past its end is reported as it would be on the heap. */
#include "base/arena.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/sanitized.h"

#ifdef WITH_ASAN
#include <sanitizer/asan_interface.h>
#define GAP 16
#else
#define ASAN_POISON_MEMORY_REGION(p, n) ((void)(p), (void)(n))
#define ASAN_UNPOISON_MEMORY_REGION(p, n) ((void)(p), (void)(n))
#define GAP 0
#endif

#define FIRST_BLOCK_BYTES 8192 /* enough for a verification: no block has to be added and given back */
#define BLOCK_BYTES_MAX ((size_t)256 * 1024)
#define LARGE_BYTES ((size_t)64 * 1024)
#define ALIGN 16

struct arena_block {
    struct arena_block *older;
    size_t bytes; /* of data */
    _Alignas(ALIGN) char data[];
};

/* Bytes that an allocation takes from its block. */
static size_t footprint(size_t bytes)
{
    if (bytes > SIZE_MAX / 2) memory_out();
    return ((bytes + ALIGN - 1) & ~(size_t)(ALIGN - 1)) + GAP;
}

static void add_block(struct arena *a, size_t least)
{
    size_t bytes = a->block ? a->block->bytes * 2 : FIRST_BLOCK_BYTES;
    if (bytes > BLOCK_BYTES_MAX) bytes = BLOCK_BYTES_MAX;
    if (bytes < least) bytes = least;
    struct arena_block *b = memory_take(sizeof *b + bytes);
    b->older = a->block;
    b->bytes = bytes;
    ASAN_POISON_MEMORY_REGION(b->data, bytes);
    a->block = b;
    a->used = 0;
}

static void *take_large(struct arena *a, size_t bytes)
{
    struct arena_block *b = memory_take(sizeof *b + bytes);
    b->older = a->large;
    b->bytes = bytes;
    a->large = b;
    return b->data;
}

/* The link that points to the block of a large allocation. */
static struct arena_block **find_large(struct arena *a, const void *p)
{
    struct arena_block **at = &a->large;
    while ((*at)->data != (const char *)p) at = &(*at)->older;
    return at;
}

static void *grow_large(struct arena *a, void *old, size_t bytes)
{
    struct arena_block **at = find_large(a, old), *b = memory_grow(*at, sizeof *b + bytes);
    b->bytes = bytes;
    *at = b;
    return b->data;
}

void *arena_take(struct arena *a, size_t bytes)
{
    size_t n = footprint(bytes);
    if (bytes >= LARGE_BYTES) return take_large(a, bytes);
    if (!a->block || a->block->bytes - a->used < n) add_block(a, n);
    void *p = a->block->data + a->used;
    a->used += n;
    ASAN_UNPOISON_MEMORY_REGION(p, bytes);
    return p;
}

void *arena_alloc(struct arena *a, size_t bytes)
{
    void *p = arena_take(a, bytes);
    memset(p, 0, bytes);
    return p;
}

void *arena_calloc(struct arena *a, size_t n, size_t bytes)
{
    size_t total;
    if (__builtin_mul_overflow(n, bytes, &total)) memory_out();
    return arena_alloc(a, total);
}

void *arena_grow(struct arena *a, void *old, size_t old_bytes, size_t new_bytes)
{
    size_t had = footprint(old_bytes), wants = footprint(new_bytes);
    if (old && old_bytes >= LARGE_BYTES && new_bytes >= LARGE_BYTES) return grow_large(a, old, new_bytes);
    if (old && new_bytes < LARGE_BYTES && a->block && had <= a->used) {
        size_t start = a->used - had;
        if (old == a->block->data + start && a->block->bytes - start >= wants) {
            a->used = start + wants;
            ASAN_POISON_MEMORY_REGION(old, had);
            ASAN_UNPOISON_MEMORY_REGION(old, new_bytes);
            return old;
        }
    }
    void *p = arena_take(a, new_bytes);
    if (old) memcpy(p, old, old_bytes < new_bytes ? old_bytes : new_bytes);
    return p;
}

static void drop_newest(struct arena_block **chain)
{
    struct arena_block *b = *chain;
    *chain = b->older;
    free(b); /* free() tells the sanitizer about the whole block, poisoned or not */
}

void arena_give_back(struct arena *a, void *p, size_t bytes)
{
    if (bytes >= LARGE_BYTES) drop_newest(find_large(a, p));
}

void arena_reset(struct arena *a)
{
    while (a->large) drop_newest(&a->large);
    while (a->block && a->block->older) drop_newest(&a->block);
    if (a->block) ASAN_POISON_MEMORY_REGION(a->block->data, a->block->bytes);
    a->used = 0;
}

void arena_done(struct arena *a)
{
    while (a->large) drop_newest(&a->large);
    while (a->block) drop_newest(&a->block);
    a->used = 0;
}
