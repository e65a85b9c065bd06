/* domain/payment_end.h - payments that will not be paid: their order is cancelled, and its coupon becomes free once the
 * order can no longer be paid. TX_WRITE. */
#pragma once

#include "domain/gateway_config.h"
#include "domain/payment.h"

/* When the gateway is asked for the last time about a payment whose page expires then: some gateways take money a while
 * longer. */
Time payment_ends_at(enum provider provider, Time expires_at);

/* The payment's page is dead, or its time is over and the gateway had nothing to report. A payment that has ended stays
 * unchanged. */
enum err payment_end(struct db *db, Id payment, Time now);
/* The gateway will not make the payment. */
enum err payment_give_up(struct db *db, Id payment, Time now);
/* Nothing will come of the payment: cancels its order, unless the order is paid, or another payment may still pay for
 * it. */
enum err payment_order_over(struct db *db, const struct payment *p, Time now);
/* An attempt failed: the order is cancelled, but the customer may still pay. `p` is locked. */
enum err payment_fail(struct db *db, struct payment *p, Time now);

/* The payment is no longer wanted: closed here at once, and at the gateway as soon as it can be called. `p` is locked.
 */
enum err payment_close(struct db *db, struct payment *p, Time now);
/* Closes all other payments of the order of `p`. */
enum err payment_close_others(struct db *db, const struct payment *p, Time now);
