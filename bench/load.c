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
 * with 2xx, `ok_p99_ms` how long these took. */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/str.h"
#include "base/timestamp.h"

#define ANSWER_MAX 65536
#define REQUEST_MAX 4096
#define CONNECTIONS_MAX 20000
#define SILENCE_NS INT64_C(60000000000)

struct lines {
    char **text;
    size_t count;
};

struct connection {
    int fd;
    int64_t sent_ns;
    size_t got;
    char in[ANSWER_MAX];
};

static struct {
    const char *host, *path, *keys;
    struct lines tokens, bodies;
    char get[REQUEST_MAX]; /* the request for a page; empty: bodies are posted */
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

static struct lines read_lines(const char *path)
{
    FILE *f = fopen(path, "re");
    if (!f) die(path);
    struct lines l = {0};
    char *line = NULL;
    size_t cap = 0;
    for (ssize_t n; (n = getline(&line, &cap, f)) > 0;) {
        if (line[n - 1] == '\n') line[n - 1] = 0;
        l.text = realloc(l.text, (l.count + 1) * sizeof *l.text);
        char *copy = strdup(line);
        if (!l.text || !copy) die("memory");
        l.text[l.count++] = copy;
    }
    free(line);
    fclose(f);
    if (!l.count) die("no lines");
    return l;
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

static void send_all(struct connection *c, const char *request, size_t len)
{
    c->got = 0;
    c->sent_ns = time_monotonic_ns();
    if (send(c->fd, request, len, MSG_NOSIGNAL) != (ssize_t)len) die("send");
}

static void ask(struct connection *c)
{
    char key[128] = "", request[REQUEST_MAX];
    size_t i = (size_t)run.sent++;
    if (run.get[0]) {
        send_all(c, run.get, strlen(run.get));
        return;
    }
    const char *body = run.bodies.text[i % run.bodies.count];
    if (run.keys) snprintf(key, sizeof key, "Idempotency-Key: %s-%zu\r\n", run.keys, i);
    int n = snprintf(request, sizeof request,
                     "POST %s HTTP/1.1\r\nHost: %s\r\nAuthorization: Bearer %s\r\nContent-Type: application/json\r\n%s"
                     "Content-Length: %zu\r\n\r\n%s",
                     run.path, run.host, run.tokens.text[i % run.tokens.count], key, strlen(body), body);
    if (n < 0 || (size_t)n >= sizeof request) die("the request is too long");
    send_all(c, request, (size_t)n);
}

/* True when the whole answer is in. */
static bool is_complete(struct connection *c)
{
    static const char length[] = "\r\nContent-Length: ";
    c->in[c->got] = 0;
    const char *end = strstr(c->in, "\r\n\r\n");
    if (!end) return false;
    const char *at = strcasestr(c->in, length);
    if (!at || at > end) die("an answer without Content-Length");
    return c->got >= (size_t)(end + 4 - c->in) + strtoul(at + sizeof length - 1, NULL, 10);
}

static void hear(struct connection *c)
{
    ssize_t n = recv(c->fd, c->in + c->got, ANSWER_MAX - 1 - c->got, 0);
    if (n <= 0) die("the connection was closed");
    c->got += (size_t)n;
    if (!is_complete(c)) return;
    unsigned long status = strtoul(c->in + sizeof "HTTP/1.1 " - 1, NULL, 10);
    if (status > 599) die("status");
    run.statuses[status]++;
    int64_t now = time_monotonic_ns();
    uint32_t us = (uint32_t)((now - c->sent_ns) / 1000);
    run.us[run.answered++] = us;
    bool is_ok = status / 100 == 2, is_in_time = !run.until_ns || now <= run.until_ns;
    if (is_ok) run.ok_us[run.ok++] = us;
    run.in_time += is_in_time;
    run.ok_in_time += is_ok && is_in_time;
    if (!is_in_time) run.wanted = run.sent;
    if (run.rate)
        run.idle[run.idle_count++] = c;
    else if (run.sent < run.wanted)
        ask(c);
}

/* What is due by now, as far as connections are free. */
static void ask_due(int64_t start)
{
    int64_t now = time_monotonic_ns();
    if (run.until_ns && now > run.until_ns) run.wanted = run.sent;
    int64_t due = (int64_t)((double)(now - start) / 1e9 * (double)run.rate);
    if (due > run.wanted) due = run.wanted;
    while (run.sent < due && run.idle_count) ask(run.idle[--run.idle_count]);
}

static int by_value(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return (x > y) - (x < y);
}

static void report(int64_t start)
{
    int64_t now = time_monotonic_ns(), ns = (run.until_ns && run.until_ns < now ? run.until_ns : now) - start;
    double seconds = (double)ns / 1e9;
    size_t n = (size_t)run.answered;
    size_t ok = (size_t)run.ok;
    qsort(run.us, n, sizeof *run.us, by_value);
    qsort(run.ok_us, ok, sizeof *run.ok_us, by_value);
    printf("{\"count\":%zu,\"seconds\":%.3f,\"per_second\":%.0f,\"p50_ms\":%.3f,\"p99_ms\":%.3f,\"max_ms\":%.3f,"
           "\"ok\":%zu,\"ok_per_second\":%.0f,\"ok_p50_ms\":%.3f,\"ok_p99_ms\":%.3f,\"statuses\":{",
           n, seconds, (double)run.in_time / seconds, run.us[n / 2] / 1e3, run.us[n - 1 - n / 100] / 1e3,
           run.us[n - 1] / 1e3, ok, (double)run.ok_in_time / seconds, ok ? run.ok_us[ok / 2] / 1e3 : 0,
           ok ? run.ok_us[ok - 1 - ok / 100] / 1e3 : 0);
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
    size_t len = (size_t)snprintf(run.get, sizeof run.get, "GET %s HTTP/1.1\r\nHost: %s\r\n", run.path, run.host);
    for (int i = 0; i <= count && len < sizeof run.get; i++)
        len += (size_t)snprintf(run.get + len, sizeof run.get - len, "%s\r\n", i < count ? headers[i] : "");
    if (len >= sizeof run.get) die("the request is too long");
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
        struct epoll_event e = {.events = EPOLLIN, .data.ptr = &all[i]};
        if (epoll_ctl(poll, EPOLL_CTL_ADD, all[i].fd, &e) != 0) die("epoll");
    }
    int64_t start = time_monotonic_ns(), heard = start;
    if (run.until_ns) run.until_ns += start;
    for (size_t i = 0; i < connections && run.sent < run.wanted; i++) {
        if (run.rate)
            run.idle[run.idle_count++] = &all[i];
        else
            ask(&all[i]);
    }
    while (run.answered < run.wanted) {
        struct epoll_event events[256];
        if (run.rate) ask_due(start);
        int n = epoll_wait(poll, events, 256, run.rate ? 1 : 60000);
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
        run.tokens = read_lines(argv[3]);
        run.bodies = read_lines(argv[4]);
        run.keys = argc == 8 ? argv[7] : NULL;
    }
    run_all(connections);
    return 0;
}
