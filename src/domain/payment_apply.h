/* domain/payment_apply.h - what an event does to its payment, order, wallet and the ledger. One transaction, once.
 *
 * Rules:
 * - An event is known by its gateway and id; the second one changes nothing.
 * - A payment is found by the gateway's names for it, else by our own reference in the event. Names that lead to
 *   different payments are for a person to sort out. No payment: the event is kept and tried again when one gets a name
 *   that it uses.
 * - Success: what came is booked, then domain/payment_settle.h decides what becomes of it. Another payment at the
 *   gateway for the same order becomes a payment of its own, and is for review.
 * - Failure cancels what is still pending; it is believed for the payment that it names, with its amount and currency.
 *   It never undoes a success; a success after it counts. The order's coupon stays used while the page can be paid.
 * - Refunds are cumulative and never more than came. All of it: the order is refunded and closed. Refunds and disputes
 *   that come before their success are kept and take effect with it.
 * - A dispute puts what was delivered on hold, or freezes what a top-up brought, and tells staff. It is decided once:
 *   won or withdrawn: the hold ends; lost: the amount is gone.
 * - Test money at a live gateway is ignored; real money at a test gateway is for review. */
#pragma once

#include "domain/gateway_config.h"
#include "domain/payment.h"
#include "domain/webhook_event.h"

struct payment_outcome {
    Id event; /* its row; 0: it was a duplicate */
    enum webhook_status status;
    const char *reason; /* "" when there is nothing to say */
    Id payment;
};

/* An event that was verified (and confirmed where its gateway has to). ERR_SIGNATURE_INVALID: its envelope was seen
 * with another body. ERR_UNAVAILABLE: to be run again. TX_WRITE. */
enum err payment_receive(struct db *db, const struct gateway_config *gateway, const struct payment_event *e, Str body,
                         Time now, struct payment_outcome *ret);

/* Tries an event again that was unmatched or for review. ERR_INVALID_STATE when it was neither. TX_WRITE. */
enum err payment_replay(struct db *db, const struct gateway_config *gateway, Id event, const struct payment_event *e,
                        Time now, struct payment_outcome *ret);

/* The gateway has made the payment: keeps its names and address, and looks whether events were waiting for these
 * names. TX_WRITE. */
enum err payment_set_page(struct db *db, const struct gateway_config *gateway, Id payment, Str group_ref,
                          Str payment_ref, Str url, Time expires_at, Time now);
