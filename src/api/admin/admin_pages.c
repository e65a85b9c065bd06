/* api/admin/admin_pages.c - the merchant's own pages in the shop. */
#include "api/admin/audit_trail.h"
#include "api/tables.h"
#include "domain/own_page.h"
#include "page/markdown.h"

static void view_page(struct json_writer *w, const void *thing)
{
    const struct own_page *p = thing;
    json_begin_object(w);
    json_kv_id(w, "id", p->id);
    json_kv_str(w, "slug", p->slug);
    json_kv_str(w, "title", p->title);
    json_kv_str(w, "body", p->body);
    json_kv_bool(w, "in_footer", p->in_footer);
    json_kv_time(w, "updated_at", p->updated_at);
    json_end_object(w);
}

static enum err get_pages(struct request *req)
{
    struct own_page *pages;
    size_t count;
    enum err e = own_page_list(req->db, &pages, &count);
    return e ? e : request_all(req, pages, count, view_page);
}

static enum err get_page(struct request *req)
{
    struct own_page p;
    enum err e = own_page_find(req->db, req->param_id, &p);
    if (e) return e;
    view_page(&req->out, &p);
    return OK;
}

struct own_page_body {
    Str slug, title, body;
    bool in_footer, has_slug, has_title, has_body, has_in_footer;
};
#define AT(member) offsetof(struct own_page_body, member)
#define PAGE_FIELDS(needed)                                                                                            \
    {"slug", FIELD_SLUG, needed, AT(slug), .has = AT(has_slug)},                                                       \
        {"title", FIELD_LINE, needed, AT(title), .min = 1, .max = OWN_PAGE_TITLE_MAX, .has = AT(has_title)},           \
        {"body", FIELD_TEXT, OPTIONAL, AT(body), .max = OWN_PAGE_BODY_MAX, .has = AT(has_body)},                       \
    {                                                                                                                  \
        "in_footer", FIELD_BOOL, OPTIONAL, AT(in_footer), .has = AT(has_in_footer)                                     \
    }
static const struct field page_fields[] = {PAGE_FIELDS(REQUIRED), {0}};
static const struct shape page_shape = {page_fields, sizeof(struct own_page_body)};
static const struct field page_patch_fields[] = {PAGE_FIELDS(OPTIONAL), {0}};
static const struct shape page_patch = {page_patch_fields, sizeof(struct own_page_body)};
/* Each code point may come as two escapes of six bytes. */
#define PAGE_BYTES_MAX (OWN_PAGE_BODY_MAX * 12 + 16 * 1024)

static enum err post_page(struct request *req)
{
    const struct own_page_body *in = req->body;
    struct own_page made, want = {.slug = in->slug,
                                  .title = in->title,
                                  .body = in->body,
                                  .in_footer = in->has_in_footer ? in->in_footer : true};
    enum err e = own_page_create(req->db, &want, req->now, &made);
    if (e == ERR_FIELD_TOO_MANY) return request_bad_field(req, "slug", e);
    if (e) return e;
    view_page(&req->out, &made);
    request_created(req, "/api/admin/pages", made.id);
    return admin_audit(req, "page.create", made.id, made.title, (Str){0}, admin_json(req, view_page, &made));
}

static enum err patch_page(struct request *req)
{
    const struct own_page_body *in = req->body;
    struct own_page before, after;
    enum err e = own_page_find(req->db, req->param_id, &before);
    if (e) return e;
    after = before;
    if (in->has_slug) after.slug = in->slug;
    if (in->has_title) after.title = in->title;
    if (in->has_body) after.body = in->body;
    if (in->has_in_footer) after.in_footer = in->in_footer;
    e = own_page_update(req->db, &after, req->now, &after);
    if (e) return e;
    view_page(&req->out, &after);
    return admin_audit(req, "page.update", after.id, after.title, admin_json(req, view_page, &before),
                       admin_json(req, view_page, &after));
}

static enum err delete_page(struct request *req)
{
    struct own_page before;
    enum err e = own_page_find(req->db, req->param_id, &before);
    if (!e) e = own_page_delete(req->db, req->param_id);
    if (e) return e;
    return admin_audit(req, "page.delete", before.id, before.title, admin_json(req, view_page, &before), (Str){0});
}

struct preview_body {
    Str body;
};
static const struct field preview_fields[] = {
    {"body", FIELD_TEXT, OPTIONAL, offsetof(struct preview_body, body), .max = OWN_PAGE_BODY_MAX},
    {0},
};
static const struct shape preview_shape = {preview_fields, sizeof(struct preview_body)};

/* As the shop would show it. */
static enum err post_preview(struct request *req)
{
    const struct preview_body *in = req->body;
    json_begin_object(&req->out);
    json_kv_str(&req->out, "html", markdown_render(req->arena, in->body).html);
    json_end_object(&req->out);
    return OK;
}

const struct route admin_pages_routes[] = {
    {"GET", "/api/admin/pages", SCOPE_ADMIN, TX_READ, NULL, get_pages},
    {"POST", "/api/admin/pages", SCOPE_ADMIN, TX_WRITE, &page_shape, post_page, IDEMPOTENT,
     .body_bytes_max = PAGE_BYTES_MAX},
    {"POST", "/api/admin/pages/preview", SCOPE_ADMIN, TX_READ, &preview_shape, post_preview,
     .body_bytes_max = PAGE_BYTES_MAX},
    {"GET", "/api/admin/pages/{id}", SCOPE_ADMIN, TX_READ, NULL, get_page},
    {"PATCH", "/api/admin/pages/{id}", SCOPE_ADMIN, TX_WRITE, &page_patch, patch_page,
     .body_bytes_max = PAGE_BYTES_MAX},
    {"DELETE", "/api/admin/pages/{id}", SCOPE_ADMIN, TX_WRITE, NULL, delete_page},
    {0},
};
