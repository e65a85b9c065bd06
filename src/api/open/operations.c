/* api/open/operations.c - for the operator: is the server alive, is it ready, what has it done. */
#include <sys/statvfs.h>

#include "api/open/openapi_json.h"
#include "api/tables.h"
#include "db/migrate.h"
#include "domain/settings.h"
#include "domain/vault.h"
#include "serve/app.h"
#include "serve/metrics.h"
#include "serve/request.h"

#define DISK_BYTES_MIN ((uint64_t)4 * 1024 * 1024) /* a store with less than this cannot promise the next write */
#define REFUSED_MS (30 * TIME_SECOND)              /* how long a write that found no room counts */
#define METRICS_BYTES_MAX ((size_t)4 * 1024 * 1024)

struct livez_query {
    Str nonce;
};
static const struct field livez_fields[] = {
    {"nonce", FIELD_LINE, 0, offsetof(struct livez_query, nonce), .min = 16, .max = 64},
    {0},
};
static const struct shape livez_query = {livez_fields, sizeof(struct livez_query)};

/* With a nonce it proves which store answers: `souk doctor` asks the public address for it. */
static enum err get_livez(struct request *req)
{
    const struct livez_query *in = req->query;
    struct json_writer *w = &req->out;
    json_begin_object(w);
    json_kv_bool(w, "alive", true);
    if (in->nonce.len) json_kv_str(w, "instance", settings_instance_proof(req->arena, in->nonce));
    json_end_object(w);
    return OK;
}

/* Room in the data folder, and whether the last write found some: free space does not show a quota. A server that is
 * not ready gets no writes that could prove that there is room again, so a refusal counts only for a while. */
static bool disk_is_full(const struct request *req)
{
    struct statvfs fs;
    if (statvfs(req->app->options.data_dir, &fs) == 0 && (uint64_t)fs.f_bavail * fs.f_frsize < DISK_BYTES_MIN)
        return true;
    int64_t refused = atomic_load(&database_stats(req->app->database)->no_room_ms);
    return refused && time_since((Time){refused}, req->now) < REFUSED_MS;
}

static enum err get_readyz(struct request *req)
{
    int present;
    bool serves;
    if (atomic_load(&req->app->is_draining) || !database_is_healthy(req->app->database)) return ERR_UNAVAILABLE;
    if (disk_is_full(req)) {
        request_error_str(req, "disk", STR("full"));
        return ERR_UNAVAILABLE;
    }
    if (migrate_present(req->db, &present, &serves) != OK || !serves) return ERR_UNAVAILABLE;
    struct json_writer *w = &req->out;
    json_begin_object(w);
    json_kv_bool(w, "ready", true);
    json_kv_int(w, "schema", present);
    json_end_object(w);
    return OK;
}

/* With a metrics token, only its holders may read them; without one, only this machine: not on a public address, and
 * not clients of a proxy. */
static enum err may_see_metrics(struct request *req)
{
    Str token = str_from(req->app->options.metrics_token), scheme, text;
    if (!token.len) return req->app->is_public || !address_is_loopback(req->exchange->peer) ? ERR_TOKEN_MISSING : OK;
    if (!str_cut(str_trim(request_header(req, "Authorization")), ' ', &scheme, &text) ||
        !str_eq_nocase(scheme, STR("Bearer")))
        return ERR_TOKEN_MISSING;
    text = str_trim(text);
    return text.len == token.len && vault_equal(text.ptr, token.ptr, token.len) ? OK : ERR_TOKEN_INVALID;
}

static enum err get_metrics(struct request *req)
{
    enum err e = may_see_metrics(req);
    if (e) return e;
    struct buf out;
    buf_init(&out, req->arena, METRICS_BYTES_MAX);
    metrics_write(req->app, &out);
    request_ready(req, "text/plain; version=0.0.4; charset=utf-8", buf_str(&out));
    return OK;
}

static enum err get_openapi(struct request *req)
{
    request_add_header(req, "Cache-Control", STR("no-cache"));
    return web_file_coded(req, &openapi_json);
}

const struct route operations_routes[] = {
    {"GET", "/livez", SCOPE_NONE, TX_NONE, NULL, get_livez, .limit = LIMIT_NONE, .query = &livez_query},
    {"GET", "/readyz", SCOPE_NONE, TX_READ, NULL, get_readyz, .limit = LIMIT_NONE},
    {"GET", "/metrics", SCOPE_NONE, TX_NONE, NULL, get_metrics, ANY_ACCEPT, .limit = LIMIT_NONE},
    {"GET", "/openapi.json", SCOPE_NONE, TX_NONE, NULL, get_openapi, PUBLIC_CACHE},
    {0},
};
