/* outbound/http_call.h - an HTTP call as a value, and how its parts are written.
 *
 * Adapters describe calls and read answers; they never send. The sender (outbound/outbound.h, or a test) is handed the
 * description and gives the reply back. All memory is the arena's. */
#pragma once

#include "base/buf.h"
#include "base/money.h"
#include "http/codec.h"

#define CALL_HEADERS_MAX 8
#define CALL_BODY_MAX (64 * 1024)

struct http_call {
    const char *method; /* GET or POST */
    Str url;
    struct http_header headers[CALL_HEADERS_MAX];
    size_t header_count;
    Str body;
};

struct http_reply {
    int status; /* 0: no reply */
    Str body;
};

void call_header(struct http_call *call, Str name, Str value);
/* "Authorization: Basic …" */
void call_basic_auth(struct arena *a, struct http_call *call, Str user, Str password);
/* "Authorization: <scheme> <token>" */
void call_token_auth(struct arena *a, struct http_call *call, Str scheme, Str token);

/* "&name=value", without the '&' at the start of the buffer. The name is ours and written unescaped. */
void form_pair(struct buf *b, Str name, Str value);
void form_pair_int(struct buf *b, Str name, int64_t value);
void form_pair_money(struct buf *b, Str name, Money m);

/* Whether a provider's id may become part of a path: 1 to 128 of [A-Za-z0-9_-]. Any other text could name another
 * resource. */
bool ref_is_safe(Str ref);
