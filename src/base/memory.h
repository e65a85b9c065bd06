/* base/memory.h - memory from the C library, with a reserve for the moment at which there is none.
 *
 * At the start a server maps address space that it does not use. When an allocation fails, a part of it is given back
 * and the allocation is tried again: what has begun can be brought to its end, and nothing has to be undone half-way.
 * From then on memory is short: new requests are refused (serve/admit.c) until the reserve is whole again. Once it is
 * spent, the process ends with a message: everything that was answered is in the database. Libraries that take
 * functions for their memory take these; without a reserve (commands, tests) they are the C library's. Everything is
 * given back with free(). Thread-safe. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Never NULL. */
void *memory_take(size_t bytes);
void *memory_zeroed(size_t n, size_t bytes);
void *memory_grow(void *p, size_t bytes);
char *memory_copy(const char *text);

/* There is none left: ends the process. */
_Noreturn void memory_out(void);

/* NULL once the reserve is spent: for libraries, which have a way to say so. */
void *memory_try(size_t bytes);
void *memory_try_zeroed(size_t n, size_t bytes);
void *memory_try_grow(void *p, size_t bytes);

/* Maps the reserve; later calls fill it up again, as far as there is room. */
void memory_refill(void);
/* Whether some of the reserve is in use, and there is no memory to fill it up again. */
bool memory_is_short(void);
/* How many parts of the reserve were given up so far. */
int64_t memory_given_up(void);
