/* bench/load.c - asks a server the same kind of thing over and over, through many connections, and says how fast it
 * was.
 *
 *     load [-r RATE] [-t SECONDS] HOST:PORT PATH TOKENS BODIES CONNECTIONS COUNT [KEYS]
 *     load [-r RATE] [-t SECONDS] get HOST:PORT PATH CONNECTIONS COUNT [HEADER...]
 *
 * The second form asks for a page, with these lines ("Name: value") in the request's head.
 * TOKENS and BODIES are files: one bearer token, one JSON body per line, used in turn (the i-th request takes line i of
 * each, from the start again at the end). With KEYS (any word) each request carries an Idempotency-Key of its own that
 * begins with it. Every connection has one request under way at a time. One thread, epoll; stdout gets one line of
 * JSON. Answers must have a Content-Length, as all of ours do. Any trouble with a connection ends the program with 1.
 *
 * Without -r a connection asks again as soon as it has its answer. With it, RATE requests are sent a second, however
 * many answers are missing, for as long as a connection is free. -t ends the asking after so many seconds, or after
 * COUNT requests; what is under way then is awaited, and counts for everything but the rates. `ok` is what was answered
 * with 2xx, `ok_p99_ms` how long these took; `own_us` is the processor time of this program for a request. */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <stdbool.h>
#include <stdint.h>
#include <strings.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/str.h"
#include "base/timestamp.h"

#define ANSWER_MAX 65536
#define REQUEST_MAX 4096
#define KEY_MAX 128
#define EVENTS_MAX 1024
#define CONNECTIONS_MAX 20000
#define SILENCE_NS INT64_C(60000000000)

/* Parts of requests, made before the first is sent. */
struct parts {
    Str *part;
    size_t count, longest;
};

struct connection {
    int fd;
    int64_t sent_ns;
    size_t got; /* of an answer that came in pieces */
    char *in;
};

static struct {
    const char *host, *path, *keys;
    struct parts heads, bodies; /* up to the token's line, and from Content-Length on; of a page all is one head */
    int64_t wanted, sent, answered, ok;
    int64_t rate, until_ns;      /* 0: none */
    int64_t in_time, ok_in_time; /* answered before the asking ended */
    uint32_t *us, *ok_us;        /* of each answer; of each that was 2xx */
    struct connection **idle;
    size_t idle_count;
    int64_t statuses[600];
} run;

static _Noreturn void die(const char *what)
{
    fprintf(stderr, "load: %s: %s\n", what, strerror(errno));
    exit(1);
}

static void part_add(struct parts *p, const char *text, int len)
{
    p->part = realloc(p->part, (p->count + 1) * sizeof *p->part);
    char *copy = len < 0 ? NULL : malloc((size_t)len + 1);
    if (!p->part || !copy) die("memory");
    memcpy(copy, text, (size_t)len);
    p->part[p->count++] = (Str){copy, (size_t)len};
    if (p->longest < (size_t)len) p->longest = (size_t)len;
}

static void add_head(const char *token)
{
    char text[REQUEST_MAX];
    int n = snprintf(text, sizeof text,
                     "POST %s HTTP/1.1\r\nHost: %s\r\nAuthorization: Bearer %s\r\nContent-Type: application/json\r\n",
                     run.path, run.host, token);
    if (n >= (int)sizeof text) die("the request is too long");
    part_add(&run.heads, text, n);
}

static void add_body(const char *body)
{
    char text[REQUEST_MAX];
    int n = snprintf(text, sizeof text, "Content-Length: %zu\r\n\r\n%s", strlen(body), body);
    if (n >= (int)sizeof text) die("the request is too long");
    part_add(&run.bodies, text, n);
}

static void read_lines(const char *path, void (*add)(const char *line))
{
    FILE *f = fopen(path, "re");
    if (!f) die(path);
    char *line = NULL;
    size_t cap = 0, count = 0;
    for (ssize_t n; (n = getline(&line, &cap, f)) > 0; count++) {
        if (line[n - 1] == '\n') line[n - 1] = 0;
        add(line);
    }
    free(line);
    fclose(f);
    if (!count) die("no lines");
}

static int64_t number(const char *text, int64_t most)
{
    int64_t v;
    if (!str_to_int64(str_from(text), &v) || v < 1 || v > most) {
        fprintf(stderr, "load: not a number from 1 to %lld: %s\n", (long long)most, text);
        exit(2);
    }
    return v;
}

static int connect_to(const char *address)
{
    Str host, port;
    char name[64];
    if (!str_cut(str_from(address), ':', &host, &port) || host.len >= sizeof name) die("HOST:PORT");
    memcpy(name, host.ptr, host.len);
    name[host.len] = 0;
    struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons((uint16_t)number(port.ptr, 65535))};
    if (inet_pton(AF_INET, name, &to.sin_addr) != 1) die("HOST must be an IPv4 address");
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), one = 1;
    if (fd < 0 || connect(fd, (struct sockaddr *)&to, sizeof to) != 0) die("connect");
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    return fd;
}

static char *put(char *p, Str s)
{
    memcpy(p, s.ptr, s.len);
    return p + s.len;
}

static void ask(struct connection *c, int64_t now)
{
    static char request[REQUEST_MAX];
    size_t i = (size_t)run.sent++;
    char *end = put(request, run.heads.part[i % run.heads.count]);
    if (run.keys) end += snprintf(end, KEY_MAX, "Idempotency-Key: %s-%zu\r\n", run.keys, i);
    if (run.bodies.count) end = put(end, run.bodies.part[i % run.bodies.count]);
    c->sent_ns = now;
    if (send(c->fd, request, (size_t)(end - request), MSG_NOSIGNAL) != end - request) die("send");
}

/* What Content-Length says. */
static bool is_length(const char *line, const char *end, size_t *ret)
{
    static const char name[] = "Content-Length:";
    if (end - line < (ptrdiff_t)sizeof name || strncasecmp(line, name, sizeof name - 1) != 0) return false;
    const char *p = line + sizeof name - 1;
    while (*p == ' ') p++;
    if (*p < '0' || *p > '9') die("Content-Length");
    size_t length = 0;
    for (; *p >= '0' && *p <= '9' && length <= ANSWER_MAX; p++) length = length * 10 + (size_t)(*p - '0');
    *ret = length;
    return true;
}

/* Reads the answer from its beginning. True when all of it is in. */
static bool is_complete(const char *in, size_t got, unsigned *ret_status)
{
    const char *line = memchr(in, '\n', got), *end = in + got;
    size_t length = 0;
    bool has_length = false;
    for (const char *next; line && (next = memchr(line + 1, '\n', (size_t)(end - line - 1))); line = next) {
        if (next - line > 2) {
            if (is_length(line + 1, next, &length)) has_length = true;
            continue;
        }
        unsigned status = 0; /* HTTP/1.1 200 */
        for (const char *p = in + 9; p < in + 12; p++) status = status * 10 + (unsigned)(*p - '0');
        if (line - in < 12 || memcmp(in, "HTTP/1.", 7) != 0 || status > 599) die("status");
        if (!has_length) die("an answer without Content-Length");
        size_t whole = (size_t)(next + 1 - in) + length;
        if (got > whole) die("more than an answer");
        *ret_status = status;
        return got == whole;
    }
    return false;
}

static void count_answer(struct connection *c, unsigned status, int64_t now)
{
    uint32_t us = (uint32_t)((now - c->sent_ns) / 1000);
    run.statuses[status]++;
    run.us[run.answered++] = us;
    bool is_ok = status / 100 == 2, is_in_time = !run.until_ns || now <= run.until_ns;
    if (is_ok) run.ok_us[run.ok++] = us;
    run.in_time += is_in_time;
    run.ok_in_time += is_ok && is_in_time;
    if (!is_in_time) run.wanted = run.sent;
}

/* Most answers come in one piece, and all of these in the same place: it stays in the processor's caches. */
static void hear(struct connection *c)
{
    static char whole[ANSWER_MAX];
    char *in = c->got ? c->in : whole;
    ssize_t n = recv(c->fd, in + c->got, ANSWER_MAX - c->got, MSG_DONTWAIT);
    if (n < 0 && (errno == EAGAIN || errno == EINTR)) return;
    if (n <= 0) die("the connection was closed");
    size_t got = c->got + (size_t)n;
    unsigned status;
    if (!is_complete(in, got, &status)) {
        if (got == ANSWER_MAX) die("the answer is too long");
        if (!c->in && !(c->in = malloc(ANSWER_MAX))) die("memory");
        if (!c->got) memcpy(c->in, whole, got);
        c->got = got;
        return;
    }
    c->got = 0;
    int64_t now = time_monotonic_ns(); /* of this answer's end, and of the next request's beginning */
    count_answer(c, status, now);
    if (run.rate)
        run.idle[run.idle_count++] = c;
    else if (run.sent < run.wanted)
        ask(c, now);
}

/* What is due by now, as far as connections are free. */
static void ask_due(int64_t start)
{
    int64_t now = time_monotonic_ns();
    if (run.until_ns && now > run.until_ns) run.wanted = run.sent;
    int64_t due = (int64_t)((double)(now - start) / 1e9 * (double)run.rate);
    if (due > run.wanted) due = run.wanted;
    while (run.sent < due && run.idle_count) ask(run.idle[--run.idle_count], time_monotonic_ns());
}

static int by_value(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return (x > y) - (x < y);
}

/* Processor time of this program. */
static double own_seconds(void)
{
    struct rusage u;
    getrusage(RUSAGE_SELF, &u);
    return (double)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) + (double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec) / 1e6;
}

static void report(int64_t start)
{
    int64_t now = time_monotonic_ns(), ns = (run.until_ns && run.until_ns < now ? run.until_ns : now) - start;
    double seconds = (double)ns / 1e9;
    size_t n = (size_t)run.answered, ok = (size_t)run.ok;
    double own_us = own_seconds() * 1e6 / (double)n;
    qsort(run.us, n, sizeof *run.us, by_value);
    qsort(run.ok_us, ok, sizeof *run.ok_us, by_value);
    printf("{\"count\":%zu,\"seconds\":%.3f,\"per_second\":%.0f,\"p50_ms\":%.3f,\"p99_ms\":%.3f,\"max_ms\":%.3f,"
           "\"ok\":%zu,\"ok_per_second\":%.0f,\"ok_p50_ms\":%.3f,\"ok_p99_ms\":%.3f,"
           "\"own_us\":%.2f,\"statuses\":{",
           n, seconds, (double)run.in_time / seconds, run.us[n / 2] / 1e3, run.us[n - 1 - n / 100] / 1e3,
           run.us[n - 1] / 1e3, ok, (double)run.ok_in_time / seconds, ok ? run.ok_us[ok / 2] / 1e3 : 0,
           ok ? run.ok_us[ok - 1 - ok / 100] / 1e3 : 0, own_us);
    const char *comma = "";
    for (int s = 0; s < 600; s++) {
        if (!run.statuses[s]) continue;
        printf("%s\"%d\":%lld", comma, s, (long long)run.statuses[s]);
        comma = ",";
    }
    puts("}}");
}

static void prepare_get(char **headers, int count)
{
    char text[REQUEST_MAX];
    size_t len = (size_t)snprintf(text, sizeof text, "GET %s HTTP/1.1\r\nHost: %s\r\n", run.path, run.host);
    for (int i = 0; i <= count && len < sizeof text; i++)
        len += (size_t)snprintf(text + len, sizeof text - len, "%s\r\n", i < count ? headers[i] : "");
    if (len >= sizeof text) die("the request is too long");
    part_add(&run.heads, text, (int)len);
}

static void prepare_post(const char *tokens, const char *bodies, const char *keys)
{
    read_lines(tokens, add_head);
    read_lines(bodies, add_body);
    run.keys = keys;
    if (keys && strlen(keys) > KEY_MAX / 2) die("KEYS is too long");
    if (run.heads.longest + run.bodies.longest + KEY_MAX > REQUEST_MAX) die("the request is too long");
}

static void run_all(size_t connections)
{
    run.us = calloc((size_t)run.wanted, sizeof *run.us);
    run.ok_us = calloc((size_t)run.wanted, sizeof *run.ok_us);
    run.idle = calloc(connections, sizeof(void *));
    struct connection *all = calloc(connections, sizeof *all);
    int poll = epoll_create1(EPOLL_CLOEXEC);
    if (!run.us || !run.ok_us || !run.idle || !all || poll < 0) die("memory");

    for (size_t i = 0; i < connections; i++) {
        all[i].fd = connect_to(run.host);
        struct epoll_event e = {.events = EPOLLIN | EPOLLET, .data.ptr = &all[i]};
        if (epoll_ctl(poll, EPOLL_CTL_ADD, all[i].fd, &e) != 0) die("epoll");
    }
    int64_t start = time_monotonic_ns(), heard = start;
    if (run.until_ns) run.until_ns += start;
    for (size_t i = 0; i < connections && run.sent < run.wanted; i++) {
        if (run.rate)
            run.idle[run.idle_count++] = &all[i];
        else
            ask(&all[i], time_monotonic_ns());
    }
    while (run.answered < run.wanted) {
        static struct epoll_event events[EVENTS_MAX];
        if (run.rate) ask_due(start);
        int n = epoll_wait(poll, events, EVENTS_MAX, run.rate ? 1 : 60000);
        int64_t now = time_monotonic_ns();
        if (n > 0) heard = now;
        if (now - heard > SILENCE_NS) errno = ETIMEDOUT;
        if ((n < 0 && errno != EINTR) || now - heard > SILENCE_NS) die("no answer");
        for (int i = 0; i < n; i++) hear(events[i].data.ptr);
    }
    report(start);
}

int main(int argc, char **argv)
{
    for (int option; (option = getopt(argc, argv, "+r:t:")) != -1;) {
        if (option == 'r')
            run.rate = number(optarg, 10000000);
        else if (option == 't')
            run.until_ns = number(optarg, 3600) * INT64_C(1000000000);
        else
            return 2;
    }
    argc -= optind - 1;
    argv += optind - 1;
    bool is_get = argc >= 6 && strcmp(argv[1], "get") == 0;
    if (!is_get && argc != 7 && argc != 8) {
        fputs("usage: load [-r RATE] [-t SECONDS] HOST:PORT PATH TOKENS BODIES CONNECTIONS COUNT [KEYS]\n"
              "       load [-r RATE] [-t SECONDS] get HOST:PORT PATH CONNECTIONS COUNT [HEADER...]\n",
              stderr);
        return 2;
    }
    run.host = argv[is_get ? 2 : 1];
    run.path = argv[is_get ? 3 : 2];
    size_t connections = (size_t)number(argv[is_get ? 4 : 5], CONNECTIONS_MAX);
    run.wanted = number(argv[is_get ? 5 : 6], 100000000);
    if (is_get) {
        prepare_get(argv + 6, argc - 6);
    } else {
        prepare_post(argv[3], argv[4], argc == 8 ? argv[7] : NULL);
    }
    run_all(connections);
    return 0;
}
