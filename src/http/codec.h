/* http/codec.h - HTTP/1.1 requests out of bytes. Pure: no I/O, no allocation, no clock.
 *
 * Strict on purpose: whatever two parsers could read in two ways is refused. One parser value reads one request; feed
 * it the same growing buffer until it says HTTP_HEAD_DONE, then feed body bytes to http_body_feed. Refusals carry the
 * error to answer with; the connection is closed after any of them.
 * The result depends on the bytes alone, never on how they were cut into reads. */
#pragma once

#include "base/err.h"
#include "base/str.h"

#define HTTP_METHOD_MAX 16
#define HTTP_TARGET_MAX 8192
#define HTTP_HEAD_MAX 16384 /* all header lines together */
#define HTTP_HEADERS_MAX 100
#define HTTP_CHUNK_EXTRA_MAX 8192 /* chunk extensions and trailers of one body together */

struct http_header {
    Str name; /* as sent */
    Str value;
};

struct http_head {
    Str method; /* a token, as sent */
    Str target; /* as sent: origin-form ("/path?query"), absolute-form ("http://host/path") or "*" */
    Str path;   /* of the target, up to '?', still encoded; starts with '/' (or is "*") */
    Str query;  /* behind '?', may be empty */
    int minor;  /* HTTP/1.minor: 0 or 1 */
    bool keep_alive;
    bool expect_continue;
    bool chunked;
    int64_t content_length; /* 0 without a body, -1 when chunked */
    size_t header_count;
    struct http_header headers[HTTP_HEADERS_MAX]; /* those past header_count are not initialised */
};

/* How far a head has been read. {0} before its first byte. */
struct http_parser {
    Str seen;        /* the data of the last call */
    size_t line;     /* the first line not read yet starts here */
    size_t scanned;  /* no line end between `line` and here */
    size_t headers;  /* where the header lines start; 0 before the request line is read */
    int blank_lines; /* skipped before the request line */
    int hosts, lengths, codings;
    bool coding_unknown, expectation_unknown, close, keep;
};

enum http_parse { HTTP_MORE, HTTP_HEAD_DONE, HTTP_REFUSED };

/* Parses the head at the start of `data`. Call again with the same bytes and more of them (they may have moved) for as
 * long as the result is HTTP_MORE; each byte is looked at once. On HTTP_HEAD_DONE *ret_bytes is the length of the head
 * and all slices of *ret point into data. On HTTP_REFUSED *ret_err says why. *ret is filled line by line: what was read
 * of a refused head is valid too, with method and target once the request line is complete.
 * Leading empty lines (CRLF, at most 2) are skipped, as RFC 9112 asks. */
enum http_parse http_head_parse(struct http_parser *p, Str data, struct http_head *ret, size_t *ret_bytes,
                                enum err *ret_err);

/* Makes every slice that points into `from` point to the same place in the copy at `to`. */
void http_head_move(struct http_head *head, Str from, const char *to);

/* First header of that name (any case), or an empty Str with NULL ptr. */
Str http_header_find(const struct http_head *head, Str name);
static inline Str http_header_get(const struct http_head *head, const char *name)
{
    return http_header_find(head, str_from(name));
}

struct http_body {
    bool chunked;
    int state;
    int digits;         /* of the present chunk size */
    int64_t left;       /* of the content, or of the present chunk */
    size_t extra_bytes; /* of chunk extensions and trailers so far, bounded */
    int64_t total;      /* body bytes given so far */
};

enum http_body_result { HTTP_BODY_MORE, HTTP_BODY_DATA, HTTP_BODY_END, HTTP_BODY_REFUSED };

void http_body_init(struct http_body *b, const struct http_head *head);
/* Consumes from *data (advancing it). HTTP_BODY_DATA: *ret is a slice of content; call again. MORE: feed more.
 * END: the body is complete, *data starts at the next request. Trailers are read, bounded and dropped.
 * REFUSED: broken chunks; the answer is ERR_BAD_REQUEST. */
enum http_body_result http_body_feed(struct http_body *b, Str *data, Str *ret);

/* Percent-decodes one path segment or query value. False on bad escapes, NUL, or invalid UTF-8. plus_is_space for
 * queries. Without escapes *ret is s itself. */
bool http_percent_decode(struct arena *a, Str s, bool plus_is_space, Str *ret);
/* The reason phrase; "" for one we do not know. */
const char *http_status_text(int status);
