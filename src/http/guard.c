/* http/guard.c - what one client, or all of them together, may hold: connections, and bytes of bodies. See loop.h.
 *
 * Near the cap, connections that wait for a request are closed to make room for new ones, the longest-waiting first; a
 * network at its own cap loses one of its own. So silent sockets cost their owner and nobody else.
 * A body's bytes are counted as they arrive, not as they are announced: announcing costs a client nothing. */
#include <stdatomic.h>
#include <stdio.h>

#include "base/log.h"
#include "base/timestamp.h"
#include "http/loop.h"

#define GIVE_UP_TRIES 64 /* connections looked at to find one that can be closed */
#define BODY_SHARE 4     /* one network may hold a quarter of all body bytes */

static void refused(struct http_loop *loop, struct log_gate *gate, _Atomic int64_t *count, const char *event,
                    const char *network)
{
    (*count)++;
    int64_t times = log_gate_pass(gate, time_monotonic_ns());
    if (times) log_event(LOG_WARN, event, LOGC("network", network), LOGI("times", times), LOGI("loop", loop->index));
}

/* place SIZE_MAX: any network's. */
static bool give_up_idle(struct http_loop *loop, size_t place)
{
    int tries = GIVE_UP_TRIES;
    for (struct connection *c = loop->idle_oldest, *newer; c && tries-- > 0; c = newer) {
        newer = c->idle_newer;
        if (place != SIZE_MAX && (c->origin.is_from_proxy || c->origin.place != place)) continue;
        if (!connection_give_up(c)) continue;
        loop->server->stats.given_up++;
        return true;
    }
    return false;
}

static bool take_share(struct http_loop *loop, const struct origin *o)
{
    struct http_server *s = loop->server;
    int max = s->options.connections_per_address;
    if (o->is_from_proxy || !max) return true;
    if (quota_take(s->connections_held, o->place, 1, max)) return true;
    return give_up_idle(loop, o->place) && quota_take(s->connections_held, o->place, 1, max);
}

static void give_share(struct http_loop *loop, const struct origin *o)
{
    struct http_server *s = loop->server;
    if (!o->is_from_proxy && s->options.connections_per_address) quota_give(s->connections_held, o->place, 1);
}

bool guard_admit(struct http_loop *loop, const struct origin *o)
{
    struct http_server *s = loop->server;
    int max = s->options.connections_max;
    if (s->stats.open >= max - max / 16) give_up_idle(loop, SIZE_MAX);
    if (!take_share(loop, o)) {
        refused(loop, &loop->refused_address, &s->stats.refused_address, "connections_refused_address", o->network);
        return false;
    }
    if (s->stats.open++ < max) return true;
    s->stats.open--;
    give_share(loop, o);
    refused(loop, &loop->refused_cap, &s->stats.refused_cap, "connections_refused", o->network);
    return false;
}

void guard_leave(struct connection *c)
{
    c->loop->server->stats.open--;
    give_share(c->loop, &c->origin);
}

void guard_origin(const struct http_server *s, const struct sockaddr_storage *peer, struct origin *ret)
{
    address_text(peer, ret->peer);
    address_network(str_from(ret->peer), ret->network);
    ret->place = quota_place(s->connections_held, str_from(ret->network));
    ret->is_from_proxy = s->trusted_proxy[0] && strcmp(ret->peer, s->trusted_proxy) == 0;
}

bool guard_body(struct connection *c, size_t bytes)
{
    struct http_server *s = c->loop->server;
    struct exchange *x = c->x;
    int64_t n = (int64_t)bytes, max = s->options.body_memory_max;
    if (!c->body_held)
        c->body_place = c->origin.is_from_proxy ? quota_place(s->connections_held, x->network) : c->origin.place;
    if (quota_take(s->body_held, c->body_place, n, max / BODY_SHARE)) {
        if (atomic_fetch_add(&s->stats.body_bytes, n) + n <= max) {
            c->body_held += n;
            return true;
        }
        atomic_fetch_sub(&s->stats.body_bytes, n);
        quota_give(s->body_held, c->body_place, n);
    }
    refused(c->loop, &c->loop->refused_body, &s->stats.refused_bodies, "bodies_refused", x->network.ptr);
    return false;
}

void guard_body_release(struct connection *c)
{
    if (!c->body_held) return;
    struct http_server *s = c->loop->server;
    atomic_fetch_sub(&s->stats.body_bytes, c->body_held);
    quota_give(s->body_held, c->body_place, c->body_held);
    c->body_held = 0;
}
