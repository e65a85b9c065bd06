/* outbox/courier.h - sends events to the merchant's endpoints (domain/webhook_endpoint.h).
 *
 * One thread looks for endpoints that have something to send; each of them is served by a thread of its own, one
 * message after the other, in order. So an endpoint that is slow or silent delays nobody else; nor do mail and gateways
 * wait, which have other threads and connections. Of several nodes one at a time serves an endpoint (its lease). A
 * message is sent at least once: what became of some messages is recorded together, and a crash in between sends them
 * again under their old ids. */
#pragma once

#include <stdatomic.h>

#include "db/tx.h"

struct courier_options {
    struct database *database;
    const char *ca_file;
    bool allows_private; /* private addresses and http:// */
};

/* Since the start. */
struct courier_stats {
    _Atomic int64_t delivered, failed, given_up;
};

struct courier;
struct courier *courier_start(const struct courier_options *options);
/* There may be something to send. From any thread; only a hint. */
void courier_wake(struct courier *c);
const struct courier_stats *courier_stats(const struct courier *c);
void courier_stop(struct courier *c);
