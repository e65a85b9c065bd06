/* domain/payment_end.h - payments that will not be paid: their order is cancelled, and its coupon is free again once
 * nothing can pay for the order any more. TX_WRITE. */
#pragma once

#include "domain/gateway_config.h"
#include "domain/payment.h"

/* When a payment whose page expires then is asked about a last time: some gateways take money a while longer. */
Time payment_ends_at(enum provider provider, Time expires_at);

/* Its page is dead, or its time is over and its gateway had nothing to tell. Changes nothing about one that has
 * ended. */
enum err payment_end(struct db *db, Id payment, Time now);
/* The gateway will not make it. */
enum err payment_give_up(struct db *db, Id payment, Time now);
/* Nothing will come of the payment: cancels its order, unless that is paid, or may be with another payment. */
enum err payment_order_over(struct db *db, const struct payment *p, Time now);
/* An attempt failed: the order is cancelled, but the customer may still pay. `p` is locked. */
enum err payment_fail(struct db *db, struct payment *p, Time now);

/* Nobody wants it to be paid any more: closed here at once, and at the gateway as soon as that can be told. `p` is
 * locked. */
enum err payment_close(struct db *db, struct payment *p, Time now);
/* All payments of the order of `p` but `p`. */
enum err payment_close_others(struct db *db, const struct payment *p, Time now);
