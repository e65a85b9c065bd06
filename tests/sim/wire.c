/* tests/sim/wire.c - see wire.h. The functions of http/server.h that the router and others call. */
#include "wire.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

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

struct connection {
    wire_heard *heard;
    void *client;
};

static struct http_server *the_server;
static int open_exchanges;

int wire_open(void)
{
    return open_exchanges;
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
    while (open_exchanges > 0) {
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

void exchange_hold(struct exchange *x)
{
    (void)x;
    abort(); /* files and long bodies are not part of the simulation */
}
void exchange_go_on(struct exchange *x)
{
    (void)x;
    abort();
}
enum http_client exchange_client(const struct exchange *x)
{
    (void)x;
    return CLIENT_THERE;
}

void exchange_answer(struct exchange *x, const struct http_answer *answer)
{
    struct connection *c = x->connection;
    assert(!answer->file);
    c->heard(c->client, &(struct wire_answer){answer->status, answer->body.ptr, answer->body.len});
    the_server->hooks.finished(the_server->loop.user, x, answer->status, (int64_t)answer->body.len);
    free(c);
    arena_done(&x->arena);
    free(x);
    open_exchanges--;
}

void wire_send(const char *request, size_t length, wire_heard *heard, void *client)
{
    struct exchange *x = calloc(1, sizeof *x);
    struct connection *c = calloc(1, sizeof *c);
    if (!x || !c) abort();
    *c = (struct connection){heard, client};
    x->connection = c;
    char *bytes = arena_alloc(&x->arena, length);
    memcpy(bytes, request, length);
    struct http_parser parser = {0};
    size_t head;
    enum err e;
    enum http_parse parsed = http_head_parse(&parser, (Str){bytes, length}, &x->head, &head, &e);
    assert(parsed == HTTP_HEAD_DONE);
    (void)parsed;
    x->peer = x->network = STR("192.0.2.1");
    x->loop = &the_server->loop;
    x->started_ns = clock_ns();
    x->body_bytes_max = 65536;
    open_exchanges++;
    the_server->hooks.begin(the_server->loop.user, x);
    x->body = (Str){bytes + head, length - head};
    the_server->hooks.request(the_server->loop.user, x);
    the_server->loop.wants_pass = true;
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
