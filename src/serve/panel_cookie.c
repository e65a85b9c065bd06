/* serve/panel_cookie.c - see panel_cookie.h. */
#include "serve/panel_cookie.h"

#include "serve/app.h"

#define NAME "souk-panel"
#define NAME_TLS "__Host-souk-panel" /* browsers accept this name only from this very host, over TLS */
#define HEADER "X-Souk-Panel"

static bool is_tls(const struct request *req)
{
    return str_starts(str_from(req->app->options.base_url), STR("https://"));
}

static Str cookie_name(const struct request *req)
{
    return is_tls(req) ? STR(NAME_TLS) : STR(NAME);
}

bool panel_is_calling(const struct request *req)
{
    Str site = request_header(req, "Sec-Fetch-Site");
    return request_header(req, HEADER).len && (!site.len || str_eq(site, STR("same-origin")));
}

Str panel_cookie_read(const struct request *req)
{
    return panel_is_calling(req) ? request_cookie(req, cookie_name(req)) : (Str){0};
}

static void send_cookie(struct request *req, Str value, int64_t max_age_s)
{
    Str name = cookie_name(req);
    request_add_header(req, "Set-Cookie",
                       str_printf(req->arena, "%.*s=%.*s; Path=/; Max-Age=%lld; HttpOnly; SameSite=Strict%s",
                                  STR_FMT(name), STR_FMT(value), (long long)max_age_s, is_tls(req) ? "; Secure" : ""));
}

void panel_cookie_set(struct request *req, Str token, int64_t valid_ms)
{
    send_cookie(req, token, valid_ms / TIME_SECOND);
}

void panel_cookie_clear(struct request *req)
{
    if (panel_cookie_read(req).len) send_cookie(req, (Str){0}, 0);
}
