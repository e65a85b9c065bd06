/* http/codec.c - reading the head of a request, one line at a time. See codec.h.
 *
 * A line is read when its CRLF is in. Of an unfinished line only the length and, in the request line, the method are
 * judged; a finished line is judged by the same rules in the same order, so that the answer to a head does not depend
 * on how it was cut into reads. */
#include "http/codec.h"

#include "http/charset.h"

/* The longest request line that can hold an allowed target: method, target, "HTTP/1.1", two spaces, CR. */
#define LINE_MAX_BYTES (HTTP_METHOD_MAX + 1 + HTTP_TARGET_MAX + 1 + 8 + 1)

static void move(Str *s, Str from, const char *to)
{
    size_t offset = (size_t)((uintptr_t)s->ptr - (uintptr_t)from.ptr);
    if (s->ptr && offset < from.len) s->ptr = to + offset;
}

void http_head_move(struct http_head *head, Str from, const char *to)
{
    move(&head->method, from, to);
    move(&head->target, from, to);
    move(&head->path, from, to);
    move(&head->query, from, to);
    for (size_t i = 0; i < head->header_count; i++) {
        move(&head->headers[i].name, from, to);
        move(&head->headers[i].value, from, to);
    }
}

Str http_header_find(const struct http_head *head, Str name)
{
    for (size_t i = 0; i < head->header_count; i++)
        if (head->headers[i].name.len == name.len && str_eq_nocase(head->headers[i].name, name))
            return head->headers[i].value;
    return (Str){0};
}

static size_t count_of(Str s, int class)
{
    size_t n = 0;
    while (n < s.len && char_is(s.ptr[n], class)) n++;
    return n;
}

/* name, name:port, [v6], [v6]:port; or nothing at all, which RFC 9110 allows. */
static bool host_is_sane(Str s)
{
    size_t n = 0;
    if (s.len && s.ptr[0] == '[') {
        for (n = 1; n < s.len && (hex_value(s.ptr[n]) >= 0 || s.ptr[n] == ':' || s.ptr[n] == '.');) n++;
        if (n < 3 || n == s.len || s.ptr[n] != ']') return false;
        n++;
    } else {
        n = count_of(s, CHAR_HOST);
    }
    if (n == s.len) return true;
    if (s.ptr[n++] != ':' || s.len - n > 5) return false;
    for (; n < s.len; n++)
        if (s.ptr[n] < '0' || s.ptr[n] > '9') return false;
    return true;
}

/* Judges as much of the request line as has arrived: a method of token characters, then a space. A byte that cannot
 * start a request (a TLS handshake, binary noise) is refused as soon as it arrives. */
static enum err method_check(Str line, size_t *ret_len)
{
    size_t n = count_of((Str){line.ptr, line.len > HTTP_METHOD_MAX ? HTTP_METHOD_MAX + 1 : line.len}, CHAR_TOKEN);
    *ret_len = n;
    if (n > HTTP_METHOD_MAX) return ERR_NOT_IMPLEMENTED;
    if (n < line.len && (n == 0 || line.ptr[n] != ' ')) return ERR_BAD_REQUEST;
    return OK;
}

static enum err target_read(struct http_head *h, Str target)
{
    if (target.len > HTTP_TARGET_MAX) return ERR_URI_TOO_LONG;
    if (str_eq(h->method, STR("CONNECT"))) return ERR_NOT_IMPLEMENTED;
    h->target = target;

    if (str_eq(target, STR("*"))) {
        if (!str_eq(h->method, STR("OPTIONS"))) return ERR_BAD_REQUEST;
        h->path = target;
        return OK;
    }
    if (target.ptr[0] != '/') {
        /* absolute-form: RFC 9112 wants every server to understand it. Its authority is taken for ours, whatever it
         * says. */
        size_t scheme = str_eq_nocase((Str){target.ptr, target.len < 7 ? 0 : 7}, STR("http://"))    ? 7
                        : str_eq_nocase((Str){target.ptr, target.len < 8 ? 0 : 8}, STR("https://")) ? 8
                                                                                                    : 0;
        if (!scheme) return ERR_BAD_REQUEST;
        Str rest = {target.ptr + scheme, target.len - scheme};
        size_t n = 0;
        while (n < rest.len && rest.ptr[n] != '/' && rest.ptr[n] != '?') n++;
        if (n == 0 || !host_is_sane((Str){rest.ptr, n})) return ERR_BAD_REQUEST;
        target = (Str){rest.ptr + n, rest.len - n};
    }
    h->path = target;
    if (str_cut(target, '?', &h->path, &h->query) && h->query.len == 0) h->query = (Str){0};
    if (h->path.len == 0) h->path = STR("/");
    return OK;
}

static enum err version_read(struct http_head *h, Str s)
{
    bool formed = s.len == 8 && memcmp(s.ptr, "HTTP/", 5) == 0 && s.ptr[5] >= '0' && s.ptr[5] <= '9' &&
                  s.ptr[6] == '.' && s.ptr[7] >= '0' && s.ptr[7] <= '9';
    if (!formed) return ERR_BAD_REQUEST;
    if (s.ptr[5] != '1' || s.ptr[7] > '1') return ERR_VERSION_NOT_SUPPORTED;
    h->minor = s.ptr[7] - '0';
    return OK;
}

/* `line` without its CRLF; its method was checked, and a space follows it. */
static enum err request_line_read(struct http_head *h, Str line, size_t method_len)
{
    Str rest = {line.ptr + method_len + 1, line.len - method_len - 1};
    size_t n = count_of(rest, CHAR_TARGET);
    if (n == 0 || n == rest.len || rest.ptr[n] != ' ') return ERR_BAD_REQUEST;
    h->method = (Str){line.ptr, method_len};
    enum err e = target_read(h, (Str){rest.ptr, n});
    return e ? e : version_read(h, (Str){rest.ptr + n + 1, rest.len - n - 1});
}

/* A number of at most 18 digits: it cannot overflow, and no body that we accept comes near. */
static enum err content_length_read(struct http_parser *p, struct http_head *h, Str value)
{
    if (p->lengths++ || value.len == 0 || value.len > 18) return ERR_BAD_REQUEST;
    int64_t v = 0;
    for (size_t i = 0; i < value.len; i++) {
        if (value.ptr[i] < '0' || value.ptr[i] > '9') return ERR_BAD_REQUEST;
        v = v * 10 + (value.ptr[i] - '0');
    }
    h->content_length = v;
    return OK;
}

static void connection_read(struct http_parser *p, Str value)
{
    Str option, rest = value;
    do {
        value = rest;
        if (!str_cut(value, ',', &option, &rest)) {
            option = value;
            rest = (Str){0};
        }
        option = str_trim(option);
        if (str_eq_nocase(option, STR("close"))) p->close = true;
        if (str_eq_nocase(option, STR("keep-alive"))) p->keep = true;
    } while (rest.len);
}

/* The headers that decide about framing; all others are up to the handlers that read them. */
static enum err meaning_read(struct http_parser *p, struct http_head *h, Str name, Str value)
{
    switch (name.len) {
    case 4:
        if (str_eq_nocase(name, STR("Host")) && (p->hosts++ || !host_is_sane(value))) return ERR_BAD_REQUEST;
        return OK;
    case 6:
        if (str_eq_nocase(name, STR("Expect"))) {
            if (str_eq_nocase(value, STR("100-continue")))
                h->expect_continue = true;
            else
                p->expectation_unknown = true;
        }
        return OK;
    case 10:
        if (str_eq_nocase(name, STR("Connection"))) connection_read(p, value);
        return OK;
    case 14: return str_eq_nocase(name, STR("Content-Length")) ? content_length_read(p, h, value) : OK;
    case 17:
        if (str_eq_nocase(name, STR("Transfer-Encoding"))) {
            if (p->codings++ || value.len == 0) return ERR_BAD_REQUEST;
            p->coding_unknown = !str_eq_nocase(value, STR("chunked"));
        }
        return OK;
    default: return OK;
    }
}

/* Spaces before the name (a folded line), inside it or before the colon are not token characters: refused. */
static enum err header_read(struct http_parser *p, struct http_head *h, Str line)
{
    if (h->header_count == HTTP_HEADERS_MAX) return ERR_HEADERS_TOO_LARGE;
    size_t n = count_of(line, CHAR_TOKEN);
    if (n == 0 || n == line.len || line.ptr[n] != ':') return ERR_BAD_REQUEST;
    Str name = {line.ptr, n}, value = {line.ptr + n + 1, line.len - n - 1};
    if (count_of(value, CHAR_VALUE) != value.len) return ERR_BAD_REQUEST;
    value = str_trim(value); /* the value no longer holds CR or LF */
    h->headers[h->header_count++] = (struct http_header){name, value};
    return meaning_read(p, h, name, value);
}

/* What only the whole head can tell. */
static enum err head_check(const struct http_parser *p, struct http_head *h)
{
    if (h->minor == 1 && !p->hosts) return ERR_BAD_REQUEST;
    if (p->codings) {
        if (p->lengths || h->minor == 0) return ERR_BAD_REQUEST;
        if (p->coding_unknown) return ERR_NOT_IMPLEMENTED;
        h->chunked = true;
        h->content_length = -1;
    }
    if (p->expectation_unknown) return ERR_EXPECTATION_FAILED;
    if (h->minor == 0) h->expect_continue = false; /* RFC 9110: ignored */
    h->keep_alive = !p->close && (h->minor == 1 || p->keep);
    return OK;
}

/* The line from p->line to `end`, which is its LF when `whole`, else the end of what has arrived. Sets p->headers when
 * the line is the request line. */
static enum err first_line(struct http_parser *p, struct http_head *h, Str data, size_t end, bool whole)
{
    Str line = {data.ptr + p->line, end - p->line};
    if (line.len && line.ptr[0] == '\r') {
        if (line.len > 1 || (whole && ++p->blank_lines > 2)) return ERR_BAD_REQUEST;
        return OK;
    }
    if (line.len == 0) return whole ? ERR_BAD_REQUEST : OK;
    size_t method_len;
    enum err e = method_check(line, &method_len);
    if (e) return e;
    if (line.len > LINE_MAX_BYTES) return ERR_URI_TOO_LONG;
    if (!whole) return OK;
    if (line.ptr[line.len - 1] != '\r') return ERR_BAD_REQUEST;
    e = request_line_read(h, (Str){line.ptr, line.len - 1}, method_len);
    if (e) return e;
    p->headers = end + 1;
    return OK;
}

static enum err later_line(struct http_parser *p, struct http_head *h, Str data, size_t end, bool whole)
{
    Str line = {data.ptr + p->line, end - p->line};
    if (end - p->headers > HTTP_HEAD_MAX) return ERR_HEADERS_TOO_LARGE;
    if (!whole) return OK;
    if (line.len == 0 || line.ptr[line.len - 1] != '\r') return ERR_BAD_REQUEST;
    line.len--;
    return line.len ? header_read(p, h, line) : head_check(p, h);
}

static void head_clear(struct http_head *h)
{
    h->method = h->target = h->path = h->query = (Str){0};
    h->minor = 1;
    h->keep_alive = h->expect_continue = h->chunked = false;
    h->content_length = 0;
    h->header_count = 0;
}

enum http_parse http_head_parse(struct http_parser *p, Str data, struct http_head *ret, size_t *ret_bytes,
                                enum err *ret_err)
{
    if (!p->seen.ptr)
        head_clear(ret);
    else if (p->seen.ptr != data.ptr)
        http_head_move(ret, p->seen, data.ptr);
    p->seen = data;

    for (;;) {
        const char *lf = data.len > p->scanned ? memchr(data.ptr + p->scanned, '\n', data.len - p->scanned) : NULL;
        size_t end = lf ? (size_t)(lf - data.ptr) : data.len;
        bool is_last = p->headers && lf && end == p->line + 1; /* just CR, or refused */
        enum err e = p->headers ? later_line(p, ret, data, end, lf) : first_line(p, ret, data, end, lf);
        if (e) {
            *ret_err = e;
            return HTTP_REFUSED;
        }
        if (!lf) {
            p->scanned = end;
            return HTTP_MORE;
        }
        p->line = p->scanned = end + 1;
        if (is_last) {
            *ret_bytes = end + 1;
            return HTTP_HEAD_DONE;
        }
    }
}
