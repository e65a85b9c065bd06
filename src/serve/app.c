/* serve/app.c - see app.h. */
#include "serve/app.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/log.h"
#include "base/memory.h"
#include "base/quota.h"
#include "domain/filing.h"
#include "domain/key_index.h"
#include "domain/license.h"
#include "domain/mail.h"
#include "domain/signing_key.h"
#include "domain/token.h"
#include "domain/upload.h"
#include "gateway/lane.h"
#include "serve/catalog_cache.h"
#include "serve/guess.h"
#include "serve/limit.h"
#include "serve/match.h"
#include "serve/metrics.h"
#include "serve/periodic.h"
#include "serve/ready.h"
#include "serve/seen.h"
#include "serve/store_metrics.h"
#include "serve/turn.h"
#include "view/view_event.h"

#define POOL_THREADS 4
#define POOL_QUEUE_MAX 512
/* Enough that several hanging gateways, each filling its lane (gateway/lane.h), leave some free. */
#define CALL_THREADS 64
/* Of one account: whatever it asks for at once, half of a gateway's lane is left to others. */
#define CALL_TURNS (LANE_PLACES / 2)
#define FILE_THREADS 2
#define REPORT_THREADS 2
#define TURNS_WAITING_MAX 1024

void app_set_settings(struct app *app, const struct settings *s)
{
    struct settings_snapshot *snapshot = memory_zeroed(1, sizeof *snapshot);
    snapshot->settings = *s;
    view_event_set_currency(s->currency, s->exponent);
    snapshot->older = atomic_load(&app->settings);
    while (!atomic_compare_exchange_weak(&app->settings, &snapshot->older, snapshot)) {
    }
}

const struct settings *app_settings(struct app *app)
{
    return &atomic_load(&app->settings)->settings;
}

static enum err load_settings(void *arg, struct db *db)
{
    return settings_load(db, arg);
}

static enum err begin_figures(void *arg, struct db *db)
{
    return store_metrics_follow(arg, db);
}

static enum err open_signing_key(void *arg, struct db *db)
{
    (void)arg;
    return signing_key_open(db);
}

static enum err read_keys(void *arg, struct db *db)
{
    (void)arg;
    enum err e = OK;
    for (int i = 0; !e && i < KEY_INDEXES; i++) e = key_index_open(db, (enum key_index)i);
    return e;
}

/* A disk without room for them is no reason to stay away: lists are slower, that is all. */
static enum err begin_lists(struct database *database)
{
    enum err e = filing_all(database);
    return e == ERR_UNAVAILABLE && database_is_healthy(database) ? OK : e;
}

enum err app_start(struct app *app, struct database *database, const struct app_options *options)
{
    struct arena arena = {0};
    struct settings settings;
    enum err e = tx_call(database, TX_READ, load_settings, &settings, &arena);
    if (!e) e = tx_call(database, TX_WRITE, open_signing_key, NULL, &arena);
    if (!e) e = begin_lists(database);
    if (!e) e = tx_call(database, TX_WRITE, read_keys, NULL, &arena);
    arena_done(&arena);
    if (e) return e;

    upload_sweep(options->data_dir);
    app->options = *options;
    app->shop_url = options->base_url;
    app->database = database;
    app->matcher = matcher_new(options->routes);
    app->metrics = metrics_new(matcher_count(app->matcher));
    app->store_metrics = store_metrics_new();
    app->started_at = time_now();
    app->limiter = limiter_new();
    app->unsent = quota_new();
    if (!database_is_sqlite(database))
        app->writer_turns = turns_new(database_writers(database) / 2 + 1, TURNS_WAITING_MAX);
    app->pool_turns = turns_new(POOL_THREADS / 2, TURNS_WAITING_MAX);
    app->call_turns = turns_new(CALL_TURNS, TURNS_WAITING_MAX);
    app->guesses = guesses_new();
    app->catalog = catalog_cache_new();
    app->ready = ready_cache_new();
    app->seen = seen_new(license_seen, license_seen_all);
    app->used = seen_new(token_used, NULL);
    app->pool = pool_new(POOL_THREADS, POOL_QUEUE_MAX);
    app->calls = pool_new(CALL_THREADS, POOL_QUEUE_MAX);
    app->files = pool_new(FILE_THREADS, POOL_QUEUE_MAX);
    app->reports = pool_new(REPORT_THREADS, POOL_QUEUE_MAX);
    app->outbound = outbound_start(&(struct outbound_options){.ca_file = options->ca_file});
    app->link = link_new(app->outbound);
    mail_enable(*options->mail.url != '\0');
    mail_set_base_url(app->shop_url);
    app_set_settings(app, &settings);
    return tx_call(database, TX_READ, begin_figures, app, NULL); /* what comes from now on is counted */
}

enum err app_reload(struct app *app)
{
    struct arena arena = {0};
    struct settings settings;
    enum err e = tx_call(app->database, TX_READ, load_settings, &settings, &arena);
    if (!e) app_set_settings(app, &settings);
    arena_done(&arena);
    return e;
}

/* A server that listens on every address is reached at the loopback address. */
static void self_url(const char *listen, int port, char *ret, size_t bytes)
{
    const char *colon = strrchr(listen, ':');
    Str host = {listen, colon ? (size_t)(colon - listen) : 0};
    if (!host.len || str_eq(host, STR("0.0.0.0"))) host = STR("127.0.0.1");
    if (str_eq(host, STR("[::]"))) host = STR("[::1]");
    snprintf(ret, bytes, "http://%.*s:%d", STR_FMT(host), port);
}

static enum err find_sandbox(void *arg, struct db *db)
{
    return gateway_config_find(db, STR("sandbox"), arg);
}

static void warn_of_sandbox(struct app *app)
{
    struct arena arena = {0};
    struct gateway_config sandbox = {0};
    enum err e = tx_call(app->database, TX_READ, find_sandbox, &sandbox, &arena);
    if (!e && sandbox.is_enabled)
        log_event(LOG_WARN, "sandbox_is_on", LOGC("meaning", "orders can be paid without money: not for a real shop"));
    arena_done(&arena);
}

/* A server that others can reach but that does not know its public address would send them to their own machines. */
static void warn_of_base_url(const struct app *app)
{
    if (!app->is_public || *app->options.base_url) return;
    log_event(LOG_WARN, "base_url_missing", LOGC("links_lead_to", app->shop_url),
              LOGC("meaning",
                   "links in mails, download addresses and the way back from gateways would lead to an address"
                   " that others cannot reach: set --base-url to the public address of the store"));
}

void app_listening(struct app *app, const char *listen, int port)
{
    app->is_public = !listens_on_loopback(listen);
    self_url(listen, port, app->self_url, sizeof app->self_url);
    app->shop_url = *app->options.base_url ? app->options.base_url : app->self_url;
    mail_set_base_url(app->shop_url);
    link_set_self(app->link, str_from(app->self_url));
    struct dispatch_options options = {
        .database = app->database,
        .outbound = app->outbound,
        .link = app->link,
        .mail = app->options.mail,
        .self_url = str_from(app->self_url),
        .shop_url = app->shop_url,
    };
    app->dispatcher = dispatcher_start(&options);
    app->backups = backup_schedule_start(app->database, app->options.data_dir, &app->options.backup);
    app->courier = courier_start(&(struct courier_options){
        .database = app->database, .ca_file = app->options.ca_file, .allows_private = app->options.webhook_private_ok});
    warn_of_sandbox(app);
    warn_of_base_url(app);
}

void app_stop(struct app *app)
{
    pool_free(app->pool);
    pool_free(app->calls);
    pool_free(app->files);
    pool_free(app->reports);
    backup_schedule_stop(app->backups);
    outbound_cancel(app->outbound);
    dispatcher_stop(app->dispatcher);
    courier_stop(app->courier);
    link_free(app->link);
    outbound_stop(app->outbound);
    periodic_at_stop(app, app->options.jobs, app->database);
    catalog_cache_free(app->catalog);
    ready_cache_free(app->ready);
    seen_free(app->seen);
    seen_free(app->used);
    limiter_free(app->limiter);
    quota_free(app->unsent);
    turns_free(app->writer_turns);
    turns_free(app->pool_turns);
    turns_free(app->call_turns);
    guesses_free(app->guesses);
    metrics_free(app->metrics);
    store_metrics_free(app->store_metrics);
    matcher_free(app->matcher);
    for (struct settings_snapshot *s = atomic_load(&app->settings), *older; s; s = older) {
        older = s->older;
        free(s);
    }
}
