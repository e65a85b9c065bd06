/* serve/send.c - the answer on its way out: headers that every answer has, CORS, limits, and headers that an error
 * needs. */
#include "base/log.h"
#include "base/quota.h"
#include "serve/call.h"
#include "serve/frame.h"
#include "serve/metrics.h"

#define UNSENT_COUNTED_BYTES (64 * 1024) /* shorter answers fit into a socket */

static void add_limit_headers(struct call *c)
{
    if (!c->limit_rate) return;
    struct request *req = &c->req;
    request_add_header(req, "RateLimit-Policy",
                       str_printf(req->arena, "\"%s\";q=%lld;w=60", c->limit_name, (long long)c->limit_rate));
    request_add_header(req, "RateLimit",
                       str_printf(req->arena, "\"%s\";r=%lld;t=%lld", c->limit_name, (long long)c->limit.remaining,
                                  (long long)c->limit.reset_s));
}

static bool origin_is_allowed(const struct app *app, Str origin)
{
    for (size_t i = 0; i < app->options.cors_count; i++)
        if (str_eq(app->options.cors_origins[i], origin)) return true;
    return false;
}

static void add_cors_headers(struct call *c)
{
    struct request *req = &c->req;
    if (!req->app->options.cors_count) return;
    request_add_header(req, "Vary", STR("Origin"));
    Str origin = request_header(req, "Origin");
    if (!origin.ptr || !origin_is_allowed(req->app, origin)) return;
    request_add_header(req, "Access-Control-Allow-Origin", origin);
    request_add_header(
        req, "Access-Control-Expose-Headers",
        STR("X-Request-Id, RateLimit, RateLimit-Policy, Retry-After, Idempotent-Replayed, ETag, Link, Location"));
    if (str_eq(req->exchange->head.method, STR("OPTIONS"))) {
        request_add_header(req, "Access-Control-Allow-Methods", str_from(c->match.allow));
        request_add_header(req, "Access-Control-Allow-Headers",
                           STR("Authorization, Content-Type, Idempotency-Key, If-Match, If-None-Match, X-Request-Id"));
        request_add_header(req, "Access-Control-Max-Age", STR("600"));
    }
}

static void add_error_headers(struct call *c, enum err e)
{
    struct request *req = &c->req;
    switch (req->status) {
    case 401:
        if (e == ERR_CREDENTIALS_INVALID || e == ERR_TOTP_REQUIRED) break;
        request_add_header(req, "WWW-Authenticate",
                           e == ERR_TOKEN_MISSING ? STR("Bearer realm=\"souk\"")
                                                  : STR("Bearer realm=\"souk\", error=\"invalid_token\""));
        break;
    case 405: request_add_header(req, "Allow", str_from(c->match.allow)); break;
    case 415:
        if (e == ERR_CONTENT_CODING) request_add_header(req, "Accept-Encoding", STR("identity"));
        request_add_header(req, "Accept-Post",
                           req->route && req->route->accepts ? str_from(req->route->accepts) : STR("application/json"));
        break;
    case 429: {
        int64_t wait = req->retry_after_s > 0 ? req->retry_after_s : c->limit.retry_after_s;
        request_add_header(req, "Retry-After", str_printf(req->arena, "%lld", (long long)(wait > 0 ? wait : 1)));
        break;
    }
    case 503: request_add_header(req, "Retry-After", STR("1")); break;
    }
}

/* Our pages use none of these browser features, and nothing inside them may. */
static const char PERMISSIONS_POLICY[] =
    "accelerometer=(), autoplay=(), camera=(), display-capture=(), encrypted-media=(), fullscreen=(), geolocation=(), "
    "gyroscope=(), magnetometer=(), microphone=(), midi=(), payment=(), publickey-credentials-get=(), usb=(), "
    "xr-spatial-tracking=()";

/* The headers of every answer, whether from a handler, the router, or the server itself when it refuses. */
static void add_headers(struct call *c)
{
    struct request *req = &c->req;
    struct request_answer *a = &c->answer;
    if (a->body.len || a->has_file)
        request_add_header(req, "Content-Type", a->content_type ? str_from(a->content_type) : STR("application/json"));
    request_add_header(req, "X-Request-Id", req->id);
    request_add_header(req, "X-Content-Type-Options", STR("nosniff"));
    request_add_header(req, "Cross-Origin-Resource-Policy", STR("same-origin"));
    if (a->content_type && str_starts(str_from(a->content_type), STR("text/html")))
        request_add_header(req, "Permissions-Policy", str_from(PERMISSIONS_POLICY));
    if (!req->route || !(req->route->flags & PUBLIC_CACHE) || req->status >= 400)
        request_add_header(req, "Cache-Control", STR("no-store"));
    if (a->location.len) request_add_header(req, "Location", a->location);
    if (c->is_replayed) request_add_header(req, "Idempotent-Replayed", STR("true"));
    add_limit_headers(c);
    add_cors_headers(c);
}

/* Long answers that nobody reads are held until their connection ends, so an account has a cap on such bytes. Only
 * reads (GET) are refused; the answer to a change must be sent. */
static bool may_be_sent(struct call *c)
{
    struct request *req = &c->req;
    int64_t length = (int64_t)c->answer.body.len, max = req->app->options.unsent_bytes_max;
    if (!max || length < UNSENT_COUNTED_BYTES || !req->route) return true;
    bool is_read = str_eq_nocase(str_from(req->route->method), STR("GET"));
    c->unsent_place = call_place(c);
    /* A single answer may exceed the cap. */
    if (!quota_take(req->app->unsent, c->unsent_place, length, !is_read ? INT64_MAX : length > max ? length : max))
        return false;
    c->unsent = length;
    return true;
}

void call_sent(struct call *c)
{
    if (c->unsent) quota_give(c->req.app->unsent, c->unsent_place, c->unsent);
    c->unsent = 0;
}

static void send_answer(struct call *c)
{
    struct request *req = &c->req;
    struct request_answer *a = &c->answer;
    add_headers(c);
    struct http_answer answer = {.status = req->status, .headers = a->headers, .header_count = a->header_count};
    if (str_eq(req->exchange->head.method, STR("HEAD"))) {
        answer.head_length = a->has_file ? a->file.length : (int64_t)a->body.len;
        if (a->has_file) answer.file = &a->file; /* the server closes it without sending */
    } else if (a->has_file) {
        answer.file = &a->file;
    } else {
        answer.body = a->body;
    }
    exchange_answer(req->exchange, &answer);
}

Str call_path(const struct call *c)
{
    const struct route *r = c->req.route;
    return r && r->flags & SECRET_PATH ? str_from(r->path) : c->req.exchange->head.path;
}

/* Events that a stranger can cause at will are logged seldom. */
static void log_seldom(struct call *c, struct log_gate *gate, enum err e)
{
    int64_t times = log_gate_pass(gate, time_monotonic_ns());
    if (times)
        log_event(LOG_WARN, err_info(e)->code, LOGS("request_id", c->req.id), LOGS("path", call_path(c)),
                  LOGS("network", c->req.exchange->network), LOGI("account", c->req.account.v), LOGI("times", times));
}

static void log_failure(struct call *c, enum err e)
{
    struct trace trace = {0};
    request_trace(&c->req, &trace);
    if (e == ERR_OVERLOADED)
        log_seldom(c, &c->loop->overloaded, e);
    else if (e == ERR_RATE_LIMITED)
        log_seldom(c, &c->loop->rate_limited, e);
    else if (err_info(e)->status >= 500)
        log_event(LOG_ERROR, "request_failed", LOGS("request_id", c->req.id),
                  LOGS("method", c->req.exchange->head.method), LOGS("path", call_path(c)),
                  LOGC("code", err_info(e)->code), LOGT(trace));
}

/* What the client is told; dropped when the client is gone. */
static enum err told(struct call *c, enum err e)
{
    if (e == ERR_OVERLOADED || e == ERR_CLIENT_GONE) metrics_event(c->req.app->metrics, METRIC_OVERLOADED);
    if (e == ERR_CLIENT_GONE) return ERR_OVERLOADED;
    return err_info(e)->status ? e : ERR_INTERNAL;
}

static bool takes_html(const struct request *req)
{
    Str accept = request_header(req, "Accept");
    for (size_t i = 0; i + 9 <= accept.len; i++)
        if (str_eq_nocase((Str){accept.ptr + i, 9}, STR("text/html"))) return true;
    return false;
}

/* Where people's browsers go besides the pages: pictures, style sheets, what was bought. */
static bool is_linked(Str path)
{
    return str_starts(path, STR("/assets/")) || str_starts(path, STR("/media/")) || str_starts(path, STR("/download/"));
}

/* Programs get JSON and people get pages: for the shop's addresses and for those that do not exist. */
static bool error_is_page(const struct request *req)
{
    Str path = req->exchange->head.path;
    if (req->route && req->route->flags & SHOP) return req->status != 404 || takes_html(req);
    if (req->route) return takes_html(req) && is_linked(path);
    return takes_html(req) && !str_starts(path, STR("/api/")) && !str_starts(path, STR("/webhook/"));
}

/* To the login, and back to the page that was asked for. */
static void send_to_login(struct request *req)
{
    bool is_get = strcmp(req->route->method, "GET") == 0;
    answer_reset(req);
    req->status = 303;
    req->answer->location =
        is_get ? str_printf(req->arena, "/login?next=%.*s", STR_FMT(req->exchange->head.path)) : STR("/login");
    request_ready(req, "text/plain", (Str){0});
}

void call_finish(struct call *c, enum err e)
{
    if (e == ERR_LOGIN_FIRST) {
        send_to_login(&c->req);
        e = OK;
    }
    if (!e && !c->answer.is_rendered) e = answer_check(&c->req);
    if (e) {
        e = told(c, e);
        log_failure(c, e);
        answer_error(&c->req, e);
        add_error_headers(c, e);
        if (error_is_page(&c->req)) frame_error(&c->req, e);
    } else if (!c->answer.is_rendered) {
        answer_success(&c->req);
    }
    if (!e && !may_be_sent(c)) {
        call_finish(c, ERR_OVERLOADED);
        return;
    }
    if (c->req.on_rendered) c->req.on_rendered(&c->req);
    if (c->is_replayed) metrics_event(c->req.app->metrics, METRIC_REPLAYED);
    send_answer(c);
}

void call_refuse(struct call *c, enum err e, struct http_answer *ret)
{
    answer_error(&c->req, e);
    add_error_headers(c, e);
    add_headers(c);
    ret->status = c->req.status;
    ret->headers = c->answer.headers;
    ret->header_count = c->answer.header_count;
    ret->body = c->answer.body;
}
