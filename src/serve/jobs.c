/* serve/jobs.c - the periodic jobs. The table is the whole list. */
#include "base/log.h"
#include "domain/clock_back.h"
#include "domain/event.h"
#include "domain/filing.h"
#include "domain/idempotency.h"
#include "domain/license.h"
#include "domain/license_cache.h"
#include "domain/mail_link.h"
#include "domain/reconciliation.h"
#include "domain/reservation.h"
#include "domain/retention.h"
#include "domain/stock_notice.h"
#include "domain/token.h"
#include "serve/app.h"
#include "serve/periodic.h"
#include "serve/seen.h"
#include "serve/store_metrics.h"

/* Another node, or the admin panel, may have changed the settings. */
static enum err reload_settings(struct app *app, struct db *db)
{
    int64_t revision;
    enum err e = settings_revision(db, &revision);
    if (e || revision == app_settings(app)->revision) return e;
    struct settings s;
    e = settings_load(db, &s);
    if (!e) app_set_settings(app, &s);
    return e;
}

static enum err keep_for_a_while(struct app *app, struct db *db)
{
    return retention_step(db, app_settings(app), time_now());
}

static enum err forget_old_keys(struct app *app, struct db *db)
{
    (void)app;
    return idempotency_expire(db, time_now(), 2000);
}

static enum err forget_old_tokens(struct app *app, struct db *db)
{
    (void)app;
    enum err e = token_purge(db, time_now(), 1000);
    return e ? e : mail_link_purge(db, time_now(), 1000);
}

static enum err reconcile(struct app *app, struct db *db)
{
    (void)app;
    return reconciliation_ask_due(db, time_now());
}

static enum err free_reserved_codes(struct app *app, struct db *db)
{
    (void)app;
    return reservation_expire(db, time_now());
}

static enum err watch_stock(struct app *app, struct db *db)
{
    return stock_notice_check(db, app_settings(app)->low_stock, time_now());
}

static enum err forget_old_events(struct app *app, struct db *db)
{
    (void)app;
    return event_expire(db, time_now(), 1000);
}

static enum err file_many(struct app *app, struct db *db)
{
    (void)app;
    return filing_step(db, FILING_WORTH);
}

/* In a quiet hour: a list that is filed is found at once by any program. */
static enum err file_rest(struct app *app, struct db *db)
{
    (void)app;
    return filing_step(db, 1);
}

static enum err watch_licenses(struct app *app, struct db *db)
{
    (void)app;
    return license_tell_expired(db, time_now());
}

static enum err forget_license_changes(struct app *app, struct db *db)
{
    return license_changes_forget(db, &app->license_changes_before);
}

/* It may have been set back while no server was there to see it: the first time is always a reason to look. */
static enum err watch_clock(struct app *app, struct db *db)
{
    Time now = app->clock_looked_at = time_now();
    return app->is_clock_watched && !time_is_ahead(time_latest(), now) ? OK : clock_back_amend(db, now);
}

static void clock_watched(struct app *app, enum err e)
{
    if (e) return;
    app->is_clock_watched = true;
    if (time_is_ahead(time_latest(), app->clock_looked_at)) time_forget_latest(app->clock_looked_at);
}

const struct periodic periodic_jobs[] = {
    {"clock", 1000, TX_READ, watch_clock, .done = clock_watched},
    {"settings", 1000, TX_READ, reload_settings},
    {"retention", 1000, TX_READ, keep_for_a_while},
    {"reconciliation", 10000, TX_READ, reconcile},
    {"events", 10000, TX_READ, forget_old_events},
    {"licenses", 5000, TX_READ, watch_licenses},
    {"filing", 250, TX_READ, file_many, .flags = BY_ITSELF | GOES_ON},
    {"filing_rest", 20000, TX_READ, file_rest, .flags = BY_ITSELF},
    {"license_changes", 10000, TX_READ, forget_license_changes},
    {"stock", 5000, TX_READ, watch_stock},
    {"vitals", 5000, TX_READ, store_metrics_read},
    {"flow", 1000, TX_READ, store_metrics_follow},
    {"reservations", 1000, TX_READ, free_reserved_codes},
    {"tokens", 10000, TX_READ, forget_old_tokens},
    {"idempotency", 1000, TX_READ, forget_old_keys},
    {"seen", 1000, TX_READ, seen_flush_licenses, seen_has_licenses, seen_flushed_licenses},
    {"sessions", 1000, TX_READ, seen_flush_sessions, seen_has_sessions, seen_flushed_sessions},
    {0},
};
