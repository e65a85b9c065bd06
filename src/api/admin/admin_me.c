/* api/admin/admin_me.c - the caller's own second factor. The password is changed in open/confirm.c. */
#include "api/admin/audit_trail.h"
#include "api/proof.h"
#include "api/tables.h"
#include "domain/account.h"
#include "domain/mail.h"
#include "domain/settings.h"
#include "domain/totp.h"
#include "page/qr.h"

static enum err post_totp(struct request *req)
{
    struct account a;
    struct totp_setup setup;
    enum err e = account_find(req->db, req->account, &a);
    if (!e) e = totp_begin(req->db, req->account, a.email, str_from(req->settings->store_name), &setup);
    if (e) return e;
    json_begin_object(&req->out);
    json_kv_str(&req->out, "secret", setup.secret);
    json_kv_str(&req->out, "uri", setup.uri);
    json_key(&req->out, "qr");
    struct qr qr;
    if (qr_draw(req->arena, setup.uri, &qr)) {
        json_begin_object(&req->out);
        json_kv_int(&req->out, "size", qr.size);
        json_kv_str(&req->out, "path", qr.path);
        json_end_object(&req->out);
    } else {
        json_null(&req->out);
    }
    json_end_object(&req->out);
    return admin_audit(req, "staff.totp_begin", req->account, a.email, (Str){0}, (Str){0});
}

struct code_body {
    Str code;
};
static const struct field code_fields[] = {
    {"code", FIELD_LINE, REQUIRED, offsetof(struct code_body, code), .min = 6, .max = 20},
    {0},
};
static const struct shape code_shape = {code_fields, sizeof(struct code_body)};

static enum err post_totp_confirm(struct request *req)
{
    const struct code_body *in = req->body;
    Str codes[TOTP_RECOVERY_CODES];
    enum err e = code_guess_begin(req);
    if (e) return e;
    e = totp_confirm(req->db, req->account, in->code, req->now, codes);
    code_guess_end(req, e);
    if (e == ERR_CREDENTIALS_INVALID) return request_bad_field(req, "code", ERR_FIELD_VALUE);
    if (e) return e;
    json_begin_object(&req->out);
    json_key(&req->out, "recovery_codes");
    json_begin_array(&req->out);
    for (int i = 0; i < TOTP_RECOVERY_CODES; i++) json_str(&req->out, codes[i]);
    json_end_array(&req->out);
    json_end_object(&req->out);
    return admin_audit(req, "staff.totp_on", req->account, (Str){0}, (Str){0}, (Str){0});
}

/* A code of the factor itself is required: a stolen session alone cannot switch it off. */
static enum err post_totp_remove(struct request *req)
{
    const struct code_body *in = req->body;
    bool is_on;
    enum err e = totp_is_on(req->db, req->account, &is_on);
    if (e) return e;
    if (!is_on) return ERR_INVALID_STATE;
    e = code_guess_begin(req);
    if (e) return e;
    e = totp_take(req->db, req->account, in->code, req->now);
    code_guess_end(req, e);
    if (e == ERR_CREDENTIALS_INVALID) return request_bad_field(req, "code", ERR_FIELD_VALUE);
    if (!e) e = totp_remove(req->db, req->account);
    if (!e) e = mail_notice(req->db, req->account, MAIL_second_factor_off, req->now);
    if (e) return e;
    return admin_audit(req, "staff.totp_off", req->account, (Str){0}, (Str){0}, (Str){0});
}

const struct route admin_me_routes[] = {
    {"POST", "/api/admin/me/totp", SCOPE_ADMIN, TX_WRITE, NULL, post_totp, SENSITIVE},
    {"POST", "/api/admin/me/totp/confirm", SCOPE_ADMIN, TX_WRITE, &code_shape, post_totp_confirm, SENSITIVE},
    {"POST", "/api/admin/me/totp/remove", SCOPE_ADMIN, TX_WRITE, &code_shape, post_totp_remove, SENSITIVE},
    {0},
};
