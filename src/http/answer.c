/* http/answer.c - answers on their way out. See loop.h.
 *
 * The head is written into the loop's own space, followed by a short body, and sent with one call. What the socket does
 * not take stays with the exchange until the socket is writable again. Files go out through sendfile, a bounded part at
 * a time, so that no client, however fast or slow, holds up its loop. */
#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/sockios.h>
#include <sys/ioctl.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/timestamp.h"
#include "http/loop.h"

#define FILE_BYTES_PER_TURN (512 * 1024)
#define OWN_HEAD_BYTES_MAX 256 /* status line, Date, Content-Length, Connection, empty line */

static Str date_now(struct http_loop *loop)
{
    Time now = time_now(); /* of the clock as it is, also when it has just been set */
    if (now.ms / TIME_SECOND != loop->date_s) {
        loop->date_s = now.ms / TIME_SECOND;
        time_format_http(now, loop->date);
    }
    return (Str){loop->date, 29};
}

static char *put(char *p, Str s)
{
    if (s.len) memcpy(p, s.ptr, s.len);
    return p + s.len;
}

static char *put_number(char *p, int64_t v)
{
    char digits[20], *end = digits + sizeof digits, *first = end;
    do *--first = (char)('0' + v % 10);
    while (v /= 10);
    return put(p, (Str){first, (size_t)(end - first)});
}

/* Whether one of eight bytes is below a space. */
static bool has_control(uint64_t bytes)
{
    const uint64_t ones = UINT64_C(0x0101010101010101);
    return (bytes - ones * 0x20) & ~bytes & ones * 0x80;
}

/* Eight bytes at a time, as almost no header has a control character. */
static bool is_one_line(Str s)
{
    bool is_plain = true;
    size_t i = 0;
    for (uint64_t eight; i + sizeof eight <= s.len; i += sizeof eight) {
        memcpy(&eight, s.ptr + i, sizeof eight);
        is_plain = is_plain && !has_control(eight);
    }
    for (; i < s.len; i++) is_plain = is_plain && (unsigned char)s.ptr[i] >= ' ';
    return is_plain || (str_find(s, '\n') < 0 && str_find(s, '\r') < 0 && str_find(s, '\0') < 0);
}

/* 204 and 304 have no content and no Content-Length. */
static bool status_has_content(int status)
{
    return status >= 200 && status != 204 && status != 304;
}

static char *head_write(struct connection *c, char *p, const struct http_answer *a, int64_t length)
{
    p = put(p, STR("HTTP/1.1 "));
    p = put_number(p, a->status);
    p = put(p, STR(" "));
    p = put(p, str_from(http_status_text(a->status)));
    p = put(p, STR("\r\nDate: "));
    p = put(p, date_now(c->loop));
    if (status_has_content(a->status)) {
        p = put(p, STR("\r\nContent-Length: "));
        p = put_number(p, length);
    }
    if (c->out.close)
        p = put(p, STR("\r\nConnection: close"));
    else if (c->x->head.minor == 0)
        p = put(p, STR("\r\nConnection: keep-alive"));
    p = put(p, STR("\r\n"));
    for (size_t i = 0; i < a->header_count; i++) {
        p = put(p, a->headers[i].name);
        p = put(p, STR(": "));
        p = put(p, a->headers[i].value);
        p = put(p, STR("\r\n"));
    }
    return put(p, STR("\r\n"));
}

/* Lays the answer out in c->out: a head, with the body in one piece with it when that is short. */
static void compose(struct connection *c, const struct http_answer *a)
{
    struct http_loop *loop = c->loop;
    struct output *o = &c->out;
    size_t head_max = OWN_HEAD_BYTES_MAX;
    for (size_t i = 0; i < a->header_count; i++) {
        assert(is_one_line(a->headers[i].name) && is_one_line(a->headers[i].value));
        head_max += a->headers[i].name.len + a->headers[i].value.len + 4;
    }
    bool is_head = str_eq(c->x->head.method, STR("HEAD"));
    bool has_body = !is_head && status_has_content(a->status);
    int64_t length = a->file ? a->file->length : a->body.len ? (int64_t)a->body.len : is_head ? a->head_length : 0;
    if (has_body && a->file) {
        o->file_offset = a->file->offset;
        o->file_left = a->file->length;
        posix_fadvise(a->file->fd, o->file_offset, o->file_left, POSIX_FADV_SEQUENTIAL); /* more is read ahead */
    } else if (has_body) {
        o->body = a->body;
    }

    bool is_short = head_max + o->body.len <= sizeof loop->text;
    char *text = is_short ? loop->text : arena_alloc(&c->x->arena, head_max), *p = head_write(c, text, a, length);
    if (is_short) {
        p = put(p, o->body);
        o->body = (Str){0};
    }
    o->head = (Str){text, (size_t)(p - text)};
}

enum flush { FLUSH_DONE, FLUSH_BLOCKED, FLUSH_FAILED };

static enum flush flush_error(void)
{
    return errno == EAGAIN || errno == EINTR ? FLUSH_BLOCKED : FLUSH_FAILED;
}

static size_t advance(Str *s, size_t n)
{
    size_t m = n < s->len ? n : s->len;
    if (m == 0) return n; /* a text without bytes may have no address to count from */
    s->ptr += m;
    s->len -= m;
    return n - m;
}

static enum flush flush(struct connection *c)
{
    struct output *o = &c->out;
    int flags = MSG_NOSIGNAL | (o->file_left ? MSG_MORE : 0);
    while (o->head.len || o->body.len) {
        ssize_t n;
        if (o->body.len) {
            struct iovec parts[2] = {{(char *)o->head.ptr, o->head.len}, {(char *)o->body.ptr, o->body.len}};
            struct msghdr message = {.msg_iov = parts, .msg_iovlen = 2};
            n = sendmsg(c->fd, &message, flags);
        } else {
            n = send(c->fd, o->head.ptr, o->head.len, flags);
        }
        if (n < 0) return flush_error();
        o->sent += n;
        advance(&o->body, advance(&o->head, (size_t)n));
    }
    for (int64_t turn = FILE_BYTES_PER_TURN; o->file_left;) {
        if (turn <= 0) return FLUSH_BLOCKED; /* other connections first; this socket stays writable */
        off_t offset = o->file_offset;
        ssize_t n = sendfile(c->fd, o->file_fd, &offset, (size_t)(o->file_left < turn ? o->file_left : turn));
        if (n < 0) return flush_error();
        if (n == 0) return FLUSH_FAILED; /* the file has become shorter than announced */
        o->file_offset += n;
        o->file_left -= n;
        o->sent += n;
        turn -= n;
    }
    return FLUSH_DONE;
}

static void finish(struct connection *c)
{
    struct exchange *x = c->x;
    if (c->out.file_fd >= 0) close(c->out.file_fd);
    guard_body_release(c);
    c->out.file_fd = -1;
    c->x = NULL;
    if (c->state != CONN_CLOSED) c->state = CONN_IDLE; /* also after a refusal halfway through a head or a body */
    c->loop->server->hooks.finished(c->loop->user, x, c->out.status, c->out.sent);
    loop_give_exchange(c->loop, x);
}

/* Bytes that the client's machine has acknowledged. */
static int64_t acknowledged(const struct connection *c)
{
    int queued = 0;
    if (ioctl(c->fd, SIOCOUTQ, &queued) != 0) queued = 0;
    return c->out.sent - queued;
}

static void proceed(struct connection *c, enum flush result)
{
    switch (result) {
    case FLUSH_DONE:
        finish(c);
        connection_answered(c);
        return;
    case FLUSH_FAILED:
        c->state = CONN_WRITING;
        connection_close(c);
        return;
    case FLUSH_BLOCKED:
        if (c->state == CONN_WRITING) return;
        c->state = CONN_WRITING;
        if (c->out.head.len) c->out.head = str_dup(&c->x->arena, c->out.head);
        c->window_bytes = acknowledged(c);
        c->deadline_ms = loop_now_ms(c->loop) + c->loop->server->options.idle_ms;
        connection_repoll(c);
        return;
    }
}

void answer_writable(struct connection *c)
{
    proceed(c, flush(c));
}

/* A socket with a large buffer seldom turns writable, so what counts is how much the client has acknowledged. */
bool answer_is_moving(struct connection *c)
{
    const struct http_options *o = &c->loop->server->options;
    int64_t now = acknowledged(c), moved = now - c->window_bytes;
    c->window_bytes = now;
    return moved * 1000 >= o->body_rate_min * o->idle_ms;
}

void answer_abort(struct connection *c)
{
    finish(c);
}

void answer_refuse(struct connection *c, enum err e)
{
    struct http_answer a = {.status = err_info(e)->status};
    c->loop->server->hooks.refuse(c->loop->user, c->x, e, &a);
    a.close = true;
    exchange_answer(c->x, &a);
}

void exchange_answer(struct exchange *x, const struct http_answer *answer)
{
    struct connection *c = x->connection;
    struct output *o = &c->out;
    assert(c->x == x && o->status == 0 && answer->status >= 200 && answer->status <= 599);
    o->status = answer->status;
    if (answer->file) {
        assert(answer->file->length >= 0 && answer->file->offset >= 0);
        o->file_fd = answer->file->fd;
    }
    if (c->state == CONN_CLOSED) {
        finish(c);
        connection_release(c);
        return;
    }
    o->close = answer->close || c->body_unread || !x->head.keep_alive || c->loop->is_draining;
    o->linger = c->is_refused || c->body_unread || x->head.keep_alive;
    compose(c, answer);
    proceed(c, flush(c));
}

enum http_client exchange_client(const struct exchange *x)
{
    return (enum http_client)x->client;
}
