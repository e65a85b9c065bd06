/* serve/turn.h - so that one caller cannot take all threads: each caller has a number of turns at once, and waits
 * beyond that.
 *
 * A turn is taken before work goes to threads that others need too, and given back when the work has ended; the same
 * caller's next waiting call gets it. A waiting call holds no thread. Callers are kept in a fixed table, at the place
 * that base/quota.h gives them: two may share one. Thread-safe. */
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
/* Takes a turn if one is free. A call that has one keeps it. */
bool turn_try(struct turns *s, struct turn *t, size_t place);
/* Takes a turn or queues for one: `resume` will be called. TURN_REFUSED: too many are waiting. */
enum turn_result turn_wait(struct turns *s, struct turn *t, size_t place, void (*resume)(struct turn *t));
/* Gives the turn back; harmless without one. */
void turn_give(struct turn *t);
