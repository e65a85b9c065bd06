/* api/open/setup.c - the first owner. The link with the one-time token is printed when the server starts on a database
 * that has no owner; one caller wins, and from then on the answer is 404. */
#include "api/tables.h"
#include "domain/audit.h"
#include "domain/password.h"
#include "domain/staff.h"
#include "serve/app.h"
#include "serve/limit.h"
#include "serve/render.h"
#include "view/view_account.h"

struct setup_body {
    Str token, email, password, name;
};

static const struct field setup_fields[] = {
    {"token", FIELD_LINE, REQUIRED, offsetof(struct setup_body, token), .min = 1, .max = 100},
    {"email", FIELD_EMAIL, REQUIRED, offsetof(struct setup_body, email)},
    {"password", FIELD_SECRET, REQUIRED, offsetof(struct setup_body, password), .min = PASSWORD_MIN,
     .max = PASSWORD_MAX},
    {"name", FIELD_LINE, OPTIONAL, offsetof(struct setup_body, name), .max = 100},
    {0},
};
static const struct shape setup_shape = {setup_fields, sizeof(struct setup_body)};

static enum err get_setup(struct request *req)
{
    bool needed;
    enum err e = setup_is_needed(req->db, &needed);
    if (e) return e;
    json_begin_object(&req->out);
    json_kv_bool(&req->out, "is_needed", needed);
    json_end_object(&req->out);
    return OK;
}

static enum err setup_write(struct request *req, const Str *hash)
{
    const struct setup_body *in = req->body;
    struct account want = {.email = in->email, .name = in->name, .role = ROLE_OWNER, .password_hash = *hash};
    struct account owner;
    enum err e = setup_finish(req->db, in->token, &want, req->now, &owner);
    if (e) return e;
    struct audit_entry entry = {.actor = owner.id,
                                .action = STR("staff.setup"),
                                .resource = owner.id,
                                .label = owner.email,
                                .request_id = req->id,
                                .address = req->exchange->peer,
                                .created_at = req->now};
    e = audit_add(req->db, &entry);
    if (e) return e;
    req->status = 201;
    req->answer->location = STR("/api/auth/me");
    json_begin_object(&req->out);
    json_key(&req->out, "account");
    view_account(&req->out, &owner);
    json_end_object(&req->out);
    return OK;
}
REQUEST_STEP(setup_write);

static enum err setup_look(struct request *req)
{
    bool needed;
    enum err e = setup_is_needed(req->db, &needed);
    return e ? e : needed ? OK : ERR_NOT_FOUND;
}

static enum err post_setup(struct request *req)
{
    const struct setup_body *in = req->body;
    enum err e = request_tx(req, TX_READ, setup_look);
    if (e) return e;
    Str hash = password_hash(req->arena, in->password);
    if (!hash.len) return ERR_UNAVAILABLE;
    return request_step(req, TX_WRITE, setup_write, &hash);
}

const struct route setup_routes[] = {
    {"GET", "/api/setup", SCOPE_NONE, TX_READ, NULL, get_setup},
    {"POST", "/api/setup", SCOPE_NONE, TX_SELF, &setup_shape, post_setup},
    {0},
};
