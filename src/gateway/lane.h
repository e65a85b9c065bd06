/* gateway/lane.h - how many calls one gateway may have under way, and whether it is called at all.
 *
 * A provider that hangs keeps its callers waiting. So each gateway has a lane with few places: a call that finds no
 * place fails at once and is tried again later, and the threads for other gateways stay free. For the same reason the
 * outbox has fewer places than customers and webhooks.
 *
 * A gateway that failed to answer several times in a row is left alone for a while (its circuit is open): calls fail at
 * once. Then one call is let through as a probe; an answer closes the circuit, silence opens it for longer. */
#pragma once

#include <pthread.h>

#include "base/id.h"
#include "domain/gateway_config.h"

#define LANE_PLACES 12           /* at once, per gateway */
#define LANE_PLACES_BACKGROUND 3 /* of these, for the outbox: it has WORKERS in all */
#define LANE_FAILURES 5          /* calls in a row without an answer that open the circuit */

struct lane {
    Id gateway; /* 0: the place is free */
    int busy, busy_background;
    int failures;          /* running */
    int64_t open_until_ns; /* 0: closed */
    int64_t open_ns;       /* how long it was open last time */
    bool is_probing;
};

struct lanes {
    pthread_mutex_t lock;
    struct lane lanes[GATEWAYS_MAX];
};

enum lane_verdict {
    LANE_FREE, /* call lane_leave afterwards */
    LANE_FULL,
    LANE_OPEN,
};

void lanes_init(struct lanes *l);
void lanes_done(struct lanes *l);
enum lane_verdict lane_enter(struct lanes *l, const struct gateway_config *gateway, bool in_background);
/* Gateways whose circuit is open. */
int lanes_open(struct lanes *l);
/* has_answered: the provider replied, and not with a failure of its own. */
void lane_leave(struct lanes *l, const struct gateway_config *gateway, bool in_background, bool has_answered);
