/* domain/reservation.h - serial codes that are kept for an order while it waits for its payment.
 *
 * Off unless the settings say for how long. All codes of an order are kept, or none: a customer who has as many as one
 * may have at once gets an order without. They are in no pool meanwhile, are delivered when the order is confirmed, and
 * go back when it is cancelled or their time is over; a second payment for the same order does not make that later.
 * Everything is done with the order's row locked (or new). TX_WRITE. */
#pragma once

#include "domain/delivery.h"

struct reservation {
    Id account, order;
    Time until;
    int64_t most; /* codes of one customer at once */
};

/* *ret_made false: the customer has too many already, or there is nothing to keep. ERR_OUT_OF_STOCK: somebody was
 * faster; the transaction must be rolled back. */
enum err reservation_make(struct db *db, const struct reservation *want, const struct delivery_job *jobs, size_t count,
                          Time now, bool *ret_made);
/* Puts the codes back. */
enum err reservation_release(struct db *db, Id order);
/* Does so for orders whose time is over. TX_READ is enough to find that there are none; ERR_NEEDS_WRITE otherwise. */
enum err reservation_expire(struct db *db, Time now);
