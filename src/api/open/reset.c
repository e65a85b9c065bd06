/* api/open/reset.c - a new password for whoever can read the account's e-mail.
 *
 * The answer is the same, and as fast, whether there is such an account or not. A link works once, for 30 minutes. */
#include "domain/password_reset.h"

#include "api/proof.h"
#include "api/tables.h"
#include "domain/account.h"
#include "domain/mail.h"
#include "domain/outbox.h"
#include "domain/password.h"
#include "serve/app.h"
#include "serve/limit.h"
#include "serve/request.h"

struct forgot_body {
    Str email;
};
static const struct field forgot_fields[] = {
    {"email", FIELD_EMAIL, REQUIRED, offsetof(struct forgot_body, email)},
    {0},
};
static const struct shape forgot_shape = {forgot_fields, sizeof(struct forgot_body)};

/* As logins: so many a minute per e-mail address, ten times that per address on the network. */
static bool is_allowed(struct request *req, Str email)
{
    int64_t rate = req->app->options.rate_auth, now = time_monotonic_ns();
    if (!rate) return true;
    bool by_email = !email.len || limiter_charge(req->app->limiter, 'r', email, rate, now).allowed;
    return limiter_charge(req->app->limiter, 'R', req->exchange->network, rate * 10, now).allowed && by_email;
}

/* Only that somebody asked: everything that depends on there being an account happens later. */
static enum err forgot_write(struct request *req)
{
    const struct forgot_body *in = req->body;
    struct outbox_item ask = {.kind = OUTBOX_RESET, .payload = in->email};
    req->message = "If there is an account with this address, a message is on its way to it";
    return outbox_add(req->db, &ask, req->now, req->now, NULL);
}

static enum err post_forgot(struct request *req)
{
    const struct forgot_body *in = req->body;
    if (!mail_is_enabled()) return ERR_MAIL_OFF;
    if (!is_allowed(req, in->email)) return ERR_RATE_LIMITED;
    enum err e = request_tx(req, TX_WRITE, forgot_write);
    if (!e) dispatcher_wake(req->app->dispatcher);
    return e;
}

struct reset_body {
    Str token, password;
};
static const struct field reset_fields[] = {
    {"token", FIELD_LINE, REQUIRED, offsetof(struct reset_body, token), .min = 1, .max = 100},
    {"password", FIELD_SECRET, REQUIRED, offsetof(struct reset_body, password), .min = PASSWORD_MIN,
     .max = PASSWORD_MAX},
    {0},
};
static const struct shape reset_shape = {reset_fields, sizeof(struct reset_body)};

struct reset {
    struct account account;
    Str hash;
};

static enum err reset_read(struct request *req, struct reset *r)
{
    const struct reset_body *in = req->body;
    Id account;
    enum err e = password_reset_look(req->db, in->token, req->now, &account);
    return e ? e : account_find(req->db, account, &r->account);
}
REQUEST_STEP(reset_read);

static enum err reset_write(struct request *req, const struct reset *r)
{
    const struct reset_body *in = req->body;
    enum err e = password_reset_finish(req->db, in->token, r->hash, req->now);
    return e ? e : auth_event(req, "reset", &r->account);
}
REQUEST_STEP(reset_write);

/* The token is looked at before the password is hashed: guesses cost us little. */
static enum err post_reset(struct request *req)
{
    const struct reset_body *in = req->body;
    struct reset *r = arena_new(req->arena, struct reset);
    if (!is_allowed(req, (Str){0})) return ERR_RATE_LIMITED;
    enum err e = request_step(req, TX_READ, reset_read, r);
    if (!e) {
        r->hash = password_hash(req->arena, in->password);
        e = r->hash.len ? request_step(req, TX_WRITE, reset_write, r) : ERR_UNAVAILABLE;
    }
    return e == ERR_NOT_FOUND ? request_bad_field(req, "token", ERR_FIELD_VALUE) : e;
}

const struct route reset_routes[] = {
    {"POST", "/api/auth/password/forgot", SCOPE_NONE, TX_SELF, &forgot_shape, post_forgot},
    {"POST", "/api/auth/password/reset", SCOPE_NONE, TX_SELF, &reset_shape, post_reset},
    {0},
};
