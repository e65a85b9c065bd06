/* api/open/sessions.c - where an account is logged in, and ending those logins. */
#include "api/proof.h"
#include "api/tables.h"
#include "domain/token.h"
#include "view/view_account.h"

static enum err show_session(struct request *req, const void *row)
{
    const struct token *t = row;
    json_begin_object(&req->out);
    view_session_members(&req->out, t);
    json_kv_bool(&req->out, "is_current", id_eq(t->id, req->token_id));
    json_end_object(&req->out);
    return OK;
}

static const struct list session_rows = {LIST_ROWS(struct token, id), .show = show_session};

static enum err get_sessions(struct request *req)
{
    struct list_page page;
    struct token *tokens;
    enum err e = request_page(req, &page);
    if (!e) e = token_list_logins(req->db, req->account, page.after_id, page.ask, &tokens, &page.found);
    return e ? e : request_list(req, &page, &session_rows, tokens);
}

static enum err note(struct request *req, const char *action)
{
    struct account a;
    enum err e = account_find(req->db, req->account, &a);
    return e ? e : auth_event(req, action, &a);
}

/* All but the caller's own. */
static enum err delete_sessions(struct request *req)
{
    enum err e = token_end_logins(req->db, req->account, req->token_id);
    return e ? e : note(req, "end_sessions");
}

static enum err delete_session(struct request *req)
{
    enum err e = token_end_login(req->db, req->account, req->param_id);
    return e ? e : note(req, "end_session");
}

const struct route sessions_routes[] = {
    {"GET", "/api/auth/sessions", SCOPE_LOGIN, TX_READ, NULL, get_sessions, .query = &list_query_shape},
    {"DELETE", "/api/auth/sessions", SCOPE_LOGIN, TX_WRITE, NULL, delete_sessions},
    {"DELETE", "/api/auth/sessions/{id}", SCOPE_LOGIN, TX_WRITE, NULL, delete_session},
    {0},
};
