/* api/router.c - one request's life.
 *
 * begin     the head is in: the row is found, its body limit set.
 * request   the body is in: what needs no database is decided here (no such route, limits, no token).
 * run       inside the row's transaction, on whatever thread that is: authenticate, read body and query, look for a
 * kept answer, call the handler, render. On SQLite a TX_WRITE row first runs as a read on the loop's own thread, where
 *           bad tokens and bad bodies end, and moves to the writer only to write.
 * finish    back on the loop's thread: the answer goes out.
 *
 * A struct call lives in the exchange's arena and is on one thread at a time. */
#include "api/router.h"

#include <assert.h>
#include <stdlib.h>

#include "api/answer.h"
#include "api/limit.h"
#include "api/match.h"
#include "api/metrics.h"
#include "base/log.h"
#include "base/random.h"
#include "base/text.h"
#include "domain/idempotency.h"
#include "domain/upload.h"
#include "domain/vault.h"

struct loop {
    struct app *app;
    struct http_loop *http;
    struct tx_port *port;
    struct mailbox home;             /* calls coming back from the pool */
    struct periodic_state *periodic; /* the first loop's */
};

struct call {
    struct tx_job job; /* first: jobs come back as calls */
    struct pool_job pool_job;
    struct letter home;
    struct request req;
    struct request_answer answer;
    struct loop *loop;
    struct match match;
    uint8_t token[TOKEN_HASH_BYTES];
    bool has_token;
    bool is_admitted; /* limits and token's form looked at, before the body came */
    bool is_checked;  /* authenticated and read; not done again when a transaction is retried */
    bool is_replayed; /* the answer is a kept one */
    bool has_key;
    struct idempotency key;
    struct limit_result limit;
    int64_t limit_rate;
    const char *limit_name;
    enum err pool_result;
};

#define call_of(ptr, member) ((struct call *)((char *)(ptr)-offsetof(struct call, member)))

/* Request ids: unique, not secret. A random start for the process and a counter, mixed. */
static _Atomic uint64_t request_counter;

static Str request_id_make(struct arena *a)
{
    static _Atomic uint64_t start;
    uint64_t base = atomic_load_explicit(&start, memory_order_relaxed);
    if (!base) {
        uint64_t fresh = random_u64() | 1;
        if (atomic_compare_exchange_strong(&start, &base, fresh)) base = fresh;
    }
    uint64_t z =
        base + atomic_fetch_add_explicit(&request_counter, 1, memory_order_relaxed) * UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
    z ^= z >> 31;
    uint8_t bytes[8];
    memcpy(bytes, &z, sizeof bytes);
    return hex_encode(a, bytes, sizeof bytes);
}

static bool request_id_is_fine(Str id)
{
    if (id.len < 1 || id.len > 64) return false;
    for (size_t i = 0; i < id.len; i++) {
        char c = id.ptr[i];
        bool ok = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' || c == '_' ||
                  c == '-';
        if (!ok) return false;
    }
    return true;
}

static struct call *call_new(struct loop *loop, struct exchange *x)
{
    struct call *c = arena_new(&x->arena, struct call);
    c->loop = loop;
    c->req.exchange = x;
    c->req.app = loop->app;
    c->req.settings = app_settings(loop->app);
    c->req.arena = &x->arena;
    c->req.now = time_now();
    c->req.target = x->head.target;
    c->req.answer = &c->answer;
    Str id = http_header_get(&x->head, "X-Request-Id");
    c->req.id = request_id_is_fine(id) ? id : request_id_make(&x->arena);
    answer_reset(&c->req);
    x->user = c;
    return c;
}

/* ---- the answer on its way out ---- */

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
        request_add_header(req, "Accept-Post",
                           req->route && req->route->accepts ? str_from(req->route->accepts) : STR("application/json"));
        break;
    case 429:
        request_add_header(
            req, "Retry-After",
            str_printf(req->arena, "%lld", (long long)(c->limit.retry_after_s > 0 ? c->limit.retry_after_s : 1)));
        break;
    case 503: request_add_header(req, "Retry-After", STR("1")); break;
    }
}

static void send_answer(struct call *c)
{
    struct request *req = &c->req;
    struct request_answer *a = &c->answer;
    if (a->body.len || a->has_file)
        request_add_header(req, "Content-Type", a->content_type ? str_from(a->content_type) : STR("application/json"));
    request_add_header(req, "X-Request-Id", req->id);
    request_add_header(req, "X-Content-Type-Options", STR("nosniff"));
    if (!req->route || !(req->route->flags & PUBLIC_CACHE) || req->status >= 400)
        request_add_header(req, "Cache-Control", STR("no-store"));
    if (a->location.len) request_add_header(req, "Location", a->location);
    if (c->is_replayed) request_add_header(req, "Idempotent-Replayed", STR("true"));
    add_limit_headers(c);
    add_cors_headers(c);

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

static void log_failure(const struct call *c, enum err e)
{
    if (err_info(e)->status < 500) return;
    log_event(LOG_ERROR, "request_failed", LOGS("request_id", c->req.id), LOGS("method", c->req.exchange->head.method),
              LOGS("path", c->req.exchange->head.path), LOGC("code", err_info(e)->code));
}

static void finish(struct call *c, enum err e)
{
    if (e) {
        if (!err_info(e)->status) e = ERR_INTERNAL;
        log_failure(c, e);
        answer_error(&c->req, e);
        add_error_headers(c, e);
    } else if (!c->answer.is_rendered) {
        answer_success(&c->req);
    }
    if (c->req.on_rendered) c->req.on_rendered(&c->req);
    if (c->is_replayed) metrics_event(c->req.app->metrics, METRIC_REPLAYED);
    send_answer(c);
}

/* ---- limits ---- */

static void limit_pick(struct call *c)
{
    const struct route *r = c->req.route;
    const struct app *app = c->req.app;
    enum limit_class class = r->limit;
    if (class == LIMIT_BY_SCOPE)
        class = r->scope & (SCOPE_CATALOG | SCOPE_VERIFY | SCOPE_ORDER) ? LIMIT_V1 : LIMIT_CUSTOMER;
    if (class == LIMIT_V1) {
        c->limit_name = "v1";
        c->limit_rate = app->options.rate_v1 >= 0 ? app->options.rate_v1 : c->req.settings->rate_v1;
    } else if (class == LIMIT_CUSTOMER) {
        c->limit_name = "customer";
        c->limit_rate = app->options.rate_customer >= 0 ? app->options.rate_customer : c->req.settings->rate_customer;
    }
}

static enum err limit_check(struct call *c)
{
    limit_pick(c);
    if (!c->limit_rate) return OK;
    Str caller = c->has_token ? (Str){(const char *)c->token, sizeof c->token} : c->req.exchange->peer;
    c->limit = limiter_charge(c->req.app->limiter, c->limit_name[0], caller, c->limit_rate, time_monotonic_ns());
    if (c->limit.allowed) return OK;
    metrics_event(c->req.app->metrics, METRIC_RATE_LIMITED);
    return ERR_RATE_LIMITED;
}

/* Made-up tokens are counted against the address, so that inventing a new one each time does not get around the limit.
 */
static enum err token_refused(struct call *c, enum err e)
{
    metrics_event(c->req.app->metrics, METRIC_TOKEN_REFUSED);
    if (!c->limit_rate || !c->has_token) return e;
    struct limit_result r =
        limiter_charge(c->req.app->limiter, 't', c->req.exchange->peer, c->limit_rate, time_monotonic_ns());
    if (r.allowed) return e;
    c->limit = r;
    return ERR_RATE_LIMITED;
}

/* ---- what is checked before the handler ---- */

/* The token's hash out of the Authorization header. */
static enum err read_token(struct call *c)
{
    Str value = request_header(&c->req, "Authorization");
    if (!value.ptr) return ERR_TOKEN_MISSING;
    Str scheme, text;
    if (!str_cut(str_trim(value), ' ', &scheme, &text) || !str_eq_nocase(scheme, STR("Bearer")))
        return ERR_TOKEN_MISSING;
    text = str_trim(text);
    if (!token_is_plausible(text)) return ERR_TOKEN_INVALID;
    token_hash(text, c->token);
    c->has_token = true;
    return OK;
}

static enum err authenticate(struct call *c, struct db *db)
{
    struct request *req = &c->req;
    struct caller who;
    enum err e = token_authenticate(db, c->token, req->now, &who);
    if (e == ERR_TOKEN_INVALID) return token_refused(c, e);
    if (e) return e;
    if (!(req->route->scope & SCOPE_ANY) && !(who.scopes & req->route->scope)) return ERR_INSUFFICIENT_SCOPE;
    if (req->route->flags & OWNER_ONLY && who.role != ROLE_OWNER) return ERR_FORBIDDEN;
    req->account = who.account;
    req->token_id = who.token_id;
    req->scopes = who.scopes;
    req->role = who.role;
    return OK;
}

/* Decodes the path's parameters. One called {id} is a number. */
static enum err read_params(struct call *c)
{
    struct request *req = &c->req;
    size_t n = 0;
    for (Str rest = str_from(req->route->path); str_find(rest, '{') >= 0; n++) {
        Str before, name;
        str_cut(rest, '{', &before, &rest);
        str_cut(rest, '}', &name, &rest);
        if (!percent_decode(req->arena, c->match.raw_params[n], false, &req->params[n])) return ERR_NOT_FOUND;
        if (!str_eq(name, STR("id"))) continue;
        int64_t v;
        Str text = req->params[n];
        if (!str_to_int64(text, &v) || v < 1 || v > ID_MAX || text.ptr[0] == '0') return ERR_NOT_FOUND;
        if (!id_is(req->param_id)) req->param_id = (Id){v};
    }
    return OK;
}

static bool media_type_is(Str value, Str type)
{
    Str params = {0};
    str_cut(value, ';', &value, &params);
    if (!str_eq_nocase(str_trim(value), type)) return false;
    params = str_trim(params);
    return !params.len || str_eq_nocase(params, STR("charset=utf-8")) ||
           str_eq_nocase(params, STR("charset=\"utf-8\""));
}

static bool has_required(const struct shape *shape)
{
    for (const struct field *f = shape->fields; f->name; f++)
        if (f->flags & REQUIRED) return true;
    return false;
}

static enum err read_body(struct call *c)
{
    struct request *req = &c->req;
    const struct route *r = req->route;
    req->raw_body = req->exchange->body;
    Str type = request_header(req, "Content-Type");
    if (r->flags & RAW_BODY && (!r->body || !media_type_is(type, STR("application/json")))) {
        if (r->accepts && !media_type_is(type, str_from(r->accepts))) return ERR_UNSUPPORTED_MEDIA_TYPE;
        return OK;
    }
    if (!r->body) return OK;
    Str text = req->raw_body;
    if (!text.len && !has_required(r->body))
        text = STR("{}");
    else if (!media_type_is(type, STR("application/json")))
        return ERR_UNSUPPORTED_MEDIA_TYPE;
    const struct json *root;
    enum err e = json_read(req->arena, text, &root, NULL);
    if (e) return e;
    return shape_read(r->body, root, req->settings->exponent, req->arena, &req->body, &req->errors);
}

static enum err read_query(struct call *c)
{
    struct request *req = &c->req;
    if (!req->route->query) return OK;
    return shape_read_query(req->route->query, req->exchange->head.query, req->settings->exponent, req->arena,
                            &req->query, &req->errors);
}

/* 1 to 255 printable characters, bare or as a quoted string. */
static enum err read_idempotency_key(struct call *c)
{
    struct request *req = &c->req;
    Str key = request_header(req, "Idempotency-Key");
    if (!(req->route->flags & IDEMPOTENT) || !key.ptr) return OK;
    if (key.len >= 2 && key.ptr[0] == '"' && key.ptr[key.len - 1] == '"') key = (Str){key.ptr + 1, key.len - 2};
    bool fine = key.len >= 1 && key.len <= 255;
    for (size_t i = 0; fine && i < key.len; i++) fine = key.ptr[i] >= 0x20 && key.ptr[i] <= 0x7e;
    if (!fine) return request_bad_field(req, "Idempotency-Key", ERR_FIELD_FORMAT);

    struct buf b;
    buf_init(&b, req->arena, SIZE_MAX);
    buf_append(&b, req->target);
    buf_char(&b, '\n');
    buf_append(&b, req->exchange->body);
    vault_hash(VAULT_FINGERPRINT, buf_str(&b), c->key.request_hash);
    c->key.account = req->account;
    c->key.route = str_printf(req->arena, "%s %s", req->route->method, req->route->path);
    c->key.key = key;
    c->has_key = true;
    return OK;
}

static void replay(struct call *c, const struct kept_answer *kept)
{
    c->is_replayed = true;
    c->req.status = kept->status;
    c->answer.location = kept->location;
    c->answer.body = kept->body;
    c->answer.is_rendered = true;
}

static enum err check(struct call *c, struct db *db)
{
    struct request *req = &c->req;
    enum err e = OK;
    if (req->route->scope != SCOPE_NONE) e = authenticate(c, db);
    if (!e) e = read_params(c);
    if (!e) e = read_query(c);
    if (!e) e = read_body(c);
    if (!e) e = read_idempotency_key(c);
    if (!e && c->has_key) {
        struct kept_answer kept;
        e = idempotency_find(db, &c->key, &kept);
        if (!e && kept.status) replay(c, &kept);
    }
    return e;
}

/* ---- running ---- */

/* The handler and, with a key, the claim before it and the answer kept behind it. */
static enum err run_handler(struct call *c, struct db *db, enum err (*fn)(struct request *))
{
    struct request *req = &c->req;
    bool keeps = c->has_key && db_can_write(db);
    req->db = db;
    if (keeps) {
        struct kept_answer kept;
        enum err e = idempotency_claim(db, &c->key, req->now, &kept);
        if (e) return e;
        if (kept.status) {
            replay(c, &kept);
            return OK;
        }
    }
    enum err e = fn(req);
    if (e) return e;
    if (req->route->scope == SCOPE_ADMIN && db_can_write(db) && !req->is_audited) {
        log_event(LOG_ERROR, "change_without_audit", LOGC("method", req->route->method),
                  LOGC("path", req->route->path));
        return ERR_INTERNAL;
    }
    answer_success(req);
    if (!keeps) return OK;
    struct kept_answer kept = {req->status, c->answer.location, c->answer.body};
    return idempotency_store(db, &c->key, &kept);
}

static enum err run(struct tx_job *job, struct db *db)
{
    struct call *c = call_of(job, job);
    const struct route *r = c->req.route;
    answer_reset(&c->req);
    c->is_replayed = false;
    if (!c->is_checked) {
        enum err e = check(c, db);
        if (e || c->is_replayed) return e;
        c->is_checked = true;
    }
    if (r->tx == TX_SELF) return OK;
    if (r->tx == TX_WRITE && !db_can_write(db)) return ERR_NEEDS_WRITE;
    enum err e = run_handler(c, db, r->handler);
    c->req.db = NULL;
    return e;
}

static void run_on_pool(struct pool_job *job)
{
    struct call *c = call_of(job, pool_job);
    answer_reset(&c->req);
    c->pool_result = c->req.route->handler(&c->req);
    mailbox_post(&c->loop->home, &c->home);
}

static void done(struct tx_job *job, enum err e)
{
    struct call *c = call_of(job, job);
    if (!e && !c->is_replayed && c->req.route->tx == TX_SELF) {
        c->pool_job.run = run_on_pool;
        const struct app *app = c->req.app;
        if (pool_submit(c->req.route->flags & CALLS_OUT ? app->calls : app->pool, &c->pool_job)) return;
        e = ERR_UNAVAILABLE;
    }
    finish(c, e);
}

struct self_tx {
    struct call *call;
    enum err (*fn)(struct request *);
    bool forget;
};

static enum err run_self_tx(void *arg, struct db *db)
{
    struct self_tx *t = arg;
    answer_reset(&t->call->req);
    t->call->is_replayed = false;
    enum err e = run_handler(t->call, db, t->fn);
    t->call->req.db = NULL;
    return e;
}

static enum err run_finish(void *arg, struct db *db)
{
    struct self_tx *t = arg;
    struct call *c = t->call;
    answer_reset(&c->req);
    c->req.db = db;
    enum err e = t->fn(&c->req);
    c->req.db = NULL;
    if (e) return e;
    answer_success(&c->req);
    if (!c->has_key) return OK;
    if (t->forget) return idempotency_forget(db, &c->key);
    struct kept_answer kept = {c->req.status, c->answer.location, c->answer.body};
    return idempotency_store(db, &c->key, &kept);
}

enum err request_tx_finish(struct request *req, bool forget, enum err (*fn)(struct request *))
{
    struct self_tx t = {call_of(req, req), fn, forget};
    return tx_call(req->app->database, TX_WRITE, run_finish, &t, req->arena);
}

enum err request_tx(struct request *req, enum tx_mode mode, enum err (*fn)(struct request *))
{
    struct self_tx t = {.call = call_of(req, req), .fn = fn};
    return tx_call(req->app->database, mode, run_self_tx, &t, req->arena);
}

/* Runs a row that needs no database, on the loop's thread. */
static enum err run_plain(struct call *c)
{
    enum err e = read_params(c);
    if (!e) e = read_query(c);
    if (!e) e = read_body(c);
    return e ? e : c->req.route->handler(&c->req);
}

/* ---- hooks ---- */

static bool accepts_json(Str accept)
{
    if (!accept.ptr || !str_trim(accept).len) return true;
    while (accept.len) {
        Str range = accept, rest = {0}, params = {0};
        str_cut(accept, ',', &range, &rest);
        str_cut(range, ';', &range, &params);
        range = str_trim(range);
        Str q = str_trim(params);
        bool refused =
            str_starts(q, STR("q=0")) && (q.len == 3 || (q.len > 3 && q.ptr[3] != '.') || str_eq(q, STR("q=0.0")) ||
                                          str_eq(q, STR("q=0.00")) || str_eq(q, STR("q=0.000")));
        if (!refused && (str_eq(range, STR("*/*")) || str_eq_nocase(range, STR("application/*")) ||
                         str_eq_nocase(range, STR("application/json"))))
            return true;
        accept = rest;
    }
    return false;
}

/* Everything that is decided without the database. */
static enum err admit(struct call *c)
{
    const struct route *r = c->req.route;
    if (!r) return c->match.path_known ? ERR_METHOD_NOT_ALLOWED : ERR_NOT_FOUND;
    enum err token = r->scope != SCOPE_NONE ? read_token(c) : OK;
    enum err e = limit_check(c);
    if (e) return e;
    if (token) return token == ERR_TOKEN_INVALID ? token_refused(c, token) : token;
    if (!(r->flags & ANY_ACCEPT) && !accepts_json(request_header(&c->req, "Accept"))) return ERR_NOT_ACCEPTABLE;
    return OK;
}

static enum err authenticate_alone(void *arg, struct db *db)
{
    return authenticate(arg, db);
}

static bool upload_sink(struct exchange *x, Str bytes)
{
    struct call *c = x->user;
    return upload_write(c->req.upload, bytes);
}

/* A body that may be gigabytes is not read for strangers: the token is looked up before, and the loop waits for it.
 * Staff upload seldom. */
static enum err begin_upload(struct call *c)
{
    struct request *req = &c->req;
    enum err e = admit(c);
    if (!e) e = tx_call(req->app->database, TX_READ, authenticate_alone, c, req->arena);
    if (e) return e;
    c->is_admitted = true;
    req->upload = arena_new(req->arena, struct upload);
    e = upload_begin(req->app->options.data_dir, req->upload);
    if (e) return e;
    req->exchange->body_bytes_max = req->app->options.file_bytes_max;
    req->exchange->sink = upload_sink;
    return OK;
}

static void on_begin(void *loop_user, struct exchange *x)
{
    struct loop *loop = loop_user;
    struct call *c = call_new(loop, x);
    matcher_find(loop->app->matcher, x->head.method, x->head.path, &c->match);
    const struct route *r = c->req.route = c->match.route;
    if (r && r->body_bytes_max) x->body_bytes_max = r->body_bytes_max;
    if (!r || !(r->flags & BODY_TO_FILE)) return;
    enum err e = begin_upload(c);
    if (e) finish(c, e);
}

static void on_request(void *loop_user, struct exchange *x)
{
    struct loop *loop = loop_user;
    struct call *c = x->user;
    if (str_eq(x->head.method, STR("OPTIONS")) && (c->match.path_known || str_eq(x->head.target, STR("*")))) {
        request_add_header(&c->req, "Allow",
                           c->match.path_known ? str_from(c->match.allow)
                                               : STR("GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS"));
        finish(c, OK);
        return;
    }
    enum err e = c->is_admitted ? OK : admit(c);
    const struct route *r = c->req.route;
    if (e || (r->tx == TX_NONE && r->scope == SCOPE_NONE)) {
        finish(c, e ? e : run_plain(c));
        return;
    }
    bool reads_first = database_is_sqlite(loop->app->database);
    c->job.mode = r->tx == TX_WRITE && !reads_first ? TX_WRITE : TX_READ;
    c->job.no_savepoint = r->flags & CHECKS_FIRST && !request_header(&c->req, "Idempotency-Key").ptr;
    c->job.run = run;
    c->job.done = done;
    c->job.arena = c->req.arena;
    tx_submit(loop->port, &c->job);
}

static void on_refuse(void *loop_user, struct exchange *x, enum err e, struct http_answer *ret)
{
    struct loop *loop = loop_user;
    struct call *c = x->user ? x->user : call_new(loop, x);
    answer_error(&c->req, e);
    add_error_headers(c, e);
    request_add_header(&c->req, "Content-Type", STR("application/json"));
    request_add_header(&c->req, "X-Request-Id", c->req.id);
    request_add_header(&c->req, "Cache-Control", STR("no-store"));
    ret->status = c->req.status;
    ret->headers = c->answer.headers;
    ret->header_count = c->answer.header_count;
    ret->body = c->answer.body;
}

static void on_finished(void *loop_user, struct exchange *x, int status, int64_t bytes)
{
    struct loop *loop = loop_user;
    struct call *c = x->user;
    struct app *app = loop->app;
    if (c && c->req.upload) upload_drop(c->req.upload);
    int64_t ns = time_monotonic_ns() - x->started_ns;
    size_t route = c && c->req.route ? c->match.index : matcher_count(app->matcher);
    metrics_count(app->metrics, route, status, ns);
    if (app->options.log_requests && c)
        log_event(LOG_INFO, "request", LOGS("request_id", c->req.id), LOGS("method", x->head.method),
                  LOGS("path", x->head.path), LOGI("status", status), LOGI("bytes", bytes), LOGI("us", ns / 1000),
                  LOGS("peer", x->peer), LOGI("account", c->req.account.v));
}

static void wake_loop(void *ctx)
{
    http_loop_wake(((struct loop *)ctx)->http);
}

static void on_tick(void *loop_user)
{
    periodic_tick(((struct loop *)loop_user)->periodic);
}

static void *on_loop_start(void *ctx, struct http_loop *http, int index)
{
    struct loop *loop = calloc(1, sizeof *loop);
    if (!loop) abort();
    loop->app = ctx;
    loop->http = http;
    loop->port = tx_port_new(loop->app->database, wake_loop, loop);
    mailbox_init(&loop->home, wake_loop, loop);
    if (index == 0) {
        loop->periodic = periodic_new(loop->app, loop->port);
        http_loop_every(http, 250, on_tick);
    }
    return loop;
}

static void on_loop_stop(void *loop_user)
{
    struct loop *loop = loop_user;
    periodic_free(loop->periodic);
    tx_port_free(loop->port);
    mailbox_done(&loop->home);
    free(loop);
}

static void on_pass(void *loop_user)
{
    tx_port_pass(((struct loop *)loop_user)->port);
}

static void on_woken(void *loop_user)
{
    struct loop *loop = loop_user;
    tx_port_drain(loop->port);
    for (struct letter *l = mailbox_take(&loop->home), *next; l; l = next) {
        next = l->next;
        struct call *c = call_of(l, home);
        finish(c, c->pool_result);
    }
}

struct http_hooks router_hooks(struct app *app)
{
    return (struct http_hooks){
        .ctx = app,
        .loop_start = on_loop_start,
        .loop_stop = on_loop_stop,
        .begin = on_begin,
        .request = on_request,
        .refuse = on_refuse,
        .pass = on_pass,
        .woken = on_woken,
        .finished = on_finished,
    };
}
