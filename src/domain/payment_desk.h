/* domain/payment_desk.h - what staff do to orders and their money: confirm, cancel, refund, and settle reviews. The
 * payment is locked before its order, as everywhere. TX_WRITE unless said otherwise. */
#pragma once

#include "domain/refund.h"
#include "domain/review.h"

/* Confirms an order whose money has arrived: with its payment if that has brought money, else by hand, which closes
 * open payments. Errors as order_confirm, and ERR_COUPON_… as payment_sell. */
enum err payment_confirm_order(struct db *db, Id order, Id by, Time now, bool *ret_changed);

/* Pays a waiting order from its owner's wallet. Errors as order_confirm; ERR_INVALID_STATE: it does not wait, or money
 * has come in for it. */
enum err payment_pay_from_wallet(struct db *db, Id order, Time now);
/* Whether money for an order has arrived and waits. TX_READ is enough. */
enum err payment_has_waiting(struct db *db, Id order, bool *ret);

enum spare_money { SPARE_REFUND, SPARE_CREDIT };
extern const char *const spare_money_names[];
/* Cancels a waiting order, closes its payments and gives back the money that has come in, through the gateway or into
 * the wallet. Errors as order_cancel. *ret_back: how much goes back. */
enum err payment_cancel_order(struct db *db, Id order, enum spare_money how, Id by, Time now, bool *ret_changed,
                              Money *ret_back);

/* Gives an order's money back where it came from: all that is left, or `amount` (0: all). *ret is the refund; for a
 * free order ret->id is 0. ERR_NOT_FOUND; ERR_INVALID_STATE: there is nothing to give back; ERR_FIELD_RANGE: less than
 * `amount` is left. */
enum err payment_refund_order(struct db *db, Id order, Money amount, Str reason, Id by, Time now, struct refund *ret);

/* The actions that a review allows: a mask of 1 << action. TX_READ is enough. */
enum err payment_review_actions(struct db *db, const struct review *r, unsigned *ret);
/* Carries out an action, once. ERR_NOT_FOUND; ERR_INVALID_STATE: already settled, or the action is not allowed;
 * ERR_OUT_OF_STOCK and ERR_COUPON_… when confirming. */
enum err payment_review_resolve(struct db *db, Id review, enum review_action action, Str note, Id by, Time now);
