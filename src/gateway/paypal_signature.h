/* gateway/paypal_signature.h - PayPal's signature: RSA over "id|time|webhook id|crc32 of the body".
 *
 * The body itself is not signed, only its CRC32, and anybody can make another body with the same CRC32. So a good
 * signature says no more than "PayPal sent something"; the API is asked what happened (confirm).
 *
 * The certificate comes from PayPal's own host only. The address in the header is checked against that rule, and then
 * only its path is used, below the configured base address: nobody can make us fetch anything from elsewhere. */
#pragma once

#include "base/timestamp.h"
#include "gateway/gateway.h"

uint32_t crc32_of(Str bytes);

/* https, exactly one of PayPal's API hosts of that mode, a path below /v1/notifications/certs/ of one safe segment;
 * no port, userinfo, query or fragment. */
bool paypal_cert_path(Str url, bool is_live, Str *ret_path);

struct paypal_headers {
    Str id, time, sig, cert_url, algo;
};

/* Everything but fetching the certificate. `anchors` is the PEM of the authorities that may have issued it; `name` is
 * whom it must be issued to. */
enum verdict paypal_signature_check(struct arena *a, const struct paypal_headers *h, Str webhook_id, Str raw, Str pem,
                                    Str anchors, const char *name, Time now);
