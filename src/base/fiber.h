/* base/fiber.h - functions that can stop in the middle and go on later, on the same thread.
 *
 * A fiber has a stack of its own. fiber_resume runs it until it calls fiber_wait, or until its function returns; the
 * next fiber_resume goes on behind the fiber_wait. It belongs to the thread that first resumes it. Whatever holds a
 * lock must not wait. */
#pragma once

#include <stdbool.h>

struct fiber;

/* NULL: no memory. */
struct fiber *fiber_new(void);
/* It has ended, or never began. */
void fiber_free(struct fiber *f);
/* What the next fiber_resume will run. A fiber that has ended can begin again. */
void fiber_begin(struct fiber *f, void (*run)(void *arg), void *arg);
/* True: it waits. False: its function has returned. */
bool fiber_resume(struct fiber *f);
/* From inside: back to the function that resumed it. */
void fiber_wait(struct fiber *f);
