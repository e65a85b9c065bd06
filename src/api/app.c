/* api/app.c - see app.h. */
#include "api/app.h"

#include <stdlib.h>

#include "api/catalog_cache.h"
#include "api/limit.h"
#include "api/match.h"
#include "api/metrics.h"
#include "api/seen.h"
#include "domain/signing_key.h"
#include "domain/upload.h"

#define POOL_THREADS 4
#define POOL_QUEUE_MAX 512

void app_set_settings(struct app *app, const struct settings *s)
{
    struct settings_snapshot *snapshot = calloc(1, sizeof *snapshot);
    if (!snapshot) abort();
    snapshot->settings = *s;
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

static enum err open_signing_key(void *arg, struct db *db)
{
    (void)arg;
    return signing_key_open(db);
}

enum err app_start(struct app *app, struct database *database, const struct app_options *options)
{
    struct arena arena = {0};
    struct settings settings;
    enum err e = tx_call(database, TX_READ, load_settings, &settings, &arena);
    if (!e) e = tx_call(database, TX_WRITE, open_signing_key, NULL, &arena);
    arena_done(&arena);
    if (e) return e;

    upload_sweep(options->data_dir);
    app->options = *options;
    app->database = database;
    app->matcher = matcher_new(route_tables);
    app->metrics = metrics_new(matcher_count(app->matcher));
    app->limiter = limiter_new();
    app->catalog = catalog_cache_new();
    app->seen = seen_new();
    app->pool = pool_new(POOL_THREADS, POOL_QUEUE_MAX);
    app_set_settings(app, &settings);
    return OK;
}

void app_stop(struct app *app)
{
    pool_free(app->pool);
    periodic_at_stop(app);
    catalog_cache_free(app->catalog);
    seen_free(app->seen);
    limiter_free(app->limiter);
    metrics_free(app->metrics);
    matcher_free(app->matcher);
    for (struct settings_snapshot *s = atomic_load(&app->settings), *older; s; s = older) {
        older = s->older;
        free(s);
    }
}
