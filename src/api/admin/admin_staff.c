/* api/admin/admin_staff.c - staff, for owners. */
#include "api/admin/audit_trail.h"
#include "api/tables.h"
#include "domain/mail.h"
#include "domain/password.h"
#include "domain/staff.h"
#include "domain/totp.h"
#include "view/view_account.h"

static void view_member(struct json_writer *w, const void *thing)
{
    const struct staff_member *m = thing;
    json_begin_object(w);
    json_kv_id(w, "id", m->account.id);
    json_kv_str(w, "email", m->account.email);
    json_kv_str(w, "name", m->account.name);
    json_kv_cstr(w, "role", role_names[m->account.role]);
    json_kv_bool(w, "is_active", m->account.is_active);
    json_kv_bool(w, "totp_is_on", m->totp_is_on);
    json_kv_time(w, "created_at", m->account.created_at);
    json_end_object(w);
}

static const struct list member_rows = {LIST_ROWS(struct staff_member, account.id), .view = view_member};

static enum err get_staff_list(struct request *req)
{
    struct list_page page;
    struct staff_member *members;
    enum err e = request_page(req, &page);
    if (!e) e = staff_list(req->db, page.after_id, page.ask, &members, &page.found);
    return e ? e : request_list(req, &page, &member_rows, members);
}

static enum err get_staff(struct request *req)
{
    struct staff_member m;
    enum err e = staff_find(req->db, req->param_id, &m);
    if (e) return e;
    view_member(&req->out, &m);
    return OK;
}

#define STAFF_ROLES (role_names + ROLE_STAFF) /* staff, owner */

struct staff_body {
    Str email, name, password;
    int role;
    bool has_name, has_role, is_active, has_is_active, has_password;
    Str password_hash; /* made on the pool */
};

static const struct field staff_fields[] = {
    {"email", FIELD_EMAIL, REQUIRED, offsetof(struct staff_body, email)},
    {"name", FIELD_LINE, OPTIONAL, offsetof(struct staff_body, name), .max = 100},
    {"role", FIELD_CHOICE, REQUIRED, offsetof(struct staff_body, role), .choices = STAFF_ROLES},
    {"password", FIELD_SECRET, REQUIRED, offsetof(struct staff_body, password), .min = PASSWORD_MIN,
     .max = PASSWORD_MAX},
    {0},
};
static const struct shape staff_shape = {staff_fields, sizeof(struct staff_body)};

static const struct field staff_patch_fields[] = {
    {"name", FIELD_LINE, OPTIONAL, offsetof(struct staff_body, name), .max = 100,
     .has = offsetof(struct staff_body, has_name)},
    {"role", FIELD_CHOICE, OPTIONAL, offsetof(struct staff_body, role), .choices = STAFF_ROLES,
     .has = offsetof(struct staff_body, has_role)},
    {"is_active", FIELD_BOOL, OPTIONAL, offsetof(struct staff_body, is_active),
     .has = offsetof(struct staff_body, has_is_active)},
    {"password", FIELD_SECRET, OPTIONAL, offsetof(struct staff_body, password), .min = PASSWORD_MIN,
     .max = PASSWORD_MAX, .has = offsetof(struct staff_body, has_password)},
    {0},
};
static const struct shape staff_patch = {staff_patch_fields, sizeof(struct staff_body)};

static enum role role_of(int choice)
{
    return (enum role)(ROLE_STAFF + choice);
}

static enum err staff_write(struct request *req, const Str *hash)
{
    const struct staff_body *in = req->body;
    struct account want = {.email = in->email, .name = in->name, .role = role_of(in->role), .password_hash = *hash};
    struct staff_member made = {0};
    enum err e = account_create(req->db, &want, req->now, &made.account);
    if (e) return e;
    view_member(&req->out, &made);
    request_created(req, "/api/admin/staff", made.account.id);
    return admin_audit(req, "staff.create", made.account.id, made.account.email, (Str){0},
                       admin_json(req, view_member, &made));
}
REQUEST_STEP(staff_write);

static enum err post_staff(struct request *req)
{
    const struct staff_body *in = req->body;
    Str hash = password_hash(req->arena, in->password);
    if (!hash.len) return ERR_UNAVAILABLE;
    return request_step(req, TX_WRITE, staff_write, &hash);
}

static enum err staff_patch_write(struct request *req, const Str *hash)
{
    const struct staff_body *in = req->body;
    struct staff_member before, after;
    enum err e = staff_find(req->db, req->param_id, &before);
    if (e) return e;
    struct staff_change change = {
        .name = in->name,
        .has_name = in->has_name,
        .role = in->has_role ? role_of(in->role) : ROLE_NONE,
        .is_active = in->is_active,
        .has_is_active = in->has_is_active,
    };
    e = staff_change(req->db, req->param_id, &change);
    if (!e && hash->len) e = account_set_password(req->db, req->param_id, *hash, true, req->now);
    if (!e && hash->len) e = mail_notice(req->db, req->param_id, MAIL_password_changed, req->now);
    if (!e) e = staff_find(req->db, req->param_id, &after);
    if (e) return e;
    view_member(&req->out, &after);
    return admin_audit(req, hash->len ? "staff.update_password" : "staff.update", req->param_id, after.account.email,
                       admin_json(req, view_member, &before), admin_json(req, view_member, &after));
}
REQUEST_STEP(staff_patch_write);

static enum err patch_staff(struct request *req)
{
    const struct staff_body *in = req->body;
    Str hash = {0};
    if (in->has_password && id_eq(req->param_id, req->account))
        return ERR_OWN_ACCOUNT; /* that is /api/auth/password, which asks for the old one */
    if (in->has_password) {
        hash = password_hash(req->arena, in->password);
        if (!hash.len) return ERR_UNAVAILABLE;
    }
    return request_step(req, TX_WRITE, staff_patch_write, &hash);
}

static enum err delete_staff(struct request *req)
{
    struct staff_member m;
    enum err e = staff_find(req->db, req->param_id, &m);
    if (!e) e = staff_remove(req->db, req->param_id);
    if (e) return e;
    return admin_audit(req, "staff.delete", req->param_id, m.account.email, admin_json(req, view_member, &m), (Str){0});
}

/* For a member of staff who has lost the device and the recovery codes. */
static enum err delete_staff_totp(struct request *req)
{
    struct staff_member m;
    if (id_eq(req->param_id, req->account)) return ERR_OWN_ACCOUNT;
    enum err e = staff_find(req->db, req->param_id, &m);
    if (e) return e;
    if (!m.totp_is_on) return ERR_INVALID_STATE;
    e = totp_remove(req->db, req->param_id);
    if (!e) e = mail_notice(req->db, req->param_id, MAIL_second_factor_off, req->now);
    if (e) return e;
    return admin_audit(req, "staff.totp_reset", req->param_id, m.account.email, (Str){0}, (Str){0});
}

static const struct list session_rows = {LIST_ROWS(struct token, id), .view = view_session};

static enum err get_staff_sessions(struct request *req)
{
    struct list_page page;
    struct staff_member m;
    struct token *tokens;
    enum err e = request_page(req, &page);
    if (!e) e = staff_find(req->db, req->param_id, &m);
    if (!e) e = token_list_logins(req->db, req->param_id, page.after_id, page.ask, &tokens, &page.found);
    return e ? e : request_list(req, &page, &session_rows, tokens);
}

/* For a lost laptop: its sessions end at once. */
static enum err delete_staff_sessions(struct request *req)
{
    struct staff_member m;
    enum err e = staff_find(req->db, req->param_id, &m);
    if (!e) e = token_end_logins(req->db, req->param_id, id_eq(req->param_id, req->account) ? req->token_id : (Id){0});
    return e ? e : admin_audit(req, "staff.end_sessions", req->param_id, m.account.email, (Str){0}, (Str){0});
}

const struct route admin_staff_routes[] = {
    {"GET", "/api/admin/staff", SCOPE_ADMIN, TX_READ, NULL, get_staff_list, OWNER_ONLY, .query = &list_query_shape},
    {"POST", "/api/admin/staff", SCOPE_ADMIN, TX_SELF, &staff_shape, post_staff, OWNER_ONLY | SENSITIVE | IDEMPOTENT},
    {"GET", "/api/admin/staff/{id}", SCOPE_ADMIN, TX_READ, NULL, get_staff, OWNER_ONLY},
    {"PATCH", "/api/admin/staff/{id}", SCOPE_ADMIN, TX_SELF, &staff_patch, patch_staff, OWNER_ONLY | SENSITIVE},
    {"DELETE", "/api/admin/staff/{id}", SCOPE_ADMIN, TX_WRITE, NULL, delete_staff, OWNER_ONLY | SENSITIVE},
    {"DELETE", "/api/admin/staff/{id}/totp", SCOPE_ADMIN, TX_WRITE, NULL, delete_staff_totp, OWNER_ONLY | SENSITIVE},
    {"GET", "/api/admin/staff/{id}/sessions", SCOPE_ADMIN, TX_READ, NULL, get_staff_sessions, OWNER_ONLY,
     .query = &list_query_shape},
    {"DELETE", "/api/admin/staff/{id}/sessions", SCOPE_ADMIN, TX_WRITE, NULL, delete_staff_sessions,
     OWNER_ONLY | SENSITIVE},
    {0},
};
