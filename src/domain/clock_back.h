/* domain/clock_back.h - what a clock that was ahead has left behind.
 *
 * Leases, pauses and due times are points of the wall clock. When a clock that was a day ahead is put right, what was
 * written meanwhile would wait for a day: errands, events to endpoints, codes that are kept for an order. */
#pragma once

#include "db/db.h"

/* Gives everything that was timed in the future the same wait from now on. TX_READ is enough when there is nothing;
 * ERR_NEEDS_WRITE otherwise. */
enum err clock_back_amend(struct db *db, Time now);
