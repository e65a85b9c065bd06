/* serve/route.h - a route is one row, and only the row says who may call it and what it takes.
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

/* Each has a bit of its own: add at the end. */
enum route_flags {
    IDEMPOTENT = 1 << 0,    /* takes an Idempotency-Key; the answer is kept in the handler's own transaction */
    CHECKS_FIRST = 1 << 1,  /* everything is checked before the first write: SQLite needs no savepoint */
    OWNER_ONLY = 1 << 2,    /* admin routes for the role `owner` alone */
    PUBLIC_CACHE = 1 << 3,  /* Cache-Control is set by the handler, no token involved */
    RAW_BODY = 1 << 4,      /* the body is not JSON: req->raw_body, any content type */
    ANY_ACCEPT = 1 << 5,    /* may answer something other than JSON: Accept is ignored */
    HIDDEN = 1 << 6,        /* not part of the API: pages and their parts; absent from `souk routes` and the document */
    BODY_TO_FILE = 1 << 7,  /* the caller is checked first, then the body goes to req->upload as it arrives */
    CALLS_OUT = 1 << 8,     /* TX_SELF that may wait for another server: separate threads, so that logins do not wait */
    CONFIRMED = 1 << 9,     /* a login must have confirmed password and code within ten minutes */
    OWNER_TOKEN = 1 << 10,  /* an API token also needs the scope `owner` */
    PROVEN_EMAIL = 1 << 11, /* where the setting asks for it, the account's e-mail address must have been proved */
    SECRET_PATH = 1 << 12,  /* the path is a secret: logs show the pattern */
    SHOP = 1 << 13, /* a page or a form of the shop: the caller is known by cookie, forms are checked for where they
                     * come from, errors are pages. IDEMPOTENT: the key is the form's `once` */
    LOGIN_FIRST = 1 << 14, /* of the shop: visitors who are not logged in are sent to the login */
    STAYS = 1 << 15,       /* of the shop: available even while the storefront is off, because mails link to it */
    URGENT = 1 << 16,      /* runs before everything else that waits: people or gateways depend on it right now */
    GROUPED = 1 << 17,     /* PostgreSQL: shares its transaction with others of its kind (db_is_grouped) */
    READY = 1 << 18,       /* of the shop: a page that may be kept (serve/ready.h) */
    REMEMBERED = 1 << 19,  /* PostgreSQL: a read whose answer is mostly in memory (db_has_looked) */
    SENSITIVE = CONFIRMED | OWNER_TOKEN,
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
    const char *accepts;    /* RAW_BODY: the required media type, named in a 415; NULL: any */
    /* For a body that is refused already: adds what only the database knows to be wrong, so that the caller learns of
     * all bad fields at once. Fields that are wrong or missing are zero. Or NULL. */
    void (*also_wrong)(struct request *req, struct db *db);
    /* GROUPED: says what the handler will ask for first (db_ahead), once the caller and the body are known. Or NULL. */
    void (*ahead)(struct request *req, struct db *db);
};

/* Tables end with {0}. */
