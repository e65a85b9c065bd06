/* domain/payment_desk.h - what staff do to orders and their money: confirm, cancel, give back, and settle reviews. The
 * payment is locked before its order, as everywhere. TX_WRITE unless said otherwise. */
#pragma once

#include "domain/refund.h"
#include "domain/review.h"

/* Confirms an order whose money is there: with its payment when that has brought some, else by hand; payments that are
 * open are closed then. As order_confirm, and ERR_COUPON_… as payment_sell. */
enum err payment_confirm_order(struct db *db, Id order, Time now, bool *ret_changed);

/* Pays an order that waits out of its owner's wallet. As order_confirm; ERR_INVALID_STATE: it does not wait, or money
 * has come for it. */
enum err payment_pay_from_wallet(struct db *db, Id order, Time now);
/* Whether money has come for an order and waits. TX_READ is enough. */
enum err payment_has_waiting(struct db *db, Id order, bool *ret);

enum spare_money { SPARE_REFUND, SPARE_CREDIT };
extern const char *const spare_money_names[];
/* Cancels an order that waits, closes its payments and gives back what has come for it, through the gateway or into the
 * wallet. As order_cancel. *ret_back: how much that is. */
enum err payment_cancel_order(struct db *db, Id order, enum spare_money how, Id by, Time now, bool *ret_changed,
                              Money *ret_back);

/* Gives money of an order back where it came from: all that is left, or `amount` (0: all). What the refund is and will
 * be is in *ret; of an order that cost nothing, ret->id is 0. ERR_NOT_FOUND; ERR_INVALID_STATE: there is nothing to
 * give back; ERR_FIELD_RANGE: not that much. */
enum err payment_refund_order(struct db *db, Id order, Money amount, Str reason, Id by, Time now, struct refund *ret);

/* What can be done about a review: a mask of 1 << action. TX_READ is enough. */
enum err payment_review_actions(struct db *db, const struct review *r, unsigned *ret);
/* Does it, once. ERR_NOT_FOUND; ERR_INVALID_STATE: it was settled, or this cannot be done about it; ERR_OUT_OF_STOCK
 * and ERR_COUPON_… of confirming. */
enum err payment_review_resolve(struct db *db, Id review, enum review_action action, Str note, Id by, Time now);
