/* http/connection.c - a connection's incoming bytes: reading, framing, deadlines, closing. See loop.h.
 *
 * Bytes are received into the loop's scratch space and used from there; only what is left over (an unfinished head, the
 * next request) is kept in the connection's own buffer. A finished head is copied into its exchange's arena, so nothing
 * that the owner holds points into a buffer. One call of `take` reads at most one request; the next request waits until
 * this one is answered. */
#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/timestamp.h"
#include "http/loop.h"

#define IN_BYTES_FIRST 2048
#define BODY_RESERVE_MAX (256 * 1024)
#define LINGER_BYTES_MAX (64 * 1024 * 1024)

static void on_poll(uv_poll_t *poll, int status, int events);
static void readable(struct connection *c);

static void deadline_in(struct connection *c, int64_t ms)
{
    c->deadline_ms = loop_now_ms(c->loop) + ms;
}

void connection_open(struct http_loop *loop, int fd, const struct origin *origin)
{
    struct connection *c = memory_zeroed(1, sizeof *c);
    c->loop = loop;
    c->fd = fd;
    c->out.file_fd = -1;
    c->origin = *origin;
    if (uv_poll_init(&loop->uv, &c->poll, fd) != 0) { /* the kernel has no memory for one more */
        guard_leave(c);
        close(fd);
        free(c);
        return;
    }
    c->poll.data = c;
    loop_link(loop, c);
    loop_idle_add(loop, c);
    deadline_in(c, loop->server->options.header_ms);
    connection_repoll(c);
}

void connection_repoll(struct connection *c)
{
    int events = c->state == CONN_WRITING ? UV_WRITABLE : 0;
    /* An unfinished head may grow further: the codec's limits end it. */
    bool is_full = c->in_len >= PIPELINED_BYTES_MAX && c->state != CONN_HEAD;
    if (!c->is_eof && !is_full && c->state != CONN_HELD) events |= UV_READABLE;
    if (events == c->polled) return;
    c->polled = events;
    int r = events ? uv_poll_start(&c->poll, events, on_poll) : uv_poll_stop(&c->poll);
    assert(r == 0);
}

static void on_released(uv_handle_t *handle)
{
    struct connection *c = handle->data;
    c->is_released = true;
    connection_release(c);
}

void connection_release(struct connection *c)
{
    if (!c->is_released || c->is_ready || c->x) return;
    loop_unlink(c->loop, c);
    free(c->in);
    free(c);
}

void connection_close(struct connection *c)
{
    if (c->state == CONN_CLOSED) return;
    if (c->state == CONN_HEAD) { /* the owner has not seen this exchange */
        loop_give_exchange(c->loop, c->x);
        c->x = NULL;
    } else if (c->state == CONN_BODY || c->state == CONN_WRITING) {
        answer_abort(c);
    }
    c->state = CONN_CLOSED;
    if (c->x) c->x->client = CLIENT_GONE;
    c->deadline_ms = INT64_MAX;
    loop_idle_remove(c->loop, c);
    guard_leave(c);
    /* libuv first: it still refers to the descriptor, whose number may belong to another thread as soon as it is
     * closed. */
    uv_close((uv_handle_t *)&c->poll, on_released);
    close(c->fd);
    c->fd = -1;
}

static void in_free(struct connection *c)
{
    free(c->in);
    c->in = NULL;
    c->in_start = c->in_len = c->in_cap = 0;
}

static void linger(struct connection *c)
{
    in_free(c);
    shutdown(c->fd, SHUT_WR);
    c->state = CONN_LINGER;
    c->dropped = 0;
    deadline_in(c, c->loop->server->options.linger_ms);
    connection_repoll(c);
}

void connection_answered(struct connection *c)
{
    if (c->out.close) {
        /* Closing with unread bytes makes the kernel reset the connection, and the answer may be lost. */
        if (c->out.linger && !c->is_eof)
            linger(c);
        else
            connection_close(c);
        return;
    }
    c->state = CONN_IDLE;
    loop_idle_add(c->loop, c);
    deadline_in(c, c->loop->server->options.idle_ms);
    connection_repoll(c);
    if (c->in_len)
        loop_ready(c->loop, c);
    else if (c->is_eof)
        connection_close(c);
    else if (c->loop->is_draining) /* its answer was begun before, and promised to keep it open */
        connection_drain(c);
}

/* Moves the head out of the buffer it was read in. */
static void head_own(struct connection *c, Str bytes)
{
    if (!c->x->head.method.ptr) return;
    Str own = str_dup(&c->x->arena, bytes);
    http_head_move(&c->x->head, c->parser.seen, own.ptr);
}

static void refuse(struct connection *c, enum err e)
{
    if (e == ERR_REQUEST_TIMEOUT)
        c->loop->server->stats.timeouts++;
    else
        c->loop->server->stats.bad_requests++;
    c->is_refused = true;
    answer_refuse(c, e);
}

static void exchange_start(struct connection *c)
{
    c->x = loop_take_exchange(c->loop, c);
    c->x->started_ns = c->loop->pass_ns ? c->loop->pass_ns : time_monotonic_ns();
    if (c->is_eof) c->x->client = CLIENT_SILENT;
    c->parser = (struct http_parser){0};
    c->out = (struct output){.file_fd = -1};
    c->body_unread = false;
    c->is_held = false;
    c->state = CONN_HEAD;
    loop_idle_remove(c->loop, c);
    deadline_in(c, c->loop->server->options.header_ms);
}

/* For a client that waits to be asked for its body. Where even this line does not fit into the socket it is left out:
 * the client may go on without it. */
static bool ask_to_continue(struct connection *c)
{
    static const char line[] = "HTTP/1.1 100 Continue\r\n\r\n";
    ssize_t n = send(c->fd, line, sizeof line - 1, MSG_NOSIGNAL);
    return n == (ssize_t)sizeof line - 1 || (n < 0 && errno == EAGAIN);
}

static void hold(struct connection *c)
{
    c->state = CONN_HELD;
    c->deadline_ms = INT64_MAX;
}

/* The owner wants the body, and its limit is now known. */
static void body_begin(struct connection *c)
{
    struct exchange *x = c->x;
    if (x->head.content_length > x->body_bytes_max) {
        refuse(c, ERR_BODY_TOO_LARGE);
        return;
    }
    http_body_init(&c->framing, &x->head);
    buf_init(&c->body, &x->arena, (size_t)x->body_bytes_max);
    c->is_body_begun = true;
    if (c->body_unread && x->head.expect_continue && !c->in_len && !c->is_body_here && !ask_to_continue(c))
        connection_close(c);
}

static void forwarded_origin(struct exchange *x)
{
    Str client = address_forwarded(x);
    x->is_tls = str_eq_nocase(http_header_get(&x->head, "X-Forwarded-Proto"), STR("https"));
    if (!client.len) return;
    char network[NETWORK_TEXT_MAX];
    address_network(client, network);
    x->peer = client;
    x->network = str_printf(&x->arena, "%s", network);
}

/* The head is complete. The exchange may be over when this returns: the state is then no longer CONN_BODY. */
static void head_done(struct connection *c, bool is_body_here)
{
    struct exchange *x = c->x;
    const struct http_server *server = c->loop->server;
    if (c->origin.is_from_proxy) forwarded_origin(x);
    c->state = CONN_BODY;
    c->body_unread = x->head.content_length != 0;
    c->is_body_here = is_body_here;
    c->is_body_begun = false;
    c->window_bytes = 0;
    deadline_in(c, server->options.body_window_ms);
    c->loop->pass_wanted = true;
    server->hooks.begin(c->loop->user, x);
    if (c->state != CONN_BODY) return;
    if (c->is_held)
        hold(c);
    else
        body_begin(c);
}

void exchange_hold(struct exchange *x)
{
    x->connection->is_held = true;
}

void exchange_go_on(struct exchange *x)
{
    struct connection *c = x->connection;
    c->is_held = false;
    if (c->state == CONN_CLOSED) {
        answer_abort(c);
        connection_release(c);
        return;
    }
    assert(c->state == CONN_HELD);
    c->state = CONN_BODY;
    c->window_bytes = 0;
    deadline_in(c, c->loop->server->options.body_window_ms);
    if (!c->is_body_begun) body_begin(c);
    if (c->state != CONN_BODY) return;
    connection_repoll(c);
    loop_ready(c->loop, c); /* without bytes too: a body may be empty */
}

static void deliver(struct connection *c)
{
    c->state = CONN_HANDLING;
    c->deadline_ms = INT64_MAX;
    c->loop->pass_wanted = true;
    c->loop->server->hooks.request(c->loop->user, c->x);
}

/* Room for the announced length, so that the body need not be moved while it arrives; a large announcement may be an
 * empty promise. */
static void body_reserve(struct connection *c)
{
    int64_t length = c->x->head.content_length;
    buf_reserve(&c->body, (size_t)(length < BODY_RESERVE_MAX ? length : BODY_RESERVE_MAX));
}

static void body_take(struct connection *c, Str *data)
{
    struct exchange *x = c->x;
    for (;;) {
        Str piece;
        switch (http_body_feed(&c->framing, data, &piece)) {
        case HTTP_BODY_MORE: return;
        case HTTP_BODY_DATA:
            c->window_bytes += (int64_t)piece.len;
            if (c->framing.total > x->body_bytes_max) {
                refuse(c, ERR_BODY_TOO_LARGE);
                return;
            }
            if (!x->sink && !guard_body(c, piece.len)) {
                refuse(c, ERR_OVERLOADED);
                return;
            }
            if (!x->sink) {
                if (!c->body.cap && x->head.content_length > 0) body_reserve(c);
                buf_append(&c->body, piece);
            } else if (!x->sink(x, piece)) {
                x->body_failed = true;
                deliver(c);
                return;
            }
            if (c->is_held) {
                hold(c);
                return;
            }
            break;
        case HTTP_BODY_END:
            c->body_unread = false;
            x->body = buf_str(&c->body);
            deliver(c);
            return;
        case HTTP_BODY_REFUSED: refuse(c, ERR_BAD_REQUEST); return;
        }
    }
}

/* Reads on with `data`, up to the end of one request. Returns how many bytes are used up. */
static size_t take(struct connection *c, Str data)
{
    Str rest = data;
    if (c->state == CONN_IDLE && data.len) exchange_start(c);
    if (c->state == CONN_HEAD) {
        size_t head_bytes;
        enum err e;
        switch (http_head_parse(&c->parser, data, &c->x->head, &head_bytes, &e)) {
        case HTTP_MORE: return 0;
        case HTTP_REFUSED:
            head_own(c, data);
            refuse(c, e);
            return data.len;
        case HTTP_HEAD_DONE: break;
        }
        head_own(c, (Str){data.ptr, head_bytes});
        rest = (Str){data.ptr + head_bytes, data.len - head_bytes};
        head_done(c, rest.len);
    }
    if (c->state == CONN_BODY) body_take(c, &rest);
    return data.len - rest.len;
}

/* After bytes were taken: sets the deadline for a silent client, or gives the next request its turn. */
static void settle(struct connection *c)
{
    if (c->state != CONN_LINGER && c->state != CONN_CLOSED) connection_repoll(c);
    if (c->state == CONN_IDLE && c->in_len)
        loop_ready(c->loop, c);
    else if (c->is_eof && (c->state == CONN_IDLE || c->state == CONN_HEAD || c->state == CONN_BODY))
        connection_close(c);
}

void connection_proceed(struct connection *c)
{
    size_t used = take(c, c->in ? (Str){c->in + c->in_start, c->in_len} : (Str){0});
    if (c->state == CONN_LINGER || c->state == CONN_CLOSED) return; /* the buffer is gone, or is about to go */
    c->in_start += used;
    c->in_len -= used;
    if (!c->in_len) in_free(c);
    settle(c);
}

/* Room behind the bytes that wait: at least half of IN_BYTES_FIRST. What a connection may keep is bounded by the limits
 * of a head, or by twice PIPELINED_BYTES_MAX. */
static Str in_reserve(struct connection *c)
{
    if (c->in_start) {
        memmove(c->in, c->in + c->in_start, c->in_len);
        c->in_start = 0;
    }
    if (c->in_cap - c->in_len < IN_BYTES_FIRST / 2) {
        size_t cap = c->in_cap ? c->in_cap * 2 : IN_BYTES_FIRST;
        char *in = memory_grow(c->in, cap);
        c->in = in;
        c->in_cap = cap;
    }
    return (Str){c->in + c->in_len, c->in_cap - c->in_len};
}

static void keep(struct connection *c, Str rest)
{
    assert(!c->in_len);
    in_free(c);
    if (!rest.len || c->state == CONN_LINGER || c->state == CONN_CLOSED) return;
    c->in_cap = rest.len < IN_BYTES_FIRST ? IN_BYTES_FIRST : rest.len;
    c->in = memory_take(c->in_cap);
    memcpy(c->in, rest.ptr, rest.len);
    c->in_len = rest.len;
}

static void eof(struct connection *c)
{
    c->is_eof = true;
    if (c->x) c->x->client = CLIENT_SILENT;
    if (c->state == CONN_LINGER) {
        connection_close(c);
        return;
    }
    /* A client whose request is complete may have shut down only its own side and still wait for the answer. */
    connection_repoll(c);
    settle(c);
}

static void drop(struct connection *c)
{
    ssize_t n = recv(c->fd, c->loop->scratch, sizeof c->loop->scratch, MSG_TRUNC); /* TCP: dropped without a copy */
    if (n == 0)
        eof(c);
    else if (n > 0)
        c->dropped += n;
    else if (errno != EAGAIN && errno != EINTR)
        connection_close(c);
    if (c->dropped > LINGER_BYTES_MAX) connection_close(c);
}

Time exchange_now(const struct exchange *x)
{
    return x->loop->pass_ns ? x->loop->pass_at : time_now();
}

static void readable(struct connection *c)
{
    bool is_busy = c->state == CONN_HANDLING || c->state == CONN_WRITING; /* a held one is not read */
    if (c->state == CONN_LINGER || (c->state == CONN_WRITING && c->out.close)) {
        drop(c);
        return;
    }
    bool is_direct = !is_busy && !c->in_len;
    /* Outside a body, read only as much as may be kept: it may turn out to be more than one request. */
    size_t most = c->state == CONN_BODY ? sizeof c->loop->scratch : PIPELINED_BYTES_MAX;
    Str room = is_direct ? (Str){c->loop->scratch, most} : in_reserve(c);
    ssize_t n = recv(c->fd, (char *)room.ptr, room.len, 0);
    if (n == 0) {
        eof(c);
        return;
    }
    if (n < 0) {
        if (errno != EAGAIN && errno != EINTR) connection_close(c);
        return;
    }
    if (is_direct) {
        Str data = {c->loop->scratch, (size_t)n};
        size_t used = take(c, data);
        keep(c, (Str){data.ptr + used, data.len - used});
        settle(c);
    } else {
        c->in_len += (size_t)n;
        if (is_busy)
            connection_repoll(c);
        else
            connection_proceed(c);
    }
}

static void on_poll(uv_poll_t *poll, int status, int events)
{
    struct connection *c = poll->data;
    if (status < 0) { /* reset */
        connection_close(c);
        return;
    }
    if (!c->loop->pass_ns) {
        c->loop->pass_ns = time_monotonic_ns();
        c->loop->pass_at = time_now();
    }
    if (events & UV_WRITABLE && c->state == CONN_WRITING) answer_writable(c);
    if (events & UV_READABLE && c->state != CONN_CLOSED && c->polled & UV_READABLE) readable(c);
}

void connection_deadline(struct connection *c)
{
    const struct http_options *o = &c->loop->server->options;
    switch (c->state) {
    case CONN_HEAD:
        head_own(c, (Str){c->in + c->in_start, c->in_len});
        refuse(c, ERR_REQUEST_TIMEOUT);
        return;
    case CONN_BODY:
        if (c->window_bytes * 1000 < o->body_rate_min * o->body_window_ms) {
            refuse(c, ERR_REQUEST_TIMEOUT);
            return;
        }
        c->window_bytes = 0;
        deadline_in(c, o->body_window_ms);
        return;
    case CONN_WRITING:
        if (answer_is_moving(c)) {
            deadline_in(c, o->idle_ms);
            return;
        }
        c->loop->server->stats.timeouts++;
        connection_close(c);
        return;
    default: connection_close(c);
    }
}

void connection_drain(struct connection *c)
{
    if (!c->loop->spares_idle) connection_give_up(c);
}

bool connection_give_up(struct connection *c)
{
    if (c->state != CONN_IDLE || c->in_len) return false;
    readable(c); /* a request may have arrived in the meantime */
    if (c->state == CONN_IDLE && !c->in_len) connection_close(c);
    return c->state == CONN_CLOSED;
}
