/* base/arena.h - memory that lives as long as one request.
 *
 * An arena hands out zeroed memory and takes it all back at once. Nothing is freed alone, so a function that works in
 * an arena can return from anywhere. It never returns NULL: where there is no memory a reserve is used
 * (base/memory.h), and without it the process ends with a message. What a stranger can make the server allocate is
 * bounded earlier, by the limits on bodies, headers and lists.
 * Not thread-safe: an arena moves from thread to thread together with its request and is never shared. */
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
/* The same without zeroing, for memory that is overwritten at once. */
void *arena_take(struct arena *a, size_t bytes);
#define arena_new(a, type) ((type *)arena_alloc((a), sizeof(type)))
#define arena_array(a, type, n) ((type *)arena_calloc((a), (n), sizeof(type)))
void *arena_calloc(struct arena *a, size_t n, size_t bytes); /* checks the product */

/* For buffers. Grows the last allocation in place where possible, else copies; an allocation of 64 KiB or more never
 * leaves its old bytes behind. The new bytes are not zeroed. */
void *arena_grow(struct arena *a, void *old, size_t old_bytes, size_t new_bytes);

/* Gives the bytes of a large allocation back early; does nothing for a small one. */
void arena_give_back(struct arena *a, void *p, size_t bytes);

/* Forgets everything but keeps the first block for reuse, unless a huge allocation made it huge. */
void arena_reset(struct arena *a);
/* Gives all memory back. The arena is empty and usable afterwards. */
void arena_done(struct arena *a);
