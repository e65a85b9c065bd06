/* api/open/auth.c - register, login, logout, who am I. Rows with SCOPE_LOGIN take login sessions only: a token that is
 * shipped inside a program must not end itself for everybody, nor read its owner's address. */
#include "api/proof.h"
#include "api/tables.h"
#include "domain/email_proof.h"
#include "domain/password.h"
#include "page/words.h"
#include "serve/app.h"
#include "serve/guess.h"
#include "serve/panel_cookie.h"
#include "serve/render.h"
#include "serve/visit.h"
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

static enum err begin_session(struct request *req, const struct account *a, struct token *ret, Str *ret_text)
{
    struct token want = {
        .account = a->id,
        .kind = TOKEN_LOGIN,
        .scopes = scopes_of_role(a->role),
        .confirmed_at = req->now,
        .network = req->exchange->network,
        .expires_at =
            time_add(req->now, a->role == ROLE_CUSTOMER ? LOGIN_DAYS * TIME_DAY : STAFF_LOGIN_HOURS * TIME_HOUR),
    };
    return token_create(req->db, &want, req->now, ret, ret_text);
}

/* A registration answers with token and account, a login also with its expiry. */
static enum err give_token(struct request *req, const struct account *a, bool says_when)
{
    struct token token;
    Str text;
    enum err e = begin_session(req, a, &token, &text);
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

static enum err register_write(struct request *req, const Str *hash)
{
    const struct credentials *in = req->body;
    struct account want = {
        .email = in->email, .name = in->name, .role = ROLE_CUSTOMER, .password_hash = *hash, .is_unproven = true};
    struct account account;
    if (request_header(req, "Accept-Language").len) want.language = str_from(lang_codes[visit_lang(req)]);
    enum err e = account_create(req->db, &want, req->now, &account);
    if (!e) e = auth_event(req, "register", &account);
    if (!e) e = email_proof_begin(req->db, account.id, true, req->now);
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
    enum err e = stranger_limit(req);
    if (e) return e;
    Str hash = password_hash(req->arena, in->password);
    if (!hash.len) return ERR_UNAVAILABLE;
    e = request_step(req, TX_WRITE, register_write, &hash);
    if (!e) dispatcher_wake(req->app->dispatcher);
    return e;
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

static enum err login_write(struct request *req, const struct proof *p)
{
    return give_token(req, &p->account, true);
}

static enum err post_login(struct request *req)
{
    const struct login_body *in = req->body;
    struct proof p = {.email = in->email, .password = in->password, .totp = in->totp, .action = "login"};
    return proof_give(req, &p, login_write);
}

/* The panel's login: the token goes into a cookie, and no script ever sees it. */
static enum err panel_login_write(struct request *req, const struct proof *p)
{
    struct token token;
    Str text;
    if (p->account.role == ROLE_CUSTOMER) return ERR_FORBIDDEN;
    enum err e = begin_session(req, &p->account, &token, &text);
    if (e) return e;
    panel_cookie_set(req, text, token.expires_at.ms - req->now.ms);
    json_begin_object(&req->out);
    json_kv_time(&req->out, "expires_at", token.expires_at);
    json_key(&req->out, "account");
    view_account(&req->out, &p->account);
    json_end_object(&req->out);
    return OK;
}

static enum err post_panel_login(struct request *req)
{
    const struct login_body *in = req->body;
    if (!panel_is_calling(req)) return ERR_FORBIDDEN;
    struct proof p = {.email = in->email, .password = in->password, .totp = in->totp, .action = "login"};
    return proof_give(req, &p, panel_login_write);
}

static enum err post_logout(struct request *req)
{
    panel_cookie_clear(req);
    struct account a;
    unsigned scopes;
    enum err e = token_revoke(req->db, req->account, req->token_id, &scopes);
    if (e) return e == ERR_NOT_FOUND ? OK : e;
    e = account_find(req->db, req->account, &a);
    return e ? e : auth_event(req, "logout", &a);
}

static enum err get_me(struct request *req)
{
    struct account a;
    enum err e = account_find(req->db, req->account, &a);
    if (e) return e;
    struct json_writer *w = &req->out;
    json_begin_object(w);
    view_account_members(w, &a);
    json_kv_cstr(w, "role", role_names[a.role]);
    view_scopes(w, req->scopes);
    json_end_object(w);
    return OK;
}

const struct route auth_routes[] = {
    {"POST", "/api/auth/register", SCOPE_NONE, TX_SELF, &register_body, post_register, IDEMPOTENT},
    {"POST", "/api/auth/login", SCOPE_NONE, TX_SELF, &login_shape, post_login},
    {"POST", "/api/auth/panel", SCOPE_NONE, TX_SELF, &login_shape, post_panel_login},
    {"POST", "/api/auth/logout", SCOPE_LOGIN, TX_WRITE, NULL, post_logout},
    {"GET", "/api/auth/me", SCOPE_LOGIN, TX_READ, NULL, get_me},
    {0},
};
