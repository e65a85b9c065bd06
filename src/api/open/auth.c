/* api/open/auth.c - getting in and out: register, login, logout, who am I.
 *
 * Passwords are hashed on the blocking pool, outside any transaction. An unknown e-mail address costs as much as a
 * wrong password, and is answered the same. Failures are counted per e-mail and per address. */
#include "api/tables.h"
#include "domain/password.h"
#include "domain/totp.h"
#include "serve/app.h"
#include "serve/limit.h"
#include "serve/metrics.h"
#include "serve/render.h"
#include "view/view_account.h"

#define LOGIN_DAYS 30
#define STAFF_LOGIN_HOURS 12

struct credentials {
    Str email, password, name;
};

static const struct field register_fields[] = {
    {"email", FIELD_EMAIL, REQUIRED, offsetof(struct credentials, email)},
    {"password", FIELD_SECRET, REQUIRED, offsetof(struct credentials, password), .min = PASSWORD_MIN,
     .max = PASSWORD_MAX},
    {"name", FIELD_LINE, OPTIONAL, offsetof(struct credentials, name), .max = 100},
    {0},
};
static const struct shape register_body = {register_fields, sizeof(struct credentials)};

/* What the steps of one request hand on. */
struct login {
    struct account account;
    Str password_hash;
    bool found, has_totp;
};

/* A registration answers with token and account, a login says when it ends, too. */
static enum err give_token(struct request *req, const struct account *a, bool says_when)
{
    struct token want = {
        .account = a->id,
        .kind = TOKEN_LOGIN,
        .scopes = scopes_of_role(a->role),
        .expires_at =
            time_add(req->now, a->role == ROLE_CUSTOMER ? LOGIN_DAYS * TIME_DAY : STAFF_LOGIN_HOURS * TIME_HOUR),
    };
    struct token token;
    Str text;
    enum err e = token_create(req->db, &want, req->now, &token, &text);
    if (e) return e;
    struct json_writer *w = &req->out;
    json_begin_object(w);
    json_kv_str(w, "token", text);
    if (says_when) json_kv_time(w, "expires_at", token.expires_at);
    json_key(w, "account");
    view_account(w, a);
    json_end_object(w);
    return OK;
}

static enum err register_write(struct request *req, const struct login *l)
{
    const struct credentials *in = req->body;
    struct account want = {
        .email = in->email, .name = in->name, .role = ROLE_CUSTOMER, .password_hash = l->password_hash};
    struct account account;
    enum err e = account_create(req->db, &want, req->now, &account);
    if (e) return e;
    e = give_token(req, &account, false);
    if (e) return e;
    req->status = 201;
    req->answer->location = STR("/api/auth/me");
    return OK;
}
REQUEST_STEP(register_write);

static enum err post_register(struct request *req)
{
    const struct credentials *in = req->body;
    struct login l = {.password_hash = password_hash(req->arena, in->password, ROLE_CUSTOMER)};
    if (!l.password_hash.len) return ERR_UNAVAILABLE;
    return request_step(req, TX_WRITE, register_write, &l);
}

struct login_body {
    Str email, password, totp;
};

static const struct field login_fields[] = {
    {"email", FIELD_EMAIL, REQUIRED, offsetof(struct login_body, email)},
    {"password", FIELD_SECRET, REQUIRED, offsetof(struct login_body, password), .min = 1, .max = PASSWORD_MAX},
    {"totp", FIELD_LINE, OPTIONAL, offsetof(struct login_body, totp), .min = 6, .max = 20},
    {0},
};
static const struct shape login_shape = {login_fields, sizeof(struct login_body)};

/* Failed logins: `rate` a minute per e-mail, ten times that per address. Looked at before the password is, so that a
 * right guess behind the limit does not get in either. */
static bool login_allowed(struct request *req, Str email, bool count)
{
    int64_t rate = req->app->options.rate_auth, now = time_monotonic_ns();
    if (!rate) return true;
    struct limit_result (*ask)(struct limiter *, char, Str, int64_t, int64_t) = count ? limiter_charge : limiter_look;
    bool by_email = ask(req->app->limiter, 'e', email, rate, now).allowed;
    bool by_address = ask(req->app->limiter, 'a', req->exchange->peer, rate * 10, now).allowed;
    return by_email && by_address;
}

static enum err login_read(struct request *req, struct login *l)
{
    const struct login_body *in = req->body;
    enum err e = account_find_email(req->db, in->email, &l->account);
    l->found = !e;
    if (e) return e == ERR_NOT_FOUND ? OK : e;
    return totp_is_on(req->db, l->account.id, &l->has_totp);
}
REQUEST_STEP(login_read);

static enum err login_write(struct request *req, const struct login *l)
{
    const struct login_body *in = req->body;
    enum err e = l->has_totp ? totp_take(req->db, l->account.id, in->totp, req->now) : OK;
    return e ? e : give_token(req, &l->account, true);
}
REQUEST_STEP(login_write);

static enum err login_failed(struct request *req, Str email)
{
    metrics_event(req->app->metrics, METRIC_LOGIN_FAILED);
    login_allowed(req, email, true);
    return ERR_CREDENTIALS_INVALID;
}

static enum err post_login(struct request *req)
{
    const struct login_body *in = req->body;
    struct login l = {0};
    if (!login_allowed(req, in->email, false)) return ERR_RATE_LIMITED;
    enum err e = request_step(req, TX_READ, login_read, &l);
    if (e) return e;
    bool right = password_verify(l.found ? l.account.password_hash : (Str){0}, in->password);
    if (!right || !l.account.is_active) return login_failed(req, in->email);
    if (l.has_totp && !in->totp.len) return ERR_TOTP_REQUIRED;
    e = request_step(req, TX_WRITE, login_write, &l);
    return e == ERR_CREDENTIALS_INVALID ? login_failed(req, in->email) : e;
}

struct password_body {
    Str current, password;
};

static const struct field password_fields[] = {
    {"current_password", FIELD_SECRET, REQUIRED, offsetof(struct password_body, current), .min = 1,
     .max = PASSWORD_MAX},
    {"password", FIELD_SECRET, REQUIRED, offsetof(struct password_body, password), .min = PASSWORD_MIN,
     .max = PASSWORD_MAX},
    {0},
};
static const struct shape password_shape = {password_fields, sizeof(struct password_body)};

static enum err password_read(struct request *req, struct login *l)
{
    return account_find(req->db, req->account, &l->account);
}
REQUEST_STEP(password_read);

static enum err password_write(struct request *req, const struct login *l)
{
    return account_set_password(req->db, req->account, l->password_hash);
}
REQUEST_STEP(password_write);

/* Ends every session, this one too: whoever stole one is out as well. */
static enum err post_password(struct request *req)
{
    const struct password_body *in = req->body;
    struct login l = {0};
    enum err e = request_step(req, TX_READ, password_read, &l);
    if (e) return e;
    if (!login_allowed(req, l.account.email, false)) return ERR_RATE_LIMITED;
    if (!password_verify(l.account.password_hash, in->current)) {
        login_failed(req, l.account.email);
        return request_bad_field(req, "current_password", ERR_FIELD_VALUE);
    }
    l.password_hash = password_hash(req->arena, in->password, l.account.role);
    if (!l.password_hash.len) return ERR_UNAVAILABLE;
    return request_step(req, TX_WRITE, password_write, &l);
}

static enum err post_logout(struct request *req)
{
    enum err e = token_revoke(req->db, req->account, req->token_id);
    return e == ERR_NOT_FOUND ? OK : e;
}

static enum err get_me(struct request *req)
{
    struct account a;
    enum err e = account_find(req->db, req->account, &a);
    if (e) return e;
    struct json_writer *w = &req->out;
    json_begin_object(w);
    view_account_members(w, &a);
    json_kv_cstr(w, "role", role_text(a.role));
    view_scopes(w, req->scopes);
    json_end_object(w);
    return OK;
}

const struct route auth_routes[] = {
    {"POST", "/api/auth/register", SCOPE_NONE, TX_SELF, &register_body, post_register, IDEMPOTENT},
    {"POST", "/api/auth/login", SCOPE_NONE, TX_SELF, &login_shape, post_login},
    {"POST", "/api/auth/logout", SCOPE_ANY, TX_WRITE, NULL, post_logout},
    {"POST", "/api/auth/password", SCOPE_ANY, TX_SELF, &password_shape, post_password},
    {"GET", "/api/auth/me", SCOPE_ANY, TX_READ, NULL, get_me},
    {0},
};
