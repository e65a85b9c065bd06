/* cli/serve.c - the server: start, wait for a signal, drain, end.
 *
 * Signals are blocked in every thread and waited for here. SIGTERM and SIGINT drain: /readyz answers 503, nothing new
 * is accepted, running requests may finish, and the exit code is 0. A database whose last commit has an unknown outcome
 * ends the process with 1 after a drain, so that a supervisor starts it afresh. systemd is told when the server is
 * ready, reloads or ends, and may hold the listening socket (supervisor.h). */
#include "cli/serve.h"

#include <fcntl.h>
#include <openssl/crypto.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "api/tables.h"
#include "backup/backup_keys.h"
#include "base/log.h"
#include "base/memory.h"
#include "base/sanitized.h"
#include "cli/control.h"
#include "cli/supervisor.h"
#include "domain/password.h"
#include "domain/staff.h"
#include "domain/token.h"
#include "outbound/address.h"
#include "outbound/smtp.h"
#include "serve/app.h"
#include "serve/periodic.h"
#include "serve/router.h"
#include "serve/version.h"

static bool log_options(const struct config *config)
{
    static const char *const levels[] = {"debug", "info", "warn", "error"};
    int level = -1;
    for (int i = 0; i < 4; i++)
        if (strcmp(config->log_level, levels[i]) == 0) level = i;
    bool json = strcmp(config->log_format, "json") == 0;
    if (level < 0 || (!json && strcmp(config->log_format, "logfmt") != 0)) return false;
    log_setup((enum log_level)level, json ? LOG_JSON : LOG_LOGFMT);
    return true;
}

static bool mail_options_are_fine(const struct config *config)
{
    struct base_address at;
    if (!*config->smtp_url) return true;
    return mail_address_parse(str_from(config->smtp_url), &at) && mail_address_is_fine(str_from(config->mail_from)) &&
           (!config->smtp_plain || at.names_private);
}

static bool backup_options_are_fine(const struct config *config)
{
    uint8_t key[ARCHIVE_KEY_BYTES];
    return config->backup_every_hours >= 1 && config->backup_every_hours <= 24 * 366 && config->backup_keep >= 0 &&
           (!*config->backup_public_key || backup_public_key(str_from(config->backup_public_key), key));
}

static struct app_options app_options(const struct config *config)
{
    struct app_options o = {
        .unsent_bytes_max = config->unsent_max,
        .rate_v1 = config->rate_v1,
        .report_ms = config->report_timeout_ms,
        .rate_customer = config->rate_customer,
        .rate_auth = config->rate_auth,
        .body_bytes_max = config->body_max,
        .file_bytes_max = config->file_max,
        .base_url = config->base_url,
        .data_dir = cli_data_dir(config),
        .log_requests = config->log_requests,
        .mail = {.url = config->smtp_url,
                 .user = config->smtp_user,
                 .password = config->smtp_password,
                 .from = config->mail_from,
                 .is_plain = config->smtp_plain},
        .ca_file = config->ca_file,
        .webhook_private_ok = config->webhook_private_ok,
        .metrics_token = config->metrics_token,
        .routes = route_tables,
        .jobs = periodic_jobs,
        .backup = {.url = config->db,
                   .folder = config->backup_folder,
                   .hook = config->backup_hook,
                   .every_ms = config->backup_every_hours * TIME_HOUR,
                   .keep = config->backup_keep,
                   .is_unverified = config->backup_unverified,
                   .is_sealed = *config->backup_public_key},
    };
    backup_public_key(str_from(config->backup_public_key), o.backup.recipient); /* backup_options_are_fine has looked */
    for (Str rest = str_from(config->cors_origins); rest.len && o.cors_count < CORS_ORIGINS_MAX;) {
        Str origin = rest, after = {0};
        str_cut(rest, ',', &origin, &after);
        if (str_trim(origin).len) o.cors_origins[o.cors_count++] = str_trim(origin);
        rest = after;
    }
    return o;
}

static struct http_options http_options(const struct config *config)
{
    return (struct http_options){
        .listen = config->listen,
        .loops = (int)config->loops,
        .connections_max = (int)config->connections_max,
        .connections_per_address = (int)config->connections_per_address,
        .body_memory_max = config->body_memory_max,
        .header_ms = config->header_timeout_ms,
        .idle_ms = config->idle_timeout_ms,
        .body_rate_min = config->body_rate_min,
        .body_bytes_max = config->body_max,
        .drain_ms = config->drain_timeout_ms,
        .drain_idle_ms = config->drain_idle_ms,
        .trusted_proxy = *config->trusted_proxy ? config->trusted_proxy : NULL,
    };
}

/* Written to another file and renamed: a reader sees nothing or the whole number. */
static bool write_port_file(const char *path, int port)
{
    char temporary[4096];
    if (!*path) return true;
    if (snprintf(temporary, sizeof temporary, "%s.new", path) >= (int)sizeof temporary) return false;
    FILE *f = fopen(temporary, "we");
    if (!f) return false;
    bool ok = fprintf(f, "%d\n", port) > 0;
    ok = fclose(f) == 0 && ok;
    if (ok && rename(temporary, path) == 0) return true;
    unlink(temporary);
    return false;
}

static enum err begin_setup(void *arg, struct db *db)
{
    return setup_begin(db, time_now(), arg);
}

/* A store without an owner: a link for the first one, on stderr and in a file that only this user can read. The token
 * is in the fragment, which browsers do not send, so that no proxy's log has it. */
static void offer_setup(const struct config *config, struct arena *a, struct database *d, const char *shop_url)
{
    Str token = {0};
    char path[4096];
    if (tx_call(d, TX_READ, begin_setup, &token, a) == OK &&
        snprintf(path, sizeof path, "%s/setup-link", cli_data_dir(config)) < (int)sizeof path) {
        unlink(path);
        int fd = token.len ? open(path, O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0600) : -1;
        if (token.len) {
            Str link = str_printf(a, "%s/admin/#setup=%.*s", shop_url, STR_FMT(token));
            fprintf(stderr, "\nsouk: this store has no owner yet. Open this link once to become it:\n\n  %.*s\n\n",
                    STR_FMT(link));
            if (fd >= 0) dprintf(fd, "%.*s\n", STR_FMT(link));
        }
        if (fd >= 0) close(fd);
    }
}

/* SIGHUP: reads the settings again, and how to log from the environment and the config file. */
static void reload(const struct config *config, struct app *app)
{
    struct config again;
    bool ok = config_read_again(&again) && log_options(&again);
    if (!ok) log_options(config);
    enum err e = app_reload(app);
    log_event(LOG_INFO, "reloaded", LOGC("options", ok ? "read" : "unchanged: the new ones have a mistake"),
              LOGC("settings", e ? err_info(e)->code : "read"));
}

/* OpenSSL's memory comes out of the reserve, too. */
static void *crypto_take(size_t bytes, const char *file, int line)
{
    (void)file, (void)line;
    return memory_try(bytes);
}

static void *crypto_grow(void *p, size_t bytes, const char *file, int line)
{
    (void)file, (void)line;
    return memory_try_grow(p, bytes);
}

static void crypto_free(void *p, const char *file, int line)
{
    (void)file, (void)line;
    free(p);
}

/* Says when memory was short, and whether it still is. */
static void watch_memory(void)
{
    static int64_t seen;
    static bool was_short;
    int64_t given_up = memory_given_up();
    bool is_short = memory_is_short();
    if (given_up != seen)
        log_event(LOG_WARN, "memory_short", LOGI("times", given_up - seen),
                  LOGC("requests", is_short ? "refused" : "served"));
    else if (was_short && !is_short)
        log_event(LOG_INFO, "memory_enough", LOGC("requests", "served"));
    seen = given_up;
    was_short = is_short;
}

/* True: a signal asked us to end. False: the database has failed. */
static bool wait_for_end(const sigset_t *signals, const struct config *config, struct app *app)
{
    for (;;) {
        struct timespec second = {.tv_sec = 1};
        int got = sigtimedwait(signals, NULL, &second);
        watch_memory();
        if (got == SIGTERM || got == SIGINT) return true;
        if (got == SIGHUP) reload(config, app);
        if (!database_is_healthy(app->database)) return false;
    }
}

static int serve(const struct config *config, struct arena *a, struct database *d, int listen_fd,
                 const sigset_t *signals)
{
    struct app app = {0};
    struct app_options options = app_options(config);
    struct http_options http = http_options(config);
    struct http_hooks hooks = router_hooks(&app);
    char why[512];
    http.listen_fd = listen_fd;

    memory_refill();
    token_set_max(config->tokens_max > 0 ? config->tokens_max : TOKENS_MAX);
    enum err e = app_start(&app, d, &options);
    if (e) return cli_fail("the store cannot start: %s", err_info(e)->message);
    if (http_server_start(&http, &hooks, &app.server, why, sizeof why) != OK) {
        cli_fail("%s", why);
        app_stop(&app);
        return EXIT_FAILED;
    }
    int port = http_server_port(app.server);
    const char *listen = listen_fd ? http_server_address(app.server) : config->listen;
    app_listening(&app, listen, port);
    offer_setup(config, a, d, app.shop_url);
    struct control *control = control_start(config, d);
    bool wrote = write_port_file(config->port_file, port);
    if (!wrote)
        cli_fail("cannot write the port file %s", config->port_file);
    else
        log_event(LOG_INFO, "listening", LOGC("listen", listen), LOGI("port", port), LOGC("version", SOUK_VERSION),
                  LOGC("engine", database_is_sqlite(d) ? "sqlite" : "postgres"));

    supervisor_tell(wrote ? "READY=1\nSTATUS=serving" : "STATUS=cannot write the port file");
    struct pulse *pulse = pulse_start(app.server, d);
    bool asked = wrote && wait_for_end(signals, config, &app);
    supervisor_tell("STOPPING=1\nSTATUS=letting running requests end");
    pulse_stop(pulse);
    atomic_store(&app.is_draining, true);
    log_event(LOG_INFO, "draining", LOGC("why", asked ? "signal" : "database"));
    control_stop(control);
    http_server_stop(app.server);
    app_stop(&app);
    http_server_free(app.server);
    log_event(LOG_INFO, "stopped", LOGI("port", port));
    return asked ? EXIT_OK : EXIT_FAILED;
}

/* Keys and passwords are in this process's memory: no other process of the user may look into it, a crash leaves none
 * of it on disk, and no child process can gain rights. Sanitizers do look into the process, so builds with them allow
 * it. */
static void close_the_process(void)
{
    const struct rlimit none = {0, 0};
    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    setrlimit(RLIMIT_CORE, &none);
#if !defined(WITH_ASAN) && !defined(WITH_TSAN)
    prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
#endif
}

int serve_command(const struct config *config, struct arena *a)
{
    close_the_process();
    CRYPTO_set_mem_functions(crypto_take, crypto_grow, crypto_free); /* before OpenSSL's first use */
    sigset_t signals;
    sigemptyset(&signals);
    sigaddset(&signals, SIGTERM);
    sigaddset(&signals, SIGINT);
    sigaddset(&signals, SIGHUP);
    pthread_sigmask(SIG_BLOCK, &signals, NULL);
    signal(SIGPIPE, SIG_IGN);

    if (!mail_options_are_fine(config))
        return cli_usage("--smtp-url is smtp://host:port or smtps://host:port, and needs --mail-from with an address");
    if (!backup_options_are_fine(config))
        return cli_usage(
            "--backup-every-hours is 1 or more, --backup-keep 0 or more, and --backup-public-key a key that starts"
            " with " BACKUP_PUBLIC_PREFIX);
    if (!log_options(config))
        return cli_usage("--log-level is debug, info, warn or error; --log-format is logfmt or json");
    int listen_fd = supervisor_socket();
    if (listen_fd < 0) return EXIT_FAILED;
    if (config->cheap_passwords) {
        if (listen_fd || !listens_on_loopback(config->listen) || *config->trusted_proxy)
            return cli_usage("--cheap-passwords is for test runs: on a loopback address, without --trusted-proxy");
        password_make_cheap();
    }
#if defined(WITH_ASAN) || defined(WITH_TSAN)
    if (getenv("SOUK_TEST_CHEAP_PASSWORDS")) password_make_cheap(); /* behind a proxy, too: nobody ships such a build */
#endif
    struct database *d = cli_open(config, OPEN_SERVER);
    if (!d) return EXIT_FAILED;
    int result = serve(config, a, d, listen_fd, &signals);
    database_close(d);
    return result;
}
