/* api/admin/admin_images.c - pictures of products. */
#include "api/admin/audit_trail.h"
#include "api/tables.h"
#include "domain/image.h"

static void view_image(struct json_writer *w, const void *thing)
{
    const struct image *i = thing;
    json_begin_object(w);
    json_kv_id(w, "id", i->id);
    json_kv_str(w, "url", i->url);
    json_kv_str(w, "alt", i->alt);
    json_kv_int(w, "position", i->position);
    json_end_object(w);
}

static enum err get_images(struct request *req)
{
    struct image *images;
    size_t count;
    enum err e = image_list(req->db, req->param_id, &images, &count);
    return e ? e : request_all(req, images, count, view_image);
}

struct image_query {
    Str alt;
};
static const struct field image_query_fields[] = {
    {"alt", FIELD_LINE, OPTIONAL, offsetof(struct image_query, alt), .max = IMAGE_ALT_MAX},
    {0},
};
static const struct shape image_query = {image_query_fields, sizeof(struct image_query)};

static enum err post_image(struct request *req)
{
    const struct image_query *q = req->query;
    struct image made;
    enum err e = image_add(req->db, req->param_id, req->raw_body, q->alt, &made);
    if (e == ERR_FIELD_FORMAT || e == ERR_FIELD_TOO_MANY) return request_bad_field(req, "body", e);
    if (e) return e;
    view_image(&req->out, &made);
    request_created(req, "/api/admin/images", made.id);
    return admin_audit(req, "image.create", made.id, made.url, (Str){0}, admin_json(req, view_image, &made));
}

struct image_body {
    Str alt;
    int64_t position;
    bool has_alt, has_position;
};
static const struct field image_fields[] = {
    {"alt", FIELD_LINE, OPTIONAL, offsetof(struct image_body, alt), .max = IMAGE_ALT_MAX,
     .has = offsetof(struct image_body, has_alt)},
    {"position", FIELD_INT, OPTIONAL, offsetof(struct image_body, position), .min = 0, .max = 1000000,
     .has = offsetof(struct image_body, has_position)},
    {0},
};
static const struct shape image_shape = {image_fields, sizeof(struct image_body)};

static enum err patch_image(struct request *req)
{
    const struct image_body *in = req->body;
    struct image before, after;
    enum err e = image_find(req->db, req->param_id, &before);
    if (e) return e;
    after = before;
    if (in->has_alt) after.alt = in->alt;
    if (in->has_position) after.position = in->position;
    e = image_update(req->db, &after);
    if (e) return e;
    view_image(&req->out, &after);
    return admin_audit(req, "image.update", after.id, after.url, admin_json(req, view_image, &before),
                       admin_json(req, view_image, &after));
}

static enum err delete_image(struct request *req)
{
    struct image before;
    enum err e = image_find(req->db, req->param_id, &before);
    if (!e) e = image_delete(req->db, before.id);
    if (e) return e;
    return admin_audit(req, "image.delete", before.id, before.url, admin_json(req, view_image, &before), (Str){0});
}

const struct route admin_images_routes[] = {
    {"GET", "/api/admin/products/{id}/images", SCOPE_ADMIN, TX_READ, NULL, get_images},
    {"POST", "/api/admin/products/{id}/images", SCOPE_ADMIN, TX_WRITE, NULL, post_image, RAW_BODY,
     .query = &image_query, .body_bytes_max = IMAGE_BYTES_MAX},
    {"PATCH", "/api/admin/images/{id}", SCOPE_ADMIN, TX_WRITE, &image_shape, patch_image},
    {"DELETE", "/api/admin/images/{id}", SCOPE_ADMIN, TX_WRITE, NULL, delete_image},
    {0},
};
