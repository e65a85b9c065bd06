/* view/view_account.h - accounts and tokens as JSON. */
#pragma once

#include "domain/token.h"
#include "json/writer.h"

void view_account(struct json_writer *w, const struct account *a);
/* Members only, inside an object that the caller opened. */
void view_account_members(struct json_writer *w, const struct account *a);
/* "scopes":[…] */
void view_scopes(struct json_writer *w, unsigned scopes);
void view_token(struct json_writer *w, const void *token);
/* Members of a token, inside an object that the caller opened. */
void view_token_members(struct json_writer *w, const struct token *t);

/* A login session, as its account sees it. */
void view_session_members(struct json_writer *w, const struct token *t);
void view_session(struct json_writer *w, const void *token);
