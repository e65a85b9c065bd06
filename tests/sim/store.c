/* tests/sim/store.c - see store.h. Does what 'souk serve' does, without sockets and signals. */
#include "store.h"

#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/tables.h"
#include "base/log.h"
#include "client.h"
#include "control.h"
#include "db/migrate.h"
#include "domain/account.h"
#include "domain/event.h"
#include "domain/ledger.h"
#include "domain/token.h"
#include "domain/vault.h"
#include "schedule.h"
#include "serve/app.h"
#include "serve/periodic.h"
#include "serve/router.h"
#include "view/view_event.h"
#include "view/view_placed.h"
#include "wire.h"

#define LOG_PAGES 60 /* short: the log is copied into the file often, and read back quickly */

static char folder[256], path[300];
static struct app app;
static struct database *database;

void store_folder(const char *at)
{
    /* What sqlite_file_look reads: the magic, and the application id at 68. */
    static const uint8_t id[4] = {0x73, 0x6f, 0x75, 0x6b};
    uint8_t head[100] = "SQLite format 3";
    char why[256];
    memcpy(head + 68, id, sizeof id);
    snprintf(folder, sizeof folder, "%s", at);
    snprintf(path, sizeof path, "%s/shop.db", at);
    FILE *f = fopen(path, "wb");
    if (!f || fwrite(head, sizeof head, 1, f) != 1 || fclose(f) != 0) abort();
    static const char key[] = "00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff";
    if (vault_open("", key, false, why, sizeof why) != OK) abort();
    event_install(view_event, view_event_finish);
    idempotency_install(view_placed_again);
}

static int remove_one(const char *at, const struct stat *info, int type, struct FTW *walk)
{
    (void)info, (void)type, (void)walk;
    return remove(at);
}

void store_remove(void)
{
    nftw(folder, remove_one, 8, FTW_DEPTH | FTW_PHYS);
}

static int remove_file(const char *at, const struct stat *info, int type, struct FTW *walk)
{
    (void)info, (void)walk;
    return type == FTW_F ? remove(at) : 0;
}

void store_empty(void)
{
    char files[300];
    snprintf(files, sizeof files, "%s/files", folder);
    nftw(files, remove_file, 8, FTW_PHYS);
}

bool store_start(struct disk *d, char *why, size_t bytes)
{
    vfs_forget_shm(d);
    vfs_mount("shop.db", d);
    struct database_options options = {.url = path, .may_create = true, .log_pages = LOG_PAGES};
    int applied;
    if (database_open(&options, &database, why, bytes) != OK) return false;
    if (migrate_up(database, &applied, why, bytes) != OK) {
        database_close(database);
        return false;
    }
    control_started(database);
    struct app_options how = {
        .base_url = "https://shop.example",
        .body_bytes_max = 65536,
        .file_bytes_max = 65536,
        .data_dir = folder,
        .routes = route_tables,
        .jobs = periodic_jobs,
        .mail = {.url = "", .user = "", .password = "", .from = ""},
        .ca_file = "",
        .metrics_token = "",
        .backup = {.url = path, .folder = "", .hook = ""},
    };
    app = (struct app){0};
    struct http_hooks hooks = router_hooks(&app);
    struct http_options http = {0};
    if (app_start(&app, database, &how) != OK || http_server_start(&http, &hooks, &app.server, why, bytes) != OK) {
        snprintf(why, bytes, "the store does not start");
        return false;
    }
    app_listening(&app, "127.0.0.1:8080", 8080);
    return true;
}

void store_stop(void)
{
    atomic_store(&app.is_draining, true);
    http_server_stop(app.server);
    app_stop(&app);
    http_server_free(app.server);
    database_close(database);
}

struct database *store_database(void)
{
    return database;
}

bool store_is_healthy(void)
{
    return database_is_healthy(database);
}

/* ---- the first store ---- */

struct person {
    char email[64];
    enum role role;
    unsigned scopes;
    int64_t balance, credit_limit;
    char *ret_token;
    int64_t *ret_account;
};

static enum err add_person(void *arg, struct db *db)
{
    const struct person *p = arg;
    Time now = time_now();
    struct account made;
    struct token token;
    Str text;
    enum err e = account_create(db, &(struct account){.email = str_from(p->email), .role = p->role}, now, &made);
    if (!e)
        e = token_create(
            db, &(struct token){.account = made.id, .kind = TOKEN_API, .name = STR("sim"), .scopes = p->scopes}, now,
            &token, &text);
    if (!e && p->balance)
        e = ledger_credit(
            db, made.id, LEDGER_ADJUSTMENTS,
            &(struct transfer){
                .kind = LEDGER_ADJUSTMENT, .amount = {p->balance}, .description = STR("opening"), .at = now});
    if (!e && p->credit_limit) e = wallet_set_credit_limit(db, made.id, (Money){p->credit_limit});
    if (e) return e;
    snprintf(p->ret_token, TOKEN_MAX, "%.*s", STR_FMT(text));
    *p->ret_account = made.id.v;
    return OK;
}

static void people(struct store_facts *f)
{
    int64_t ignored;
    struct arena a = {0};
    struct person owner = {.email = "owner@shop.example",
                           .role = ROLE_OWNER,
                           .scopes = SCOPES_OF_OWNERS,
                           .ret_token = f->owner,
                           .ret_account = &ignored};
    enum err e = tx_call(database, TX_WRITE, add_person, &owner, &a);
    for (int i = 0; !e && i < CUSTOMERS; i++) {
        struct person p = {.role = ROLE_CUSTOMER,
                           .scopes = SCOPES_OF_CUSTOMERS,
                           .balance = 20000,
                           .credit_limit = i % 2 ? 3000 : 0,
                           .ret_token = f->customers[i].token,
                           .ret_account = &f->customers[i].account};
        snprintf(p.email, sizeof p.email, "c%d@customer.example", i);
        e = tx_call(database, TX_WRITE, add_person, &p, &a);
    }
    arena_done(&a);
    if (e) abort();
}

static int64_t product(const struct store_facts *f, const char *name, const char *price, const char *type)
{
    char body[512], answer[4096];
    snprintf(body, sizeof body, "{\"name\":\"%s\",\"price\":%s,\"delivery_type\":\"%s\",\"is_active\":true}", name,
             price, type);
    client_ask(f->owner, "POST", "/api/admin/products", body, 201, answer, sizeof answer);
    return client_number(answer, "id");
}

void store_make(struct disk *d, struct store_facts *f)
{
    char why[256], target[128], body[4096], answer[8192];
    disk_create(d, DISK_DB);
    if (!store_start(d, why, sizeof why)) {
        fprintf(stderr, "sim: %s\n", why);
        abort();
    }
    people(f);
    f->licensed = product(f, "Editor", "19.90", "license_key");
    f->coded = product(f, "Game", "9.50", "serial_code");
    f->cheap = product(f, "Plugin", "1.00", "license_key");
    snprintf(target, sizeof target, "/api/admin/products/%lld/serials", (long long)f->coded);
    size_t n = (size_t)snprintf(body, sizeof body, "{\"codes\":[");
    for (int i = 0; i < 40; i++)
        n += (size_t)snprintf(body + n, sizeof body - n, "%s\"GAME-%04d-%04d\"", i ? "," : "", i, i * 7919 % 10000);
    snprintf(body + n, sizeof body - n, "]}");
    client_ask(f->owner, "POST", target, body, 200, answer, sizeof answer);
    client_ask(f->owner, "POST", "/api/admin/coupons",
               "{\"code\":\"TENTH\",\"kind\":\"percent\",\"value\":10,\"max_uses\":9,\"max_uses_per_customer\":2}", 201,
               answer, sizeof answer);
    client_ask(f->owner, "PUT", "/api/admin/gateways/card_gateway_a",
               "{\"is_enabled\":true,\"secrets\":[\"" PROVIDER_SECRET "\"],\"api_key\":\"sk_test_sim\"}", 200, answer,
               sizeof answer);
    store_stop();
}

/* ---- the log ---- */

static int errors;
static char first_error[512];

int store_take_errors(char *ret, size_t bytes)
{
    int n = errors;
    snprintf(ret, bytes, "%s", n ? first_error : "");
    errors = 0;
    return n;
}

void __wrap_log_write(enum log_level level, const char *event, const struct log_field *fields);
void __real_log_write(enum log_level level, const char *event, const struct log_field *fields);
void __wrap_log_write(enum log_level level, const char *event, const struct log_field *fields)
{
    if (level < LOG_ERROR && !getenv("SIM_LOG")) return;
    if (getenv("SIM_LOG")) __real_log_write(level, event, fields);
    if (level < LOG_ERROR) return;
    if (!errors++) snprintf(first_error, sizeof first_error, "%s", event);
}
