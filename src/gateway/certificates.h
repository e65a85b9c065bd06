/* gateway/certificates.h - PayPal's certificates, fetched from its host and kept for a day. Strangers can make the
 * server ask for any certificate, so one is fetched at a time, few wait for it, and an address that had none is not
 * asked again for a minute. For the same reason it is not fetched in the gateway's lane (lane.h): who invents names of
 * certificates must not keep payments waiting. Safe from any thread; find blocks. */
#pragma once

#include <pthread.h>

#include "gateway/cache_key.h"
#include "gateway/gateway.h"
#include "outbound/outbound.h"

#define CERTIFICATES_MAX 16
#define CERTIFICATE_WAITERS_MAX 4

struct kept_certificate {
    struct cache_key place; /* address and path */
    int64_t ends_ns;
    char *pem; /* NULL: this address has no certificate */
    size_t len;
};

struct certificate_store {
    struct outbound *outbound;
    pthread_mutex_t lock;
    pthread_cond_t fetched;
    struct kept_certificate kept[CERTIFICATES_MAX];
    bool is_fetching;
    struct cache_key fetching;
    int waiting;     /* for that one */
    int64_t fetches; /* that have ended */
};

void certificates_init(struct certificate_store *s, struct outbound *outbound);
void certificates_done(struct certificate_store *s);
/* The find of a struct certificates; ctx is the store. */
enum verdict certificate_find(void *ctx, const struct gateway_config *config, Str path, struct arena *a, Str *ret_pem);
