/* serve/route.h - a route is one row, and the row is all that says who may call it and what it takes.
 *
 *     {"POST", "/api/customer/wallet/withdraw", SCOPE_CUSTOMER, TX_WRITE, &withdraw_body, post_withdraw, IDEMPOTENT},
 *
 * The router does the rest, once, for everyone: match, rate limit, authenticate, read the body into its struct, begin,
 * call, commit or roll back, render. HEAD and OPTIONS come by themselves. Path segments in braces are parameters, given
 * to the handler in order (req->params); one called {id} must be a number, else the answer is 404. */
#pragma once

#include "db/tx.h"
#include "domain/token.h"
#include "json/shape.h"

struct request;

enum route_flags {
    IDEMPOTENT = 1,     /* takes an Idempotency-Key; the answer is kept in the handler's own transaction */
    CHECKS_FIRST = 2,   /* everything is checked before the first write: SQLite needs no savepoint */
    OWNER_ONLY = 4,     /* admin routes for the role `owner` alone */
    PUBLIC_CACHE = 8,   /* Cache-Control is set by the handler, no token involved */
    RAW_BODY = 16,      /* the body is not JSON: req->raw_body, any content type */
    ANY_ACCEPT = 32,    /* answers something else than JSON too: Accept is not looked at */
    CALLS_OUT = 256,    /* TX_SELF that may wait for another server: threads of its own, so that logins do not wait */
    BODY_TO_FILE = 128, /* the caller is checked first, then the body goes to req->upload as it comes */
    CONFIRMED = 512,    /* a login must have proved password and code in the last ten minutes */
    OWNER_TOKEN = 1024, /* an API token needs the scope `owner`, too */
    SENSITIVE = CONFIRMED | OWNER_TOKEN,
    PROVEN_EMAIL = 2048, /* where the setting asks for it, the account's e-mail address must have been proved */
    SECRET_PATH = 4096,  /* who knows the path may have what is there: logs show the pattern */
    URGENT = 8192,       /* before everything else that waits: people or gateways depend on it right now */
    HIDDEN = 64,         /* not part of the API: pages and their parts; absent from `souk routes` and the document */
    SHOP = 8192, /* a page or a form of the shop: the caller is known by cookie, forms are checked for where they come
                  * from, errors are pages. IDEMPOTENT: the key is the form's `once` */
    LOGIN_FIRST = 16384, /* of the shop: whoever is not logged in is sent to the login */
    STAYS = 32768,       /* of the shop: there also while the storefront is switched off, because mails lead to it */
};

/* Which limit counts a route's calls. LIMIT_BY_SCOPE: v1 for catalog, verify and order, customer for the others;
 * callers without a token are counted by address. */
enum limit_class { LIMIT_BY_SCOPE, LIMIT_NONE, LIMIT_CUSTOMER, LIMIT_V1 };

struct route {
    const char *method;
    const char *path;
    unsigned scope; /* SCOPE_…; SCOPE_NONE: no token needed; SCOPE_LOGIN: a login session */
    enum tx_mode tx;
    const struct shape *body; /* NULL: no body is read as JSON */
    enum err (*handler)(struct request *req);
    unsigned flags;
    const struct shape *query; /* NULL: query parameters are ignored */
    enum limit_class limit;
    int64_t body_bytes_max; /* 0: the server's default */
    const char *accepts;    /* RAW_BODY: the media type that is asked for in a 415, or NULL for any */
};

/* Tables end with {0}. */
