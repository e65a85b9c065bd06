/* domain/payment_event.c - see payment_event.h. */
#include "domain/payment_event.h"

const char *const payment_event_kind_names[] = {
    [EVENT_IGNORED] = "ignored",
    [EVENT_SUCCEEDED] = "succeeded",
    [EVENT_FAILED] = "failed",
    [EVENT_EXPIRED] = "expired",
    [EVENT_PENDING] = "pending",
    [EVENT_APPROVED] = "approved",
    [EVENT_REFUNDED] = "refunded",
    [EVENT_REVERSED] = "reversed",
    [EVENT_REFUND_FAILED] = "refund_failed",
    [EVENT_DISPUTED] = "disputed",
    [EVENT_DISPUTE_CLOSED] = "dispute_closed",
    NULL,
};

const char *const dispute_outcome_names[] = {
    [DISPUTE_LOST] = "lost",
    [DISPUTE_WON] = "won",
    [DISPUTE_WITHDRAWN] = "withdrawn",
    NULL,
};
