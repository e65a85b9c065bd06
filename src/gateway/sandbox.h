/* gateway/sandbox.h - the messages of the sandbox, the gateway inside this program: for demos and tests only.
 *
 * It behaves like a provider elsewhere: a payment is made through its API (api/sandbox_page.c), its page is where the
 * customer "pays", and what happened comes back as signed webhooks over HTTP. No money moves anywhere. */
#pragma once

#include "domain/payment_event.h"

#define SANDBOX_SIGNATURE "Souk-Sandbox-Signature"

struct sandbox_message {
    Str event_id;
    enum payment_event_kind kind;
    Str payment_ref;
    Str order_ref;
    Money amount;
    Str currency;
    Str refund_ref;
    Money refunded_total;
    bool is_won;
    Time at;
};

/* The body of a webhook; sign it with stamped_sign. */
Str sandbox_body(struct arena *a, const struct sandbox_message *m);
