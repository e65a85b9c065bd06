/* tests/sim/schedule.h - every thread of the server as a fiber on one thread, and a clock that moves when it is told
 * to.
 *
 * The program is linked with --wrap for the pthread functions: what the server starts as a thread becomes a fiber,
 * which runs until it waits. Which of those that can run is next, and who of those that wait for a condition is woken,
 * follows from the seed. Time stands still while anything runs. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

void sched_seed(uint64_t seed);
/* Runs one fiber that can run, chosen by the seed; false: there is none. */
bool sched_step(void);
/* Until none can run. */
void sched_settle(void);
/* When the next one that waits for a time will be due; INT64_MAX: none does. */
int64_t sched_next_ns(void);

int64_t clock_ns(void);
/* Moves the clock, forward, and wakes who is due. */
void clock_set_ns(int64_t ns);
/* Back to an earlier time, when none of the server's threads is left. */
void clock_rewind_ns(int64_t ns);
static inline void clock_add_ms(int64_t ms)
{
    clock_set_ns(clock_ns() + ms * 1000000);
}

/* For a fiber that waits for something that is no condition: returns after somebody has called sched_wake with the same
 * address, or at that time. */
void sched_wait(const void *on, int64_t until_ns);
void sched_wake(const void *on);
