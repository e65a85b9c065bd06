/* api/open/panel.c - serves the admin panel: one page and its parts, from memory.
 *
 * The names of parts carry a hash of their content, so browsers keep them for ever; the page is requested each time and
 * answered 304. The panel is a client like any other: it has no routes but these and uses the public API. */
#include "api/open/panel.h"

#include "api/tables.h"
#include "serve/render.h"
#include "serve/request.h"

/* Only scripts from this server run, and nothing turns text into markup. Frames show what the page itself has made,
 * under this same policy: the preview of a mail. */
static const char CONTENT_SECURITY_POLICY[] =
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; form-action 'self'; "
    "frame-src blob:; "
    "base-uri 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'";

static enum err get_page(struct request *req)
{
    return web_file_answer(req, web_file_find(panel_files, STR("index.html")), "no-cache", CONTENT_SECURITY_POLICY);
}

static enum err get_asset(struct request *req)
{
    Str name = req->params[0];
    if (str_eq(name, STR("index.html"))) return ERR_NOT_FOUND;
    return web_file_answer(req, web_file_find(panel_files, name), WEB_FILE_FOR_EVER, CONTENT_SECURITY_POLICY);
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
