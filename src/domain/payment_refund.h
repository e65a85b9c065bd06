/* domain/payment_refund.h - giving the money of a payment back, through its gateway.
 *
 * Requested under the payment's lock, so that concurrent refunds never ask for more than there is; booked when the
 * gateway agrees. Every function locks the payment first. TX_WRITE. */
#pragma once

#include "domain/gateway_config.h"
#include "domain/payment.h"
#include "domain/payment_event.h"
#include "domain/refund.h"

/* What can still be given back: what waits or was sold, less what is being given back. `p` is locked. */
enum err payment_refundable(struct db *db, const struct payment *p, Money *ret);

/* Asks the gateway for a refund or, where we cannot call the gateway, leaves it to staff: the refund then starts as
 * failed and says why. At most payment_refundable. `p` is locked; `by` 0: nobody. */
enum err payment_refund_request(struct db *db, struct payment *p, Money amount, Str reason, Id by, Time now,
                                struct refund *ret);

/* How the call ended. Each changes only a refund that is requested. */
enum err payment_refund_done(struct db *db, Id refund, Str refund_ref, Str claim_url, Time now);
/* is_refused: the gateway said no, so nothing happened; else the outcome is not known. */
enum err payment_refund_failed(struct db *db, Id refund, Str why, bool is_refused, Time now);

/* By staff: try again, or done another way. ERR_NOT_FOUND, ERR_INVALID_STATE: it has not failed. */
enum err payment_refund_retry(struct db *db, Id refund, Id by, Time now, struct refund *ret);
enum err payment_refund_settle(struct db *db, Id refund, Str note, Id by, Time now, struct refund *ret);

/* What an event says was refunded in all. TX_READ is enough. */
enum err payment_refund_so_far(struct db *db, const struct gateway_config *gateway, const struct payment *p,
                               const struct payment_event *e, Money *ret);
/* The gateway says that this much went back in all, our refunds included. `p` is locked. */
enum err payment_refund_told(struct db *db, struct payment *p, Money total, Str refund_ref, Time now);
/* The gateway says that a refund did not happen after all. *ret_known: there was a refund to undo. */
enum err payment_refund_undone(struct db *db, struct payment *p, Str refund_ref, bool has_amount, Money amount,
                               Time now, bool *ret_known);
