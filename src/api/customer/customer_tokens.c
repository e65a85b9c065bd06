/* api/customer/customer_tokens.c - a customer's named tokens. The text of a token is shown once, when it is made. */
#include "api/tables.h"
#include "api/token_body.h"
#include "serve/request.h"
#include "view/view_account.h"

static enum err show_token(struct request *req, const void *row)
{
    const struct token *t = row;
    json_begin_object(&req->out);
    view_token_members(&req->out, t);
    json_kv_bool(&req->out, "is_current", id_eq(t->id, req->token_id));
    json_end_object(&req->out);
    return OK;
}

static const struct list token_rows = {LIST_ROWS(struct token, id), .show = show_token};

static enum err get_tokens(struct request *req)
{
    struct list_page page;
    struct token *tokens;
    enum err e = request_page(req, &page);
    if (!e) e = token_list(req->db, req->account, page.after_id, page.ask, &tokens, &page.found);
    return e ? e : request_list(req, &page, &token_rows, tokens);
}

/* Nobody can pass on more rights than they have, nor for longer: a stolen token would never end. */
static enum err end_with_maker(struct request *req, struct token *want)
{
    Time end = req->token_ends_at;
    if (req->token_kind != TOKEN_API || !time_is(end)) return OK;
    if (!time_is(want->expires_at)) want->expires_at = end;
    return want->expires_at.ms > end.ms ? request_bad_field(req, "expires_at", ERR_FIELD_RANGE) : OK;
}

static enum err post_token(struct request *req)
{
    struct token want, made;
    enum err e = token_of_body(req, req->account, req->scopes, &want);
    if (!e) e = end_with_maker(req, &want);
    if (!e) e = token_give(req, &want, &made);
    if (!e) e = token_audit(req, "token_create", made.scopes);
    if (e) return e;
    request_created(req, "/api/customer/tokens", made.id);
    return OK;
}

static enum err delete_token(struct request *req)
{
    unsigned scopes;
    enum err e = token_revoke(req->db, req->account, req->param_id, &scopes);
    return e ? e : token_audit(req, "token_revoke", scopes);
}

const struct route customer_tokens_routes[] = {
    {"GET", "/api/customer/tokens", SCOPE_CUSTOMER, TX_READ, NULL, get_tokens, .query = &list_query_shape},
    {"POST", "/api/customer/tokens", SCOPE_CUSTOMER, TX_WRITE, &token_body_shape, post_token, IDEMPOTENT},
    {"DELETE", "/api/customer/tokens/{id}", SCOPE_CUSTOMER, TX_WRITE, NULL, delete_token},
    {0},
};
