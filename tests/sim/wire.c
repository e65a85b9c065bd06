/* tests/sim/wire.c - see wire.h. The functions of http/server.h that the router and others call. */
#include "wire.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/timestamp.h"
#include "http/server.h"
#include "schedule.h"

#define EVERY_MAX 4

struct http_loop {
    void *user;
    bool is_woken, wants_pass;
    struct {
        int64_t every_ns, next_ns;
        void (*fn)(void *loop_user);
    } timers[EVERY_MAX];
    int timer_count;
};

struct http_server {
    struct http_hooks hooks;
    struct http_loop loop;
    struct http_stats stats;
    bool is_draining;
};

enum state { NEXT, BODY, HELD, HANDLING, CLOSED };

/* What http/connection.c keeps, as far as it matters without a socket. */
struct connection {
    wire_heard *heard;
    void *client;
    char peer[48];
    bool stays;
    char *in;
    size_t length, at; /* received, and used so far */
    enum state state;
    struct exchange *x;
    struct http_body framing;
    struct buf body;
    bool is_held, is_body_begun, is_refused, body_unread;
    bool is_going, is_ready; /* inside `go`; about to be */
    struct connection *next_ready;
};

static struct http_server *the_server;
static struct connection *ready;
static int open_connections;

int wire_open(void)
{
    return open_connections;
}

enum err http_server_start(const struct http_options *options, const struct http_hooks *hooks, struct http_server **ret,
                           char *ret_why, size_t why_bytes)
{
    (void)options, (void)ret_why, (void)why_bytes;
    struct http_server *s = calloc(1, sizeof *s);
    if (!s) abort();
    s->hooks = *hooks;
    the_server = *ret = s;
    s->loop.user = hooks->loop_start(hooks->ctx, &s->loop, 0);
    return OK;
}

void http_server_stop(struct http_server *s)
{
    s->is_draining = true;
    while (open_connections > 0) {
        if (wire_turn() || sched_step()) continue;
        int64_t next = sched_next_ns();
        assert(next != INT64_MAX);
        clock_set_ns(next);
    }
    s->hooks.loop_stop(s->loop.user);
    the_server = NULL;
}

void http_server_free(struct http_server *s)
{
    free(s);
}

int http_server_port(const struct http_server *s)
{
    (void)s;
    return 8080;
}
const char *http_server_address(const struct http_server *s)
{
    (void)s;
    return "127.0.0.1:8080";
}
bool http_server_is_draining(const struct http_server *s)
{
    return s->is_draining;
}
bool http_server_is_moving(struct http_server *s)
{
    (void)s;
    return true;
}
const struct http_stats *http_server_stats(const struct http_server *s)
{
    return &s->stats;
}

void *http_loop_user(struct http_loop *loop)
{
    return loop->user;
}

void http_loop_wake(struct http_loop *loop)
{
    loop->is_woken = true;
}

void http_loop_every(struct http_loop *loop, int64_t ms, void (*fn)(void *loop_user))
{
    assert(loop->timer_count < EVERY_MAX);
    loop->timers[loop->timer_count].every_ns = ms * 1000000;
    loop->timers[loop->timer_count].next_ns = clock_ns() + ms * 1000000;
    loop->timers[loop->timer_count++].fn = fn;
}

void http_loop_soon(struct http_loop *loop)
{
    (void)loop;
    abort(); /* there is never a crowd in the simulation */
}

static void be_ready(struct connection *c)
{
    struct connection **last = &ready;
    while (*last) last = &(*last)->next_ready;
    c->next_ready = NULL;
    c->is_ready = true;
    *last = c;
}

static void release(struct connection *c)
{
    free(c->in);
    free(c);
    open_connections--;
}

static void finish(struct connection *c, int status, int64_t bytes)
{
    struct exchange *x = c->x;
    the_server->hooks.finished(the_server->loop.user, x, status, bytes);
    c->x = NULL;
    arena_done(&x->arena);
    free(x);
}

/* Does not read on by itself (see http/server.h). */
void exchange_answer(struct exchange *x, const struct http_answer *answer)
{
    struct connection *c = x->connection;
    bool ends = answer->close || c->is_refused || c->body_unread || !x->head.keep_alive || c->at == c->length;
    assert(c->x == x && answer->status >= 200 && answer->status <= 599);
    if (answer->file) close(answer->file->fd);
    c->heard(c->client, &(struct wire_answer){answer->status, answer->body.ptr, answer->body.len, answer});
    finish(c, answer->status, (int64_t)answer->body.len);
    c->state = ends ? CLOSED : NEXT;
    if (c->is_going || c->is_ready) return;
    if (ends)
        release(c);
    else
        be_ready(c);
}

static void refuse(struct connection *c, enum err e)
{
    struct http_answer a = {.status = err_info(e)->status, .close = true};
    c->is_refused = true;
    the_server->hooks.refuse(the_server->loop.user, c->x, e, &a);
    exchange_answer(c->x, &a);
}

static void body_begin(struct connection *c)
{
    if (c->x->head.content_length > c->x->body_bytes_max) {
        refuse(c, ERR_BODY_TOO_LARGE);
        return;
    }
    http_body_init(&c->framing, &c->x->head);
    buf_init(&c->body, &c->x->arena, (size_t)c->x->body_bytes_max);
    c->is_body_begun = true;
}

void exchange_hold(struct exchange *x)
{
    x->connection->is_held = true;
}

void exchange_go_on(struct exchange *x)
{
    struct connection *c = x->connection;
    assert(c->state == HELD);
    c->is_held = false;
    c->state = BODY;
    be_ready(c);
}

enum http_client exchange_client(const struct exchange *x)
{
    const struct connection *c = x->connection;
    return c->stays || c->at < c->length ? CLIENT_THERE : CLIENT_GONE;
}

Time exchange_now(const struct exchange *x)
{
    (void)x;
    return time_now();
}

static void head_take(struct connection *c)
{
    struct http_parser parser = {0};
    size_t head;
    enum err e;
    struct exchange *x = calloc(1, sizeof *x);
    if (!x) abort();
    c->x = x;
    x->connection = c;
    x->peer = x->network = str_from(c->peer);
    x->loop = &the_server->loop;
    x->started_ns = clock_ns();
    x->body_bytes_max = 65536;
    switch (http_head_parse(&parser, (Str){c->in + c->at, c->length - c->at}, &x->head, &head, &e)) {
    case HTTP_MORE: /* the client is gone, and the owner has not seen this exchange */
        free(x);
        c->x = NULL;
        c->state = CLOSED;
        return;
    case HTTP_REFUSED: refuse(c, e); return;
    case HTTP_HEAD_DONE: break;
    }
    c->at += head;
    c->state = BODY;
    c->is_held = c->is_body_begun = false;
    c->body_unread = x->head.content_length != 0;
    the_server->loop.wants_pass = true;
    the_server->hooks.begin(the_server->loop.user, x);
    if (c->state == BODY && c->is_held) c->state = HELD;
}

static void deliver(struct connection *c)
{
    c->state = HANDLING;
    the_server->loop.wants_pass = true;
    the_server->hooks.request(the_server->loop.user, c->x);
}

static void body_take(struct connection *c)
{
    struct exchange *x = c->x;
    Str rest = {c->in + c->at, c->length - c->at}, piece;
    enum http_body_result result = http_body_feed(&c->framing, &rest, &piece);
    c->at = c->length - rest.len;
    switch (result) {
    case HTTP_BODY_MORE: /* gone */
        finish(c, 0, 0);
        c->state = CLOSED;
        return;
    case HTTP_BODY_REFUSED: refuse(c, ERR_BAD_REQUEST); return;
    case HTTP_BODY_END:
        c->body_unread = false;
        x->body = buf_str(&c->body);
        deliver(c);
        return;
    case HTTP_BODY_DATA: break;
    }
    if (c->framing.total > x->body_bytes_max) {
        refuse(c, ERR_BODY_TOO_LARGE);
    } else if (!x->sink) {
        buf_append(&c->body, piece);
    } else if (!x->sink(x, piece)) {
        x->body_failed = true;
        deliver(c);
    } else if (c->is_held) {
        c->state = HELD;
    }
}

/* Reads on until the server has to do something first, or the connection is over. */
static void go(struct connection *c)
{
    c->is_ready = false;
    c->is_going = true;
    while (c->state == NEXT || c->state == BODY) {
        if (c->state == NEXT)
            head_take(c);
        else if (!c->is_body_begun)
            body_begin(c);
        else
            body_take(c);
    }
    c->is_going = false;
    if (c->state == CLOSED) release(c);
}

void wire_talk(const char *bytes, size_t length, const char *peer, bool stays, wire_heard *heard, void *client)
{
    struct connection *c = calloc(1, sizeof *c);
    char *in = malloc(length ? length : 1);
    if (!c || !in) abort();
    if (length) memcpy(in, bytes, length);
    *c = (struct connection){.heard = heard, .client = client, .stays = stays, .in = in, .length = length};
    snprintf(c->peer, sizeof c->peer, "%s", peer);
    if (!length) c->state = CLOSED;
    open_connections++;
    go(c);
}

void wire_send(const char *request, size_t length, wire_heard *heard, void *client)
{
    wire_talk(request, length, "192.0.2.1", true, heard, client);
}

static bool run_timers(struct http_loop *loop)
{
    bool ran = false;
    for (int i = 0; i < loop->timer_count; i++) {
        if (loop->timers[i].next_ns > clock_ns()) continue;
        loop->timers[i].next_ns = clock_ns() + loop->timers[i].every_ns;
        loop->timers[i].fn(loop->user);
        ran = true;
    }
    return ran;
}

bool wire_turn(void)
{
    struct http_loop *loop = &the_server->loop;
    bool worked = run_timers(loop);
    if (ready) {
        struct connection *c = ready;
        ready = c->next_ready;
        go(c);
        worked = true;
    }
    if (loop->is_woken) {
        loop->is_woken = false;
        the_server->hooks.woken(loop->user);
        worked = true;
    }
    if (worked) loop->wants_pass = true;
    if (!loop->wants_pass) return false;
    loop->wants_pass = false;
    the_server->hooks.pass(loop->user);
    return true;
}
