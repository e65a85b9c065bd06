/* api/open/confirm.c - callers prove again who they are: before sensitive steps, and for a new password. */
#include "api/proof.h"
#include "api/tables.h"
#include "domain/mail.h"
#include "domain/password.h"
#include "domain/token.h"
#include "serve/app.h"

struct confirm_body {
    Str password, totp;
};

static const struct field confirm_fields[] = {
    {"password", FIELD_SECRET, REQUIRED, offsetof(struct confirm_body, password), .min = 1, .max = PASSWORD_MAX},
    {"totp", FIELD_LINE, OPTIONAL, offsetof(struct confirm_body, totp), .min = 6, .max = 20},
    {0},
};
static const struct shape confirm_shape = {confirm_fields, sizeof(struct confirm_body)};

static enum err confirm_write(struct request *req, const struct proof *p)
{
    (void)p;
    enum err e = token_confirm(req->db, req->token_id, req->now);
    if (e) return e == ERR_NOT_FOUND ? ERR_TOKEN_INVALID : e;
    json_begin_object(&req->out);
    json_kv_time(&req->out, "confirmed_until", time_add(req->now, CONFIRMED_MS));
    json_end_object(&req->out);
    return OK;
}

static enum err post_confirm(struct request *req)
{
    const struct confirm_body *in = req->body;
    struct proof p = {.password = in->password, .totp = in->totp, .action = "confirm"};
    return proof_give(req, &p, confirm_write);
}

struct password_body {
    Str current, password, totp;
    bool ends_api_tokens;
};

static const struct field password_fields[] = {
    {"current_password", FIELD_SECRET, REQUIRED, offsetof(struct password_body, current), .min = 1,
     .max = PASSWORD_MAX},
    {"password", FIELD_SECRET, REQUIRED, offsetof(struct password_body, password), .min = PASSWORD_MIN,
     .max = PASSWORD_MAX},
    {"totp", FIELD_LINE, OPTIONAL, offsetof(struct password_body, totp), .min = 6, .max = 20},
    {"end_api_tokens", FIELD_BOOL, OPTIONAL, offsetof(struct password_body, ends_api_tokens)},
    {0},
};
static const struct shape password_shape = {password_fields, sizeof(struct password_body)};

struct new_password {
    struct proof proof; /* first */
    Str hash;
};

/* Ends every session, this one too, and so any that was stolen. */
static enum err password_write(struct request *req, const struct proof *p)
{
    const struct password_body *in = req->body;
    const struct new_password *n = (const struct new_password *)p;
    enum err e = account_set_password(req->db, req->account, n->hash, in->ends_api_tokens, req->now);
    return e ? e : mail_notice(req->db, req->account, MAIL_password_changed, req->now);
}

static enum err post_password(struct request *req)
{
    const struct password_body *in = req->body;
    struct new_password n = {.proof = {.password = in->current, .totp = in->totp, .action = "password"}};
    n.hash = password_hash(req->arena, in->password);
    if (!n.hash.len) return ERR_UNAVAILABLE;
    enum err e = proof_give(req, &n.proof, password_write);
    if (!e) dispatcher_wake(req->app->dispatcher);
    if (e != ERR_CREDENTIALS_INVALID) return e;
    return request_bad_field(req, n.proof.is_right ? "totp" : "current_password", ERR_FIELD_VALUE);
}

const struct route confirm_routes[] = {
    {"POST", "/api/auth/confirm", SCOPE_LOGIN, TX_SELF, &confirm_shape, post_confirm},
    {"POST", "/api/auth/password", SCOPE_LOGIN, TX_SELF, &password_shape, post_password},
    {0},
};
