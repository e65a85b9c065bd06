/* api/customer_tokens.c - a customer's named tokens. The text of a token is in one answer only: the one that made it.
 */
#include "api/request.h"
#include "api/tables.h"
#include "api/view_account.h"

struct token_body {
    Str name;
    unsigned scopes;
    bool has_scopes;
    Time expires_at;
};

static const struct field token_fields[] = {
    {"name", FIELD_LINE, REQUIRED, offsetof(struct token_body, name), .min = 1, .max = 100},
    {"scopes", FIELD_CHOICES, OPTIONAL, offsetof(struct token_body, scopes), .min = 1, .max = 6,
     .has = offsetof(struct token_body, has_scopes), .choices = scope_names},
    {"expires_at", FIELD_TIME, OPTIONAL, offsetof(struct token_body, expires_at)},
    {0},
};
static const struct shape token_shape = {token_fields, sizeof(struct token_body)};

static enum err get_tokens(struct request *req)
{
    struct list_page page;
    enum err e = request_page(req, &page);
    if (e) return e;
    struct token *tokens;
    size_t count;
    e = token_list(req->db, req->account, page.after_id, page.limit + 1, &tokens, &count);
    if (e) return e;
    bool more = request_page_more(&page, &count);
    struct json_writer *w = &req->out;
    json_begin_array(w);
    for (size_t i = 0; i < count; i++) {
        json_begin_object(w);
        view_token_members(w, &tokens[i]);
        json_kv_bool(w, "is_current", id_eq(tokens[i].id, req->token_id));
        json_end_object(w);
    }
    json_end_array(w);
    request_page_end(req, more, 0, count ? tokens[count - 1].id : (Id){0});
    return OK;
}

static enum err post_token(struct request *req)
{
    const struct token_body *in = req->body;
    unsigned scopes = in->has_scopes ? in->scopes : req->scopes;
    /* Nobody hands on more than he has. */
    if (scopes & ~req->scopes) return request_bad_field(req, "scopes", ERR_FIELD_VALUE);
    if (time_is(in->expires_at) && in->expires_at.ms <= req->now.ms)
        return request_bad_field(req, "expires_at", ERR_FIELD_RANGE);
    struct token want = {
        .account = req->account, .kind = TOKEN_API, .name = in->name, .scopes = scopes, .expires_at = in->expires_at};
    struct token token;
    Str text;
    enum err e = token_create(req->db, &want, req->now, &token, &text);
    if (e) return e;
    struct json_writer *w = &req->out;
    json_begin_object(w);
    view_token_members(w, &token);
    json_kv_str(w, "token", text);
    json_end_object(w);
    request_created(req, "/api/customer/tokens", token.id);
    return OK;
}

static enum err delete_token(struct request *req)
{
    return token_revoke(req->db, req->account, req->param_id);
}

const struct route customer_tokens_routes[] = {
    {"GET", "/api/customer/tokens", SCOPE_CUSTOMER, TX_READ, NULL, get_tokens, .query = &list_query_shape},
    {"POST", "/api/customer/tokens", SCOPE_CUSTOMER, TX_WRITE, &token_shape, post_token, IDEMPOTENT},
    {"DELETE", "/api/customer/tokens/{id}", SCOPE_CUSTOMER, TX_WRITE, NULL, delete_token},
    {0},
};
