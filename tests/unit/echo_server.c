/* tests/unit/echo_server.c - a server without a store: it answers what it was asked, so that the HTTP layer can be
 * tested alone. Prints "listening on PORT" when clients can connect; drains and exits on SIGTERM.
 *
 *   /              (any path) what was asked, as JSON
 *   /deferred?ms=N the same, from another thread, N milliseconds later
 *   /file?bytes=N&offset=N   part of a file whose byte at i is 'a' + i % 26
 *   /large?bytes=N           as many bytes from memory
 *   /big           takes bodies up to 16 MiB
 *   /sink?fail=N   takes bodies up to 64 MiB through a sink, which refuses after N bytes
 *   /early         is answered 401 before its body is read
 *   /wide?bytes=N  has a header of that size */
#include <fcntl.h>
#include <getopt.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/mailbox.h"
#include "base/timestamp.h"
#include "http/server.h"

#define FILE_BYTES (64 * 1024 * 1024)

struct work {
    struct letter letter;
    struct exchange *x;
    struct owner *owner;
    struct work *next;
    int64_t due_ns, sunk, fail_after;
};

/* One loop's. */
struct owner {
    struct http_loop *loop;
    struct mailbox back; /* deferred work whose time has come */
    struct work *collected, **collected_tail;
};

static int file_fd;
static const char *file_bytes;
static struct http_server *server;

/* The other thread: keeps deferred work until it is due. */
static pthread_t deferrer;
static pthread_mutex_t deferred_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t deferred_changed = PTHREAD_COND_INITIALIZER;
static struct work *deferred;
static bool deferrer_stops;

static void *deferrer_run(void *arg)
{
    pthread_mutex_lock(&deferred_lock);
    while (!deferrer_stops) {
        int64_t now = time_monotonic_ns();
        for (struct work **w = &deferred; *w;) {
            struct work *due = *w;
            if (due->due_ns > now) {
                w = &due->next;
                continue;
            }
            *w = due->next;
            mailbox_post(&due->owner->back, &due->letter);
        }
        struct timespec soon;
        clock_gettime(CLOCK_REALTIME, &soon);
        soon.tv_nsec += 1000000;
        if (soon.tv_nsec >= 1000000000) soon.tv_sec++, soon.tv_nsec -= 1000000000;
        if (deferred)
            pthread_cond_timedwait(&deferred_changed, &deferred_lock, &soon);
        else
            pthread_cond_wait(&deferred_changed, &deferred_lock);
    }
    pthread_mutex_unlock(&deferred_lock);
    return arg;
}

static int64_t query_number(struct exchange *x, const char *name, int64_t otherwise)
{
    Str rest = x->head.query, pair, key, value;
    int64_t n;
    do {
        Str all = rest;
        if (!str_cut(all, '&', &pair, &rest)) pair = all, rest = (Str){0};
        if (str_cut(pair, '=', &key, &value) && str_eq(key, str_from(name)) && str_to_int64(value, &n)) return n;
    } while (rest.len);
    return otherwise;
}

static void answer_json(struct exchange *x, int status, Str body)
{
    struct http_header headers[] = {
        {STR("Content-Type"), STR("application/json")},
        {STR("X-Request-Id"), http_header_get(&x->head, "x-request-id")},
    };
    exchange_answer(x, &(struct http_answer){.status = status, .headers = headers, .header_count = 2, .body = body});
}

static void answer_echo(struct exchange *x)
{
    struct work *w = x->user;
    uint32_t sum = 2166136261u; /* FNV-1a, so that a client can tell whether its bytes arrived */
    for (size_t i = 0; i < x->body.len; i++) sum = (sum ^ (unsigned char)x->body.ptr[i]) * 16777619u;
    Str host = http_header_get(&x->head, "host");
    answer_json(x, x->body_failed ? 422 : 200,
                str_printf(&x->arena,
                           "{\"method\":\"%.*s\",\"path\":\"%.*s\",\"query\":\"%.*s\",\"minor\":%d,\"headers\":%zu,"
                           "\"host\":\"%.*s\",\"peer\":\"%.*s\",\"body_bytes\":%zu,\"body_sum\":%u,\"sunk\":%lld}",
                           STR_FMT(x->head.method), STR_FMT(x->head.path), STR_FMT(x->head.query), x->head.minor,
                           x->head.header_count, STR_FMT(host), STR_FMT(x->peer), x->body.len, sum,
                           (long long)w->sunk));
}

static void answer_file(struct exchange *x)
{
    struct http_file file = {
        .fd = dup(file_fd),
        .offset = query_number(x, "offset", 0),
        .length = query_number(x, "bytes", FILE_BYTES),
    };
    exchange_answer(x, &(struct http_answer){.status = 200, .file = &file});
}

static void answer_large(struct exchange *x)
{
    int64_t n = query_number(x, "bytes", 1024);
    if (n < 0 || n > FILE_BYTES) n = FILE_BYTES;
    exchange_answer(x, &(struct http_answer){.status = 200, .body = {file_bytes, (size_t)n}});
}

static void answer_wide(struct exchange *x)
{
    int64_t n = query_number(x, "bytes", 1024);
    if (n < 0 || n > 1024 * 1024) n = 1024 * 1024;
    struct http_header headers[] = {{STR("X-Wide"), {file_bytes, (size_t)n}}};
    exchange_answer(x,
                    &(struct http_answer){.status = 200, .headers = headers, .header_count = 1, .body = STR("wide")});
}

static void owner_wake(void *ctx)
{
    http_loop_wake(((struct owner *)ctx)->loop);
}

static void *loop_start(void *ctx, struct http_loop *loop, int index)
{
    (void)index;
    struct owner *all = ctx, *o = &all[index];
    o->loop = loop;
    o->collected_tail = &o->collected;
    mailbox_init(&o->back, owner_wake, o);
    return o;
}

static bool sink(struct exchange *x, Str bytes)
{
    struct work *w = x->user;
    w->sunk += (int64_t)bytes.len;
    return w->sunk <= w->fail_after;
}

static void begin(void *loop_user, struct exchange *x)
{
    struct work *w = arena_new(&x->arena, struct work);
    w->x = x;
    w->owner = loop_user;
    x->user = w;
    if (str_eq(x->head.path, STR("/big"))) x->body_bytes_max = 16 * 1024 * 1024;
    if (str_eq(x->head.path, STR("/early")))
        answer_json(x, 401, STR("{\"early\":true}"));
    else if (str_eq(x->head.path, STR("/sink"))) {
        x->body_bytes_max = 64 * 1024 * 1024;
        w->fail_after = query_number(x, "fail", INT64_MAX);
        x->sink = sink;
    }
}

static void request(void *loop_user, struct exchange *x)
{
    struct owner *o = loop_user;
    struct work *w = x->user;
    if (str_eq(x->head.path, STR("/deferred"))) {
        w->due_ns = time_monotonic_ns() + query_number(x, "ms", 1) * 1000000;
        pthread_mutex_lock(&deferred_lock);
        w->next = deferred;
        deferred = w;
        pthread_cond_signal(&deferred_changed);
        pthread_mutex_unlock(&deferred_lock);
        return;
    }
    w->next = NULL;
    *o->collected_tail = w;
    o->collected_tail = &w->next;
}

static void pass(void *loop_user)
{
    struct owner *o = loop_user;
    struct work *w = o->collected, *next;
    o->collected = NULL;
    o->collected_tail = &o->collected;
    for (; w; w = next) {
        next = w->next;
        if (str_eq(w->x->head.path, STR("/file")))
            answer_file(w->x);
        else if (str_eq(w->x->head.path, STR("/large")))
            answer_large(w->x);
        else if (str_eq(w->x->head.path, STR("/wide")))
            answer_wide(w->x);
        else
            answer_echo(w->x);
    }
}

static void woken(void *loop_user)
{
    struct owner *o = loop_user;
    struct letter *l = mailbox_take(&o->back), *next;
    for (; l; l = next) {
        next = l->next;
        answer_echo(((struct work *)l)->x);
    }
}

static void refuse(void *loop_user, struct exchange *x, enum err e, struct http_answer *ret)
{
    (void)loop_user;
    ret->body = str_printf(&x->arena, "{\"status\":\"error\",\"code\":\"%s\"}", err_info(e)->code);
}

static void finished(void *loop_user, struct exchange *x, int status, int64_t bytes)
{
    (void)loop_user, (void)x, (void)status, (void)bytes;
}

static void file_make(void)
{
    file_fd = memfd_create("echo", MFD_CLOEXEC);
    if (file_fd < 0 || ftruncate(file_fd, FILE_BYTES) != 0) exit(1);
    char *p = mmap(NULL, FILE_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, file_fd, 0);
    if (p == MAP_FAILED) exit(1);
    for (size_t i = 0; i < FILE_BYTES; i++) p[i] = (char)('a' + i % 26);
    file_bytes = p;
}

int main(int argc, char **argv)
{
    enum {
        LISTEN,
        LOOPS,
        CONNECTIONS,
        HEADER,
        IDLE,
        RATE,
        WINDOW,
        BODY,
        LINGER,
        DRAIN,
        PROXY,
        PER_ADDRESS,
        BODY_MEMORY
    };
    static const struct option names[] = {
        {"listen", 1, 0, LISTEN},
        {"loops", 1, 0, LOOPS},
        {"connections-max", 1, 0, CONNECTIONS},
        {"header-ms", 1, 0, HEADER},
        {"idle-ms", 1, 0, IDLE},
        {"body-rate-min", 1, 0, RATE},
        {"body-window-ms", 1, 0, WINDOW},
        {"body-bytes-max", 1, 0, BODY},
        {"linger-ms", 1, 0, LINGER},
        {"drain-ms", 1, 0, DRAIN},
        {"trusted-proxy", 1, 0, PROXY},
        {"connections-per-address", 1, 0, PER_ADDRESS},
        {"body-memory-max", 1, 0, BODY_MEMORY},
        {0},
    };
    struct http_options options = {.listen = "127.0.0.1:0"};
    for (int which; (which = getopt_long(argc, argv, "", names, NULL)) != -1;) {
        int64_t n = 0;
        if (which == '?') return 2;
        if (which != LISTEN && which != PROXY && !str_to_int64(str_from(optarg), &n)) return 2;
        switch (which) {
        case LISTEN: options.listen = optarg; break;
        case LOOPS: options.loops = (int)n; break;
        case CONNECTIONS: options.connections_max = (int)n; break;
        case HEADER: options.header_ms = n; break;
        case IDLE: options.idle_ms = n; break;
        case RATE: options.body_rate_min = n; break;
        case WINDOW: options.body_window_ms = n; break;
        case BODY: options.body_bytes_max = n; break;
        case LINGER: options.linger_ms = n; break;
        case DRAIN: options.drain_ms = n; break;
        case PER_ADDRESS: options.connections_per_address = (int)n; break;
        case BODY_MEMORY: options.body_memory_max = n; break;
        case PROXY: options.trusted_proxy = optarg; break;
        }
    }
    sigset_t ends;
    sigemptyset(&ends);
    sigaddset(&ends, SIGTERM);
    sigaddset(&ends, SIGINT);
    pthread_sigmask(SIG_BLOCK, &ends, NULL);

    file_make();
    static struct owner owners[64];
    if (options.loops > 64) return 2;
    struct http_hooks hooks = {
        .ctx = owners,
        .loop_start = loop_start,
        .begin = begin,
        .request = request,
        .refuse = refuse,
        .pass = pass,
        .woken = woken,
        .finished = finished,
    };
    if (pthread_create(&deferrer, NULL, deferrer_run, NULL) != 0) return 1;
    char why[256];
    if (http_server_start(&options, &hooks, &server, why, sizeof why) != OK) {
        fprintf(stderr, "%s\n", why);
        return 1;
    }
    printf("listening on %d\n", http_server_port(server));
    fflush(stdout);

    int signal_number;
    sigwait(&ends, &signal_number);
    http_server_stop(server);
    const struct http_stats *stats = http_server_stats(server);
    printf("accepted %lld, open %lld, refused %lld, timeouts %lld, bad %lld\n", (long long)stats->accepted,
           (long long)stats->open, (long long)stats->refused_cap, (long long)stats->timeouts,
           (long long)stats->bad_requests);
    fflush(stdout);

    pthread_mutex_lock(&deferred_lock);
    deferrer_stops = true;
    pthread_cond_signal(&deferred_changed);
    pthread_mutex_unlock(&deferred_lock);
    pthread_join(deferrer, NULL);
    http_server_free(server);
    munmap((void *)file_bytes, FILE_BYTES);
    close(file_fd);
    return 0;
}
