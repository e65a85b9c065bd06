/* http/loop.h - what the files of the server share; no other file includes it.
 *
 *   server.c      options, listening sockets, threads
 *   loop.c        one thread's loop: accepting, deadlines, passes, draining, spare exchanges
 *   guard.c       what one client, or all of them together, may hold
 *   connection.c  a connection's bytes in: reading, framing, refusing, closing
 *   answer.c      and out: heads, bodies, files
 *
 * A connection goes IDLE → HEAD → BODY → HANDLING → (WRITING →) IDLE, and ends in LINGER or at once; from BODY to HELD
 * and back when its owner has to look something up, or to store what has arrived. It has an exchange from the first
 * byte of a request until the answer is out, and none while idle: an idle connection costs a few hundred bytes.
 * Everything here belongs to one loop's thread, except what is _Atomic. */
#pragma once

#include <netinet/in.h>
#include <uv.h>

#include "base/log.h"
#include "base/quota.h"
#include "http/server.h"

#define SCRATCH_BYTES 65536
#define PIPELINED_BYTES_MAX 16384 /* bytes that may wait for their turn; then the socket is not read */
#define NETWORK_TEXT_MAX (INET6_ADDRSTRLEN + 4)

enum connection_state {
    CONN_IDLE,     /* no byte of a request yet */
    CONN_HEAD,     /* some of its head */
    CONN_BODY,     /* the head is in, some of the body is not */
    CONN_HELD,     /* the same, and the owner does not want more of it yet */
    CONN_HANDLING, /* the owner has it */
    CONN_WRITING,  /* the socket would not take the whole answer at once */
    CONN_LINGER,   /* the answer is out; what the client still sends is dropped so that it can read the answer */
    CONN_CLOSED,   /* the socket is closed; waits for libuv, and for the owner's answer if an exchange is out */
};

/* Where a connection comes from. */
struct origin {
    char peer[INET6_ADDRSTRLEN];
    char network[NETWORK_TEXT_MAX];
    size_t place; /* of the network, in the server's quotas */
    bool is_from_proxy;
};

/* An answer on its way. */
struct output {
    Str head, body; /* what is left of them */
    int file_fd;    /* -1 without */
    int64_t file_offset, file_left;
    int64_t sent; /* bytes, head included */
    int status;   /* 0: not answered yet */
    bool close;   /* the connection ends after it */
    bool linger;  /* the client may still be sending */
};

struct connection {
    uv_poll_t poll;
    struct http_loop *loop;
    struct connection *next, *prev; /* of the loop */
    struct connection *next_ready;
    struct connection *idle_newer, *idle_older; /* of those that wait for a request */
    struct exchange *x;                         /* the running one, or NULL */
    int fd;
    int polled; /* UV_READABLE | UV_WRITABLE as asked for */
    enum connection_state state;
    bool is_ready;                    /* in the loop's ready list */
    bool is_listed;                   /* in the loop's idle list */
    bool is_held;                     /* the owner has asked for CONN_HELD */
    bool is_body_here, is_body_begun; /* some of it came with the head; its limit is known */
    bool is_eof;                      /* the client has shut down its side */
    bool is_released;                 /* libuv is done with the handle */
    bool is_refused;
    bool body_unread; /* of the running exchange: its answer ends the connection */

    int64_t deadline_ms;  /* on the loop's clock; INT64_MAX: none */
    int64_t window_bytes; /* progress in the present window (BODY), or acknowledged at its start (WRITING), */
    int64_t dropped;      /* or dropped so far (LINGER). */

    char *in; /* bytes received and not used yet; NULL when there are none */
    size_t in_start, in_len, in_cap;
    struct http_parser parser;
    struct http_body framing;
    struct buf body;
    int64_t body_held; /* bytes of the body that are counted */
    size_t body_place; /* at this place of the server's quota */
    struct output out;
    struct origin origin;
};

struct every {
    uv_timer_t timer;
    struct http_loop *loop;
    struct every *next;
    void (*fn)(void *loop_user);
};

struct http_loop {
    struct http_server *server;
    int index;
    uv_thread_t thread;
    uv_loop_t uv;
    uv_async_t async;
    uv_check_t check;
    uv_idle_t idle;  /* active while connections are ready: the next pass must not wait */
    uv_timer_t tick; /* active while there are connections or accepting is paused */
    uv_timer_t soon; /* for http_loop_soon */
    uv_timer_t drain_timer, drain_idle_timer;
    uv_poll_t listener;
    int listen_fd; /* -1 once closed */
    bool is_accepting;
    bool is_draining;
    bool spares_idle; /* while draining: connections without a request are kept for a moment */
    bool is_ending;
    _Atomic int64_t turns; /* the last of the server's `turns` that this loop has seen */
    bool pass_wanted;      /* hooks.pass has something to do */
    uv_mutex_t wake_lock;  /* over is_over and the use of `async` by other threads */
    bool is_over;
    void *user;
    struct every *timers;

    struct connection *connections;
    size_t connection_count;
    struct connection *ready, **ready_tail; /* idle again, with bytes of the next request waiting */
    struct connection *idle_oldest, *idle_newest;
    struct log_gate refused_cap, refused_address, refused_body;
    struct exchange *spare;
    size_t spare_count, exchange_count; /* waiting for use; in use */

    /* When the first of the sockets was read that have something now; one look at the clock serves them all. 0: not
     * while they are being read. */
    int64_t pass_ns;
    Time pass_at;

    int64_t date_s; /* of `date` */
    char date[30];
    char scratch[SCRATCH_BYTES];  /* bytes just received */
    char text[SCRATCH_BYTES / 4]; /* the answer being written */
};

struct http_server {
    struct http_options options;
    struct http_hooks hooks;
    char trusted_proxy[INET6_ADDRSTRLEN];
    int port;
    char address[INET6_ADDRSTRLEN + 8]; /* with the port; of an inherited socket only */
    struct http_stats stats;
    struct quota *connections_held, *body_held; /* by network; a network has one place in both */
    _Atomic bool draining;
    _Atomic int64_t turns; /* how often the loops were asked whether they move */
    bool is_started;
    uv_sem_t started; /* posted by each loop */
    size_t loop_count;
    struct http_loop *loops;
};

/* loop.c */
void loop_run(void *loop); /* the thread */
struct exchange *loop_take_exchange(struct http_loop *loop, struct connection *c);
void loop_give_exchange(struct http_loop *loop, struct exchange *x);
/* The connection's waiting bytes are looked at in the next round of this pass. */
void loop_ready(struct http_loop *loop, struct connection *c);
void loop_link(struct http_loop *loop, struct connection *c);
void loop_unlink(struct http_loop *loop, struct connection *c);
/* The idle list, oldest first. */
void loop_idle_add(struct http_loop *loop, struct connection *c);
void loop_idle_remove(struct http_loop *loop, struct connection *c);
static inline int64_t loop_now_ms(struct http_loop *loop)
{
    return (int64_t)uv_now(&loop->uv);
}

/* guard.c */
void guard_origin(const struct http_server *s, const struct sockaddr_storage *peer, struct origin *ret);
/* Counts one connection more, or refuses it. */
bool guard_admit(struct http_loop *loop, const struct origin *o);
void guard_leave(struct connection *c);
/* Counts n more bytes of the running exchange's body as kept; false when they may not be. */
bool guard_body(struct connection *c, size_t bytes);
void guard_body_release(struct connection *c);

/* connection.c */
/* Takes fd, which guard_admit has counted. */
void connection_open(struct http_loop *loop, int fd, const struct origin *origin);
void connection_poll(struct connection *c, int events);
/* What a connection should be polled for in its present state. */
void connection_repoll(struct connection *c);
void connection_proceed(struct connection *c); /* with the bytes waiting in c->in */
void connection_deadline(struct connection *c);
void connection_drain(struct connection *c);
/* Closes a connection that waits for a request, unless one has arrived in the meantime. */
bool connection_give_up(struct connection *c);
void connection_close(struct connection *c);
/* Frees a closed connection once libuv, the ready list and the owner have let go of it. */
void connection_release(struct connection *c);
/* The exchange is over: on to the next request, or to the end. */
void connection_answered(struct connection *c);

/* answer.c */
void answer_refuse(struct connection *c, enum err e);
void answer_writable(struct connection *c);
/* At the end of a stall window: false when the client took too little of its answer. */
bool answer_is_moving(struct connection *c);
/* Ends the exchange without an answer. */
void answer_abort(struct connection *c);

/* peer.c */
bool address_parse(const char *text, struct sockaddr_storage *ret, socklen_t *ret_len);
void address_text(const struct sockaddr_storage *address, char ret[INET6_ADDRSTRLEN]);
/* What limits count by: an IPv4 address itself, or the first 64 bits of an IPv6 address, which are one customer's. */
void address_network(Str peer, char ret[NETWORK_TEXT_MAX]);
/* The canonical spelling of an IPv4 or IPv6 address, brackets allowed; false when the text is not an address. */
bool address_canonical(Str text, char ret[INET6_ADDRSTRLEN]);
/* The right-most entry of the last X-Forwarded-For, in its canonical spelling, from the exchange's arena; an empty Str
 * when there is no such header or the entry is not an address. */
Str address_forwarded(struct exchange *x);
