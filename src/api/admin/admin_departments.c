/* api/admin/admin_departments.c - the departments that tickets go to. */
#include "api/admin/audit_trail.h"
#include "api/tables.h"
#include "domain/department.h"

static void view_department_staff(struct json_writer *w, const void *thing)
{
    const struct department *d = thing;
    json_begin_object(w);
    json_kv_id(w, "id", d->id);
    json_kv_str(w, "name", d->name);
    json_kv_bool(w, "is_active", d->is_active);
    json_end_object(w);
}

static enum err get_departments(struct request *req)
{
    struct department *items;
    size_t count;
    enum err e = department_list(req->db, false, &items, &count);
    return e ? e : request_all(req, items, count, view_department_staff);
}

static enum err get_department(struct request *req)
{
    struct department d;
    enum err e = department_find(req->db, req->param_id, &d);
    if (e) return e;
    view_department_staff(&req->out, &d);
    return OK;
}

struct department_body {
    Str name;
    bool is_active, has_name, has_is_active;
};
#define DEPARTMENT(member) offsetof(struct department_body, member)
#define DEPARTMENT_FIELDS(needed)                                                                                      \
    {"name", FIELD_LINE, needed, DEPARTMENT(name), .min = 1, .max = 100, .has = DEPARTMENT(has_name)},                 \
    {                                                                                                                  \
        "is_active", FIELD_BOOL, OPTIONAL, DEPARTMENT(is_active), .has = DEPARTMENT(has_is_active)                     \
    }
static const struct field department_fields[] = {DEPARTMENT_FIELDS(REQUIRED), {0}};
static const struct shape department_shape = {department_fields, sizeof(struct department_body)};
static const struct field department_patch_fields[] = {DEPARTMENT_FIELDS(OPTIONAL), {0}};
static const struct shape department_patch = {department_patch_fields, sizeof(struct department_body)};

static enum err post_department(struct request *req)
{
    const struct department_body *in = req->body;
    struct department made;
    enum err e = department_create(req->db, in->name, in->has_is_active ? in->is_active : true, &made);
    if (e) return e;
    view_department_staff(&req->out, &made);
    request_created(req, "/api/admin/departments", made.id);
    return admin_audit(req, "department.create", made.id, made.name, (Str){0},
                       admin_json(req, view_department_staff, &made));
}

static enum err patch_department(struct request *req)
{
    const struct department_body *in = req->body;
    struct department before, after;
    enum err e = department_find(req->db, req->param_id, &before);
    if (e) return e;
    after = before;
    if (in->has_name) after.name = in->name;
    if (in->has_is_active) after.is_active = in->is_active;
    e = department_update(req->db, &after);
    if (e) return e;
    view_department_staff(&req->out, &after);
    return admin_audit(req, "department.update", after.id, after.name, admin_json(req, view_department_staff, &before),
                       admin_json(req, view_department_staff, &after));
}

static enum err delete_department(struct request *req)
{
    struct department before;
    enum err e = department_find(req->db, req->param_id, &before);
    if (!e) e = department_delete(req->db, req->param_id);
    if (e) return e;
    return admin_audit(req, "department.delete", before.id, before.name,
                       admin_json(req, view_department_staff, &before), (Str){0});
}

const struct route admin_departments_routes[] = {
    {"GET", "/api/admin/departments", SCOPE_ADMIN, TX_READ, NULL, get_departments},
    {"POST", "/api/admin/departments", SCOPE_ADMIN, TX_WRITE, &department_shape, post_department, IDEMPOTENT},
    {"GET", "/api/admin/departments/{id}", SCOPE_ADMIN, TX_READ, NULL, get_department},
    {"PATCH", "/api/admin/departments/{id}", SCOPE_ADMIN, TX_WRITE, &department_patch, patch_department},
    {"DELETE", "/api/admin/departments/{id}", SCOPE_ADMIN, TX_WRITE, NULL, delete_department},
    {0},
};
