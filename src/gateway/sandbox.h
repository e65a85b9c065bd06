/* gateway/sandbox.h - the sandbox's webhooks as bytes. */
#pragma once

#include "domain/sandbox_message.h"

#define SANDBOX_SIGNATURE "Souk-Sandbox-Signature"

/* The body; sign it with stamped_sign. Amounts are minor units by ISO 4217. */
Str sandbox_body(struct arena *a, const struct sandbox_message *m);
