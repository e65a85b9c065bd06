/* serve/metrics.h - counters for Prometheus. Relaxed atomics: a scrape may see one request half counted, never a wrong
 * sum. */
#pragma once

#include "base/buf.h"
#include "domain/webhook_event.h"

struct app;
struct metrics;

struct metrics *metrics_new(size_t routes);
void metrics_free(struct metrics *m);
/* route: index of the row; `routes` for requests that matched no route. */
void metrics_count(struct metrics *m, size_t route, int status, int64_t ns);
/* A named event without labels, see metrics.c. */
enum metric_event {
    METRIC_TOKEN_REFUSED,
    METRIC_RATE_LIMITED,
    METRIC_RATE_LIMITED_ACCOUNT,
    METRIC_LOGIN_FAILED,
    METRIC_REPLAYED,
    METRIC_SIGNATURE_REFUSED,
    METRIC_CLIENT_GONE,
    METRIC_OVERLOADED,
    METRIC_EVENTS
};
void metrics_event(struct metrics *m, enum metric_event e);
/* A genuine event of a payment gateway. */
void metrics_webhook(struct metrics *m, enum webhook_status status);
/* Prometheus text format 0.0.4. */
void metrics_write(struct app *app, struct buf *out);
