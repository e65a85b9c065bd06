/* domain/sandbox_message.h - messages of the sandbox, the gateway inside this program, for demos and tests only.
 *
 * It behaves like an external provider: a payment is made through its API (api/open/sandbox_page.c), the customer
 * "pays" on its page, and the result comes back as signed webhooks over HTTP. No money moves anywhere. */
#pragma once

#include "domain/payment_event.h"

struct sandbox_message {
    Str event_id;
    enum payment_event_kind kind;
    Str payment_ref;
    Str order_ref;
    Money amount;
    Str currency;
    Str refund_ref;
    Money refunded_total;
    enum dispute_outcome outcome;
    Time at;
};

/* How a message waits in the outbox. No text in it has a line end. */
Str sandbox_message_pack(struct arena *a, const struct sandbox_message *m);
bool sandbox_message_unpack(Str payload, struct sandbox_message *ret);
