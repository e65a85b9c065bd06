/* domain/receipt.h - tells a customer what became of their money: a notification, and an e-mail where mail is on; and
 * staff of a new order where the settings say so. In the transaction of the event itself. TX_WRITE. */
#pragma once

#include "domain/order.h"
#include "domain/payment.h"
#include "domain/refund.h"
#include "page/words.h"

/* The order has just been confirmed: the message has what it delivered. */
enum err receipt_order(struct db *db, Id order, Time now);
/* Its message once more, with what it delivered. ERR_NOT_FOUND; ERR_MAIL_OFF; ERR_INVALID_STATE: nothing was delivered,
 * or it was refunded. */
enum err receipt_order_again(struct db *db, Id order, Time now);
enum err receipt_topup(struct db *db, const struct payment *p, Time now);
/* Money went back through the gateway: the message says where to claim it, if it must be claimed. */
enum err receipt_refund(struct db *db, const struct payment *p, const struct refund *r, Time now);
/* The same for an order that was not paid through a gateway. */
enum err receipt_refund_order(struct db *db, const struct order *o, Money amount, Time now);
enum err receipt_cancelled(struct db *db, Id order, Time now);
/* Money arrived that was not used for its purpose: `why`, and whether it is in the wallet or goes back. */
enum err receipt_trouble(struct db *db, const struct payment *p, Money amount, enum word why, bool is_credited,
                         Time now);
