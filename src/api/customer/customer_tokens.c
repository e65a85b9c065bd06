/* api/customer/customer_tokens.c - a customer's named tokens. The text of a token is in one answer only: the one that
 * made it.
 */
#include "api/tables.h"
#include "api/token_body.h"
#include "serve/request.h"
#include "view/view_account.h"

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

/* Nobody hands on more than he has. */
static enum err post_token(struct request *req)
{
    struct token want, made;
    enum err e = token_of_body(req, req->account, req->scopes, &want);
    if (!e) e = token_give(req, &want, &made);
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
