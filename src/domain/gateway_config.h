/* domain/gateway_config.h - how a store is connected to its payment providers.
 *
 * A gateway is a label of the store's choice ("card_gateway_a") and the provider behind it. What was configured is kept
 * sealed (domain/vault.h); a struct gateway_config holds it in the clear, in the memory of one request or job. */
#pragma once

#include "base/id.h"
#include "base/str.h"

enum provider {
    PROVIDER_STRIPE,
    PROVIDER_RAZORPAY,
    PROVIDER_PAYPAL,
    PROVIDER_BTCPAY,
    PROVIDER_SANDBOX,
    PROVIDER_COUNT
};

/* A new secret is put in front; old ones stay good while deliveries signed with them are still being repeated. */
#define GATEWAY_SECRETS_MAX 4

struct gateway_config {
    Id id;
    Str label;
    enum provider provider;
    bool is_enabled;
    bool is_live;                     /* real money; else the provider's test mode */
    Str secrets[GATEWAY_SECRETS_MAX]; /* webhook secrets, the newest first; none is empty */
    size_t secret_count;
    Str api_key;      /* stripe sk_…, razorpay key id, paypal client id, btcpay token; empty: webhooks only */
    Str api_secret;   /* razorpay key secret, paypal client secret */
    Str webhook_id;   /* paypal */
    Str store_id;     /* btcpay */
    Str base_url;     /* without a slash at its end; empty: the provider's own */
    Str ca_bundle;    /* paypal: PEM of those who may issue its message certificates */
    Str access_token; /* paypal: short-lived, put in by whoever sends, never stored */
};
