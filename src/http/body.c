/* http/body.c - the content of a request out of its framing: a length, or chunks. See codec.h.
 *
 * Chunk lines are read byte by byte through the states below; content passes as slices. Extensions and trailers carry
 * nothing we want: they are checked, counted against one bound for the whole body, and dropped. */
#include "http/charset.h"
#include "http/codec.h"

enum {
    CONTENT, /* of a Content-Length body */
    SIZE,    /* hex digits */
    EXTENSION,
    SIZE_LF,
    CHUNK, /* content of a chunk */
    CHUNK_CR,
    CHUNK_LF,
    TRAILER, /* at the start of a trailer line */
    TRAILER_NAME,
    TRAILER_VALUE,
    TRAILER_LF,
    LAST_LF,
    END,
};

#define SIZE_DIGITS_MAX 15 /* below 2^60 */

void http_body_init(struct http_body *b, const struct http_head *head)
{
    *b = (struct http_body){.chunked = head->chunked, .state = head->chunked ? SIZE : CONTENT};
    if (!head->chunked) b->left = head->content_length;
}

/* One byte of framing. False: refused. */
static bool framing_byte(struct http_body *b, char c)
{
    switch (b->state) {
    case SIZE: {
        int v = hex_value(c);
        if (v >= 0) {
            if (b->digits++ == SIZE_DIGITS_MAX) return false;
            b->left = b->left << 4 | v;
            return true;
        }
        if (!b->digits) return false;
        b->state = c == ';' ? EXTENSION : SIZE_LF;
        return c == ';' || c == '\r';
    }
    case EXTENSION:
        if (c == '\r')
            b->state = SIZE_LF;
        else if (!char_is(c, CHAR_VALUE) || ++b->extra_bytes > HTTP_CHUNK_EXTRA_MAX)
            return false;
        return true;
    case SIZE_LF:
        b->digits = 0;
        b->state = b->left ? CHUNK : TRAILER;
        return c == '\n';
    case CHUNK_CR: b->state = CHUNK_LF; return c == '\r';
    case CHUNK_LF: b->state = SIZE; return c == '\n';
    case TRAILER:
        b->state = c == '\r' ? LAST_LF : TRAILER_NAME;
        return c == '\r' || (char_is(c, CHAR_TOKEN) && ++b->extra_bytes <= HTTP_CHUNK_EXTRA_MAX);
    case TRAILER_NAME:
        if (c == ':') b->state = TRAILER_VALUE;
        return (c == ':' || char_is(c, CHAR_TOKEN)) && ++b->extra_bytes <= HTTP_CHUNK_EXTRA_MAX;
    case TRAILER_VALUE:
        if (c == '\r') b->state = TRAILER_LF;
        return (c == '\r' || char_is(c, CHAR_VALUE)) && ++b->extra_bytes <= HTTP_CHUNK_EXTRA_MAX;
    case TRAILER_LF: b->state = TRAILER; return c == '\n';
    case LAST_LF: b->state = END; return c == '\n';
    default: return false;
    }
}

enum http_body_result http_body_feed(struct http_body *b, Str *data, Str *ret)
{
    for (;;) {
        if (b->state == END || (b->state == CONTENT && b->left == 0)) return HTTP_BODY_END;
        if (data->len == 0) return HTTP_BODY_MORE;
        if (b->state == CONTENT || b->state == CHUNK) {
            size_t n = (uint64_t)b->left < data->len ? (size_t)b->left : data->len;
            *ret = (Str){data->ptr, n};
            data->ptr += n;
            data->len -= n;
            b->left -= (int64_t)n;
            b->total += (int64_t)n;
            if (b->state == CHUNK && b->left == 0) b->state = CHUNK_CR;
            return HTTP_BODY_DATA;
        }
        char c = *data->ptr++;
        data->len--;
        if (!framing_byte(b, c)) return HTTP_BODY_REFUSED;
    }
}
