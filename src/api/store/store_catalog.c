/* api/store/store_catalog.c - the catalogue for everybody, and for programs under /api/v1. Everything comes from the
 * snapshot in memory (catalog_cache.h); the database is only asked for the revision. */
#include "api/tables.h"
#include "serve/app.h"
#include "serve/catalog_cache.h"
#include "serve/request.h"

static void view_item(struct json_writer *w, const void *item)
{
    json_raw(w, ((const struct catalog_item *)item)->json);
}

static void view_v1_item(struct json_writer *w, const void *item)
{
    json_raw(w, ((const struct catalog_item *)item)->v1_json);
}

static const struct list store_items = {LIST_ROWS(struct catalog_item, id), .view = view_item,
                                        .key_at = offsetof(struct catalog_item, position)};
static const struct list v1_items = {LIST_ROWS(struct catalog_item, id), .view = view_v1_item,
                                     .key_at = offsetof(struct catalog_item, position)};

static enum err page_of(struct request *req, const struct catalog_snapshot *s, const struct list *list)
{
    struct list_page page;
    enum err e = request_page(req, &page);
    if (e) return e;
    size_t first = id_is(page.after_id) ? catalog_snapshot_after(s, page.after_key, page.after_id) : 0;
    page.found = s->count - first;
    return request_list(req, &page, list, s->items + first);
}

static bool wants_all(const struct request *req)
{
    const struct list_query *q = req->query;
    return !q->limit && !q->cursor.len;
}

static void cache_for_all(struct request *req)
{
    request_add_header(req, "Cache-Control", STR("public, max-age=30"));
}

static enum err list_store(struct request *req, const struct catalog_snapshot *s)
{
    if (wants_all(req)) {
        cache_for_all(req);
        if (request_not_modified(req, str_dup(req->arena, s->list_etag))) return OK;
        request_ready(req, "application/json", str_dup(req->arena, s->list));
        return OK;
    }
    enum err e = page_of(req, s, &store_items);
    if (e) return e;
    cache_for_all(req);
    /* The tag covers the items and the cursor of the next page. */
    struct buf b;
    buf_init(&b, req->arena, SIZE_MAX);
    buf_append(&b, buf_str(&req->out_buf));
    buf_append(&b, request_members(req));
    request_not_modified(req, catalog_etag(req->arena, buf_str(&b)));
    return OK;
}

static enum err get_products(struct request *req)
{
    struct catalog_snapshot *s;
    enum err e = catalog_cache_get(req->app->catalog, req->db, req->settings, &s);
    if (e) return e;
    e = list_store(req, s);
    catalog_snapshot_release(s);
    return e;
}

static enum err get_product(struct request *req)
{
    struct catalog_snapshot *s;
    enum err e = catalog_cache_get(req->app->catalog, req->db, req->settings, &s);
    if (e) return e;
    const struct catalog_item *item = catalog_snapshot_find(s, req->params[0]);
    if (!item) {
        e = ERR_PRODUCT_NOT_FOUND;
    } else {
        cache_for_all(req);
        if (!request_not_modified(req, str_dup(req->arena, item->etag)))
            request_ready(req, "application/json", str_dup(req->arena, item->answer));
    }
    catalog_snapshot_release(s);
    return e;
}

static enum err get_v1_products(struct request *req)
{
    struct catalog_snapshot *s;
    enum err e = catalog_cache_get(req->app->catalog, req->db, req->settings, &s);
    if (e) return e;
    if (wants_all(req))
        request_ready(req, "application/json", str_dup(req->arena, s->v1_list));
    else
        e = page_of(req, s, &v1_items);
    catalog_snapshot_release(s);
    return e;
}

const struct route store_catalog_routes[] = {
    {"GET", "/api/store/products", SCOPE_NONE, TX_READ, NULL, get_products, PUBLIC_CACHE | REMEMBERED,
     &list_query_shape, LIMIT_NONE},
    {"GET", "/api/store/products/{slug}", SCOPE_NONE, TX_READ, NULL, get_product, PUBLIC_CACHE | REMEMBERED, NULL,
     LIMIT_NONE},
    {"GET", "/api/v1/products", SCOPE_CATALOG, TX_READ, NULL, get_v1_products, 0, &list_query_shape},
    {0},
};
