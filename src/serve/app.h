/* serve/app.h - what a running server is made of: one value, made at start, handed to every request. */
#pragma once

#include <stdatomic.h>

#include "base/pool.h"
#include "db/tx.h"
#include "domain/settings.h"
#include "http/server.h"
#include "outbox/courier.h"
#include "outbox/dispatch.h"
#include "serve/backup_schedule.h"

struct limiter;
struct quota;
struct turns;
struct guesses;
struct metrics;
struct store_metrics;
struct matcher;
struct catalog_cache;
struct ready_cache;
struct seen;
struct periodic;
struct route;

#define CORS_ORIGINS_MAX 16

struct app_options {
    int64_t rate_v1, rate_customer; /* per minute; -1: as the stored setting says */
    int64_t report_ms;        /* SQLite: for a statement of what staff read, and of handlers' own reads; 0: no limit */
    int64_t rate_auth;        /* failed logins per minute and e-mail address; 0: no limit */
    int64_t body_bytes_max;   /* of JSON bodies */
    int64_t file_bytes_max;   /* of product files */
    int64_t unsent_bytes_max; /* of answers on their way to one account; 0: no cap */
    const char *base_url;     /* "https://shop.example", without a slash at its end; "": unknown */
    const char *data_dir;     /* files of products */
    Str cors_origins[CORS_ORIGINS_MAX];
    size_t cors_count;
    const struct route *const *routes; /* tables; the last is NULL */
    bool log_requests;
    struct mail_options mail;
    const struct periodic *jobs; /* periodic jobs; ends with {0} */
    const char *metrics_token;   /* who may read /metrics; "": this machine alone */
    struct backup_options backup;
    bool webhook_private_ok; /* events may go to private addresses */
    const char *ca_file;     /* authorities to trust for calls to the outside; "": the system's */
};

/* A snapshot; replaced ones are kept until the end, because requests may still read them. Changes are rare. */
struct settings_snapshot {
    struct settings settings;
    struct settings_snapshot *older;
};

struct app {
    struct app_options options;
    struct database *database;
    struct http_server *server;
    struct pool *pool;    /* password hashing and other slow handlers */
    struct pool *calls;   /* handlers that wait for another server */
    struct pool *files;   /* uploads on their way to the disk */
    struct pool *reports; /* SQLite: what staff read; a search may take long, so not on a loop's thread */
    struct outbound *outbound;
    struct gateway_link *link;
    struct dispatcher *dispatcher;
    struct backup_schedule *backups;
    struct courier *courier; /* sends events */
    bool is_public;          /* listens on an address that others can reach */
    char self_url[128];      /* where this process can reach itself */
    const char *shop_url;    /* the address in mails and for gateways: options.base_url, or self_url without one */
    struct limiter *limiter;
    /* How many threads one account, or one network without an account, may use at once. */
    struct turns *writer_turns; /* PostgreSQL: workers that write */
    struct turns *pool_turns, *call_turns;
    struct quota *unsent;    /* bytes of long answers on their way, by account or network */
    struct guesses *guesses; /* of passwords and codes */
    struct metrics *metrics;
    struct store_metrics *store_metrics;
    Time started_at;
    struct matcher *matcher;
    struct catalog_cache *catalog;
    struct ready_cache *ready; /* pages of the shop */
    struct seen *seen;         /* licences verified lately */
    struct seen *used;         /* sessions used lately */
    Time clock_looked_at;      /* jobs.c's: when the clock was last looked at */
    bool is_clock_watched;
    int64_t license_changes_before; /* see license_changes_forget */
    _Atomic(struct settings_snapshot *) settings;
    atomic_bool is_draining;
};

/* Opens nothing: the database must be open and migrated, the vault too. */
enum err app_start(struct app *app, struct database *database, const struct app_options *options);
/* The server listens: work that calls it, or that has been due since the last run, can begin. */
void app_listening(struct app *app, const char *listen, int port);
/* Reads the settings again, at once. */
enum err app_reload(struct app *app);
/* After the HTTP server has stopped. */
void app_stop(struct app *app);
const struct settings *app_settings(struct app *app);
/* Shows newer settings to all later requests. */
void app_set_settings(struct app *app, const struct settings *s);
