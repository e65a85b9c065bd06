/* domain/payment_event.c - see payment_event.h. */
#include "domain/payment_event.h"

#include <assert.h>

const char *payment_event_kind_text(enum payment_event_kind kind)
{
    static const char *const words[] = {
        [EVENT_IGNORED] = "ignored",
        [EVENT_SUCCEEDED] = "succeeded",
        [EVENT_FAILED] = "failed",
        [EVENT_PENDING] = "pending",
        [EVENT_APPROVED] = "approved",
        [EVENT_REFUNDED] = "refunded",
        [EVENT_REFUND_FAILED] = "refund_failed",
        [EVENT_DISPUTED] = "disputed",
        [EVENT_DISPUTE_CLOSED] = "dispute_closed",
    };
    assert((size_t)kind < sizeof words / sizeof *words);
    return words[kind];
}
