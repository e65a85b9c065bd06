/* serve/visit.c - see visit.h. */
#include "serve/visit.h"

#include "domain/account.h"
#include "domain/cart.h"
#include "domain/session.h"
#include "domain/vault.h"
#include "page/words.h"
#include "serve/app.h"
#include "serve/call.h"
#include "serve/form.h"

#define COOKIE "souk"
#define COOKIE_TLS "__Host-souk" /* browsers accept this name only from this host, over TLS */

bool visit_is_tls(const struct request *req)
{
    if (str_starts(str_from(req->app->options.base_url), STR("https://"))) return true;
    return req->exchange->is_tls;
}

static const char *cookie_name(const struct request *req)
{
    return visit_is_tls(req) ? COOKIE_TLS : COOKIE;
}

static void set_cookie(struct request *req, Str value, long long max_age_s)
{
    request_add_header(req, "Set-Cookie",
                       str_printf(req->arena, "%s=%.*s; Path=/; Max-Age=%lld; HttpOnly; SameSite=Lax%s",
                                  cookie_name(req), STR_FMT(value), max_age_s, visit_is_tls(req) ? "; Secure" : ""));
}

enum err visit_begin(struct request *req, Id account)
{
    struct session *s = arena_new(req->arena, struct session);
    Str text;
    enum err e = session_create(req->db, account, req->exchange->network, req->now, s, &text);
    if (!e && req->session && !id_is(req->session->account))
        e = cart_move(req->db, req->session->cart, s->cart, req->now);
    if (!e && req->session) e = session_end(req->db, req->session->id);
    if (!e && id_is(account)) e = account_set_language(req->db, account, str_from(lang_codes[visit_lang(req)]));
    if (e) return e;
    req->account = account;
    req->token_id = s->cart;
    set_cookie(req, text, SESSION_DAYS * TIME_DAY / TIME_SECOND);
    return OK;
}

enum err visit_end(struct request *req)
{
    set_cookie(req, (Str){0}, 0);
    return req->session ? session_end(req->db, req->session->id) : OK;
}

enum lang visit_lang(const struct request *req)
{
    enum lang offered[LANG_COUNT];
    size_t n = lang_list(str_from(req->settings->languages), offered);
    return lang_choose(request_header(req, "Accept-Language"), offered, n);
}

/* The host of an address: "https://a.example:8" → "a.example:8". */
static Str host_of(Str url)
{
    Str scheme, host, path;
    if (!str_cut(url, '/', &scheme, &host) || !host.len || host.ptr[0] != '/') return (Str){0};
    host = (Str){host.ptr + 1, host.len - 1};
    str_cut(host, '/', &host, &path);
    return host;
}

/* Forms come from our own pages. Browsers say where a form came from; a program that does not has no browser cookies
 * that anybody could misuse. */
static bool comes_from_here(const struct request *req)
{
    Str site = request_header(req, "Sec-Fetch-Site"), origin = request_header(req, "Origin");
    if (site.len && !str_eq(site, STR("same-origin")) && !str_eq(site, STR("none"))) return false;
    if (!origin.ptr) return true;
    Str host = host_of(origin), ours = host_of(str_from(req->app->options.base_url));
    if (!host.len) return false;
    return str_eq_nocase(host, request_header(req, "Host")) || (ours.len && str_eq_nocase(host, ours));
}

static Str cookie_of(const struct request *req)
{
    return request_cookie(req, str_from(cookie_name(req)));
}

bool visit_has_cookie(const struct request *req)
{
    return session_is_plausible(cookie_of(req));
}

static enum err find_session(struct call *c, struct db *db)
{
    struct request *req = &c->req;
    Str text = cookie_of(req);
    if (!session_is_plausible(text)) return OK;
    token_hash(text, c->token.hash);
    struct session *s = arena_new(req->arena, struct session);
    enum err e = session_find(db, c->token.hash, req->now, s);
    if (e) return e == ERR_NOT_FOUND ? OK : e;
    req->session = s;
    req->account = s->account;
    req->token_id = s->cart;
    req->role = s->role;
    req->csrf = session_csrf(req->arena, c->token.hash);
    return OK;
}

static bool csrf_is_right(struct request *req)
{
    Str given = form_field(req, "csrf");
    return given.len == req->csrf.len && vault_equal(given.ptr, req->csrf.ptr, given.len);
}

enum err call_visit(struct call *c, struct db *db)
{
    struct request *req = &c->req;
    if (!req->settings->storefront && !(req->route->flags & STAYS)) return ERR_NOT_FOUND;
    enum err e = find_session(c, db);
    if (e) return e;
    if (strcmp(req->route->method, "POST") == 0) {
        if (!comes_from_here(req)) return ERR_FORM_REFUSED;
        if (req->session && !csrf_is_right(req)) return ERR_FORM_REFUSED;
    }
    if (req->route->flags & LOGIN_FIRST && !id_is(req->account)) return ERR_LOGIN_FIRST;
    if (req->route->flags & PROVEN_EMAIL && req->session && req->session->is_unproven)
        return settings_check_unproven(db);
    return OK;
}

/* Whatever else was typed, a form that was sent before leads to its first result. */
enum err call_read_once(struct call *c)
{
    struct request *req = &c->req;
    if (!(req->route->flags & IDEMPOTENT)) return OK;
    Str once = form_field(req, "once");
    if (!once.len || once.len > 100) return OK;
    struct idempotency_scope scope = {
        .account = req->account,
        .method = req->route->method,
        .path = req->route->path,
        .key = str_printf(req->arena, "%lld %.*s", (long long)req->token_id.v, STR_FMT(once))};
    idempotency_init(&scope, (Str){0}, (Str){0}, &c->key);
    c->has_key = true;
    return OK;
}
