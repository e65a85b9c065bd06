/* api/proof.c - see proof.h. */
#include "api/proof.h"

#include "base/log.h"
#include "domain/audit.h"
#include "domain/password.h"
#include "domain/totp.h"
#include "serve/app.h"
#include "serve/guess.h"
#include "serve/limit.h"
#include "serve/metrics.h"

/* ---- limits ---- */

/* Three counts. By account and network together: only the network that fails has to wait. All failures of a network, at
 * any account. And all failures at an account from networks where nobody is logged in to it: guessing from many places
 * does not help, and does not lock out the owner at home. */
struct guess {
    struct request *req;
    Str account;
    bool is_home;
};
#define PLACES 10           /* times as many for the wider counts */
#define STRANGERS_A_DAY 100 /* of a network, times the rate */

static Str guess_key(const struct guess *g)
{
    return str_printf(g->req->arena, "%.*s\n%.*s", STR_FMT(g->account), STR_FMT(g->req->exchange->network));
}

static enum err guess_allowed(const struct guess *g)
{
    struct request *req = g->req;
    struct app *app = req->app;
    int64_t rate = app->options.rate_auth, now = time_monotonic_ns(), wait_s = 1;
    if (!rate) return OK;
    bool allowed = limiter_look(app->limiter, 'a', req->exchange->network, rate * PLACES, now).allowed &&
                   guess_begin(app->guesses, 'g', guess_key(g), rate, now, &wait_s);
    if (allowed && !g->is_home && !guess_begin(app->guesses, 'w', g->account, rate * PLACES, now, &wait_s)) {
        guess_undo(app->guesses, 'g', guess_key(g), rate);
        allowed = false;
    }
    req->retry_after_s = wait_s;
    return allowed ? OK : ERR_RATE_LIMITED;
}

static void guess_ended(const struct guess *g, enum err e)
{
    struct app *app = g->req->app;
    if (e == ERR_CREDENTIALS_INVALID) metrics_event(app->metrics, METRIC_LOGIN_FAILED);
    int64_t rate = app->options.rate_auth;
    if (!rate) return;
    if (e == ERR_CREDENTIALS_INVALID) {
        limiter_charge(app->limiter, 'a', g->req->exchange->network, rate * PLACES, time_monotonic_ns());
        return;
    }
    if (!g->is_home) guess_undo(app->guesses, 'w', g->account, rate * PLACES);
    if (e)
        guess_undo(app->guesses, 'g', guess_key(g), rate);
    else
        guess_right(app->guesses, 'g', guess_key(g));
}

enum err stranger_limit(struct request *req)
{
    int64_t rate = req->app->options.rate_auth;
    if (!rate || address_is_loopback(req->exchange->peer)) return OK;
    struct limit_result r =
        limiter_charge_day(req->app->limiter, 'N', req->exchange->network, rate * STRANGERS_A_DAY, time_monotonic_ns());
    req->retry_after_s = r.retry_after_s;
    return r.allowed ? OK : ERR_RATE_LIMITED;
}

static struct guess code_guess(struct request *req)
{
    return (struct guess){req, str_printf(req->arena, "code %lld", (long long)req->account.v), true};
}

enum err code_guess_begin(struct request *req)
{
    struct guess g = code_guess(req);
    return guess_allowed(&g);
}

void code_guess_end(struct request *req, enum err e)
{
    struct guess g = code_guess(req);
    guess_ended(&g, e);
}

/* ---- events ---- */

static void log_auth(struct request *req, const char *action, Id account, enum err result)
{
    log_event(result ? LOG_WARN : LOG_INFO, "auth", LOGC("action", action), LOGI("account", account.v),
              LOGS("peer", req->exchange->peer), LOGC("result", result ? err_info(result)->code : "ok"),
              LOGS("request_id", req->id));
}

static enum err audit_auth(struct request *req, const char *action, const struct account *who)
{
    struct audit_entry entry = {.actor = who->id,
                                .action = str_printf(req->arena, "auth.%s", action),
                                .resource = who->id,
                                .label = who->email,
                                .request_id = req->id,
                                .address = req->exchange->peer,
                                .created_at = req->now};
    req->is_audited = true;
    return audit_add(req->db, &entry);
}

enum err auth_event(struct request *req, const char *action, const struct account *who)
{
    log_auth(req, action, who->id, OK);
    return audit_auth(req, action, who);
}

/* ---- the proof ---- */

struct giving {
    struct proof *proof;
    enum err (*then)(struct request *req, const struct proof *p);
};

static enum err proof_look(struct request *req, struct proof *p)
{
    enum err e = p->email.len ? account_find_email(req->db, p->email, &p->account)
                              : account_find(req->db, req->account, &p->account);
    p->is_known = !e;
    if (e) return e == ERR_NOT_FOUND ? OK : e;
    e = totp_is_on(req->db, p->account.id, &p->has_totp);
    return e ? e : token_network_is_known(req->db, p->account.id, req->exchange->network, &p->is_home);
}
REQUEST_STEP(proof_look);

static enum err proof_accept(struct request *req, const struct giving *g)
{
    const struct proof *p = g->proof;
    enum err e = p->has_totp ? totp_take(req->db, p->account.id, p->totp, req->now) : OK;
    if (!e) e = audit_auth(req, p->action, &p->account);
    return e ? e : g->then(req, p);
}
REQUEST_STEP(proof_accept);

static enum err proof_note_failure(struct request *req, const struct proof *p)
{
    return audit_auth(req, str_cstr(req->arena, str_printf(req->arena, "%s_failed", p->action)), &p->account);
}
REQUEST_STEP(proof_note_failure);

static enum err check(struct request *req, struct giving *g)
{
    struct proof *p = g->proof;
    bool right = password_verify(p->is_known ? p->account.password_hash : (Str){0}, p->password);
    p->is_right = right && p->account.is_active;
    if (!p->is_right) return ERR_CREDENTIALS_INVALID;
    if (p->has_totp && !p->totp.len) return ERR_TOTP_REQUIRED;
    return request_step(req, TX_WRITE, proof_accept, g);
}

/* Checked before the password: even a right guess beyond the limit does not get in. */
enum err proof_give(struct request *req, struct proof *p, enum err (*then)(struct request *req, const struct proof *p))
{
    struct giving g = {p, then};
    enum err e = request_step(req, TX_READ, proof_look, p);
    if (e) return e;
    struct guess guess = {req, p->email.len ? p->email : p->account.email, p->is_home};
    e = guess_allowed(&guess);
    if (!e) {
        e = check(req, &g);
        guess_ended(&guess, e);
    }
    log_auth(req, p->action, p->account.id, e);
    if (e != ERR_CREDENTIALS_INVALID || !p->is_known) return e;
    enum err noted = request_step(req, TX_WRITE, proof_note_failure, p);
    return noted ? noted : e;
}
