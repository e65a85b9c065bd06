/* view/view_account.c - see view_account.h. */
#include "view/view_account.h"

void view_account_members(struct json_writer *w, const struct account *a)
{
    json_kv_id(w, "id", a->id);
    json_kv_str(w, "email", a->email);
    json_kv_str(w, "name", a->name);
    json_kv_time(w, "created_at", a->created_at);
}

void view_account(struct json_writer *w, const struct account *a)
{
    json_begin_object(w);
    view_account_members(w, a);
    json_end_object(w);
}

void view_scopes(struct json_writer *w, unsigned scopes)
{
    json_key(w, "scopes");
    json_begin_array(w);
    for (unsigned i = 0; scope_names[i]; i++)
        if (scopes & 1u << i) json_str(w, str_from(scope_names[i]));
    json_end_array(w);
}

void view_token_members(struct json_writer *w, const struct token *t)
{
    json_kv_id(w, "id", t->id);
    json_kv_cstr(w, "kind", t->kind == TOKEN_LOGIN ? "login" : "api");
    json_kv_str(w, "name", t->name);
    json_kv_str(w, "hint", t->hint);
    view_scopes(w, t->scopes);
    json_kv_time(w, "created_at", t->created_at);
    json_kv_time(w, "expires_at", t->expires_at);
}

void view_token(struct json_writer *w, const void *token)
{
    json_begin_object(w);
    view_token_members(w, token);
    json_end_object(w);
}

void view_session_members(struct json_writer *w, const struct token *t)
{
    json_kv_id(w, "id", t->id);
    json_kv_str(w, "network", t->network);
    json_kv_time(w, "created_at", t->created_at);
    json_kv_time(w, "last_used_at", t->last_used_at);
    json_kv_time(w, "expires_at", t->expires_at);
}

void view_session(struct json_writer *w, const void *token)
{
    json_begin_object(w);
    view_session_members(w, token);
    json_end_object(w);
}
