/* tests/fuzz/fuzz_router.c - the whole server in this process: a demo shop on SQLite, in memory where the machine has a
 * folder for it, and requests over a loopback connection.
 *
 * The first byte says who calls: nobody, a customer, a member of staff, or, with its highest bit, that the rest are raw
 * bytes for the connection. Else the second byte picks a route and the third what its path's parameters are; the rest
 * is a query up to a NUL, and the body. Whatever comes, there is an answer or the connection ends, no answer is a
 * failure of the server's own, and the server goes on. */
#include "fuzz.h"

#include <arpa/inet.h>
#include <ftw.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "api/tables.h"
#include "cli/demo.h"
#include "cli/serve.h"

#define ROUTES_MAX 1024
#define ANSWER_MS 10000

static char folder[64], db_path[128], port_path[128];
static char customer_token[128], staff_token[128];
static const struct route *routes[ROUTES_MAX];
static size_t route_count;
static int port, connection = -1;
static char answer[1 << 16];

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *at)
{
    (void)st, (void)type, (void)at;
    return remove(path);
}

static void remove_folder(void)
{
    nftw(folder, remove_one, 8, FTW_DEPTH | FTW_PHYS);
}

static void *serve_thread(void *arg)
{
    struct arena a = {0};
    serve_command(arg, &a);
    return NULL;
}

/* The word behind `after` on the line that begins with `first`. */
static void find_word(const char *text, const char *first, const char *after, char *ret, size_t bytes)
{
    const char *line = strstr(text, first), *word = line ? strstr(line, after) : NULL;
    MUST(word);
    word += strlen(after);
    size_t n = strcspn(word, "\t\n ");
    MUST(n && n < bytes);
    memcpy(ret, word, n);
    ret[n] = '\0';
}

/* `souk demo` says its passwords and tokens on stdout. */
static void make_shop(struct config *config)
{
    static char text[1 << 16];
    char path[128];
    struct arena a = {0};
    snprintf(path, sizeof path, "%s/demo.txt", folder);
    int out = dup(1);
    MUST(freopen(path, "w+", stdout) && demo_command(config, &a) == EXIT_OK);
    fflush(stdout);
    rewind(stdout);
    size_t n = fread(text, 1, sizeof text - 1, stdout);
    text[n] = '\0';
    MUST(dup2(out, 1) == 1);
    close(out);
    arena_done(&a);
    find_word(text, "customer\t", "token ", customer_token, sizeof customer_token);
    find_word(text, "owner\t", "token ", staff_token, sizeof staff_token);
}

static void wait_for_port(void)
{
    for (int i = 0; i < 2000 && !port; i++) {
        FILE *f = fopen(port_path, "r");
        if (f && fscanf(f, "%d", &port) != 1) port = 0;
        if (f) fclose(f);
        if (!port) usleep(10000);
    }
    MUST(port);
}

/* Not asked: what calls other machines, and what makes the next input's answers depend on the last one's for good. */
static bool is_left_out(const struct route *r)
{
    return r->flags & CALLS_OUT || strstr(r->path, "logout") || strstr(r->path, "password") ||
           (!strcmp(r->method, "DELETE") && strstr(r->path, "token")) || strstr(r->path, "backup");
}

static void start(void)
{
    static struct config config;
    static char *arguments[] = {"--db",
                                db_path,
                                "--listen",
                                "127.0.0.1:0",
                                "--port-file",
                                port_path,
                                "--loops",
                                "1",
                                "--log-level",
                                "error",
                                "--rate-v1",
                                "0",
                                "--rate-customer",
                                "0",
                                "--rate-auth",
                                "0",
                                "--cheap-passwords"};
    static pthread_t thread;
    snprintf(folder, sizeof folder, "%s/souk-fuzz-XXXXXX", access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp");
    MUST(mkdtemp(folder));
    atexit(remove_folder);
    snprintf(db_path, sizeof db_path, "%s/shop.db", folder);
    snprintf(port_path, sizeof port_path, "%s/port", folder);
    MUST(config_read((int)(sizeof arguments / sizeof *arguments), arguments, &config));
    make_shop(&config);
    MUST(pthread_create(&thread, NULL, serve_thread, &config) == 0);
    wait_for_port();
    prctl(PR_SET_DUMPABLE, 1, 0, 0, 0); /* the leak check looks into the process, which a server forbids */
    for (const struct route *const *table = route_tables; *table; table++)
        for (const struct route *r = *table; r->method && route_count < ROUTES_MAX; r++)
            if (!is_left_out(r)) routes[route_count++] = r;
}

static void connect_anew(void)
{
    struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    connection = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    MUST(connection >= 0 && connect(connection, (struct sockaddr *)&to, sizeof to) == 0);
    setsockopt(connection, IPPROTO_TCP, TCP_NODELAY, &(int){1}, sizeof(int));
}

static void disconnect(void)
{
    close(connection);
    connection = -1;
}

static bool send_all(Str s)
{
    while (s.len) {
        ssize_t n = send(connection, s.ptr, s.len, MSG_NOSIGNAL);
        if (n <= 0) return false;
        s = (Str){s.ptr + n, s.len - (size_t)n};
    }
    return true;
}

/* More of the answer; 0 at its end. A server that says nothing for so long has stopped. */
static size_t receive(size_t at)
{
    struct pollfd p = {.fd = connection, .events = POLLIN};
    MUST(poll(&p, 1, ANSWER_MS) == 1);
    ssize_t n = recv(connection, answer + at, sizeof answer - 1 - at, 0);
    return n > 0 ? (size_t)n : 0;
}

/* An answer's status, 0 without one. Reads all of it, so that the connection can be used again. */
static int read_answer(bool is_head)
{
    size_t len = 0, n;
    char *end = NULL;
    while (!end && (n = receive(len))) {
        len += n;
        answer[len] = '\0';
        end = strstr(answer, "\r\n\r\n");
        MUST(end || len < sizeof answer - 1);
    }
    if (!end) {
        disconnect();
        return 0;
    }
    MUST(!strncmp(answer, "HTTP/1.1 ", 9));
    int status = atoi(answer + 9);
    const char *length = strcasestr(answer, "\r\ncontent-length: ");
    bool closes = strcasestr(answer, "\r\nconnection: close") != NULL;
    long left = length && length < end && !is_head ? atol(length + 18) - (long)(len - (size_t)(end + 4 - answer)) : 0;
    while (left > 0 && (n = receive(0))) left -= (long)n;
    if (closes || left) disconnect();
    return status;
}

static void check_status(int status)
{
    MUST(status >= 200 && status <= 599);
    MUST(status < 500 || status == 503 || status == 501 || status == 505);
}

/* Any bytes, and the end of them. */
static void send_raw(Str bytes)
{
    connect_anew();
    send_all(bytes);
    shutdown(connection, SHUT_WR);
    int status = read_answer(false);
    if (status) check_status(status);
    if (connection >= 0) disconnect();
}

static Str path_of(struct arena *a, const struct route *r, uint8_t pick)
{
    struct buf b;
    buf_init(&b, a, 4096);
    for (const char *p = r->path; *p; p++) {
        if (*p == '{') {
            buf_printf(&b, "%d", pick % 32);
            p = strchr(p, '}');
        } else {
            buf_char(&b, *p);
        }
    }
    return buf_str(&b);
}

static bool is_plain(Str s)
{
    for (size_t i = 0; i < s.len; i++)
        if (s.ptr[i] <= 0x20 || s.ptr[i] >= 0x7f || s.ptr[i] == '#') return false;
    return true;
}

static void send_request(struct arena *a, const uint8_t *pick, Str rest)
{
    const struct route *r = routes[(pick[1] | (pick[0] & 0x30) << 4) % route_count];
    Str query = rest, body = {0};
    str_cut(rest, '\0', &query, &body);
    if (!is_plain(query)) query = (Str){0};
    struct buf b;
    buf_init(&b, a, SIZE_MAX / 4);
    Str path = path_of(a, r, pick[2]);
    buf_printf(&b, "%s %.*s%s%.*s HTTP/1.1\r\nHost: x\r\n", r->method, STR_FMT(path), query.len ? "?" : "",
               STR_FMT(query));
    unsigned who = pick[0] & 3;
    if (who) buf_printf(&b, "Authorization: Bearer %s\r\n", who == 1 ? customer_token : staff_token);
    if (body.len)
        buf_printf(&b, "Content-Type: %s\r\nContent-Length: %zu\r\n",
                   r->flags & SHOP ? "application/x-www-form-urlencoded" : "application/json", body.len);
    buf_lit(&b, "\r\n");
    buf_append(&b, body);
    for (int tries = 0; tries < 2; tries++) {
        bool was_open = connection >= 0;
        if (!was_open) connect_anew();
        if (!send_all(buf_str(&b)) && was_open) {
            disconnect();
            continue;
        }
        int status = read_answer(!strcmp(r->method, "HEAD"));
        if (!status && was_open) continue; /* it was closed while nothing was asked */
        check_status(status);
        return;
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (!port) start();
    if (size < 3) return 0;
    struct arena a = {0};
    if (data[0] & 0x80)
        send_raw((Str){(const char *)data + 1, size - 1});
    else
        send_request(&a, data, (Str){(const char *)data + 3, size - 3});
    arena_done(&a);
    return 0;
}
