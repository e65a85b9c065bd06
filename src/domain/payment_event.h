/* domain/payment_event.h - what a payment provider says happened, in the same terms for all of them.
 *
 * Adapters (gateway/) turn a provider's message into an event; domain/payment_apply.c decides what it does to a
 * payment, an order and the ledger. Amounts are minor units by ISO 4217, whatever the provider counts in. */
#pragma once

#include "base/money.h"
#include "base/timestamp.h"

enum payment_event_kind {
    EVENT_IGNORED,        /* genuine, but does not concern us */
    EVENT_SUCCEEDED,      /* the money has arrived */
    EVENT_FAILED,         /* it has not; a success may still follow */
    EVENT_EXPIRED,        /* can no longer be paid: the page has ended or was closed */
    EVENT_PENDING,        /* seen, not final */
    EVENT_APPROVED,       /* the customer agreed: we still have to capture */
    EVENT_REFUNDED,       /* some or all of it went back */
    EVENT_REVERSED,       /* the provider took `amount` back: most likely what a dispute was lost for */
    EVENT_REFUND_FAILED,  /* an announced refund did not happen */
    EVENT_DISPUTED,       /* the customer's bank or the provider wants the money back */
    EVENT_DISPUTE_CLOSED, /* decided */
};
extern const char *const payment_event_kind_names[];

/* How a dispute ended. */
enum dispute_outcome {
    DISPUTE_LOST,      /* the provider took `amount` back; without an amount: all of the payment */
    DISPUTE_WON,       /* the money stays here */
    DISPUTE_WITHDRAWN, /* the customer gave it up: the money stays here */
};
extern const char *const dispute_outcome_names[];

/* Some providers do not say whether money was real. */
enum event_mode { EVENT_MODE_UNKNOWN, EVENT_MODE_TEST, EVENT_MODE_LIVE };

struct payment_event {
    enum payment_event_kind kind;
    Str type;        /* the provider's own word, for people */
    Str event_id;    /* unique per gateway: a second one with the same id is the same event */
    Str delivery_id; /* of a signed envelope, where the provider has one: never seen with two bodies */
    Str payment_ref; /* the provider's name of the payment: intent, payment, capture, invoice */
    Str group_ref;   /* the provider's name of what we made: session, link, order, invoice */
    Str order_ref;   /* our own reference, as it came back: an order's number, or "topup-" and a payment's */
    bool has_amount;
    Money amount;
    Str currency; /* upper-case; empty when not stated */
    Str refund_ref;
    bool has_refunded_total;
    Money refunded_total;         /* of the payment so far, this refund included */
    enum dispute_outcome outcome; /* EVENT_DISPUTE_CLOSED */
    Time due_at;                  /* EVENT_DISPUTED: answer by this time; 0: not stated */
    const char *review;           /* not NULL: why a person has to look before anything is done */
    Time occurred_at;
    enum event_mode mode;
};
