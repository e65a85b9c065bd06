/* api/shop/shop_pages.c - the merchant's own pages and colours, and what search engines ask for. */
#include "api/shop/shop.h"
#include "api/tables.h"
#include "domain/catalog.h"
#include "domain/own_page.h"
#include "domain/settings.h"
#include "page/asset.h"
#include "page/color.h"
#include "page/markdown.h"
#include "serve/app.h"

#define SUMMARY_BYTES 160

static enum err get_own_page(struct request *req)
{
    struct own_page p;
    struct sheet s;
    enum err e = own_page_find_slug(req->db, req->params[0], &p);
    if (e) return e;
    sheet_begin(req, &s, p.title);
    s.frame.is_hidden = false;
    s.frame.description = markdown_summary(req->arena, p.body, SUMMARY_BYTES);
    s.frame.canonical = sheet_address(req, str_printf(req->arena, "/page/%.*s", STR_FMT(p.slug)));
    page_write_own_page(&s.page, &(const struct page_own_page){
                                     .frame = s.frame, .title = p.title, .body = markdown_render(req->arena, p.body)});
    sheet_send(req, &s);
    return OK;
}

/* A text template as the whole answer. */
static struct page plain_begin(struct request *req, struct buf *b)
{
    buf_init(b, req->arena, SIZE_MAX);
    return (struct page){.arena = req->arena, .out = b, .currency = str_from(req->settings->currency)};
}

static enum err get_robots(struct request *req)
{
    struct buf b;
    struct page p = plain_begin(req, &b);
    page_write_robots(
        &p, &(const struct page_robots){.sitemap = str_printf(req->arena, "%s/sitemap.xml", req->app->shop_url),
                                        .is_open = req->settings->storefront});
    request_ready(req, "text/plain; charset=utf-8", buf_str(&b));
    return OK;
}

static enum err get_sitemap(struct request *req)
{
    struct product *products;
    struct own_page *pages;
    size_t product_count, page_count, n = 0;
    enum err e = catalog_list(req->db, &products, &product_count);
    if (!e) e = own_page_list(req->db, &pages, &page_count);
    if (e) return e;
    const char *base = req->app->shop_url;
    Str *addresses = arena_array(req->arena, Str, product_count + page_count + 1);
    addresses[n++] = str_printf(req->arena, "%s/", base);
    for (size_t i = 0; i < product_count; i++)
        addresses[n++] = str_printf(req->arena, "%s/p/%.*s", base, STR_FMT(products[i].slug));
    for (size_t i = 0; i < page_count; i++)
        addresses[n++] = str_printf(req->arena, "%s/page/%.*s", base, STR_FMT(pages[i].slug));
    struct buf b;
    struct page p = plain_begin(req, &b);
    page_write_sitemap(&p, &(const struct page_sitemap){.addresses = {addresses, n}});
    request_ready(req, "application/xml", buf_str(&b));
    return OK;
}

static enum err get_favicon(struct request *req)
{
    for (const struct asset *a = assets; a->name; a++) {
        if (strcmp(a->file, "icon.svg") != 0) continue;
        request_add_header(req, "Cache-Control", STR("public, max-age=86400"));
        request_coded(req, a->content_type, a->plain, str_from(a->plain_etag), a->gzip, str_from(a->gzip_etag));
        return OK;
    }
    return ERR_NOT_FOUND;
}

/* The merchant's colour, followed by their own style sheet. The name carries a hash of both, so browsers keep it. */
static enum err get_theme(struct request *req)
{
    struct settings s;
    struct color color;
    struct buf b;
    Str style, name;
    enum err e = settings_load(req->db, &s);
    if (!e) e = settings_get(req->db, "style_sheet", &style);
    if (e) return e;
    name = str_printf(req->arena, "theme-%s.css", s.theme);
    if (!str_eq(name, req->params[0])) return ERR_NOT_FOUND;
    struct page p = plain_begin(req, &b);
    bool has_color = color_read(str_from(s.accent), &color);
    page_write_theme(&p, &(const struct page_theme){
                             .accent = has_color ? str_from(s.accent) : (Str){0},
                             .on_accent = has_color && color_wants_white(&color) ? STR("#fff") : STR("#000"),
                             .link = has_color && color_reads_on_white(&color) ? str_from(s.accent) : STR("#1c1e21"),
                             .style = style});
    request_add_header(req, "Cache-Control", STR("public, max-age=31536000, immutable"));
    request_ready(req, "text/css; charset=utf-8", buf_str(&b));
    return OK;
}

const struct route shop_pages_routes[] = {
    {"GET", "/page/{slug}", SCOPE_NONE, TX_READ, NULL, get_own_page, SHOP_PAGE, .limit = LIMIT_NONE},
    {"GET", "/sitemap.xml", SCOPE_NONE, TX_READ, NULL, get_sitemap, SHOP_PAGE},
    {"GET", "/robots.txt", SCOPE_NONE, TX_NONE, NULL, get_robots, HIDDEN | ANY_ACCEPT, .limit = LIMIT_NONE},
    {"GET", "/favicon.ico", SCOPE_NONE, TX_NONE, NULL, get_favicon, HIDDEN | ANY_ACCEPT | PUBLIC_CACHE,
     .limit = LIMIT_NONE},
    {"GET", "/theme/{file}", SCOPE_NONE, TX_READ, NULL, get_theme, SHOP_PAGE | PUBLIC_CACHE | STAYS,
     .limit = LIMIT_NONE},
    {0},
};
