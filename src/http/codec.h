/* http/codec.h - HTTP/1.1 requests out of bytes. Pure: no I/O, no allocation, no clock.
 *
 * Strict on purpose: whatever two parsers could read in two ways is refused. One parser value reads one request; feed
 * it the same growing buffer until it says HEAD (headers complete), then body bytes through http_body_feed.
 * Refusals carry the error to answer with; the connection is closed after any of them. */
#pragma once

#include "base/err.h"
#include "base/str.h"

#define HTTP_TARGET_MAX 8192
#define HTTP_HEAD_MAX 16384 /* all header lines together */
#define HTTP_HEADERS_MAX 100

struct http_header {
    Str name; /* as sent */
    Str value;
};

struct http_head {
    Str method; /* a token, as sent */
    Str target; /* origin-form ("/path?query") or "*" */
    Str path;   /* target up to '?', still encoded */
    Str query;  /* behind '?', may be empty */
    int minor;  /* HTTP/1.minor: 0 or 1 */
    struct http_header headers[HTTP_HEADERS_MAX];
    size_t header_count;
    bool keep_alive;
    bool expect_continue;
    bool chunked;
    int64_t content_length; /* 0 without a body, -1 when chunked */
};

enum http_parse { HTTP_MORE, HTTP_HEAD_DONE, HTTP_REFUSED };

/* Parses `data` from its start, remembering in *scanned how far it looked already (start at 0), so that bytes arriving
 * one by one cost no more than at once. On HTTP_HEAD_DONE *ret_bytes is the length of the head and all slices point into
 * data. On HTTP_REFUSED *ret_err says why. Leading empty lines (CRLF, at most 2) are skipped, as RFC 9112 asks. */
enum http_parse http_head_parse(Str data, size_t *scanned, struct http_head *ret, size_t *ret_bytes, enum err *ret_err);

/* First header of that name (any case), or an empty Str with NULL ptr. */
Str http_header_get(const struct http_head *head, const char *name);

struct http_body {
    bool chunked;
    int state;
    int64_t left;      /* of the content, or of the present chunk */
    size_t line_bytes; /* of chunk line and trailers so far, bounded */
    int64_t total;     /* body bytes given so far */
};

enum http_body_result { HTTP_BODY_MORE, HTTP_BODY_DATA, HTTP_BODY_END, HTTP_BODY_REFUSED };

void http_body_init(struct http_body *b, const struct http_head *head);
/* Consumes from *data (advancing it). HTTP_BODY_DATA: *ret is a slice of content; call again. MORE: feed more.
 * END: the body is complete, *data starts at the next request. Trailers are read, bounded and dropped. */
enum http_body_result http_body_feed(struct http_body *b, Str *data, Str *ret);

/* Percent-decodes one path segment or query value. False on bad escapes, NUL, or invalid UTF-8. plus_is_space for queries. */
bool http_percent_decode(struct arena *a, Str s, bool plus_is_space, Str *ret);
const char *http_status_text(int status);
