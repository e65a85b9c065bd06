/* api/recovery.c - see recovery.h. */
#include "api/recovery.h"

#include "api/proof.h"
#include "domain/mail.h"
#include "domain/outbox.h"
#include "domain/password.h"
#include "domain/password_reset.h"
#include "serve/app.h"
#include "serve/limit.h"

/* As for logins: a number per minute for each e-mail address, ten times that for each network address. */
static bool is_allowed(struct request *req, Str email)
{
    int64_t rate = req->app->options.rate_auth, now = time_monotonic_ns();
    if (!rate) return true;
    bool by_email = !email.len || limiter_charge(req->app->limiter, 'r', email, rate, now).allowed;
    return limiter_charge(req->app->limiter, 'R', req->exchange->network, rate * 10, now).allowed && by_email;
}

/* Only notes the request: everything that depends on the account's existence happens later. */
static enum err ask_write(struct request *req, const Str *email)
{
    struct outbox_item ask = {.kind = OUTBOX_RESET, .payload = *email};
    return outbox_add(req->db, &ask, req->now, req->now, NULL);
}
REQUEST_STEP(ask_write);

enum err recovery_ask(struct request *req, Str email)
{
    if (!mail_is_enabled()) return ERR_MAIL_OFF;
    if (!is_allowed(req, email)) return ERR_RATE_LIMITED;
    enum err e = request_step(req, TX_WRITE, ask_write, &email);
    if (!e) dispatcher_wake(req->app->dispatcher);
    return e;
}

struct reset {
    Str token, hash;
    struct account account;
};

static enum err reset_read(struct request *req, struct reset *r)
{
    Id account;
    enum err e = password_reset_look(req->db, r->token, req->now, &account);
    return e ? e : account_find(req->db, account, &r->account);
}
REQUEST_STEP(reset_read);

static enum err reset_write(struct request *req, const struct reset *r)
{
    enum err e = password_reset_finish(req->db, r->token, r->hash, req->now);
    return e ? e : auth_event(req, "reset", &r->account);
}
REQUEST_STEP(reset_write);

/* The token is checked before the password is hashed, so guesses cost little. */
enum err recovery_finish(struct request *req, Str token, Str password)
{
    struct reset r = {.token = token};
    if (!is_allowed(req, (Str){0})) return ERR_RATE_LIMITED;
    enum err e = request_step(req, TX_READ, reset_read, &r);
    if (!e) {
        r.hash = password_hash(req->arena, password);
        e = r.hash.len ? request_step(req, TX_WRITE, reset_write, &r) : ERR_UNAVAILABLE;
    }
    return e == ERR_NOT_FOUND ? request_bad_field(req, "token", ERR_FIELD_VALUE) : e;
}
