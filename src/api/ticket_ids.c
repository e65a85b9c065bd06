/* api/ticket_ids.c - see ticket_ids.h. */
#include "api/ticket_ids.h"

#include "http/server.h"
#include "serve/app.h"
#include "serve/limit.h"

#define MESSAGE_KIB_A_DAY (10 * 1024)
#define NETWORK_TIMES 20 /* as much for a network */

enum err ticket_bad_ids(struct request *req, const struct ticket_unknown *unknown)
{
    if (unknown->department) request_bad_field(req, "department_id", ERR_FIELD_NOT_FOUND);
    if (unknown->order) request_bad_field(req, "order_id", ERR_FIELD_NOT_FOUND);
    if (unknown->license) request_bad_field(req, "license_id", ERR_FIELD_NOT_FOUND);
    return ERR_VALIDATION;
}

enum err ticket_limit(struct request *req, Str message)
{
    struct app *app = req->app;
    if (!app->options.rate_auth || req->role != ROLE_CUSTOMER) return OK;
    int64_t kib = 1 + (int64_t)message.len / 1024, now = time_monotonic_ns();
    Str account = {(const char *)&req->account.v, sizeof req->account.v};
    struct limit_result r = limiter_spend_day(app->limiter, 'm', account, kib, MESSAGE_KIB_A_DAY, now);
    if (r.allowed && !address_is_loopback(req->exchange->peer))
        r = limiter_spend_day(app->limiter, 'M', req->exchange->network, kib, MESSAGE_KIB_A_DAY * NETWORK_TIMES, now);
    req->retry_after_s = r.retry_after_s;
    return r.allowed ? OK : ERR_RATE_LIMITED;
}
