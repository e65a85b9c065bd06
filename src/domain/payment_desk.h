/* domain/payment_desk.h - what staff do to the orders of gateways: confirm by hand, give money back. */
#pragma once

#include "db/db.h"

/* Confirms an order whose money is there: with its payment's gateway when that has succeeded, else by hand.
 * As order_confirm. */
enum err payment_confirm_order(struct db *db, Id order, Time now, bool *ret_changed);
/* Gives money of an order back until `refunded_total` has been given back in all; where it came through a gateway that
 * we can call, the gateway is told to. As order_refund. */
enum err payment_refund_order(struct db *db, Id order, Money refunded_total, Time now, Money *ret_refunded);
