/* domain/payment_money.h - the money of one payment in the ledger.
 *
 *     gateway ─▶ clearing ─▶ received ─▶ sales    (its order was confirmed with it)
 *                               │  └──▶ wallet   (a top-up, or money that could not be used otherwise)
 *                               └─────▶ clearing (given back)
 *
 * Money is booked when it arrives, whatever becomes of the order, and waits in `received` until that is decided. What
 * the gateway gave back, or took back in a dispute, is booked when the gateway says so: from what waits, else from the
 * sale, else from the wallet, where the customer then owes any shortfall.
 *
 * Every function changes *p and its row, which is locked. TX_WRITE. */
#pragma once

#include "domain/payment.h"

/* The gateway says that `total` has arrived for this payment so far. *ret_changed: that is new. */
enum err payment_book_arrival(struct db *db, struct payment *p, Money total, Time now, bool *ret_changed);
/* From what waits into the customer's wallet; `why` is for the order's timeline. */
enum err payment_book_credit(struct db *db, struct payment *p, Money amount, Str why, Time now);
/* The order has just been confirmed with this payment: what waits becomes the sale. A shortfall is the store's loss;
 * what was given back before is a refund of the order. */
enum err payment_book_sale(struct db *db, struct payment *p, Money total, Time now);
/* Brings the ledger into line with the gateway: p->refunded_total and p->lost_total, never more than arrived. */
enum err payment_book_return(struct db *db, struct payment *p, Time now);
/* A refund that was booked did not happen: the money waits again (a top-up's goes back into the wallet). */
enum err payment_book_refund_failed(struct db *db, struct payment *p, Money amount, Time now);
