/* serve/guess.h - how often a password or a code may be guessed.
 *
 * Guesses are counted by account and network together: a stranger who fails again and again makes their own network
 * wait, and nobody else's. The first `free` failures cost nothing, each later one doubles the wait, up to a quarter of
 * an hour. A guess counts from the moment it begins, so that many guesses at once do not evade the limit; a right guess
 * takes its count back. In memory, bounded, per node. Thread-safe. */
#pragma once

#include "base/str.h"

struct guesses;

struct guesses *guesses_new(void);
void guesses_free(struct guesses *g);

/* True: go on, it counts. False: *ret_wait_s is how long to wait. */
bool guess_begin(struct guesses *g, char name, Str who, int64_t free, int64_t now_ns, int64_t *ret_wait_s);
/* Right: earlier failures no longer count. */
void guess_right(struct guesses *g, char name, Str who);
/* Neither right nor wrong: as if the guess had not been made. */
void guess_undo(struct guesses *g, char name, Str who, int64_t free);
