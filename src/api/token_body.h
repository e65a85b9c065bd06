/* api/token_body.h - the body that asks for a token, for customers and for staff who make one for them. */
#pragma once

#include "serve/request.h"

struct token_body {
    Str name;
    unsigned scopes;
    bool has_scopes;
    Time expires_at;
};
extern const struct shape token_body_shape;

/* The token for `account`: the requested scopes, else all of `may` but admin and owner; scopes outside `may`, or an
 * expiry in the past, are a bad field. Tokens with admin or owner need an expiry, and a caller who has just proved who
 * they are (request_is_confirmed). */
enum err token_of_body(struct request *req, Id account, unsigned may, struct token *ret);
/* Makes the token and writes it to the answer, with its text, which is never shown again. */
enum err token_give(struct request *req, const struct token *want, struct token *ret);
/* Tokens that open the store are made and revoked with an audit row. */
enum err token_audit(struct request *req, const char *action, unsigned scopes);
