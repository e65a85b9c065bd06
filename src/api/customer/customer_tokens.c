/* api/customer/customer_tokens.c - a customer's named tokens. The text of a token is shown once, when it is made. */
#include "api/proof.h"
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

/* Tokens that open the store are made and deleted with an audit row. */
static enum err audit_power(struct request *req, const char *action, const struct token *t)
{
    struct account a;
    if (!(t->scopes & SCOPES_OF_POWER)) return OK;
    enum err e = account_find(req->db, req->account, &a);
    return e ? e : auth_event(req, action, &a);
}

/* Nobody can pass on more rights than they have. */
static enum err post_token(struct request *req)
{
    struct token want, made;
    enum err e = token_of_body(req, req->account, req->scopes, &want);
    if (!e) e = token_give(req, &want, &made);
    if (!e) e = audit_power(req, "token_create", &made);
    if (e) return e;
    request_created(req, "/api/customer/tokens", made.id);
    return OK;
}

static enum err delete_token(struct request *req)
{
    return token_revoke(req->db, req->account, req->param_id);
}

const struct route customer_tokens_routes[] = {
    {"GET", "/api/customer/tokens", SCOPE_CUSTOMER, TX_READ, NULL, get_tokens, .query = &list_query_shape},
    {"POST", "/api/customer/tokens", SCOPE_CUSTOMER, TX_WRITE, &token_body_shape, post_token, IDEMPOTENT},
    {"DELETE", "/api/customer/tokens/{id}", SCOPE_CUSTOMER, TX_WRITE, NULL, delete_token},
    {0},
};
