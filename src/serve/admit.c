/* serve/admit.c - what is checked before a handler runs: limits, token, path, query, body, Idempotency-Key. */
#include "base/memory.h"
#include "base/quota.h"
#include "base/text.h"
#include "serve/call.h"
#include "serve/metrics.h"
#include "serve/panel_cookie.h"
#include "serve/seen.h"

#define ACCOUNT_LIMIT_FACTOR 10 /* an account may make as many calls as ten of its tokens */

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

/* The caller that is counted: the token; for v1 the token in one network, because many people use a token that is
 * shipped in a program, and none of them may stop the others; without a token the network. */
static Str limit_caller(struct call *c)
{
    Str token = {(const char *)c->token.name, sizeof c->token.name};
    Str network = c->req.exchange->network;
    if (!c->has_token) return network;
    if (c->limit_name[0] != 'v') return token;
    struct buf both;
    buf_init(&both, c->req.arena, sizeof c->token.name + network.len);
    buf_append(&both, token);
    buf_append(&both, network);
    return buf_str(&both);
}

static enum err limit_check(struct call *c)
{
    limit_pick(c);
    if (!c->limit_rate) return OK;
    c->limit =
        limiter_charge(c->req.app->limiter, c->limit_name[0], limit_caller(c), c->limit_rate, time_monotonic_ns());
    if (c->limit.allowed) return OK;
    metrics_event(c->req.app->metrics, METRIC_RATE_LIMITED);
    return ERR_RATE_LIMITED;
}

static enum err account_limited(struct call *c, struct limit_result r)
{
    if (r.allowed) return OK;
    c->limit = r;
    metrics_event(c->req.app->metrics, METRIC_RATE_LIMITED_ACCOUNT);
    return ERR_RATE_LIMITED;
}

/* The account has a limit too, so that many tokens do not make many limits. */
static enum err limit_account(struct call *c)
{
    if (!c->limit_rate || c->is_account_charged) return OK;
    c->is_account_charged = true;
    Str account = {(const char *)&c->req.account.v, sizeof c->req.account.v};
    char name = c->limit_name[0] == 'v' ? 'V' : 'C';
    struct limit_result r =
        limiter_charge(c->req.app->limiter, name, account, c->limit_rate * ACCOUNT_LIMIT_FACTOR, time_monotonic_ns());
    return account_limited(c, r);
}

/* A key is kept for 30 days, whatever it was for, and on SQLite in memory. So a customer may use as many on a day as
 * the account may make calls in a minute. Orders of v1 are paid for, and have a limit of their own. */
static enum err limit_keys(struct call *c)
{
    if (!c->limit_rate || c->limit_name[0] != 'c' || c->is_key_charged) return OK;
    if (!id_is(c->req.account) || c->req.role != ROLE_CUSTOMER) return OK;
    c->is_key_charged = true;
    Str account = {(const char *)&c->req.account.v, sizeof c->req.account.v};
    struct limit_result r = limiter_charge_day(c->req.app->limiter, 'k', account, c->limit_rate * ACCOUNT_LIMIT_FACTOR,
                                               time_monotonic_ns());
    return account_limited(c, r);
}

/* Made-up tokens count against the caller's network, so that inventing more does not evade the limit. */
static enum err token_refused(struct call *c, enum err e)
{
    metrics_event(c->req.app->metrics, METRIC_TOKEN_REFUSED);
    if (!c->limit_rate || !c->has_token) return e;
    struct limit_result r =
        limiter_charge(c->req.app->limiter, 't', c->req.exchange->network, c->limit_rate, time_monotonic_ns());
    if (r.allowed) return e;
    c->limit = r;
    return ERR_RATE_LIMITED;
}

/* The token, out of the Authorization header or the panel's cookie. */
static enum err read_token(struct call *c)
{
    Str value = request_header(&c->req, "Authorization"), scheme, text;
    if (!value.ptr) {
        text = panel_cookie_read(&c->req);
        if (!text.len) return ERR_TOKEN_MISSING;
    } else if (!str_cut(str_trim(value), ' ', &scheme, &text) || !str_eq_nocase(scheme, STR("Bearer"))) {
        return ERR_TOKEN_MISSING;
    }
    text = str_trim(text);
    if (!token_read(text, &c->token)) return ERR_TOKEN_INVALID;
    c->has_token = true;
    return OK;
}

/* Whether the route says what it will ask for, so that it is asked for with what is checked here. */
static bool asks_ahead(const struct call *c, const struct db *db)
{
    return c->req.route->ahead && db_is_grouped(db);
}

static enum err check_proven(const struct call *c, struct db *db)
{
    return c->req.route->flags & PROVEN_EMAIL && c->is_unproven ? settings_check_unproven(db) : OK;
}

enum err call_authenticate(struct call *c, struct db *db)
{
    struct request *req = &c->req;
    struct caller who;
    enum err e = token_authenticate(db, &c->token, req->now, &who);
    if (e == ERR_TOKEN_INVALID) return token_refused(c, e);
    if (e) return e;
    bool fits = req->route->scope & SCOPE_LOGIN ? who.kind == TOKEN_LOGIN : who.scopes & req->route->scope;
    if (!fits) {
        const char *wants = req->route->scope & SCOPE_LOGIN ? "login" : scope_name(req->route->scope);
        request_error_str(req, "required_scope", str_from(wants));
        return ERR_INSUFFICIENT_SCOPE;
    }
    if (req->route->flags & OWNER_ONLY && who.role != ROLE_OWNER) return ERR_FORBIDDEN;
    if (who.is_to_note) seen_note(req->app->used, who.token_id, req->now);
    req->account = who.account;
    req->token_id = who.token_id;
    req->token_kind = who.kind;
    req->confirmed_at = who.confirmed_at;
    req->token_ends_at = who.expires_at;
    req->scopes = who.scopes;
    req->role = who.role;
    c->is_unproven = who.is_unproven;
    e = limit_account(c);
    if (!e && !asks_ahead(c, db)) e = check_proven(c, db);
    return e ? e : request_is_confirmed(req, req->route->flags);
}

/* Decodes the path's parameters. A parameter called {id} is a number. */
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

/* Line and column, both from 1, as editors count; columns in bytes. */
static void tell_position(struct request *req, Str text, size_t at)
{
    int64_t line = 1, column = 1;
    for (size_t i = 0; i < at && i < text.len; i++) {
        column = text.ptr[i] == '\n' ? 1 : column + 1;
        line += text.ptr[i] == '\n';
    }
    request_error_int(req, "line", line);
    request_error_int(req, "column", column);
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
    size_t at;
    enum err e = json_read_at(req->arena, text, &root, NULL, &at);
    if (e) tell_position(req, text, at);
    if (e) return e;
    return shape_read(r->body, root, req->settings->exponent, req->arena, &req->body, &req->errors);
}

static enum err read_query(struct call *c)
{
    struct request *req = &c->req;
    if (!req->route->query) return OK;
    /* Links to public pages are passed around and collect parameters that are not ours. */
    enum unknown_names unknown = req->route->scope == SCOPE_NONE ? UNKNOWN_IGNORED : UNKNOWN_REFUSED;
    return shape_read_query(req->route->query, req->exchange->head.query, unknown, req->settings->exponent, req->arena,
                            &req->query, &req->errors);
}

enum err call_read(struct call *c)
{
    enum err e = read_params(c);
    if (!e) e = read_query(c);
    return e ? e : read_body(c);
}

size_t call_place(const struct call *c)
{
    const struct request *req = &c->req;
    Str account = {(const char *)&req->account.v, sizeof req->account.v};
    return quota_place(req->app->unsent, id_is(req->account) ? account : req->exchange->network);
}

/* A client that closes its connection cannot be told from one that only shuts down its own side and waits for the
 * answer. The latter is rare, and is told to try again when other calls are waiting too. */
#define HALF_OPEN_PATIENCE_NS INT64_C(250000000)

enum err call_is_wanted(const struct call *c)
{
    switch (exchange_client(c->req.exchange)) {
    case CLIENT_THERE: return OK;
    case CLIENT_SILENT:
        if (time_tick_ns() - c->queued_ns < HALF_OPEN_PATIENCE_NS) return OK;
        metrics_event(c->req.app->metrics, METRIC_CLIENT_GONE);
        return ERR_OVERLOADED;
    case CLIENT_GONE: break;
    }
    metrics_event(c->req.app->metrics, METRIC_CLIENT_GONE);
    return ERR_CLIENT_GONE;
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

    struct idempotency_scope scope = {.account = req->account,
                                      .network = req->exchange->network,
                                      .method = req->route->method,
                                      .path = req->route->path,
                                      .key = key};
    idempotency_init(&scope, req->target, req->exchange->body, &c->key);
    c->has_key = true;
    return limit_keys(c);
}

void call_replay(struct call *c, const struct kept_answer *kept)
{
    c->is_replayed = true;
    c->req.status = kept->status;
    c->answer.location = kept->location;
    c->answer.body = kept->body;
    c->answer.is_rendered = true;
}

/* What call_authenticate has left to be checked; `read`: what was found wrong with the request since. */
static enum err check_ahead(struct call *c, struct db *db, enum err read)
{
    if (!read && c->has_key) idempotency_find_ahead(db, &c->key, c->req.now);
    if (!read) c->req.route->ahead(&c->req, db);
    enum err e = check_proven(c, db);
    if (!e) return read;
    answer_reset(&c->req); /* callers who may not order are not told what is wrong with their order */
    return e;
}

enum err call_check(struct call *c, struct db *db)
{
    struct request *req = &c->req;
    enum err e = OK;
    if (req->route->flags & SHOP) e = call_visit(c, db);
    if (!e && req->route->scope != SCOPE_NONE) e = call_authenticate(c, db);
    if (e) return e;
    e = call_read(c);
    if (e == ERR_VALIDATION && req->body && req->route->also_wrong) req->route->also_wrong(req, db);
    if (!e) e = req->route->flags & SHOP ? call_read_once(c) : read_idempotency_key(c);
    if (asks_ahead(c, db)) e = check_ahead(c, db, e);
    /* SQLite: the writer looks anyway, in a cache of pages that no commit empties. */
    bool is_for_writer = req->route->tx == TX_WRITE && !db_is_postgres(db) && !db_can_write(db);
    if (!e && c->has_key && !is_for_writer) {
        struct kept_answer kept;
        e = idempotency_find(db, &c->key, req->now, &kept);
        if (!e && kept.status) call_replay(c, &kept);
    }
    return e;
}

static bool accepts_json(Str accept)
{
    if (!accept.ptr || !str_trim(accept).len) return true;
    while (accept.len) {
        Str range = accept, rest = {0}, params = {0};
        str_cut(accept, ',', &range, &rest);
        str_cut(range, ';', &range, &params);
        range = str_trim(range);
        Str q = str_trim(params);
        bool refused = str_starts(q, STR("q=0")) && (q.len == 3 || q.ptr[3] != '.' || str_eq(q, STR("q=0.0")) ||
                                                     str_eq(q, STR("q=0.00")) || str_eq(q, STR("q=0.000")));
        if (!refused && (str_eq(range, STR("*/*")) || str_eq_nocase(range, STR("application/*")) ||
                         str_eq_nocase(range, STR("application/json"))))
            return true;
        accept = rest;
    }
    return false;
}

/* A compressed or otherwise encoded body would be misread. */
static bool has_coded_body(const struct call *c)
{
    Str coding = request_header(&c->req, "Content-Encoding");
    return coding.ptr && c->req.exchange->head.content_length && !str_eq_nocase(str_trim(coding), STR("identity"));
}

/* Everything that can be decided without the database. */
enum err call_admit(struct call *c)
{
    const struct route *r = c->req.route;
    if (!r) return c->match.path_known ? ERR_METHOD_NOT_ALLOWED : ERR_NOT_FOUND;
    if (memory_is_short() && r->tx != TX_NONE) return ERR_OVERLOADED;
    enum err token = r->scope != SCOPE_NONE ? read_token(c) : OK;
    enum err e = limit_check(c);
    if (e) return e;
    if (token) return token == ERR_TOKEN_INVALID ? token_refused(c, token) : token;
    if (!(r->flags & ANY_ACCEPT) && !accepts_json(request_header(&c->req, "Accept"))) return ERR_NOT_ACCEPTABLE;
    return has_coded_body(c) ? ERR_CONTENT_CODING : OK;
}
