/* serve/request.h - what a handler sees of a request, and how it answers.
 *
 * A handler reads req->body and the like, calls domain functions on req->db, writes the `data` member into req->out (a
 * JSON value: object, array …) and returns OK, or returns an error, which the router renders. It may be run again from
 * the start (PostgreSQL retries): everything it sets here is reset before each run. Memory comes from req->arena. */
#pragma once

#include "base/trace.h"
#include "http/server.h"
#include "serve/route.h"
#include "json/writer.h"

struct app;
struct idempotency;
struct settings;
struct upload;
struct session;

#define REQUEST_PARAMS_MAX 4

struct request {
    struct exchange *exchange;
    struct app *app;                 /* database, pools, configuration (serve/app.h) */
    const struct settings *settings; /* the store's, as of the request's arrival */
    const struct route *route;
    struct arena *arena;
    struct db *db; /* inside the route's transaction; NULL for TX_NONE and TX_SELF */
    Time now;
    Str id;                         /* X-Request-Id */
    Str target;                     /* as sent, for Link and Location */
    Str params[REQUEST_PARAMS_MAX]; /* decoded path parameters */
    Id param_id;                    /* the first {id}, parsed */
    const void *body;               /* the shape's struct; NULL without a shape */
    const void *query;
    Str raw_body;
    struct upload *upload; /* BODY_TO_FILE */

    /* Who is calling; all zero without a token. */
    Id account;
    Id token_id;
    enum token_kind token_kind;
    Time confirmed_at; /* of a login: when password and code were last checked */
    Time token_ends_at;
    unsigned scopes;
    enum role role;
    const struct session *session; /* SHOP: the browser's; NULL: none. token_id is then its cart's */
    Str csrf;                      /* SHOP: what its forms must carry; empty without a session */
    int64_t ready_revision;        /* SHOP: of the catalogue, before the page was made (serve/ready.h); 0: not known */

    /* The answer. */
    struct json_writer out; /* writes the `data` value; nothing written: no data member */
    struct buf out_buf;
    int status;                 /* 200 unless set */
    int64_t retry_after_s;      /* of a 429 or 503 with a time of its own; 0: the route's limit decides */
    const char *message;        /* `message` member of a success, or NULL */
    struct field_errors errors; /* request_bad_field adds; ERR_VALIDATION renders them */

    struct request_answer *answer;            /* everything else, see the functions below */
    void (*on_rendered)(struct request *req); /* may add headers that depend on the final status and body */

    bool is_audited; /* api/admin/audit_trail.h */
    /* The key under which the answer will be kept; NULL: none. A handler that keeps it itself takes it away. */
    const struct idempotency *key;
};

/* The value of a header as sent, or an empty Str. */
static inline Str request_header(const struct request *req, const char *name)
{
    return http_header_get(&req->exchange->head, name);
}
/* The trace that the caller names; unchanged when there is none. */
void request_trace(const struct request *req, struct trace *ret);
/* The value of a cookie; empty also when there are two of this name, because neither can then be trusted. */
Str request_cookie(const struct request *req, Str name);

/* Adds a bad field; returns ERR_VALIDATION for `return request_bad_field(…)`. */
enum err request_bad_field(struct request *req, const char *field, enum err e);
/* The same, naming the part of the value that is wrong. */
enum err request_bad_part(struct request *req, const char *field, enum err e, Str about);

/* What SENSITIVE rows demand, for handlers where the body decides: ERR_CONFIRMATION_REQUIRED, ERR_INSUFFICIENT_SCOPE.
 */
enum err request_is_confirmed(struct request *req, unsigned flags);

/* 201 with `Location: prefix/id`. */
void request_created(struct request *req, const char *prefix, Id id);
/* Adds a header. The value must live in the arena or for ever. */
void request_add_header(struct request *req, const char *name, Str value);
/* Members beside code and message in an error's body: call before returning the error. */
void request_error_money(struct request *req, const char *key, Money m);
void request_error_str(struct request *req, const char *key, Str value);
void request_error_int(struct request *req, const char *key, int64_t value);
/* Members beside `data` in a success's body. */
void request_member_raw(struct request *req, const char *key, Str json);
/* The members so far, as they will be written: for entity tags. */
Str request_members(const struct request *req);

/* A ready-made body instead of the envelope. It must live in the arena, or be kept until the answer is sent. */
void request_ready(struct request *req, const char *content_type, Str body);
/* Whether the client accepts gzip: named in Accept-Encoding, or covered by *, and not with a weight of 0. */
bool request_takes_gzip(const struct request *req);
/* The same in two codings, each with its entity tag: sends the one that the client accepts, or 304. `gzip` may be
 * empty. */
void request_coded(struct request *req, const char *content_type, Str plain, Str plain_etag, Str gzip, Str gzip_etag);
/* Part of an open file as the body; the server closes it. */
void request_file(struct request *req, const char *content_type, struct http_file file);
/* Strong ETag: sets the header; true when If-None-Match has it: then return OK and the router answers 304. */
bool request_not_modified(struct request *req, Str etag);
/* Compares If-Match with the present version: OK, also when none was sent, or ERR_PRECONDITION_FAILED. */
enum err request_if_match(struct request *req, int64_t version);
void request_etag_version(struct request *req, int64_t version);

/* Lists: `?limit=&cursor=`. Put LIST_FIELDS first in a query shape whose struct starts with a struct list_query. */
struct list_query {
    int64_t limit;
    Str cursor;
};
#define LIST_FIELDS                                                                                                    \
    {"limit", FIELD_INT, OPTIONAL, offsetof(struct list_query, limit), .min = 1, .max = 100},                          \
    {                                                                                                                  \
        "cursor", FIELD_LINE, OPTIONAL, offsetof(struct list_query, cursor), .min = 1, .max = 200                      \
    }
extern const struct shape list_query_shape; /* nothing but the two */
/* `?q=` beside them. */
struct search_query {
    struct list_query list;
    Str q;
};
extern const struct shape search_query_shape;

/* Where a page starts: the sort key of the previous page's last row. Lists ordered by id alone leave `after_key` 0. */
struct list_page {
    int64_t after_key;
    Id after_id;  /* 0: from the start */
    int64_t ask;  /* rows to ask for: one more than is shown, to know whether there are more */
    size_t found; /* rows that came, for request_list */
};
/* How a list shows a row, and which members give its place in the order. */
struct list {
    size_t row_bytes;
    size_t id_at;  /* offset of its Id */
    size_t key_at; /* offset of the int64_t or Time in front of the id in the order; 0: ordered by id alone */
    void (*view)(struct json_writer *w, const void *row);
    enum err (*show)(struct request *req, const void *row); /* used instead where a row alone is not enough */
};
#define LIST_ROWS(type, id) .row_bytes = sizeof(type), .id_at = offsetof(type, id)
/* A list's handler is three steps:
 *
 *     enum err e = request_page(req, &page);
 *     if (!e) e = order_list(req->db, req->account, page.after_id, page.ask, &orders, &page.found);
 *     return e ? e : request_list(req, &page, &order_rows, orders);
 *
 * request_page reads req->query (a struct starting with list_query); a cursor that is not ours, or another list's: 422
 * bad_cursor. request_list writes the rows as an array, meta and Link; the page ends after a megabyte, and the rest
 * follows on the next. */
enum err request_page(struct request *req, struct list_page *ret);
enum err request_list(struct request *req, const struct list_page *page, const struct list *list, const void *rows);
/* All rows of a short list, without pages: the array alone. */
#define request_all(req, rows, count, view) request_all_rows((req), (rows), sizeof *(rows), (count), (view))
enum err request_all_rows(struct request *req, const void *rows, size_t row_bytes, size_t count,
                          void (*view)(struct json_writer *w, const void *row));

/* For TX_SELF handlers, on the blocking pool: runs fn in a transaction with req->db set. A TX_WRITE of an IDEMPOTENT
 * route claims the key before fn and keeps the answer that fn wrote, all in that transaction; a replay returns OK with
 * the kept answer in place, and fn is not run. */
enum err request_tx(struct request *req, enum tx_mode mode, enum err (*fn)(struct request *req));

/* The same for steps that pass a value to each other:
 *
 *     static enum err login_read(struct request *req, struct login *l) { … }
 *     REQUEST_STEP(login_read);
 *     … e = request_step(req, TX_READ, login_read, &l);
 *
 * The compiler checks that the argument is the step's. */
#define REQUEST_STEP(step)                                                                                             \
    static enum err step##_untyped(struct request *req, void *arg)                                                     \
    {                                                                                                                  \
        return step(req, arg);                                                                                         \
    }                                                                                                                  \
    struct request /* the semicolon ends a declaration */
typedef enum err request_step_fn(struct request *req, void *arg);
enum err request_step_untyped(struct request *req, enum tx_mode mode, request_step_fn *step, void *arg);
enum err request_step_finish_untyped(struct request *req, bool forget, request_step_fn *step, void *arg);
#define request_step(req, mode, step, arg)                                                                             \
    ((void)sizeof(step((req), (arg))), request_step_untyped((req), (mode), step##_untyped, (arg)))
/* For TX_SELF handlers whose request_step began something that has since been finished outside a transaction: runs the
 * step in TX_WRITE and keeps its answer in place of the first one, which is in place again when the step fails. With
 * `forget` the key is free again: the step undoes what was begun, and the handler returns an error. */
#define request_step_finish(req, forget, step, arg)                                                                    \
    ((void)sizeof(step((req), (arg))), request_step_finish_untyped((req), (forget), step##_untyped, (arg)))
