/* domain/receipt.h - telling a customer what became of their money: a notification, and an e-mail where that is on. In
 * the transaction of what happened. TX_WRITE. */
#pragma once

#include "domain/order.h"
#include "domain/payment.h"
#include "domain/refund.h"

/* The order was confirmed just now: with what it delivered. */
enum err receipt_order(struct db *db, Id order, Time now);
enum err receipt_topup(struct db *db, const struct payment *p, Time now);
/* Money went back through the gateway: where it can be claimed, if it has to be. */
enum err receipt_refund(struct db *db, const struct payment *p, const struct refund *r, Time now);
/* The same for an order that was not paid through one. */
enum err receipt_refund_order(struct db *db, const struct order *o, Money amount, Time now);
enum err receipt_cancelled(struct db *db, Id order, Time now);
/* Money came that was not used for what it was meant for: `why`, and whether it is in the wallet or goes back. */
enum err receipt_trouble(struct db *db, const struct payment *p, Money amount, const char *why, bool is_credited,
                         Time now);
