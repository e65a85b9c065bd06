/* api/open/docs.c - the reference of the API at /docs/ and the guides at /docs/guide/, from memory.
 *
 * The reference is Swagger UI over /openapi.json. It calls the API like any other client, with the token that its
 * reader gives it; it uses no cookie. */
#include "api/open/docs.h"

#include "api/tables.h"
#include "serve/render.h"
#include "serve/request.h"

/* Nothing is loaded from elsewhere, and no script or style is in the markup. */
static const char CONTENT_SECURITY_POLICY[] =
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; form-action 'none'; "
    "base-uri 'none'; frame-ancestors 'none'";

static enum err answer(struct request *req, const struct web_file *files, Str name, const char *cache_control)
{
    return web_file_answer(req, web_file_find(files, name), cache_control, CONTENT_SECURITY_POLICY);
}

static enum err get_reference(struct request *req)
{
    return answer(req, docs_assets, STR("index.html"), "no-cache");
}

static enum err get_asset(struct request *req)
{
    if (str_eq(req->params[0], STR("index.html"))) return ERR_NOT_FOUND;
    return answer(req, docs_assets, req->params[0], WEB_FILE_FOR_EVER);
}

static enum err get_contents(struct request *req)
{
    return answer(req, docs_guides, STR("index"), "no-cache");
}

static enum err get_guide(struct request *req)
{
    if (str_eq(req->params[0], STR("index"))) return ERR_NOT_FOUND;
    return answer(req, docs_guides, req->params[0], "no-cache");
}

/* The pages' own addresses are relative to a folder. */
static enum err add_slash(struct request *req, Str address)
{
    if (!docs_assets[0].name) return ERR_NOT_FOUND;
    req->status = 308;
    req->answer->location = address;
    request_add_header(req, "Cache-Control", STR("no-cache"));
    request_ready(req, "text/plain", (Str){0});
    return OK;
}

static enum err get_reference_without_slash(struct request *req)
{
    return add_slash(req, STR("/docs/"));
}

static enum err get_contents_without_slash(struct request *req)
{
    return add_slash(req, STR("/docs/guide/"));
}

const struct route docs_routes[] = {
    {"GET", "/docs", SCOPE_NONE, TX_NONE, NULL, get_reference_without_slash, HIDDEN | ANY_ACCEPT | PUBLIC_CACHE,
     .limit = LIMIT_NONE},
    {"GET", "/docs/", SCOPE_NONE, TX_NONE, NULL, get_reference, HIDDEN | ANY_ACCEPT | PUBLIC_CACHE,
     .limit = LIMIT_NONE},
    {"GET", "/docs/assets/{file}", SCOPE_NONE, TX_NONE, NULL, get_asset, HIDDEN | ANY_ACCEPT | PUBLIC_CACHE,
     .limit = LIMIT_NONE},
    {"GET", "/docs/guide", SCOPE_NONE, TX_NONE, NULL, get_contents_without_slash, HIDDEN | ANY_ACCEPT | PUBLIC_CACHE,
     .limit = LIMIT_NONE},
    {"GET", "/docs/guide/", SCOPE_NONE, TX_NONE, NULL, get_contents, HIDDEN | ANY_ACCEPT | PUBLIC_CACHE,
     .limit = LIMIT_NONE},
    {"GET", "/docs/guide/{page}", SCOPE_NONE, TX_NONE, NULL, get_guide, HIDDEN | ANY_ACCEPT | PUBLIC_CACHE,
     .limit = LIMIT_NONE},
    {0},
};
