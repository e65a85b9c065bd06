/* api/token_body.c - see token_body.h. */
#include "api/token_body.h"

#include "api/proof.h"
#include "view/view_account.h"

static const struct field fields[] = {
    {"name", FIELD_LINE, REQUIRED, offsetof(struct token_body, name), .min = 1, .max = 100},
    {"scopes", FIELD_CHOICES, OPTIONAL, offsetof(struct token_body, scopes), .min = 1, .max = 7,
     .has = offsetof(struct token_body, has_scopes), .choices = scope_names},
    {"expires_at", FIELD_TIME, OPTIONAL, offsetof(struct token_body, expires_at)},
    {0},
};
const struct shape token_body_shape = {fields, sizeof(struct token_body)};

enum err token_of_body(struct request *req, Id account, unsigned may, struct token *ret)
{
    const struct token_body *in = req->body;
    unsigned scopes = in->has_scopes ? in->scopes : may & ~(unsigned)SCOPES_OF_POWER;
    enum err e = OK;
    if (scopes & ~may) e = request_bad_field(req, "scopes", ERR_FIELD_VALUE);
    if (!e && scopes & SCOPES_OF_POWER && !time_is(in->expires_at))
        e = request_bad_field(req, "expires_at", ERR_FIELD_REQUIRED);
    if (time_is(in->expires_at) && in->expires_at.ms <= req->now.ms)
        e = request_bad_field(req, "expires_at", ERR_FIELD_RANGE);
    if (!e && scopes & SCOPES_OF_POWER) e = request_is_confirmed(req, SENSITIVE);
    if (e) return e;
    *ret = (struct token){
        .account = account, .kind = TOKEN_API, .name = in->name, .scopes = scopes, .expires_at = in->expires_at};
    return OK;
}

enum err token_give(struct request *req, const struct token *want, struct token *ret)
{
    Str text;
    enum err e = token_create(req->db, want, req->now, ret, &text);
    if (e) return e;
    json_begin_object(&req->out);
    view_token_members(&req->out, ret);
    json_kv_str(&req->out, "token", text);
    json_end_object(&req->out);
    return OK;
}

enum err token_audit(struct request *req, const char *action, unsigned scopes)
{
    struct account a;
    if (!(scopes & SCOPES_OF_POWER)) return OK;
    enum err e = account_find(req->db, req->account, &a);
    return e ? e : auth_event(req, action, &a);
}
