/* api/shop/shop_assets.c - style sheets, scripts and pictures of the pages that people see, from memory.
 *
 * Their names carry a hash of their content, so browsers keep them for ever. */
#include "api/tables.h"
#include "domain/image.h"
#include "page/asset.h"
#include "serve/request.h"

static enum err get_asset(struct request *req)
{
    for (const struct asset *a = assets; a->name; a++) {
        if (!str_eq(str_from(a->name), req->params[0])) continue;
        request_add_header(req, "Cache-Control", STR("public, max-age=31536000, immutable"));
        request_coded(req, a->content_type, a->plain, str_from(a->plain_etag), a->gzip, str_from(a->gzip_etag));
        return OK;
    }
    return ERR_NOT_FOUND;
}

static enum err get_media(struct request *req)
{
    const char *content_type;
    Str bytes;
    enum err e = media_find(req->db, req->params[0], &content_type, &bytes);
    if (e) return e;
    request_add_header(req, "Cache-Control", STR("public, max-age=31536000, immutable"));
    request_ready(req, content_type, bytes);
    return OK;
}

const struct route shop_assets_routes[] = {
    {"GET", "/media/{file}", SCOPE_NONE, TX_READ, NULL, get_media, HIDDEN | ANY_ACCEPT | PUBLIC_CACHE,
     .limit = LIMIT_NONE},
    {"GET", "/assets/{file}", SCOPE_NONE, TX_NONE, NULL, get_asset, HIDDEN | ANY_ACCEPT | PUBLIC_CACHE,
     .limit = LIMIT_NONE},
    {0},
};
