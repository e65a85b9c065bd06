/* gateway/gateway.c - see gateway.h: what the adapters share. */
#include "gateway/gateway.h"

#include "json/reader.h"

#include <assert.h>

const struct gateway *gateway_of(enum provider provider)
{
    static const struct gateway *const all[PROVIDER_COUNT] = {
        [PROVIDER_STRIPE] = &gateway_stripe,   [PROVIDER_RAZORPAY] = &gateway_razorpay,
        [PROVIDER_PAYPAL] = &gateway_paypal,   [PROVIDER_BTCPAY] = &gateway_btcpay,
        [PROVIDER_SANDBOX] = &gateway_sandbox,
    };
    assert((unsigned)provider < PROVIDER_COUNT);
    return all[provider];
}

Str gateway_base_url(const struct gateway_config *config)
{
    if (config->base_url.len) return config->base_url;
    switch (config->provider) {
    case PROVIDER_STRIPE: return STR("https://api.stripe.com");
    case PROVIDER_RAZORPAY: return STR("https://api.razorpay.com");
    case PROVIDER_PAYPAL:
        return config->is_live ? STR("https://api-m.paypal.com") : STR("https://api-m.sandbox.paypal.com");
    case PROVIDER_BTCPAY: /* self-hosted: only the configured address */
    case PROVIDER_SANDBOX:
    case PROVIDER_COUNT: break;
    }
    return (Str){0};
}

Str webhook_header(const struct webhook *hook, const char *name)
{
    Str wanted = str_from(name), found = {0};
    for (size_t i = 0; i < hook->header_count; i++) {
        if (!str_eq_nocase(hook->headers[i].name, wanted)) continue;
        if (found.ptr) return (Str){0};
        found = hook->headers[i].value;
    }
    return found;
}

enum reply reply_of_status(int status)
{
    if (status >= 200 && status < 300) return REPLY_OK;
    if (status == 401) return REPLY_UNAUTHORIZED;
    if (status == 0 || status == 408 || status == 409 || status == 425 || status == 429 || status >= 500)
        return REPLY_RETRY;
    return REPLY_REFUSED;
}

enum reply reply_read(struct arena *a, const struct http_reply *answer, const struct json **ret)
{
    enum reply r = reply_of_status(answer->status);
    if (r != REPLY_OK) return r;
    return json_read(a, answer->body, ret, NULL) == OK ? REPLY_OK : REPLY_RETRY;
}
