/* serve/turn.h - so that one caller cannot take all threads: everybody has so many turns at once, and then waits.
 *
 * A turn is taken before work is given to threads that others need, too, and given back when it has ended; the next of
 * the same caller who waits gets it. Who waits holds no thread. Callers stand in a fixed table under the place that
 * base/quota.h gives them: two may share one. Thread-safe. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct turns;

struct turn {
    struct turn *next;
    struct turns *of;
    size_t place;
    bool is_taken;
    void (*resume)(struct turn *t); /* from any thread, when the turn has come */
};

enum turn_result { TURN_TAKEN, TURN_WAITS, TURN_REFUSED };

/* `most` at once, `waiting_max` that wait; of each caller. */
struct turns *turns_new(int most, int waiting_max);
void turns_free(struct turns *s);
/* Takes one if there is one. A turn that is taken stays so. */
bool turn_try(struct turns *s, struct turn *t, size_t place);
/* Takes one or queues up for it: `resume` will be called. TURN_REFUSED: too many wait. */
enum turn_result turn_wait(struct turns *s, struct turn *t, size_t place, void (*resume)(struct turn *t));
/* Gives it back; harmless when none is taken. */
void turn_give(struct turn *t);
