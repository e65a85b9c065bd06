/* serve/store_metrics.c - see store_metrics.h. */
#include "serve/store_metrics.h"

#include <pthread.h>
#include <stdlib.h>

#include "base/memory.h"
#include "domain/ledger.h"
#include "domain/outbox.h"
#include "domain/review.h"
#include "domain/vitals.h"
#include "serve/app.h"
#include "serve/metric_text.h"

#define FOLLOWED_MAX 2000 /* rows of a table at once: a millisecond or two */

struct store_metrics {
    pthread_mutex_t lock;
    struct vitals vitals;
    struct vitals_flow flow;
    Time read_at; /* 0: never */
};

struct store_metrics *store_metrics_new(void)
{
    struct store_metrics *m = memory_zeroed(1, sizeof *m);
    pthread_mutex_init(&m->lock, NULL);
    return m;
}

void store_metrics_free(struct store_metrics *m)
{
    if (m) pthread_mutex_destroy(&m->lock);
    free(m);
}

enum err store_metrics_read(struct app *app, struct db *db)
{
    struct store_metrics *m = app->store_metrics;
    struct vitals v;
    enum err e = vitals_read(db, &v);
    if (e) return e;
    pthread_mutex_lock(&m->lock);
    m->vitals = v;
    m->read_at = time_now();
    pthread_mutex_unlock(&m->lock);
    return OK;
}

/* Only this job changes `flow`, and it never runs twice at once. */
enum err store_metrics_follow(struct app *app, struct db *db)
{
    struct store_metrics *m = app->store_metrics;
    struct vitals_flow f = m->flow;
    enum err e = vitals_follow(db, time_now(), FOLLOWED_MAX, &f);
    if (e) return e;
    pthread_mutex_lock(&m->lock);
    m->flow = f;
    pthread_mutex_unlock(&m->lock);
    return OK;
}

static void write_open(const struct vitals *v, struct buf *out)
{
    metric_single(out, "souk_orders_pending", "gauge", "Orders that wait for their payment; counted to 10000.",
                  v->orders_pending);
    metric_single(out, "souk_orders_on_hold", "gauge", "Orders on hold because of a dispute.", v->orders_on_hold);
    metric_single(out, "souk_payments_open", "gauge", "Payments that can still succeed.", v->payments_open);
    metric_head(out, "souk_refunds_open", "gauge", "Refunds that are not done, by status.");
    metric_line(out, "souk_refunds_open", "status", "requested", v->refunds_requested);
    metric_line(out, "souk_refunds_open", "status", "failed", v->refunds_failed);
    metric_single(out, "souk_disputes_open", "gauge", "Disputes that are not decided.", v->disputes_open);
    metric_single(out, "souk_withdrawals_pending", "gauge", "Withdrawals that wait for a decision.",
                  v->withdrawals_pending);
    metric_single(out, "souk_tickets_open", "gauge", "Tickets that wait for an answer.", v->tickets_open);
    metric_head(out, "souk_webhook_events_open", "gauge", "Events of gateways that were not handled, by status.");
    metric_line(out, "souk_webhook_events_open", "status", "unmatched", v->webhooks_unmatched);
    metric_line(out, "souk_webhook_events_open", "status", "review", v->webhooks_review);
    metric_head(out, "souk_reviews_open", "gauge", "What waits for a person, by kind.");
    for (int i = 0; review_kind_names[i]; i++)
        metric_line(out, "souk_reviews_open", "kind", review_kind_names[i], v->reviews_open[i]);
}

static void write_money(const struct vitals *v, const struct vitals_flow *f, struct buf *out)
{
    metric_head(out, "souk_money_minor_units", "gauge", "Money that something still has to happen to, by state.");
    metric_line(out, "souk_money_minor_units", "state", "waiting", v->money_waiting.minor);
    metric_line(out, "souk_money_minor_units", "state", "refunding", v->money_refunding.minor);
    metric_line(out, "souk_money_minor_units", "state", "withdrawing", v->money_withdrawing.minor);
    metric_head(out, "souk_transfers_total", "counter", "Transfers of the ledger, by kind.");
    for (int i = 0; ledger_kind_names[i]; i++)
        metric_line(out, "souk_transfers_total", "kind", ledger_kind_names[i], f->transfers[i]);
    metric_head(out, "souk_transferred_minor_units_total", "counter", "What they moved.");
    for (int i = 0; ledger_kind_names[i]; i++)
        metric_line(out, "souk_transferred_minor_units_total", "kind", ledger_kind_names[i], f->money[i].minor);
}

static void write_work(const struct vitals *v, Time now, struct buf *out)
{
    metric_head(out, "souk_outbox_rows", "gauge", "Calls and messages that are not done, by kind and status.");
    for (int i = 0; outbox_kind_names[i]; i++)
        buf_printf(out,
                   "souk_outbox_rows{kind=\"%s\",status=\"waiting\"} %lld\n"
                   "souk_outbox_rows{kind=\"%s\",status=\"failed\"} %lld\n",
                   outbox_kind_names[i], (long long)v->outbox_waiting[i], outbox_kind_names[i],
                   (long long)v->outbox_failed[i]);
    int64_t lag = time_is(v->outbox_due) && v->outbox_due.ms < now.ms ? now.ms - v->outbox_due.ms : 0;
    metric_single(out, "souk_outbox_lag_seconds", "gauge", "How long the row that is due for longest has been due.",
                  lag / TIME_SECOND);
    metric_single(out, "souk_reconciled_timestamp_seconds", "gauge",
                  "When the books of the gateway that was compared longest ago were compared; 0: none were.",
                  v->reconciled_at.ms / TIME_SECOND);
    metric_single(out, "souk_reconciliation_differences", "gauge", "Differences that the last comparisons found.",
                  v->differences);
    metric_single(out, "souk_reconciliations_failed", "gauge", "Gateways whose books could not be read.",
                  v->unreconciled);
}

static void write_backups(const struct vitals *v, struct buf *out)
{
    metric_single(out, "souk_backup_timestamp_seconds", "gauge", "When the newest backup was made; 0: never.",
                  v->backup_made.ms / TIME_SECOND);
    metric_single(out, "souk_backup_verified_timestamp_seconds", "gauge",
                  "When the newest backup was made that was restored and checked; 0: never.",
                  v->backup_verified.ms / TIME_SECOND);
}

void store_metrics_write(struct store_metrics *m, struct buf *out)
{
    pthread_mutex_lock(&m->lock);
    struct vitals v = m->vitals;
    struct vitals_flow f = m->flow;
    Time read_at = m->read_at;
    pthread_mutex_unlock(&m->lock);
    metric_single(out, "souk_store_read_timestamp_seconds", "gauge", "When the store's figures were last read.",
                  read_at.ms / TIME_SECOND);
    metric_single(out, "souk_orders_placed_total", "counter", "Orders placed.", f.orders_placed);
    write_open(&v, out);
    write_money(&v, &f, out);
    write_work(&v, time_now(), out);
    write_backups(&v, out);
}
