/* http/server.c - starting and stopping the loops. See server.h. */
#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/log.h"
#include "base/memory.h"
#include "http/loop.h"

static void options_fill(struct http_options *o)
{
    if (o->loops <= 0) o->loops = (int)sysconf(_SC_NPROCESSORS_ONLN);
    if (o->loops <= 0) o->loops = 1;
    if (o->connections_max <= 0) o->connections_max = 10000;
    if (o->body_memory_max <= 0) o->body_memory_max = INT64_C(256) * 1024 * 1024;
    if (o->header_ms <= 0) o->header_ms = 10000;
    if (o->idle_ms <= 0) o->idle_ms = 60000;
    if (o->body_rate_min <= 0) o->body_rate_min = 500;
    if (o->body_window_ms <= 0) o->body_window_ms = 10000;
    if (o->body_bytes_max <= 0) o->body_bytes_max = 65536;
    if (o->linger_ms <= 0) o->linger_ms = 5000;
    if (o->drain_ms <= 0) o->drain_ms = 30000;
}

/* The port stands at the same place in addresses of both families. */
static_assert(offsetof(struct sockaddr_in, sin_port) == offsetof(struct sockaddr_in6, sin6_port),
              "one place for ports");

static void port_set(struct sockaddr_storage *a, int port)
{
    in_port_t wire = htons((uint16_t)port);
    memcpy((char *)a + offsetof(struct sockaddr_in, sin_port), &wire, sizeof wire);
}

static int port_get(const struct sockaddr_storage *a)
{
    in_port_t wire = 0;
    memcpy(&wire, (const char *)a + offsetof(struct sockaddr_in, sin_port), sizeof wire);
    return ntohs(wire);
}

/* A bound socket, or -1 with errno. Linux hands TCP_NODELAY on to the connections accepted from it. */
static int socket_bind(const struct sockaddr_storage *a, socklen_t len, bool is_shared)
{
    int on = 1, off = 0;
    int fd = socket(a->ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd < 0) return -1;
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    if (a->ss_family == AF_INET6) setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof off);
    if (is_shared) setsockopt(fd, SOL_SOCKET, SO_REUSEPORT, &on, sizeof on);
    if (bind(fd, (const struct sockaddr *)a, len) == 0) return fd;
    int why = errno;
    close(fd);
    errno = why;
    return -1;
}

/* SO_REUSEPORT would silently let a second server of the same user share the port: a bind that fails without the option
 * means that another server is there. */
static bool port_is_free(const struct sockaddr_storage *a, socklen_t len)
{
    int fd = socket_bind(a, len, false);
    if (fd < 0) return false;
    bool is_free = listen(fd, 1) == 0;
    int why = errno;
    close(fd);
    errno = why;
    return is_free;
}

/* Each loop polls a descriptor of its own for the one socket. False: it is not one that TCP clients connect to. */
static bool sockets_share(struct http_server *s, int fd)
{
    struct sockaddr_storage bound = {0};
    socklen_t bound_len = sizeof bound, int_len = sizeof(int);
    int on = 1, is_listening = 0;
    if (getsockname(fd, (struct sockaddr *)&bound, &bound_len) != 0) return false;
    if (getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &is_listening, &int_len) != 0) return false;
    if ((bound.ss_family != AF_INET && bound.ss_family != AF_INET6) || !is_listening) {
        errno = ENOTSOCK;
        return false;
    }
    char host[INET6_ADDRSTRLEN];
    address_text(&bound, host);
    s->port = port_get(&bound);
    snprintf(s->address, sizeof s->address, strchr(host, ':') ? "[%s]:%d" : "%s:%d", host, s->port);
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    if (fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK) != 0) return false;
    for (size_t i = 0; i < s->loop_count; i++)
        if ((s->loops[i].listen_fd = fcntl(fd, F_DUPFD_CLOEXEC, 3)) < 0) return false;
    return true;
}

static bool sockets_open(struct http_server *s, struct sockaddr_storage *a, socklen_t len)
{
    if (s->options.listen_fd) return sockets_share(s, s->options.listen_fd);
    if (port_get(a) && !port_is_free(a, len)) return false;
    for (size_t i = 0; i < s->loop_count; i++) {
        int fd = socket_bind(a, len, s->loop_count > 1);
        if (fd < 0) return false;
        s->loops[i].listen_fd = fd;
        if (i == 0) {
            struct sockaddr_storage bound = {0};
            socklen_t bound_len = sizeof bound;
            if (getsockname(fd, (struct sockaddr *)&bound, &bound_len) != 0) return false;
            s->port = port_get(&bound);
            port_set(a, s->port);
        }
    }
    /* All sockets are bound before the first listens, so that every connection is spread over all loops. */
    for (size_t i = 0; i < s->loop_count; i++)
        if (listen(s->loops[i].listen_fd, SOMAXCONN) != 0) return false;
    return true;
}

void http_server_free(struct http_server *s)
{
    if (!s) return;
    /* The owner still holds these exchanges and may still speak to their loops, so the memory stays. */
    for (size_t i = 0; i < s->loop_count; i++)
        if (s->loops[i].exchange_count) return;
    for (size_t i = 0; i < s->loop_count; i++)
        if (s->loops[i].listen_fd >= 0) close(s->loops[i].listen_fd);
    if (s->is_started) {
        for (size_t i = 0; i < s->loop_count; i++) uv_mutex_destroy(&s->loops[i].wake_lock);
        uv_sem_destroy(&s->started);
    }
    quota_free(s->connections_held);
    quota_free(s->body_held);
    free(s->loops);
    free(s);
}

enum err http_server_start(const struct http_options *options, const struct http_hooks *hooks, struct http_server **ret,
                           char *ret_why, size_t why_bytes)
{
    uv_replace_allocator(memory_take, memory_grow, memory_zeroed, free);
    struct sockaddr_storage address = {0};
    socklen_t address_len = 0;
    if (!options->listen_fd && !address_parse(options->listen, &address, &address_len)) {
        snprintf(ret_why, why_bytes, "cannot listen on \"%s\": not an address and port", options->listen);
        return ERR_UNAVAILABLE;
    }
    struct http_server *s = memory_zeroed(1, sizeof *s);
    s->options = *options;
    s->hooks = *hooks;
    options_fill(&s->options);
    s->connections_held = quota_new();
    s->body_held = quota_new();
    if (options->trusted_proxy && !address_canonical(str_from(options->trusted_proxy), s->trusted_proxy)) {
        snprintf(ret_why, why_bytes, "the trusted proxy \"%s\" is not an address", options->trusted_proxy);
        http_server_free(s);
        return ERR_UNAVAILABLE;
    }
    s->options.listen = s->options.trusted_proxy = NULL; /* the caller's */
    s->loop_count = (size_t)s->options.loops;
    s->loops = memory_zeroed(s->loop_count, sizeof *s->loops);
    for (size_t i = 0; i < s->loop_count; i++)
        s->loops[i].server = s, s->loops[i].index = (int)i, s->loops[i].listen_fd = -1;

    bool is_open = sockets_open(s, &address, address_len);
    if (!is_open && errno == EAFNOSUPPORT && options->listen[0] == ':') { /* a machine without IPv6 */
        struct sockaddr_in any = {.sin_family = AF_INET};
        memcpy(&address, &any, sizeof any);
        int64_t port = 0;
        (void)str_to_int64(str_from(options->listen + 1), &port);
        port_set(&address, (int)port);
        is_open = sockets_open(s, &address, sizeof any);
    }
    if (!is_open) {
        snprintf(ret_why, why_bytes, "cannot listen on %s%s%s: %s", options->listen_fd ? "the inherited socket" : "\"",
                 options->listen_fd ? "" : options->listen, options->listen_fd ? "" : "\"", strerror(errno));
        http_server_free(s);
        return ERR_UNAVAILABLE;
    }

    signal(SIGPIPE, SIG_IGN);
    if (uv_sem_init(&s->started, 0) != 0) abort();
    s->is_started = true;
    *ret = s; /* the hooks may read it there */
    /* Signals are the main thread's. */
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    for (size_t i = 0; i < s->loop_count; i++)
        if (uv_thread_create(&s->loops[i].thread, loop_run, &s->loops[i]) != 0) abort();
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    for (size_t i = 0; i < s->loop_count; i++) uv_sem_wait(&s->started);
    return OK;
}

int http_server_port(const struct http_server *s)
{
    return s->port;
}
const char *http_server_address(const struct http_server *s)
{
    return s->address;
}
bool http_server_is_draining(const struct http_server *s)
{
    return s->draining;
}
bool http_server_is_moving(struct http_server *s)
{
    bool all = true;
    for (size_t i = 0; i < s->loop_count; i++) all = all && s->loops[i].turns == s->turns;
    if (!all) return false;
    s->turns++;
    for (size_t i = 0; i < s->loop_count; i++) http_loop_wake(&s->loops[i]);
    return true;
}
const struct http_stats *http_server_stats(const struct http_server *s)
{
    return &s->stats;
}

void http_server_stop(struct http_server *s)
{
    s->draining = true;
    for (size_t i = 0; i < s->loop_count; i++) http_loop_wake(&s->loops[i]);
    size_t unanswered = 0;
    for (size_t i = 0; i < s->loop_count; i++) {
        uv_thread_join(&s->loops[i].thread);
        unanswered += s->loops[i].exchange_count;
    }
    if (unanswered) log_event(LOG_WARN, "http_unanswered", LOGI("exchanges", unanswered));
}
