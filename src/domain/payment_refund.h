/* domain/payment_refund.h - giving the money of a payment back, through its gateway.
 *
 * Asked for under the payment's lock, so that of any number of refunds at once no more is asked for than there is;
 * booked when the gateway agrees. Every function locks the payment first. TX_WRITE. */
#pragma once

#include "domain/gateway_config.h"
#include "domain/payment.h"
#include "domain/refund.h"

/* What could still be given back: what waits or was sold, less what is being given back. `p` is locked. */
enum err payment_refundable(struct db *db, const struct payment *p, Money *ret);

/* Asks the gateway for it, or, where we cannot call it, leaves that to staff: the refund has failed from the start and
 * says so. At most payment_refundable. `p` is locked; `by` 0: nobody. */
enum err payment_refund_request(struct db *db, struct payment *p, Money amount, Str reason, Id by, Time now,
                                struct refund *ret);

/* How the call ended. Each changes a refund that is requested, and no other. */
enum err payment_refund_done(struct db *db, Id refund, Str refund_ref, Str claim_url, Time now);
/* is_refused: the gateway said no, so that nothing happened; else we do not know. */
enum err payment_refund_failed(struct db *db, Id refund, Str why, bool is_refused, Time now);

/* Staff: once more, or done some other way. ERR_NOT_FOUND, ERR_INVALID_STATE: it has not failed. */
enum err payment_refund_retry(struct db *db, Id refund, Time now, struct refund *ret);
enum err payment_refund_settle(struct db *db, Id refund, Str note, Time now, struct refund *ret);

/* The gateway says that this much went back in all, ours included. `p` is locked. */
enum err payment_refund_told(struct db *db, struct payment *p, Money total, Str refund_ref, Time now);
/* The gateway says that a refund did not happen after all. *ret_known: there was one to undo. */
enum err payment_refund_undone(struct db *db, struct payment *p, Str refund_ref, bool has_amount, Money amount,
                               Time now, bool *ret_known);
