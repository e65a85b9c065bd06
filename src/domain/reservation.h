/* domain/reservation.h - serial codes that are kept for an order while it waits for its payment.
 *
 * Off unless the settings say for how long. All codes of an order are kept, or none: a customer who already has as
 * many as allowed gets an order without. Kept codes are in no pool, are delivered when the order is confirmed, and go
 * back when it is cancelled or their time is over; a second payment for the same order does not extend it. Every
 * function needs the order's row locked (or new), and TX_WRITE. */
#pragma once

#include "domain/delivery.h"

struct reservation {
    Id account, order;
    Time until;
    int64_t most; /* codes of one customer at once */
};

/* *ret_made false: the customer already has too many, or there is nothing to keep. ERR_OUT_OF_STOCK: another order was
 * faster; the transaction must be rolled back. */
enum err reservation_make(struct db *db, const struct reservation *want, const struct delivery_job *jobs, size_t count,
                          Time now, bool *ret_made);
/* Puts the codes back. */
enum err reservation_release(struct db *db, Id order);
/* Locks the orders whose time is over and releases their codes. TX_READ is enough when there are none; ERR_NEEDS_WRITE
 * otherwise. */
enum err reservation_expire(struct db *db, Time now);
