/* domain/webhook_endpoint.h - where the merchant's own systems take events, and how well they do.
 *
 * An endpoint that answers 410, or has only failed for five days, is switched off, and the owners are told. Switching
 * it on again begins with what happens from then on. All functions need TX_WRITE unless said otherwise. */
#pragma once

#include "domain/event.h"

#define WEBHOOK_ENDPOINTS_MAX 16
#define WEBHOOK_SECRET_BYTES 32
#define WEBHOOK_OLD_SECRET_MS TIME_DAY /* how long a replaced secret still signs */

struct webhook_endpoint {
    Id id;
    Str url, description;
    unsigned events; /* bit set of 1 << event_type, or EVENT_ALL */
    bool include_keys, is_enabled;
    Str off_reason;         /* why the store switched it off; empty: it did not */
    Str secret, old_secret; /* in the clear, raw bytes; old: empty when there is none */
    Time old_until;
    Id cursor; /* the last event that deliveries were made of */
    int64_t failures;
    Time failing_since, succeeded_at;
    Time created_at, updated_at;
    int64_t pending; /* deliveries that wait; at most WEBHOOK_PENDING_SHOWN are counted */
};
#define WEBHOOK_PENDING_SHOWN 10000

/* "whsec_" and base64. */
Str webhook_secret_text(struct arena *a, Str secret);

/* TX_READ is enough. By age. */
enum err webhook_endpoint_list(struct db *db, struct webhook_endpoint **ret, size_t *ret_count);
/* TX_READ is enough. ERR_NOT_FOUND. */
enum err webhook_endpoint_find(struct db *db, Id id, struct webhook_endpoint *ret);

/* Of `want` url, description, events, include_keys and is_enabled are read; a secret is made. ERR_FIELD_TOO_MANY. */
enum err webhook_endpoint_create(struct db *db, const struct webhook_endpoint *want, Time now,
                                 struct webhook_endpoint *ret);
/* The same members. */
enum err webhook_endpoint_change(struct db *db, const struct webhook_endpoint *want, Time now,
                                 struct webhook_endpoint *ret);
/* A new secret; the present one signs for another day. */
enum err webhook_endpoint_rotate(struct db *db, Id id, Time now, struct webhook_endpoint *ret);
/* What waits is no longer sent. */
enum err webhook_endpoint_delete(struct db *db, Id id, Time now);

/* For the courier (outbox/courier.h). */

/* Endpoints that have something to send now. TX_READ is enough. */
enum err webhook_endpoint_due(struct db *db, Time now, Id *ret, size_t most, size_t *ret_count);
/* Takes an endpoint for lease_ms. ERR_NOT_FOUND: it is off, resting, or somebody else's. */
enum err webhook_endpoint_lease(struct db *db, Id id, Time now, int64_t lease_ms, struct webhook_endpoint *ret);
/* Ends all leases: for the only process of a store, when it starts. ERR_NEEDS_WRITE in a read when there are any. */
enum err webhook_endpoint_free_all(struct db *db);
/* Makes deliveries of events that happened since; at most `limit` events are looked at. */
enum err webhook_endpoint_follow(struct db *db, struct webhook_endpoint *p, Time now, int64_t limit);
/* Gives the lease back, and notes how it went: tries that succeeded and failed, in this order. */
struct webhook_health {
    int64_t succeeded, failed;
    bool is_gone; /* it answered 410 */
};
enum err webhook_endpoint_release(struct db *db, const struct webhook_endpoint *p, const struct webhook_health *health,
                                  Time now);
