/* domain/gateway_config.h - how a store is connected to its payment providers.
 *
 * A gateway is a label of the store's choice ("card_gateway_a") and the provider behind it. Credentials are stored
 * sealed (domain/vault.h); a struct gateway_config holds them in the clear, in the memory of one request or job. */
#pragma once

#include "db/db.h"

enum provider {
    PROVIDER_STRIPE,
    PROVIDER_RAZORPAY,
    PROVIDER_PAYPAL,
    PROVIDER_BTCPAY,
    PROVIDER_SANDBOX,
    PROVIDER_COUNT
};

/* In the order of the enum, NULL at the end. */
extern const char *const provider_names[];
extern const char *const gateway_mode_names[]; /* is_live: false, true */

/* What happens to money that is not what was asked for. */
enum payment_policy {
    POLICY_ACCEPT, /* accepted all the same; late money only */
    POLICY_CREDIT, /* into the wallet */
    POLICY_REFUND, /* given back */
    POLICY_REVIEW, /* a person decides */
};
extern const char *const payment_policy_names[];
#define TOLERANCE_MAX 10000 /* 100.00 % */

/* A new secret goes in front; old ones stay valid while deliveries signed with them are still being repeated. */
#define GATEWAY_SECRETS_MAX 4
#define GATEWAYS_MAX 32

struct gateway_config {
    Id id;
    Str label;
    enum provider provider;
    bool is_enabled;
    bool is_live;                     /* real money; else the provider's test mode */
    Str secrets[GATEWAY_SECRETS_MAX]; /* webhook secrets, the newest first; none is empty or has a line end */
    size_t secret_count;
    Str api_key;       /* stripe sk_…, razorpay key id, paypal client id, btcpay token; empty: webhooks only */
    Str api_secret;    /* razorpay key secret, paypal client secret */
    Str webhook_id;    /* paypal */
    Str store_id;      /* btcpay */
    Str base_url;      /* without a slash at its end; empty: the provider's own */
    Str ca_bundle;     /* paypal: PEM of the authorities that may issue its message certificates */
    Str access_token;  /* paypal: short-lived, filled in by the sender, never stored */
    int64_t tolerance; /* how far off an amount may be: hundredths of a percent */
    enum payment_policy underpaid, overpaid, late;
    Time updated_at;
    int64_t version;
};

/* [a-z0-9_-], 1 to 40 characters. */
bool gateway_label_is_fine(Str label);

/* ERR_NOT_FOUND. Disabled ones too. TX_READ is enough for all that read. */
enum err gateway_config_find(struct db *db, Str label, struct gateway_config *ret);
enum err gateway_config_find_id(struct db *db, Id id, struct gateway_config *ret);
/* All, by id; at most GATEWAYS_MAX. */
enum err gateway_config_list(struct db *db, struct gateway_config **ret, size_t *ret_count);
/* The gateways that /webhook/{name} may mean: the connected one with this label, else the connected ones of the
 * provider with this name. A gateway that is switched off takes no new payments but still gets events about old ones;
 * the sandbox does not exist unless it is switched on. */
enum err gateway_config_named(struct db *db, Str name, struct gateway_config **ret, size_t *ret_count);

/* The sandbox is its own provider: makes up a missing secret and key. */
void gateway_config_fill_sandbox(struct arena *a, struct gateway_config *config);

/* Makes a gateway, or changes the one with this label; the provider of a gateway that has had payments stays
 * (ERR_INVALID_STATE). ERR_FIELD_TOO_MANY past GATEWAYS_MAX. TX_WRITE. *ret is the stored result. */
enum err gateway_config_save(struct db *db, const struct gateway_config *config, Time now, struct gateway_config *ret);
