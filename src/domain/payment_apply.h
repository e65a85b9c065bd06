/* domain/payment_apply.h - what an event does to its payment, order, wallet and the ledger. In one transaction, once.
 *
 * Rules:
 * - An event is identified by its gateway and id; a repeated one changes nothing.
 * - A payment is found by the gateway's names for it, else by our own reference in the event. A person sorts out names
 *   that lead to different payments. An event without a payment is kept, and tried again when a payment gets one of its
 *   names.
 * - Success: the money is booked, then domain/payment_settle.h decides what becomes of it. Another payment at the
 *   gateway for the same order becomes a payment of its own, with a review.
 * - Failure cancels a pending order; it is believed only for the payment that it names, with its amount and currency.
 *   It never undoes a success; a later success counts. The order's coupon stays used while the page can be paid.
 * - Refunds are cumulative and never exceed what arrived. A full refund closes the order. Refunds and disputes that
 *   arrive before their success are kept and take effect with it.
 * - A dispute puts what was delivered on hold, or freezes what a top-up brought, and tells staff. It is decided once:
 *   won or withdrawn: the hold ends; lost: the amount is gone.
 * - Test money at a live gateway is ignored; real money at a test gateway needs a review. */
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

/* An event that was verified (and confirmed, where its gateway requires it). ERR_SIGNATURE_INVALID: its envelope was
 * seen with another body. ERR_UNAVAILABLE: run it again. TX_WRITE. */
enum err payment_receive(struct db *db, const struct gateway_config *gateway, const struct payment_event *e, Str body,
                         Time now, struct payment_outcome *ret);

/* Tries an event again that was unmatched or under review. ERR_INVALID_STATE when it was neither. TX_WRITE. */
enum err payment_replay(struct db *db, const struct gateway_config *gateway, Id event, const struct payment_event *e,
                        Time now, struct payment_outcome *ret);

/* The gateway has made the payment: stores its names and address, and applies events that waited for these names.
 * TX_WRITE. */
enum err payment_set_page(struct db *db, const struct gateway_config *gateway, Id payment, Str group_ref,
                          Str payment_ref, Str url, Time expires_at, Time now);
