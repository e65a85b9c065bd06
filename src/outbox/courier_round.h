/* outbox/courier_round.h - one round to one endpoint: takes what is due, sends it in order, records what became of it.
 * For courier.c, and for the panel, which shows what is sent. */
#pragma once

#include "domain/webhook_delivery.h"
#include "domain/webhook_endpoint.h"
#include "outbound/outbound.h"
#include "outbox/courier.h"

struct courier_round {
    const struct courier_options *options;
    struct outbound *outbound;
    struct courier_stats *stats;
    const atomic_bool *is_stopping;
    Id endpoint;
};
/* Blocks. True: there is more to send right away. */
bool courier_round(const struct courier_round *r);

/* What is sent: {"type", "timestamp", "data"}. */
Str courier_body(struct arena *a, const struct event *e, bool with_keys);
/* webhook-id: the same for every try. */
Str courier_id(struct arena *a, const struct event *e);
