/* gateway/certificates.h - PayPal's certificates, fetched from its host and kept for a day. Strangers can make the
 * server ask for any certificate, so one network has one fetched at a time, few wait for it, and an address that had
 * none is not asked again for a minute. One that is known is good for some days more while it cannot be fetched again:
 * its chain and dates are checked at every use. For the same reason none is fetched in the gateway's lane (lane.h): who
 * invents names of certificates must not keep payments waiting. Safe from any thread; find blocks. */
#pragma once

#include <pthread.h>

#include "gateway/cache_key.h"
#include "gateway/gateway.h"
#include "outbound/outbound.h"

#define CERTIFICATES_MAX 16
#define CERTIFICATE_FETCHES_MAX 4 /* at once, each for another network */
#define CERTIFICATE_WAITERS_MAX 4 /* for each of them */

struct kept_certificate {
    struct cache_key place; /* address and path */
    int64_t ends_ns;
    char *pem; /* NULL: this address has no certificate */
    size_t len;
};

struct certificate_fetch {
    bool is_busy;
    struct cache_key place, network;
    int waiting;   /* for this one */
    int64_t ended; /* fetches at this place */
};

struct certificate_store {
    struct outbound *outbound;
    pthread_mutex_t lock;
    pthread_cond_t fetched;
    struct kept_certificate kept[CERTIFICATES_MAX];
    struct certificate_fetch fetches[CERTIFICATE_FETCHES_MAX];
};

void certificates_init(struct certificate_store *s, struct outbound *outbound);
void certificates_done(struct certificate_store *s);
/* The find of a struct certificates; ctx is the store. */
enum verdict certificate_find(void *ctx, Str network, const struct gateway_config *config, Str path, struct arena *a,
                              Str *ret_pem);
