/* http/loop.c - one thread's event loop: accepting, deadlines, passes, draining. See loop.h.
 *
 * A pass is one turn of libuv: readable sockets are read and whole requests given to the owner, then hooks.pass runs,
 * then connections whose answer is out and whose next request waits in their buffer get their turn, and so on.
 * Deadlines are looked at by one coarse timer that walks all connections. */
#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/log.h"
#include "base/memory.h"
#include "http/loop.h"

#define ACCEPTS_PER_EVENT 64
#define ACCEPTS_PER_EVENT_SHARED 2 /* of a socket that all loops are woken for: the others get some, too */
#define ROUNDS_PER_PASS 32         /* rounds of pipelined requests before other sockets are looked at again */
#define SPARE_EXCHANGES_MAX 256
#define SOON_MS 4

struct exchange *loop_take_exchange(struct http_loop *loop, struct connection *c)
{
    struct exchange *x = loop->spare;
    if (x) {
        loop->spare = x->next_free;
        loop->spare_count--;
    } else {
        x = memory_zeroed(1, sizeof *x);
    }
    loop->exchange_count++;
    x->head.method = (Str){0};
    x->head.header_count = 0;
    x->body = (Str){0};
    x->peer = str_from(c->origin.peer);
    x->network = str_from(c->origin.network);
    x->is_tls = false;
    x->loop = loop;
    x->body_bytes_max = loop->server->options.body_bytes_max;
    x->sink = NULL;
    x->body_failed = false;
    x->user = NULL;
    x->client = CLIENT_THERE;
    x->connection = c;
    return x;
}

void loop_give_exchange(struct http_loop *loop, struct exchange *x)
{
    loop->exchange_count--;
    if (loop->spare_count == SPARE_EXCHANGES_MAX) {
        arena_done(&x->arena);
        free(x);
        return;
    }
    arena_reset(&x->arena);
    x->next_free = loop->spare;
    loop->spare = x;
    loop->spare_count++;
}

void loop_ready(struct http_loop *loop, struct connection *c)
{
    if (c->is_ready) return;
    c->is_ready = true;
    c->next_ready = NULL;
    *loop->ready_tail = c;
    loop->ready_tail = &c->next_ready;
}

static void end_if_done(struct http_loop *loop);
static void on_tick(uv_timer_t *timer);

static void tick_start(struct http_loop *loop)
{
    if (uv_is_active((uv_handle_t *)&loop->tick)) return;
    const struct http_options *o = &loop->server->options;
    int64_t least = o->header_ms < o->idle_ms ? o->header_ms : o->idle_ms;
    if (o->body_window_ms < least) least = o->body_window_ms;
    if (o->linger_ms < least) least = o->linger_ms;
    int64_t ms = least / 4 < 20 ? 20 : least / 4 > 1000 ? 1000 : least / 4;
    uv_timer_start(&loop->tick, on_tick, (uint64_t)ms, (uint64_t)ms);
}

void loop_link(struct http_loop *loop, struct connection *c)
{
    c->next = loop->connections;
    if (c->next) c->next->prev = c;
    loop->connections = c;
    loop->connection_count++;
    tick_start(loop);
}

void loop_unlink(struct http_loop *loop, struct connection *c)
{
    if (c->prev)
        c->prev->next = c->next;
    else
        loop->connections = c->next;
    if (c->next) c->next->prev = c->prev;
    loop->connection_count--;
    end_if_done(loop);
}

void loop_idle_add(struct http_loop *loop, struct connection *c)
{
    assert(!c->is_listed);
    c->is_listed = true;
    c->idle_newer = NULL;
    c->idle_older = loop->idle_newest;
    *(c->idle_older ? &c->idle_older->idle_newer : &loop->idle_oldest) = c;
    loop->idle_newest = c;
}

void loop_idle_remove(struct http_loop *loop, struct connection *c)
{
    if (!c->is_listed) return;
    c->is_listed = false;
    *(c->idle_older ? &c->idle_older->idle_newer : &loop->idle_oldest) = c->idle_newer;
    *(c->idle_newer ? &c->idle_newer->idle_older : &loop->idle_newest) = c->idle_older;
}

static void on_listener(uv_poll_t *poll, int status, int events);

static void take_in(struct http_loop *loop, int fd, const struct sockaddr_storage *peer)
{
    struct origin origin;
    loop->server->stats.accepted++;
    guard_origin(loop->server, peer, &origin);
    if (guard_admit(loop, &origin))
        connection_open(loop, fd, &origin);
    else
        close(fd);
}

static void accept_some(struct http_loop *loop, int most)
{
    while (most-- > 0) {
        struct sockaddr_storage peer;
        socklen_t peer_len = sizeof peer;
        int fd = accept4(loop->listen_fd, (struct sockaddr *)&peer, &peer_len, SOCK_NONBLOCK | SOCK_CLOEXEC);
        if (fd >= 0) {
            take_in(loop, fd, &peer);
        } else if (errno == EAGAIN) {
            return;
        } else if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM) {
            /* Clients wait in the backlog until the next tick: by then a connection may have been closed. */
            log_event(LOG_WARN, "http_accept_paused", LOGC("why", strerror(errno)));
            uv_poll_stop(&loop->listener);
            loop->is_accepting = false;
            tick_start(loop);
            return;
        } /* any other error concerns one connection: ECONNABORTED, EPROTO, EINTR, … */
    }
}

static void on_listener(uv_poll_t *poll, int status, int events)
{
    (void)status, (void)events; /* accept reports the error */
    struct http_loop *loop = poll->data;
    accept_some(loop, loop->server->options.listen_fd ? ACCEPTS_PER_EVENT_SHARED : ACCEPTS_PER_EVENT);
}

static void accept_start(struct http_loop *loop)
{
    int r = uv_poll_start(&loop->listener, UV_READABLE, on_listener);
    assert(r == 0);
    loop->is_accepting = true;
}

static void on_tick(uv_timer_t *timer)
{
    struct http_loop *loop = timer->data;
    int64_t now = loop_now_ms(loop);
    for (struct connection *c = loop->connections; c; c = c->next)
        if (now >= c->deadline_ms) connection_deadline(c);
    if (!loop->is_accepting && !loop->is_draining) accept_start(loop);
    if (!loop->connection_count) uv_timer_stop(timer);
}

static void on_idle(uv_idle_t *idle)
{
    (void)idle; /* the handle only has to be active */
}

static void on_check(uv_check_t *check)
{
    struct http_loop *loop = check->data;
    loop->pass_ns = 0;
    for (int round = 0;; round++) {
        if (loop->pass_wanted) {
            loop->pass_wanted = false;
            loop->server->hooks.pass(loop->user);
        }
        if (!loop->ready || round == ROUNDS_PER_PASS) break;
        struct connection *c = loop->ready, *next;
        loop->ready = NULL;
        loop->ready_tail = &loop->ready;
        for (; c; c = next) {
            next = c->next_ready;
            c->is_ready = false;
            if (c->state == CONN_IDLE || c->state == CONN_BODY)
                connection_proceed(c);
            else if (c->state == CONN_CLOSED)
                connection_release(c);
        }
    }
    bool is_idle = uv_is_active((uv_handle_t *)&loop->idle);
    if (loop->ready && !is_idle)
        uv_idle_start(&loop->idle, on_idle);
    else if (!loop->ready && is_idle)
        uv_idle_stop(&loop->idle);
}

static void close_handle(uv_handle_t *handle)
{
    if (!uv_is_closing(handle)) uv_close(handle, NULL);
}

/* Without handles uv_run returns. Connections that still have one are closing already. */
static void end(struct http_loop *loop)
{
    if (loop->is_ending) return;
    loop->is_ending = true;
    uv_mutex_lock(&loop->wake_lock);
    loop->is_over = true;
    uv_mutex_unlock(&loop->wake_lock);
    close_handle((uv_handle_t *)&loop->async);
    close_handle((uv_handle_t *)&loop->check);
    close_handle((uv_handle_t *)&loop->idle);
    close_handle((uv_handle_t *)&loop->tick);
    close_handle((uv_handle_t *)&loop->soon);
    close_handle((uv_handle_t *)&loop->drain_timer);
    close_handle((uv_handle_t *)&loop->drain_idle_timer);
    for (struct every *e = loop->timers; e; e = e->next) close_handle((uv_handle_t *)&e->timer);
}

static void end_if_done(struct http_loop *loop)
{
    if (loop->is_draining && !loop->connection_count) end(loop);
}

static void on_drain_timeout(uv_timer_t *timer)
{
    struct http_loop *loop = timer->data;
    for (struct connection *c = loop->connections; c; c = c->next) connection_close(c);
    end(loop);
}

static void on_drain_idle_timeout(uv_timer_t *timer)
{
    struct http_loop *loop = timer->data;
    loop->spares_idle = false;
    for (struct connection *c = loop->connections; c; c = c->next) connection_drain(c);
}

static void drain(struct http_loop *loop)
{
    const struct http_options *o = &loop->server->options;
    /* Connections in the backlog would be reset when their listener closes: they are served instead. The backlog of a
     * socket that a supervisor holds is the next process's. */
    if (!o->listen_fd) accept_some(loop, SOMAXCONN);
    loop->spares_idle = o->listen_fd && o->drain_idle_ms > 0;
    if (loop->spares_idle)
        uv_timer_start(&loop->drain_idle_timer, on_drain_idle_timeout, (uint64_t)o->drain_idle_ms, 0);
    loop->is_draining = true;
    uv_close((uv_handle_t *)&loop->listener, NULL);
    close(loop->listen_fd);
    loop->listen_fd = -1;
    uv_timer_start(&loop->drain_timer, on_drain_timeout, (uint64_t)loop->server->options.drain_ms, 0);
    for (struct connection *c = loop->connections; c; c = c->next) connection_drain(c);
    end_if_done(loop);
}

static void on_async(uv_async_t *async)
{
    struct http_loop *loop = async->data;
    loop->turns = loop->server->turns;
    if (loop->server->draining && !loop->is_draining) drain(loop);
    loop->pass_wanted = true;
    loop->server->hooks.woken(loop->user);
}

static void on_every(uv_timer_t *timer)
{
    struct every *e = timer->data;
    e->fn(e->loop->user);
}

void *http_loop_user(struct http_loop *loop)
{
    return loop->user;
}

void http_loop_wake(struct http_loop *loop)
{
    uv_mutex_lock(&loop->wake_lock);
    if (!loop->is_over) uv_async_send(&loop->async);
    uv_mutex_unlock(&loop->wake_lock);
}

static void on_soon(uv_timer_t *timer)
{
    struct http_loop *loop = timer->data;
    loop->pass_wanted = true;
    on_check(&loop->check); /* not after the next wait for the sockets */
}

void http_loop_soon(struct http_loop *loop)
{
    if (!loop->is_ending && !uv_is_active((uv_handle_t *)&loop->soon)) uv_timer_start(&loop->soon, on_soon, SOON_MS, 0);
}

void http_loop_every(struct http_loop *loop, int64_t ms, void (*fn)(void *loop_user))
{
    struct every *e = memory_zeroed(1, sizeof *e);
    *e = (struct every){.loop = loop, .next = loop->timers, .fn = fn};
    loop->timers = e;
    uv_timer_init(&loop->uv, &e->timer);
    e->timer.data = e;
    uv_timer_start(&e->timer, on_every, (uint64_t)ms, (uint64_t)ms);
}

static void setup(struct http_loop *loop)
{
    loop->ready_tail = &loop->ready;
    int r = uv_loop_init(&loop->uv);
    r |= uv_mutex_init(&loop->wake_lock);
    r |= uv_async_init(&loop->uv, &loop->async, on_async);
    r |= uv_check_init(&loop->uv, &loop->check);
    r |= uv_idle_init(&loop->uv, &loop->idle);
    r |= uv_timer_init(&loop->uv, &loop->tick);
    r |= uv_timer_init(&loop->uv, &loop->soon);
    r |= uv_timer_init(&loop->uv, &loop->drain_timer);
    r |= uv_timer_init(&loop->uv, &loop->drain_idle_timer);
    r |= uv_poll_init(&loop->uv, &loop->listener, loop->listen_fd);
    if (r) { /* at start, with no descriptors or memory left for a handful of handles */
        log_event(LOG_ERROR, "http_loop_failed", LOGI("loop", loop->index));
        abort();
    }
    loop->async.data = loop->check.data = loop->tick.data = loop->soon.data = loop->listener.data = loop;
    loop->drain_timer.data = loop->drain_idle_timer.data = loop;
    uv_check_start(&loop->check, on_check);
}

void loop_run(void *arg)
{
    struct http_loop *loop = arg;
    struct http_server *server = loop->server;
    setup(loop);
    loop->user = server->hooks.loop_start(server->hooks.ctx, loop, loop->index);
    accept_start(loop);
    uv_sem_post(&server->started);

    uv_run(&loop->uv, UV_RUN_DEFAULT);

    int r = uv_loop_close(&loop->uv);
    assert(r == 0);
    while (loop->timers) {
        struct every *e = loop->timers;
        loop->timers = e->next;
        free(e);
    }
    while (loop->spare) {
        struct exchange *x = loop->spare;
        loop->spare = x->next_free;
        arena_done(&x->arena);
        free(x);
    }
    if (loop->exchange_count) return;
    if (server->hooks.loop_stop) server->hooks.loop_stop(loop->user);
}
