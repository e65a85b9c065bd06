/* api/admin/admin_checklist.c - what a new store still needs. */
#include "api/admin/audit_trail.h"
#include "api/tables.h"
#include "domain/checklist.h"
#include "serve/app.h"

static void view_checklist(struct json_writer *w, const void *thing)
{
    const bool *is_done = thing;
    json_begin_array(w);
    for (int i = 0; i < CHECKLIST_COUNT; i++) {
        json_begin_object(w);
        json_kv_cstr(w, "item", checklist_item_names[i]);
        json_kv_bool(w, "is_done", is_done[i]);
        json_end_object(w);
    }
    json_end_array(w);
}

/* One item of it, for the audit. */
struct ticked {
    int item;
    bool is_done;
};

static void view_ticked(struct json_writer *w, const void *thing)
{
    const struct ticked *t = thing;
    json_begin_object(w);
    json_kv_cstr(w, "item", checklist_item_names[t->item]);
    json_kv_bool(w, "is_done", t->is_done);
    json_end_object(w);
}

static enum err read_it(struct request *req, bool ret[CHECKLIST_COUNT])
{
    return checklist_read(req->db, req->app->options.base_url[0], ret);
}

static enum err get_checklist(struct request *req)
{
    bool is_done[CHECKLIST_COUNT];
    enum err e = read_it(req, is_done);
    if (!e) view_checklist(&req->out, is_done);
    return e;
}

struct checklist_body {
    int item;
    bool is_done;
};
static const struct field checklist_fields[] = {
    {"item", FIELD_CHOICE, REQUIRED, offsetof(struct checklist_body, item), .choices = checklist_item_names},
    {"is_done", FIELD_BOOL, REQUIRED, offsetof(struct checklist_body, is_done)},
    {0},
};
static const struct shape checklist_shape = {checklist_fields, sizeof(struct checklist_body)};

static enum err patch_checklist(struct request *req)
{
    const struct checklist_body *in = req->body;
    bool before[CHECKLIST_COUNT], after[CHECKLIST_COUNT];
    enum err e = read_it(req, before);
    if (!e) e = checklist_set(req->db, (enum checklist_item)in->item, in->is_done);
    if (!e) e = read_it(req, after);
    if (e) return e;
    view_checklist(&req->out, after);
    const struct ticked was = {in->item, before[in->item]}, is = {in->item, after[in->item]};
    return admin_audit(req, "settings.checklist", (Id){0}, str_from(checklist_item_names[in->item]),
                       admin_json(req, view_ticked, &was), admin_json(req, view_ticked, &is));
}

const struct route admin_checklist_routes[] = {
    {"GET", "/api/admin/checklist", SCOPE_ADMIN, TX_READ, NULL, get_checklist},
    {"PATCH", "/api/admin/checklist", SCOPE_ADMIN, TX_WRITE, &checklist_shape, patch_checklist, OWNER_ONLY},
    {0},
};
