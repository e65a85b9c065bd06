/* http/server.h - connections on libuv loops.
 *
 * The server accepts, reads, frames and answers; what a request means is its owner's business, through struct
 * http_hooks. N loop threads each have their own listening socket (SO_REUSEPORT), or share one that a supervisor holds
 * (listen_fd). All hooks of one exchange run on its
 * loop's thread, and exchange_answer must be called there, exactly once, then or later (a deferred answer comes through
 * the owner's own wake-up, hooks.woken). Requests of one connection are handled one at a time, in order; pipelined ones
 * wait in the buffer. An exchange whose client is gone lives on until it is answered, and the answer is dropped.
 * exchange_answer never runs `begin` or `request` from within, so a list that its caller walks does not grow. */
#pragma once

#include "base/arena.h"
#include "base/buf.h"
#include "base/timestamp.h"
#include "http/codec.h"

struct http_server;
struct http_loop;
struct connection;
struct exchange;

/* What an answer's body can be instead of bytes: part of an open file, streamed in bounded memory, then closed. */
struct http_file {
    int fd;
    int64_t offset, length;
};

struct http_answer {
    int status;
    struct http_header *headers; /* Content-Length, Date and Connection are added by the server */
    size_t header_count;
    Str body;                     /* must live as long as the exchange's arena, or for ever */
    const struct http_file *file; /* instead of body; its fd is the server's from here on, whatever happens */
    int64_t head_length;          /* for HEAD without body or file: the Content-Length that GET would have */
    bool close;                   /* close the connection after this */
};

enum http_client {
    CLIENT_THERE,
    CLIENT_SILENT, /* has shut down its side of the connection, or all of it: there is no telling yet */
    CLIENT_GONE,   /* the connection is closed */
};

struct exchange {
    struct http_head head;
    struct arena arena; /* the request's own memory: head, body and answer live here */
    Str body;           /* complete when `request` is called (unless a sink took it) */
    Str peer;           /* the client's address in text, without port; from X-Forwarded-For behind a trusted proxy */
    Str network;        /* what limits count by: the address itself, or its /64 for IPv6; ends with a NUL */
    bool is_tls;        /* a trusted proxy says that the client connected over TLS (X-Forwarded-Proto) */
    struct http_loop *loop;
    int64_t started_ns;     /* monotonic, when its first byte was seen */
    int64_t body_bytes_max; /* `begin` may change it before the body is read */
    /* Set by `begin`: takes body bytes as they arrive instead of collecting them. False: refused, `request` is called
     * at once with body_failed set. Must not answer itself, but may call exchange_hold. */
    bool (*sink)(struct exchange *x, Str bytes);
    bool body_failed;
    _Atomic int client; /* enum http_client; the server's */
    void *user;         /* the owner's; NULL at `begin` */

    struct connection *connection; /* the server's */
    struct exchange *next_free;    /* the server's */
};

struct http_hooks {
    void *ctx;
    /* On the loop's thread before anything else, and after its last connection is gone. The result is http_loop_user().
     * loop_stop is not called when drain_ms ended with exchanges unanswered: their owner may still use the result. */
    void *(*loop_start)(void *ctx, struct http_loop *loop, int index);
    void (*loop_stop)(void *loop_user);
    /* The head is complete. May change body_bytes_max or set a sink; may answer at once (a refusal): then the body is
     * not read, and the connection is closed if there is a body; may call exchange_hold to do either later.
     * Content-Length over body_bytes_max is refused (413) after this by the server, through `refuse`. */
    void (*begin)(void *loop_user, struct exchange *x);
    /* The request is complete. */
    void (*request)(void *loop_user, struct exchange *x);
    /* The server itself refuses (broken HTTP, limits, deadlines): fill in the answer's headers and body for error e;
     * the status is there already. x->head may be incomplete (method empty). Do not call exchange_answer. */
    void (*refuse)(void *loop_user, struct exchange *x, enum err e, struct http_answer *ret);
    /* After each pass over the sockets that had something: run what was collected. */
    void (*pass)(void *loop_user);
    /* http_loop_wake was called (once also by the server itself, at the start of draining). */
    void (*woken)(void *loop_user);
    /* The answer is on its way (or was dropped): the exchange ends after this. `bytes` were sent, for metrics and logs.
     * Called exactly once for every exchange that saw `begin` or `refuse`; status 0: the client went away before its
     * request was complete, nothing was answered. */
    void (*finished)(void *loop_user, struct exchange *x, int status, int64_t bytes);
};

struct http_options {
    const char *listen; /* "127.0.0.1:8080", "[::1]:0", ":8080" */
    /* A TCP socket that listens already, instead of `listen`; 0: none. It stays the caller's, and open: connections
     * that nobody has accepted when the server stops are for the next process. */
    int listen_fd;
    /* With listen_fd: how long connections without a request stay open while draining, so that a request that is on
     * its way is answered. */
    int64_t drain_idle_ms;
    int loops;           /* 0: cores */
    int connections_max; /* in all; 0: 10000. Beyond the cap: accepted, counted and closed at once */
    /* of one network; 0: no cap. A trusted proxy has none. Beyond it a connection that waits for a request makes room,
     * else as above. */
    int connections_per_address;
    int64_t body_memory_max;   /* bytes of collected bodies, in all; one network may hold a quarter; 0: 256 MiB */
    int64_t header_ms;         /* for a connection's first byte, and from there to the end of the head; 0: 10000 */
    int64_t idle_ms;           /* between requests, and for a client that stops reading its answer; 0: 60000 */
    int64_t body_rate_min;     /* bytes per second over each body_window_ms; 0: 500 */
    int64_t body_window_ms;    /* 0: 10000 */
    int64_t body_bytes_max;    /* 0: 65536 */
    int64_t linger_ms;         /* how long a refused client's bytes are still read and dropped; 0: 5000 */
    int64_t drain_ms;          /* 0: 30000 */
    const char *trusted_proxy; /* address whose X-Forwarded-For is believed, or NULL */
};

struct http_stats {
    _Atomic int64_t open, accepted, timeouts, bad_requests;
    _Atomic int64_t refused_cap, refused_address; /* connections past a cap */
    _Atomic int64_t given_up;                     /* connections without a request that were closed to make room */
    _Atomic int64_t body_bytes, refused_bodies;   /* held right now; refused past body_memory_max */
};

/* Everything in options is copied. Returns when every loop_start has run and clients can connect; *ret is set before
 * the first hook runs. Ignores SIGPIPE for the process. On failure ret_why has a sentence for people. */
enum err http_server_start(const struct http_options *options, const struct http_hooks *hooks, struct http_server **ret,
                           char *ret_why, size_t why_bytes);
/* The port that was bound (for ":0"). */
int http_server_port(const struct http_server *s);
/* What listen_fd is bound to: "127.0.0.1:8080", "[::]:443". */
const char *http_server_address(const struct http_server *s);
/* Stops accepting, lets running exchanges end (at most drain_ms), closes idle connections at once (with listen_fd:
 * after drain_idle_ms), joins the threads.
 * http_loop_wake is still allowed afterwards, and does nothing. */
void http_server_stop(struct http_server *s);
/* After http_server_stop, once no other thread can call http_loop_wake any more. */
void http_server_free(struct http_server *s);
bool http_server_is_draining(const struct http_server *s);
/* Whether every loop has come around since the last call; each call asks them again. From one thread. */
bool http_server_is_moving(struct http_server *s);
const struct http_stats *http_server_stats(const struct http_server *s);

void *http_loop_user(struct http_loop *loop);
/* From any thread: `woken` will run on the loop's thread. */
void http_loop_wake(struct http_loop *loop);
/* Repeats every so many milliseconds. Called, and runs, on the loop's thread. For caches that look for changes. */
void http_loop_every(struct http_loop *loop, int64_t ms, void (*fn)(void *loop_user));

/* On the loop's thread: `pass` will run again in a few milliseconds, whatever happens on the sockets. */
void http_loop_soon(struct http_loop *loop);

/* From `begin` or a sink: no more of the body is read until exchange_go_on, or the answer. */
void exchange_hold(struct exchange *x);
/* On the loop's thread, later. Does not run `begin` or `request` from within; the exchange may be over on return:
 * refused, or its client is gone. */
void exchange_go_on(struct exchange *x);
/* Takes the answer; x must not be touched afterwards. */
void exchange_answer(struct exchange *x, const struct http_answer *answer);
/* What is known of the client. From any thread. */
enum http_client exchange_client(const struct exchange *x);
/* On the loop's thread. Exchanges whose bytes came together have the same time. */
Time exchange_now(const struct exchange *x);

/* Whether a listener at this address ("host:port") can be reached from this machine only. */
bool listens_on_loopback(const char *listen);
/* The same for a client's address, as in exchange.peer. */
bool address_is_loopback(Str address);
