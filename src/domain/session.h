/* domain/session.h - browsers in the shop: who has a cart, and who is logged in.
 *
 * A session is a row of `token` of the kind 'shop', so that its cart, its end after a new password and its place in
 * lists work as for tokens. Its text (256 random bits) travels in a cookie; only a keyed hash is stored. It does not
 * open the API: it has no scopes, and its text is not a token. A guest's session has no account, and a cart of its own.
 * A customer has one cart in the shop, whichever browser they use: it belongs to a row of the kind 'cart'. */
#pragma once

#include "db/db.h"
#include "domain/token.h"

#define SESSION_TEXT_LEN 43
#define SESSION_DAYS 30 /* after the last visit */

struct session {
    Id id;
    Id account; /* 0: a guest */
    Id cart;    /* the token that stands for the cart */
    enum role role;
    bool is_unproven; /* the account's e-mail address */
    Str name, email;
    int64_t cart_units;
    Time expires_at;
};

/* Whether the text can be a session's. */
bool session_is_plausible(Str text);
/* Makes a session, for a guest (account 0) or for a person who has just proved who they are, from this network.
 * TX_WRITE. */
enum err session_create(struct db *db, Id account, Str network, Time now, struct session *ret, Str *ret_text);
/* ERR_NOT_FOUND: unknown, ended, too old, or its account is switched off. Within a visit's first day it moves the end
 * on: inside TX_READ that is ERR_NEEDS_WRITE. */
enum err session_find(struct db *db, const uint8_t hash[TOKEN_HASH_BYTES], Time now, struct session *ret);
/* Ends a session, with its cart. TX_WRITE. */
enum err session_end(struct db *db, Id session);
/* Browsers that are logged in, newest first, at most `limit`. */
enum err session_list(struct db *db, Id account, int64_t limit, struct token **ret, size_t *ret_count);
/* What a form must send back: bound to the session, useless in any other. */
Str session_csrf(struct arena *a, const uint8_t hash[TOKEN_HASH_BYTES]);
