/* base/arena.h - memory that lives as long as one request.
 *
 * An arena hands out zeroed memory and takes it all back at once. Nothing taken from it is freed alone, so a function
 * that works in an arena can return from anywhere. It never returns NULL: running out of memory ends the process with
 * a message, because a store that cannot allocate a kilobyte cannot promise anything else either. What a stranger can
 * make us allocate is bounded before it gets here (body, header and list limits).
 * Not thread-safe: an arena is handed from thread to thread together with its request, never shared. */
#pragma once

#include <stddef.h>

struct arena_block;

struct arena {
    struct arena_block *block; /* the newest; older ones chained behind */
    size_t used;               /* bytes used in the newest */
    struct arena_block *large; /* allocations that have a block to themselves */
};

/* An embedded value: {0} is a valid empty arena. */
void *arena_alloc(struct arena *a, size_t bytes);
/* The same without zeroing: for what is written over at once. */
void *arena_take(struct arena *a, size_t bytes);
#define arena_new(a, type) ((type *)arena_alloc((a), sizeof(type)))
#define arena_array(a, type, n) ((type *)arena_calloc((a), (n), sizeof(type)))
void *arena_calloc(struct arena *a, size_t n, size_t bytes); /* checks the product */

/* Grows the last allocation in place when it can, and one of 64 KiB or more always without leaving its old bytes
 * behind; else copies. What is new is not zeroed. For buffers. */
void *arena_grow(struct arena *a, void *old, size_t old_bytes, size_t new_bytes);

/* Gives the bytes of a large allocation back before the rest; does nothing for a smaller one. */
void arena_give_back(struct arena *a, void *p, size_t bytes);

/* Forgets everything but keeps the first block for reuse, unless a huge allocation made it huge. */
void arena_reset(struct arena *a);
/* Gives all memory back. The arena is empty and usable afterwards. */
void arena_done(struct arena *a);
