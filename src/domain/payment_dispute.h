/* domain/payment_dispute.h - what a dispute does to its payment. `p` is locked and has received money. TX_WRITE. */
#pragma once

#include "domain/dispute.h"
#include "domain/payment.h"

/* Holds what was delivered, or freezes what a top-up brought. *ret_is_open false: already decided. */
enum err payment_dispute_open(struct db *db, struct payment *p, const struct payment_event *e, Time now,
                              struct dispute *ret, bool *ret_is_open);
/* Ends the hold; lost: the amount is gone. *ret_is_first false: decided before; ret->status says how. */
enum err payment_dispute_close(struct db *db, struct payment *p, const struct payment_event *e, Time now,
                               struct dispute *ret, bool *ret_is_first);
/* The provider took money back without naming a dispute. It is what a dispute was or will be lost for, and is counted
 * once. *ret_is_new false: known. */
enum err payment_reverse(struct db *db, struct payment *p, const struct payment_event *e, Time now, bool *ret_is_new);
/* Whether more was taken back than disputes were lost for. */
enum err payment_reversed_more(struct db *db, const struct payment *p, bool *ret);
