/* api/admin/admin_licenses.c - licences: search, grant, revoke, reinstate, unbind, extend.
 *
 * Keys are masked. Only two answers hold the whole key, each with its audit row: the grant, and the one that reveals
 * it. */
#include "api/admin/audit_trail.h"
#include "api/admin/desk.h"
#include "api/tables.h"
#include "domain/account.h"
#include "domain/license.h"
#include "domain/sealed_code.h"
#include "view/view_staff.h"

static void mask(struct request *req, struct license *l)
{
    l->key = code_mask(req->arena, l->key);
}

static const struct list license_rows = {LIST_ROWS(struct license, id), .view = view_license_staff};

static enum err get_licenses(struct request *req)
{
    const struct search_query *q = req->query;
    struct list_page page;
    struct license *items;
    enum err e = request_page(req, &page);
    if (!e) e = license_search(req->db, q->q, page.after_id, page.ask, &items, &page.found);
    if (e) return e;
    for (size_t i = 0; i < page.found; i++) mask(req, &items[i]);
    return request_list(req, &page, &license_rows, items);
}

static enum err get_license(struct request *req)
{
    struct license l;
    enum err e = license_find(req->db, req->param_id, &l);
    if (e) return e;
    mask(req, &l);
    view_license_staff(&req->out, &l);
    return OK;
}

struct issue_body {
    Id product_id, variant_id, customer_id;
    Time expires_at;
};
static const struct field issue_fields[] = {
    {"product_id", FIELD_ID, REQUIRED, offsetof(struct issue_body, product_id)},
    {"variant_id", FIELD_ID, OPTIONAL, offsetof(struct issue_body, variant_id)},
    {"customer_id", FIELD_ID, REQUIRED, offsetof(struct issue_body, customer_id)},
    {"expires_at", FIELD_TIME, OPTIONAL, offsetof(struct issue_body, expires_at)},
    {0},
};
static const struct shape issue_shape = {issue_fields, sizeof(struct issue_body)};

/* The product or its variant is unknown; the customer is looked up as well, so that one answer names everything that is
 * wrong. */
static enum err refuse_license(struct request *req, const char *field)
{
    const struct issue_body *in = req->body;
    struct account a;
    request_bad_field(req, field, ERR_FIELD_NOT_FOUND);
    enum err e = account_find(req->db, in->customer_id, &a);
    if (e == ERR_NOT_FOUND) return request_bad_field(req, "customer_id", ERR_FIELD_NOT_FOUND);
    return e ? e : ERR_VALIDATION;
}

static enum err post_license(struct request *req)
{
    const struct issue_body *in = req->body;
    struct license made;
    enum err e = desk_is_others(req, in->customer_id);
    if (e) return e;
    e = license_issue(req->db, in->product_id, in->variant_id, in->customer_id, in->expires_at, req->now, &made);
    if (e == ERR_PRODUCT_NOT_FOUND) return refuse_license(req, "product_id");
    if (e == ERR_FIELD_NOT_FOUND) return refuse_license(req, "variant_id");
    if (e == ERR_NOT_FOUND) return request_bad_field(req, "customer_id", ERR_FIELD_NOT_FOUND);
    if (e) return e;
    view_license_staff(&req->out, &made);
    request_created(req, "/api/admin/licenses", made.id);
    mask(req, &made);
    return admin_audit(req, "license.issue", made.id, made.email, (Str){0}, admin_json(req, view_license_staff, &made));
}

static enum err post_reveal(struct request *req)
{
    struct license l;
    enum err e = license_find(req->db, req->param_id, &l);
    if (!e) e = desk_may_reveal(req);
    if (e) return e;
    view_license_staff(&req->out, &l);
    return admin_audit(req, "license.reveal", l.id, l.email, (Str){0}, (Str){0});
}

enum err desk_license(struct request *req, Id license, const char *action, enum err (*act)(struct request *req, Id id),
                      struct license *ret)
{
    struct license before;
    enum err e = license_find(req->db, license, &before);
    if (!e) e = desk_is_others(req, before.account_id);
    if (!e) e = act(req, license);
    if (!e) e = license_find(req->db, license, ret);
    if (e) return e;
    mask(req, &before);
    mask(req, ret);
    return admin_audit(req, action, license, ret->email, admin_json(req, view_license_staff, &before),
                       admin_json(req, view_license_staff, ret));
}

static enum err change(struct request *req, const char *action, enum err (*act)(struct request *req, Id id))
{
    struct license after;
    enum err e = desk_license(req, req->param_id, action, act, &after);
    if (!e) view_license_staff(&req->out, &after);
    return e;
}

struct expiry_body {
    Time expires_at;
    bool has_expires_at;
};
static const struct field expiry_fields[] = {
    {"expires_at", FIELD_TIME, NULLABLE, offsetof(struct expiry_body, expires_at),
     .has = offsetof(struct expiry_body, has_expires_at)},
    {0},
};
static const struct shape expiry_shape = {expiry_fields, sizeof(struct expiry_body)};

static enum err act_expiry(struct request *req, Id id)
{
    const struct expiry_body *in = req->body;
    return in->has_expires_at ? license_set_expiry(req->db, id, in->expires_at) : OK;
}

struct reason_body {
    Str reason;
};
static const struct field reason_fields[] = {
    {"reason", FIELD_LINE, OPTIONAL, offsetof(struct reason_body, reason), .max = 500},
    {0},
};
static const struct shape reason_shape = {reason_fields, sizeof(struct reason_body)};

static enum err act_revoke(struct request *req, Id id)
{
    const struct reason_body *in = req->body;
    return license_revoke(req->db, id, in->reason, req->now);
}

static enum err act_reinstate(struct request *req, Id id)
{
    return license_reinstate(req->db, id, req->now);
}
static enum err act_clear(struct request *req, Id id)
{
    return license_clear_hardware(req->db, id, req->now);
}
static enum err act_replace(struct request *req, Id id)
{
    return license_replace_key(req->db, id, req->now);
}

static enum err patch_license(struct request *req)
{
    return change(req, "license.update", act_expiry);
}
static enum err post_revoke(struct request *req)
{
    return change(req, "license.revoke", act_revoke);
}
static enum err post_reinstate(struct request *req)
{
    return change(req, "license.reinstate", act_reinstate);
}
static enum err post_clear(struct request *req)
{
    return change(req, "license.clear_hardware", act_clear);
}
static enum err post_replace(struct request *req)
{
    return change(req, "license.replace_key", act_replace);
}

const struct route admin_licenses_routes[] = {
    {"GET", "/api/admin/licenses", SCOPE_ADMIN, TX_READ, NULL, get_licenses, .query = &search_query_shape},
    {"POST", "/api/admin/licenses", SCOPE_ADMIN, TX_WRITE, &issue_shape, post_license, IDEMPOTENT},
    {"GET", "/api/admin/licenses/{id}", SCOPE_ADMIN, TX_READ, NULL, get_license},
    {"POST", "/api/admin/licenses/{id}/reveal", SCOPE_ADMIN, TX_WRITE, NULL, post_reveal},
    {"PATCH", "/api/admin/licenses/{id}", SCOPE_ADMIN, TX_WRITE, &expiry_shape, patch_license},
    {"POST", "/api/admin/licenses/{id}/revoke", SCOPE_ADMIN, TX_WRITE, &reason_shape, post_revoke},
    {"POST", "/api/admin/licenses/{id}/reinstate", SCOPE_ADMIN, TX_WRITE, NULL, post_reinstate},
    {"POST", "/api/admin/licenses/{id}/clear-hardware", SCOPE_ADMIN, TX_WRITE, NULL, post_clear},
    {"POST", "/api/admin/licenses/{id}/replace-key", SCOPE_ADMIN, TX_WRITE, NULL, post_replace, IDEMPOTENT},
    {0},
};
