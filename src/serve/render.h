/* serve/render.h - from a handler's output to the body: envelopes (view/view_success.h) and errors. */
#pragma once

#include "serve/request.h"

#define ANSWER_HEADERS_MAX 24

struct request_answer {
    size_t header_count;
    const char *content_type; /* NULL: application/json */
    Str ready;                /* with is_ready: the whole body */
    bool is_ready;
    bool is_not_modified;
    bool has_file;
    struct http_file file;
    Str location;
    struct buf members;       /* of a success, behind data: ,"meta":{…} */
    struct buf error_members; /* of an error: ,"required":10.00 */
    Str body;                 /* what was rendered */
    bool is_rendered;
    struct http_header headers[ANSWER_HEADERS_MAX]; /* last: those past header_count are not initialised */
};

/* Before each run of a handler. */
void answer_reset(struct request *req);
/* Whether the handler's output can be sent: ERR_ANSWER_TOO_LARGE above 64 MiB. Checked inside the transaction, so that
 * a request whose answer cannot be sent has no effect. */
enum err answer_check(const struct request *req);
/* Fills answer->body. Success only; errors are rendered by answer_error. */
void answer_success(struct request *req);
void answer_error(struct request *req, enum err e);
/* The envelope of an error outside any handler. */
Str answer_error_body(struct arena *a, enum err e, Str request_id);
