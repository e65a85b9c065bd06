/* api/open/panel.c - serves the admin panel: one page and its parts, from memory.
 *
 * The names of parts carry a hash of their content, so they are kept for ever; the page is asked for each time and
 * answered 304. The panel is a client like any other: it has no routes but these and uses the public API. */
#include "api/open/panel.h"

#include "api/tables.h"
#include "base/text.h"
#include "serve/render.h"
#include "serve/request.h"

/* Only what this server sent runs, and nothing turns text into markup. */
static const char CONTENT_SECURITY_POLICY[] =
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; form-action 'self'; "
    "base-uri 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'";

static const struct panel_file *file_find(Str name)
{
    for (const struct panel_file *f = panel_files; f->name; f++)
        if (str_eq(str_from(f->name), name)) return f;
    return NULL;
}

/* Whether a list of codings takes gzip: named, or meant by *, and not with a weight of 0. */
static bool takes_gzip(Str list)
{
    bool by_star = false;
    while (list.len) {
        Str item = list, rest = {0};
        str_cut(list, ',', &item, &rest);
        Str coding = item, weight = {0};
        str_cut(item, ';', &coding, &weight);
        coding = str_trim(coding);
        weight = str_trim(weight);
        bool refused = str_starts(weight, STR("q=0"));
        for (size_t i = 3; refused && i < weight.len; i++) refused = weight.ptr[i] == '.' || weight.ptr[i] == '0';
        if (str_eq_nocase(coding, STR("gzip"))) return !refused;
        if (str_eq(coding, STR("*"))) by_star = !refused;
        list = rest;
    }
    return by_star;
}

static enum err answer_file(struct request *req, Str name, const char *cache_control)
{
    const struct panel_file *f = file_find(name);
    if (!f) return ERR_NOT_FOUND;
    bool gzip = takes_gzip(request_header(req, "Accept-Encoding"));
    request_add_header(req, "Cache-Control", str_from(cache_control));
    request_add_header(req, "Vary", STR("Accept-Encoding"));
    request_add_header(req, "Content-Security-Policy", str_from(CONTENT_SECURITY_POLICY));
    request_add_header(req, "Referrer-Policy", STR("no-referrer"));
    request_add_header(req, "Cross-Origin-Opener-Policy", STR("same-origin"));
    if (request_not_modified(req, str_from(gzip ? f->gzip_etag : f->plain_etag))) return OK;
    if (gzip) request_add_header(req, "Content-Encoding", STR("gzip"));
    request_ready(req, f->content_type, gzip ? (Str){f->gzip, f->gzip_len} : (Str){f->plain, f->plain_len});
    return OK;
}

static enum err get_page(struct request *req)
{
    return answer_file(req, STR("index.html"), "no-cache");
}

static enum err get_asset(struct request *req)
{
    Str name = req->params[0];
    if (str_eq(name, STR("index.html"))) return ERR_NOT_FOUND;
    return answer_file(req, name, "public, max-age=31536000, immutable");
}

/* The page's own addresses are relative to /admin/. */
static enum err get_without_slash(struct request *req)
{
    if (!panel_files[0].name) return ERR_NOT_FOUND;
    req->status = 308;
    req->answer->location = STR("/admin/");
    request_add_header(req, "Cache-Control", STR("no-cache"));
    request_ready(req, "text/plain", (Str){0});
    return OK;
}

const struct route panel_routes[] = {
    {"GET", "/admin", SCOPE_NONE, TX_NONE, NULL, get_without_slash, HIDDEN | ANY_ACCEPT | PUBLIC_CACHE,
     .limit = LIMIT_NONE},
    {"GET", "/admin/", SCOPE_NONE, TX_NONE, NULL, get_page, HIDDEN | ANY_ACCEPT | PUBLIC_CACHE, .limit = LIMIT_NONE},
    {"GET", "/admin/assets/{file}", SCOPE_NONE, TX_NONE, NULL, get_asset, HIDDEN | ANY_ACCEPT | PUBLIC_CACHE,
     .limit = LIMIT_NONE},
    {0},
};
