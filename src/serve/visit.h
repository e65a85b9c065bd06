/* serve/visit.h - a browser's visit in the shop: its cookie, its language. */
#pragma once

#include "page/words.h"
#include "serve/request.h"

/* Starts a session in this transaction (TX_WRITE) and sends its cookie: for a guest (account 0), or for somebody who
 * has just logged in. The previous session ends; a guest's cart moves over. */
enum err visit_begin(struct request *req, Id account);
/* Ends the present session and deletes the cookie. TX_WRITE. */
enum err visit_end(struct request *req);

/* Whether the browser sent a cookie that can be a session's. */
bool visit_has_cookie(const struct request *req);

/* The language of this visitor among those of the store. */
enum lang visit_lang(const struct request *req);
/* Whether the browser reached us over TLS: by the store's address, or as the trusted proxy says. */
bool visit_is_tls(const struct request *req);
