/* api/admin/admin_product_files.c - the file that a product delivers. Its bytes go to disk as they arrive; the product
 * points to the file only once it is complete. */
#include "api/admin/audit_trail.h"
#include "api/tables.h"
#include "domain/product.h"
#include "domain/upload.h"
#include "serve/app.h"

struct file_query {
    Str name;
};
static const struct field query_fields[] = {
    {"name", FIELD_LINE, OPTIONAL, offsetof(struct file_query, name), .min = 1, .max = 200},
    {0},
};
static const struct shape file_query = {query_fields, sizeof(struct file_query)};
/* Removing a file names none. */
static const struct shape no_query = {&query_fields[1], sizeof(struct file_query)};

/* What the steps pass on. */
struct file_change {
    Str key, old_key;
    int64_t bytes;
};

static void view_file(struct json_writer *w, const void *thing)
{
    const struct product *p = thing;
    json_begin_object(w);
    json_kv_id(w, "id", p->id);
    json_kv_opt_str(w, "file_name", p->file_name);
    json_kv_int(w, "file_bytes", p->file_bytes);
    json_kv_int(w, "version", p->version);
    json_end_object(w);
}

/* A file name for the buyer's disk, without folders. */
static bool name_is_plain(Str name)
{
    return str_find(name, '/') < 0 && str_find(name, '\\') < 0 && name.ptr[0] != '.';
}

static enum err put_in_place(struct request *req, struct file_change *change)
{
    const struct file_query *q = req->query;
    struct product before, after;
    enum err e = product_find(req->db, req->param_id, &before);
    if (!e) e = request_if_match(req, before.version);
    if (e) return e;
    Str name = q->name.len            ? q->name
               : before.file_name.len ? before.file_name
                                      : str_printf(req->arena, "%.*s.bin", STR_FMT(before.slug));
    change->old_key = before.file_key;
    e = product_set_file(req->db, req->param_id, change->key.len ? name : (Str){0}, change->key, change->bytes,
                         req->now, &after);
    if (e) return e;
    view_file(&req->out, &after);
    return admin_audit(req, change->key.len ? "product.file_put" : "product.file_delete", after.id, after.name,
                       admin_json(req, view_file, &before), admin_json(req, view_file, &after));
}
REQUEST_STEP(put_in_place);

static enum err put_file(struct request *req)
{
    const struct file_query *q = req->query;
    const char *data = req->app->options.data_dir;
    if (q->name.len && !name_is_plain(q->name)) return request_bad_field(req, "name", ERR_FIELD_FORMAT);
    if (req->exchange->body_failed) return ERR_UNAVAILABLE;
    if (!req->upload->bytes) return request_bad_field(req, "", ERR_FIELD_REQUIRED);
    struct file_change change = {.bytes = req->upload->bytes};
    enum err e = upload_keep(req->upload, data, req->arena, &change.key);
    if (e) return e;
    e = request_step(req, TX_WRITE, put_in_place, &change);
    /* No product points to the replaced file now. A running download has it open and can finish. */
    if (e != ERR_OUTCOME_UNKNOWN) upload_remove(data, e ? change.key : change.old_key);
    return e;
}

static enum err delete_file(struct request *req)
{
    struct file_change change = {0};
    enum err e = request_step(req, TX_WRITE, put_in_place, &change);
    if (!e) upload_remove(req->app->options.data_dir, change.old_key);
    return e;
}

const struct route admin_product_files_routes[] = {
    {"PUT", "/api/admin/products/{id}/file", SCOPE_ADMIN, TX_SELF, NULL, put_file, CONFIRMED | BODY_TO_FILE | RAW_BODY,
     .query = &file_query},
    {"DELETE", "/api/admin/products/{id}/file", SCOPE_ADMIN, TX_SELF, NULL, delete_file, CONFIRMED, .query = &no_query},
    {0},
};
