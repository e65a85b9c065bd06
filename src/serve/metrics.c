/* serve/metrics.c - see metrics.h. */
#include "serve/metrics.h"

#include <stdatomic.h>
#include <stdlib.h>

#include "base/memory.h"
#include "domain/outbox.h"
#include "domain/webhook_event.h"
#include "serve/app.h"
#include "serve/match.h"
#include "serve/metric_text.h"
#include "serve/process_metrics.h"
#include "serve/store_metrics.h"
#include "serve/version.h"

/* Codes that are counted separately; any other counts as its hundred. */
static const int codes[] = {200, 201, 206, 302, 304, 400, 401, 402, 403, 404, 405, 406, 408, 409, 412,
                            413, 414, 415, 416, 417, 422, 428, 429, 431, 500, 501, 502, 503, 505};
#define CODES (sizeof codes / sizeof *codes)

/* Upper ends of the latency buckets, in microseconds. */
static const int64_t buckets_us[] = {100,   250,   500,    1000,   2500,    5000,   10000,
                                     25000, 50000, 100000, 250000, 1000000, 5000000};
#define BUCKETS (sizeof buckets_us / sizeof *buckets_us)

struct route_metrics {
    _Atomic int64_t by_code[CODES];
    _Atomic int64_t by_bucket[BUCKETS + 1];
    _Atomic int64_t sum_ns;
};

struct metrics {
    size_t routes;
    _Atomic int64_t events[METRIC_EVENTS];
    _Atomic int64_t webhooks[WEBHOOK_STATUS_COUNT];
    struct route_metrics route[]; /* one more for requests that matched no route */
};

static const char *const event_names[METRIC_EVENTS] = {
    [METRIC_TOKEN_REFUSED] = "souk_tokens_refused_total",
    [METRIC_RATE_LIMITED] = "souk_rate_limited_total",
    [METRIC_RATE_LIMITED_ACCOUNT] = "souk_rate_limited_account_total",
    [METRIC_LOGIN_FAILED] = "souk_logins_failed_total",
    [METRIC_REPLAYED] = "souk_idempotent_replays_total",
    [METRIC_SIGNATURE_REFUSED] = "souk_webhook_signatures_refused_total",
    [METRIC_CLIENT_GONE] = "souk_requests_abandoned_total",
    [METRIC_OVERLOADED] = "souk_requests_overloaded_total",
};

struct metrics *metrics_new(size_t routes)
{
    struct metrics *m = memory_zeroed(1, sizeof *m + (routes + 1) * sizeof *m->route);
    m->routes = routes;
    return m;
}

void metrics_free(struct metrics *m)
{
    free(m);
}

static void add(_Atomic int64_t *n, int64_t by)
{
    atomic_fetch_add_explicit(n, by, memory_order_relaxed);
}
static int64_t get(const _Atomic int64_t *n)
{
    return atomic_load_explicit(n, memory_order_relaxed);
}

void metrics_count(struct metrics *m, size_t route, int status, int64_t ns)
{
    struct route_metrics *r = &m->route[route];
    size_t code = CODES - 5; /* 500 */
    for (size_t i = 0; i < CODES; i++)
        if (codes[i] == status) code = i;
    size_t bucket = 0;
    while (bucket < BUCKETS && ns > buckets_us[bucket] * 1000) bucket++;
    add(&r->by_code[code], 1);
    add(&r->by_bucket[bucket], 1);
    add(&r->sum_ns, ns);
}

void metrics_event(struct metrics *m, enum metric_event e)
{
    add(&m->events[e], 1);
}

void metrics_webhook(struct metrics *m, enum webhook_status status)
{
    add(&m->webhooks[status], 1);
}

static void write_webhooks(struct app *app, struct buf *out)
{
    metric_head(out, "souk_webhooks_received_total", "counter",
                "Genuine events of payment gateways, by what became of them.");
    for (int i = 0; i < WEBHOOK_STATUS_COUNT; i++)
        metric_line(out, "souk_webhooks_received_total", "status", webhook_status_names[i],
                    get(&app->metrics->webhooks[i]));
}

static void write_requests(struct app *app, struct buf *out)
{
    const struct metrics *m = app->metrics;
    metric_head(out, "souk_requests_total", "counter", "Requests answered, by route, method and code.");
    for (size_t i = 0; i <= m->routes; i++) {
        const struct route *r = i < m->routes ? matcher_route(app->matcher, i) : NULL;
        for (size_t c = 0; c < CODES; c++) {
            int64_t n = get(&m->route[i].by_code[c]);
            if (n)
                buf_printf(out, "souk_requests_total{route=\"%s\",method=\"%s\",code=\"%d\"} %lld\n",
                           r ? r->path : "none", r ? r->method : "none", codes[c], (long long)n);
        }
    }
    metric_head(out, "souk_request_seconds", "histogram", "From the first byte of a request to its answer.");
    for (size_t i = 0; i <= m->routes; i++) {
        const struct route *r = i < m->routes ? matcher_route(app->matcher, i) : NULL;
        const char *path = r ? r->path : "none", *method = r ? r->method : "none";
        int64_t total = 0;
        for (size_t b = 0; b <= BUCKETS; b++) total += get(&m->route[i].by_bucket[b]);
        if (!total) continue;
        int64_t so_far = 0;
        for (size_t b = 0; b < BUCKETS; b++) {
            so_far += get(&m->route[i].by_bucket[b]);
            buf_printf(out, "souk_request_seconds_bucket{route=\"%s\",method=\"%s\",le=\"", path, method);
            metric_seconds(out, buckets_us[b] * 1000);
            buf_printf(out, "\"} %lld\n", (long long)so_far);
        }
        buf_printf(out, "souk_request_seconds_bucket{route=\"%s\",method=\"%s\",le=\"+Inf\"} %lld\n", path, method,
                   (long long)total);
        buf_printf(out, "souk_request_seconds_sum{route=\"%s\",method=\"%s\"} ", path, method);
        metric_seconds(out, get(&m->route[i].sum_ns));
        buf_printf(out, "\nsouk_request_seconds_count{route=\"%s\",method=\"%s\"} %lld\n", path, method,
                   (long long)total);
    }
}

static void write_database(struct app *app, struct buf *out)
{
    const struct database_stats *s = database_stats(app->database);
    metric_single(out, "souk_writer_queue", "gauge", "Transactions that wait for the writer or a worker.",
                  get(&s->queue_length));
    metric_single(out, "souk_batches_total", "counter", "Commits that wrote.", get(&s->batches));
    metric_single(out, "souk_batch_jobs_total", "counter", "Requests in them.", get(&s->batch_jobs));
    metric_head(out, "souk_batch_size", "histogram", "Requests per commit.");
    int64_t so_far = 0;
    for (int i = 0; i < 9; i++) {
        so_far += get(&s->batch_buckets[i]);
        buf_printf(out, "souk_batch_size_bucket{le=\"%d\"} %lld\n", 1 << i, (long long)so_far);
    }
    so_far += get(&s->batch_buckets[9]);
    buf_printf(out, "souk_batch_size_bucket{le=\"+Inf\"} %lld\nsouk_batch_size_sum %lld\nsouk_batch_size_count %lld\n",
               (long long)so_far, (long long)get(&s->batch_jobs), (long long)so_far);
    metric_single(out, "souk_db_errors_total", "counter", "Statements and commits that failed.", get(&s->errors));
    metric_single(out, "souk_db_retries_total", "counter", "Transactions run again after a conflict.",
                  get(&s->retries));
    metric_single(out, "souk_db_alone_total", "counter", "Requests that left their group and were run by themselves.",
                  get(&s->alone));
    metric_single(out, "souk_db_flights_total", "counter", "Round trips in which groups asked something.",
                  get(&s->flights));
    metric_single(out, "souk_db_reconnects_total", "counter", "Reconnections to the database.", get(&s->reconnects));
    metric_single(out, "souk_db_checkpoints_total", "counter", "SQLite checkpoints.", get(&s->checkpoints));
}

static void write_outbox(struct app *app, struct buf *out)
{
    if (!app->courier) return; /* what is started last, a moment after the first connection may have come */
    const struct outbox_stats *s = dispatcher_stats(app->dispatcher);
    metric_single(out, "souk_mail_failures_total", "counter", "Attempts to send a message that failed.",
                  get(&s->mail_failed));
    metric_single(out, "souk_outbox_given_up_total", "counter", "Messages and calls that were given up.",
                  get(&s->given_up));
    metric_head(out, "souk_outbox_done_total", "counter", "Messages sent and calls made, by kind.");
    for (int i = 0; outbox_kind_names[i]; i++)
        metric_line(out, "souk_outbox_done_total", "kind", outbox_kind_names[i], get(&s->done[i]));
    metric_head(out, "souk_outbox_failures_total", "counter", "Attempts at them that failed, by kind.");
    for (int i = 0; outbox_kind_names[i]; i++)
        metric_line(out, "souk_outbox_failures_total", "kind", outbox_kind_names[i], get(&s->failures[i]));
    metric_single(out, "souk_gateways_left_alone", "gauge", "Gateways that do not answer and are not called for now.",
                  link_left_alone(app->link));
    const struct courier_stats *c = courier_stats(app->courier);
    metric_single(out, "souk_webhooks_delivered_total", "counter", "Events that an endpoint took.", get(&c->delivered));
    metric_single(out, "souk_webhook_failures_total", "counter", "Tries to send an event that failed.",
                  get(&c->failed));
    metric_single(out, "souk_webhooks_given_up_total", "counter", "Events that were given up.", get(&c->given_up));
}

void metrics_write(struct app *app, struct buf *out)
{
    const struct http_stats *h = http_server_stats(app->server);
    metric_head(out, "souk_build_info", "gauge", "The version that runs.");
    buf_printf(out, "souk_build_info{version=\"%s\",engine=\"%s\"} 1\n", SOUK_VERSION,
               database_is_sqlite(app->database) ? "sqlite" : "postgres");
    metric_single(out, "souk_connections_open", "gauge", "Open client connections.", get(&h->open));
    metric_single(out, "souk_connections_total", "counter", "Connections accepted.", get(&h->accepted));
    metric_single(out, "souk_connections_refused_total", "counter", "Connections closed at the cap.",
                  get(&h->refused_cap));
    metric_single(out, "souk_connections_refused_address_total", "counter",
                  "Connections closed at the cap of their address.", get(&h->refused_address));
    metric_single(out, "souk_connections_given_up_total", "counter",
                  "Idle connections closed to make room for new ones.", get(&h->given_up));
    metric_single(out, "souk_body_bytes", "gauge", "Bytes of request bodies in memory.", get(&h->body_bytes));
    metric_single(out, "souk_bodies_refused_total", "counter",
                  "Bodies refused because too many bytes of them were in memory.", get(&h->refused_bodies));
    metric_single(out, "souk_connection_timeouts_total", "counter", "Connections cut by a deadline.",
                  get(&h->timeouts));
    metric_single(out, "souk_bad_requests_total", "counter", "Requests that were not HTTP.", get(&h->bad_requests));
    for (int i = 0; i < METRIC_EVENTS; i++)
        metric_single(out, event_names[i], "counter", "Since the start.", get(&app->metrics->events[i]));
    process_metrics_write(app, out);
    store_metrics_write(app->store_metrics, out);
    write_webhooks(app, out);
    write_outbox(app, out);
    if (app->backups)
        metric_single(out, "souk_backup_failures_total", "counter", "Scheduled backups that failed or were not good.",
                      backup_schedule_failures(app->backups));
    write_database(app, out);
    write_requests(app, out);
}
