/* tests/unit/test_gateway_outbound.c - calls over real sockets, to a server of a few lines on this machine. */
#include "gateway.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/socket.h>
#include <unistd.h>

#include "outbound/address.h"
#include "outbound/outbound.h"

/* Answers every connection with `answer` after having read a head, and keeps what it was sent. */
struct server {
    int fd, port;
    pthread_t thread;
    const char *answer;
    atomic_size_t repeat; /* the answer's last 1000 bytes are sent so often more */
    atomic_int delay_ms;
    atomic_int connections;
    atomic_bool stop;
    const char *const *lines; /* of a mail server, instead of the answer; NULL at their end */
    atomic_size_t bytes;      /* that it was sent */
    char seen[8192];
};

static void serve_one(struct server *s, int c)
{
    size_t n = 0;
    struct pollfd p = {.fd = c, .events = POLLIN};
    while (n + 1 < sizeof s->seen && poll(&p, 1, 200) == 1) {
        ssize_t got = read(c, s->seen + n, sizeof s->seen - 1 - n);
        if (got <= 0) break;
        n += (size_t)got;
        s->seen[n] = '\0';
        const char *body = strstr(s->seen, "\r\n\r\n"), *length = strcasestr(s->seen, "content-length: ");
        if (body && (!length || strlen(body + 4) >= strtoul(length + 16, NULL, 10))) break;
    }
    if (s->delay_ms) poll(NULL, 0, s->delay_ms);
    size_t len = strlen(s->answer);
    if (send(c, s->answer, len, MSG_NOSIGNAL) < 0) return;
    char filler[1000];
    memset(filler, 'x', sizeof filler);
    for (size_t i = 0; i < s->repeat; i++)
        if (send(c, filler, sizeof filler, MSG_NOSIGNAL) < 0) return;
}

/* Says a line, reads one, and so on; a mail ends with a dot. The last line is the last word. */
static void serve_mail(struct server *s, int c)
{
    for (size_t i = 0; s->lines[i]; i++) {
        const char *end = strncmp(s->lines[i], "354", 3) == 0 ? "\r\n.\r\n" : "\r\n";
        if (send(c, s->lines[i], strlen(s->lines[i]), MSG_NOSIGNAL) < 0) return;
        if (!s->lines[i + 1]) shutdown(c, SHUT_WR);
        struct pollfd p = {.fd = c, .events = POLLIN};
        for (size_t n = 0, at = 0; end[at];) {
            char byte;
            if (poll(&p, 1, 10000) != 1 || (n = (size_t)read(c, &byte, 1)) != 1) return;
            atomic_fetch_add(&s->bytes, n);
            at = byte == end[at] ? at + 1 : byte == end[0];
        }
    }
}

static void *serve(void *arg)
{
    struct server *s = arg;
    while (!atomic_load(&s->stop)) {
        struct pollfd p = {.fd = s->fd, .events = POLLIN};
        if (poll(&p, 1, 20) != 1) continue;
        int c = accept(s->fd, NULL, NULL);
        if (c < 0) continue;
        atomic_fetch_add(&s->connections, 1);
        s->lines ? serve_mail(s, c) : serve_one(s, c);
        close(c);
    }
    return NULL;
}

static void server_start_with(struct server *s, const char *answer, const char *const *lines)
{
    *s = (struct server){.answer = answer, .lines = lines, .fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)};
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t n = sizeof at;
    assert_int_equal(bind(s->fd, (struct sockaddr *)&at, sizeof at), 0);
    assert_int_equal(listen(s->fd, 16), 0);
    assert_int_equal(getsockname(s->fd, (struct sockaddr *)&at, &n), 0);
    s->port = ntohs(at.sin_port);
    assert_int_equal(pthread_create(&s->thread, NULL, serve, s), 0);
}

static void server_start(struct server *s, const char *answer)
{
    server_start_with(s, answer, NULL);
}

static void server_stop(struct server *s)
{
    atomic_store(&s->stop, true);
    pthread_join(s->thread, NULL);
    close(s->fd);
}

static struct outbound_job get(struct outbound *o, struct arena *a, Str base, Str path, int64_t timeout_ms)
{
    struct http_call call = {.method = "GET", .url = str_printf(a, "%.*s%.*s", STR_FMT(base), STR_FMT(path))};
    struct outbound_job job = {.call = &call, .base_url = base, .timeout_ms = timeout_ms, .arena = a};
    outbound_call(o, &job);
    return job;
}

static struct outbound *start(void)
{
    return outbound_start(&(struct outbound_options){0});
}

static void test_exchange(void **state)
{
    (void)state;
    struct server s;
    server_start(
        &s, "HTTP/1.1 201 Created\r\nContent-Length: 11\r\nRetry-After: 7\r\nConnection: close\r\n\r\n{\"id\":\"x\"} ");
    struct arena a = {0};
    struct outbound *o = start();
    Str base = str_printf(&a, "http://127.0.0.1:%d/sub", s.port);
    struct http_call call = {
        .method = "POST", .url = str_printf(&a, "%.*s/v1/things", STR_FMT(base)), .body = STR("a=b&c=d")};
    call_header(&call, STR("Authorization"), STR("Bearer sk_1"));
    call_header(&call, STR("Idempotency-Key"), STR("k-1"));
    struct outbound_job job = {.call = &call, .base_url = base, .arena = &a};
    outbound_call(o, &job);
    assert_null(job.failure);
    assert_int_equal(job.reply.status, 201);
    assert_str(job.reply.body, STR("{\"id\":\"x\"} "));
    assert_int_equal(job.retry_after_s, 7);
    assert_true(str_starts(str_from(s.seen), STR("POST /sub/v1/things HTTP/1.1\r\n")));
    assert_non_null(strstr(s.seen, "\r\nAuthorization: Bearer sk_1\r\n"));
    assert_non_null(strstr(s.seen, "\r\nIdempotency-Key: k-1\r\n"));
    assert_non_null(strstr(s.seen, "\r\n\r\na=b&c=d"));
    assert_null(strcasestr(s.seen, "\r\nexpect"));
    outbound_stop(o);
    server_stop(&s);
    arena_done(&a);
}

static void test_redirects_are_answers(void **state)
{
    (void)state;
    struct server s;
    server_start(
        &s,
        "HTTP/1.1 302 Found\r\nLocation: http://127.0.0.1:1/else\r\nContent-Length: 0\r\nConnection: close\r\n\r\n");
    struct arena a = {0};
    struct outbound *o = start();
    struct outbound_job job = get(o, &a, str_printf(&a, "http://127.0.0.1:%d", s.port), STR("/x"), 0);
    assert_null(job.failure);
    assert_int_equal(job.reply.status, 302);
    assert_int_equal(atomic_load(&s.connections), 1);
    outbound_stop(o);
    server_stop(&s);
    arena_done(&a);
}

static void test_limits(void **state)
{
    (void)state;
    struct server s;
    server_start(&s, "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n");
    s.repeat = 262;
    struct arena a = {0};
    struct outbound *o = start();
    Str base = str_printf(&a, "http://127.0.0.1:%d", s.port);
    struct outbound_job job = get(o, &a, base, STR("/x"), 0);
    assert_null(job.failure);
    assert_int_equal(job.reply.body.len, 262000);
    s.repeat = 263;
    job = get(o, &a, base, STR("/x"), 0);
    assert_non_null(job.failure);
    assert_int_equal(job.reply.status, 0);
    assert_null(job.reply.body.ptr);

    s.repeat = 0;
    s.delay_ms = 2000;
    job = get(o, &a, base, STR("/x"), 100);
    assert_non_null(job.failure);
    assert_int_equal(job.reply.status, 0);
    outbound_stop(o);
    server_stop(&s);
    arena_done(&a);
}

/* Events go to the merchant's addresses: a name that leads to a private one is refused when the socket is opened. */
static void test_webhooks(void **state)
{
    (void)state;
    struct server s;
    server_start(&s, "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nConnection: close\r\n\r\nhello");
    struct arena a = {0};
    char resolve[128];
    snprintf(resolve, sizeof resolve, "events.example:%d:127.0.0.1", s.port);
    struct outbound *o = outbound_start(&(struct outbound_options){.resolve = resolve});
    struct http_call call = {.method = "POST", .url = str_printf(&a, "https://events.example:%d/x?y=z", s.port)};
    struct outbound_job job = {.call = &call, .arena = &a, .is_webhook = true};
    outbound_call(o, &job);
    assert_string_equal(job.failure, "the address is private");
    call.url = str_printf(&a, "http://127.0.0.1:%d/x", s.port);
    job = (struct outbound_job){.call = &call, .arena = &a, .is_webhook = true};
    outbound_call(o, &job);
    assert_non_null(job.failure);
    assert_int_equal(atomic_load(&s.connections), 0);

    call.url = str_printf(&a, "http://events.example:%d/x", s.port);
    job = (struct outbound_job){.call = &call,
                                .arena = &a,
                                .is_webhook = true,
                                .allows_private = true,
                                .cuts_reply = true,
                                .reply_bytes_max = 3};
    outbound_call(o, &job);
    assert_null(job.failure);
    assert_int_equal(job.reply.status, 200);
    assert_true(str_eq(job.reply.body, STR("hel")));
    outbound_stop(o);
    server_stop(&s);
    arena_done(&a);
}

static void test_only_where_it_may_go(void **state)
{
    (void)state;
    struct server s;
    server_start(&s, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: close\r\n\r\n");
    struct arena a = {0};
    char resolve[128];
    snprintf(resolve, sizeof resolve, "gateway.example:%d:127.0.0.1", s.port);
    struct outbound *o = outbound_start(&(struct outbound_options){.resolve = resolve});
    Str port = str_printf(&a, "%d", s.port);

    /* A public name that leads to a private address: nothing is sent. */
    struct outbound_job job = get(o, &a, str_printf(&a, "http://gateway.example:%.*s", STR_FMT(port)), STR("/x"), 0);
    assert_string_equal(job.failure, "the address is private");
    assert_int_equal(atomic_load(&s.connections), 0);

    const struct {
        Str url, base;
    } refused[] = {
        {str_printf(&a, "http://127.0.0.1:%d/x", s.port), STR("https://api.stripe.com")},
        {str_printf(&a, "http://127.0.0.1:%d.evil.example/x", s.port), str_printf(&a, "http://127.0.0.1:%d", s.port)},
        {str_printf(&a, "http://127.0.0.1:%d@evil.example/x", s.port), str_printf(&a, "http://127.0.0.1:%d", s.port)},
        {str_printf(&a, "http://127.0.0.1:%d", s.port), str_printf(&a, "http://127.0.0.1:%d", s.port)},
        {STR("file:///etc/passwd"), STR("file://")},
        {str_printf(&a, "http://127.0.0.1:%d/x", s.port), str_printf(&a, "http://user@127.0.0.1:%d", s.port)},
        {str_printf(&a, "http://127.0.0.1:%d/x", s.port), STR("")},
    };
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
        struct http_call call = {.method = "GET", .url = refused[i].url};
        struct outbound_job j = {.call = &call, .base_url = refused[i].base, .arena = &a};
        outbound_call(o, &j);
        if (!j.failure) fail_msg("went to %.*s", STR_FMT(refused[i].url));
    }
    struct http_call call = {.method = "GET", .url = str_printf(&a, "http://127.0.0.1:%d/x", s.port)};
    call_header(&call, STR("X"), STR("a\r\nInjected: b"));
    struct outbound_job j = {.call = &call, .base_url = str_printf(&a, "http://127.0.0.1:%d", s.port), .arena = &a};
    outbound_call(o, &j);
    assert_non_null(j.failure);
    call.headers[0].value = STR("a\x7f");
    outbound_call(o, &j);
    assert_non_null(j.failure);
    call = (struct http_call){.method = "GET", .url = {"http://127.0.0.1/\0", 18}};
    outbound_call(o, &j);
    assert_string_equal(j.failure, "a NUL in the address");
    assert_int_equal(atomic_load(&s.connections), 0);
    job = get(o, &a, str_printf(&a, "http://localhost:%.*s", STR_FMT(port)), STR("/x"), 0);
    assert_null(job.failure);
    outbound_stop(o);
    server_stop(&s);
    arena_done(&a);
}

/* The operator's own mail server, and an envelope that libcurl takes as it is. */
static void test_mails_that_are_not_sent(void **state)
{
    (void)state;
    static const Str cut = {"a\0b", 3};
    const struct outbound_mail mails[] = {
        {.url = STR("http://127.0.0.1")},
        {.url = STR("smtp://mail.example"), .is_plain = true},
        {.url = STR("smtp://127.0.0.1"), .user = cut},
        {.url = STR("smtp://127.0.0.1"), .password = cut},
        {.url = STR("smtp://127.0.0.1"), .from = cut},
        {.url = STR("smtp://127.0.0.1"), .to = cut},
        {.url = STR("smtps://127.0.0.1:1"), .from = STR("a@b"), .to = STR("c@d")}, /* nobody is there */
    };
    struct arena a = {0};
    struct outbound *o = start();
    for (size_t i = 0; i < sizeof mails / sizeof *mails; i++) {
        struct outbound_job job = {.mail = &mails[i], .arena = &a};
        outbound_call(o, &job);
        assert_non_null(job.failure);
    }
    outbound_cancel(o); /* what comes then is not begun */
    struct outbound_job late = {.mail = &mails[0], .arena = &a};
    outbound_call(o, &late);
    assert_string_equal(late.failure, "the server is stopping");
    outbound_cancel(NULL);
    outbound_stop(NULL);
    outbound_stop(o);
    arena_done(&a);
}

#define LINES(...) ((const char *const[]){__VA_ARGS__, NULL})

/* A mail that the server's lines are about. */
static struct outbound_job mail_to(struct arena *a, const char *const *lines, Str bytes, int64_t timeout_ms,
                                   size_t *ret_bytes)
{
    struct server s;
    server_start_with(&s, NULL, lines);
    const struct outbound_mail mail = {.url = str_printf(a, "smtp://127.0.0.1:%d", s.port),
                                       .is_plain = true,
                                       .from = STR("a@b"),
                                       .to = STR("c@d"),
                                       .bytes = bytes};
    struct outbound *o = start();
    struct outbound_job job = {.mail = &mail, .arena = a, .timeout_ms = timeout_ms};
    outbound_call(o, &job);
    outbound_stop(o);
    server_stop(&s);
    *ret_bytes = s.bytes;
    return job;
}

/* What the operator reads of a mail that was not taken is what the server said, on one line. */
static void test_mail_servers(void **state)
{
    (void)state;
    static const struct {
        const char *const lines[6];
        const char *want;
    } refusals[] = {
        {{"554 go\x07 away \xff.\r\n"}, "554 go? away ?."},
        {{"220 here\r\n", "502 what\r\n", "421 nor that\r\n"}, "421 nor that"},
        {{"220 here\r\n", "250 here\r\n", "550-not\r\n550-\r\n550 you\r\n"}, "550-not you"},
        {{"220 here\r\n", "250 here\r\n", "550-cut\r\n550-off\r\n"}, "550-cut off"},
        {{"220 here\r\n", "250 here\r\n", "250 fine\r\n", "451 later\r\n"}, "451 later"},
    };
    struct arena a = {0};
    size_t bytes;
    for (size_t i = 0; i < sizeof refusals / sizeof *refusals; i++) {
        struct outbound_job job = mail_to(&a, refusals[i].lines, STR("x\r\n"), 0, &bytes);
        assert_string_equal(job.failure, refusals[i].want);
    }
    /* A server that goes quiet has not refused, whatever it began to say. */
    struct outbound_job job =
        mail_to(&a, LINES("220 here\r\n", "250 here\r\n", "450-wait\r\n", "never said"), STR("x\r\n"), 100, &bytes);
    assert_non_null(job.failure);
    assert_null(strstr(job.failure, "450"));

    /* More than libcurl takes at once. */
    const size_t length = 100000;
    char *text = arena_alloc(&a, length);
    for (size_t i = 0; i < length; i++) text[i] = i % 60 == 58 ? '\r' : i % 60 == 59 ? '\n' : 'x';
    job = mail_to(&a,
                  LINES("220 here\r\n", "250 here\r\n", "250 fine\r\n", "250 fine\r\n", "354 go\r\n", "250 kept\r\n",
                        "221 bye\r\n"),
                  (Str){text, length}, 0, &bytes);
    assert_null(job.failure);
    assert_int_equal(job.reply.status, 250);
    assert_true(bytes > length);
    arena_done(&a);
}

static void test_nobody_there(void **state)
{
    (void)state;
    struct arena a = {0};
    struct server s;
    server_start(&s, "");
    Str base = str_printf(&a, "http://127.0.0.1:%d", s.port);
    struct outbound *o = start();
    struct outbound_job job = get(o, &a, base, STR("/x"), 0); /* closes without a word */
    assert_non_null(job.failure);
    server_stop(&s);
    job = get(o, &a, base, STR("/x"), 0);
    assert_non_null(job.failure);
    assert_int_equal(job.reply.status, 0);
    outbound_stop(o);
    arena_done(&a);
}

static void count_done(struct outbound_job *job)
{
    atomic_fetch_add((atomic_int *)job->ctx, 1);
}

/* Every job ends exactly once, also when the whole thing is stopped under them. */
static void test_stop_ends_everything(void **state)
{
    (void)state;
    struct server s;
    server_start(&s, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: close\r\n\r\n");
    s.delay_ms = 50;
    struct arena a = {0}, arenas[40] = {{0}};
    atomic_int done = 0;
    Str base = str_printf(&a, "http://127.0.0.1:%d", s.port);
    struct http_call call = {.method = "GET", .url = str_printf(&a, "%.*s/x", STR_FMT(base))};
    struct outbound_job jobs[40];
    struct outbound *o = outbound_start(&(struct outbound_options){.connections_max = 4});
    for (size_t i = 0; i < 40; i++) {
        jobs[i] = (struct outbound_job){
            .call = &call, .base_url = base, .arena = &arenas[i], .done = count_done, .ctx = &done};
        outbound_submit(o, &jobs[i]);
    }
    poll(NULL, 0, 120);
    outbound_stop(o);
    assert_int_equal(atomic_load(&done), 40);
    size_t failed = 0;
    for (size_t i = 0; i < 40; i++) {
        failed += jobs[i].failure != NULL;
        arena_done(&arenas[i]);
    }
    assert_true(failed > 0 && failed < 40);
    server_stop(&s);
    arena_done(&a);
}

static void test_addresses(void **state)
{
    (void)state;
    static const struct {
        const char *url;
        bool fine, names_private;
    } bases[] = {
        {"https://api.stripe.com", true, false},  {"http://127.0.0.1:8080", true, true},
        {"http://[::1]:80/x", true, true},        {"http://[2606:4700::1]", true, false},
        {"http://localhost", true, true},         {"http://btcpay", true, true},
        {"http://pay.internal/btc", true, true},  {"http://10.1.2.3", true, true},
        {"http://8.8.8.8", true, false},          {"http://127.0.0.1.nip.io", true, false},
        {"http://evil.localx", true, false},      {"https://x.example/", false, false},
        {"https://x.example/a/", false, false},   {"https://x.example/a?b", false, false},
        {"https://x.example#b", false, false},    {"https://u:p@x.example", false, false},
        {"https://x.example:0", false, false},    {"https://x.example:65536", false, false},
        {"https://x.example:", false, false},     {"https://", false, false},
        {"ftp://x.example", false, false},        {"x.example", false, false},
        {"https://x.example/../a", false, false}, {"https://x example", false, false},
        {"https://x.example/a b", false, false},  {"https://x.example\\@evil", false, false},
        {"HTTPS://x.example", false, false},      {"", false, false},
    };
    for (size_t i = 0; i < sizeof bases / sizeof *bases; i++) {
        struct base_address at;
        if (base_address_parse(str_from(bases[i].url), &at) != bases[i].fine) fail_msg("%s", bases[i].url);
        if (bases[i].fine && at.names_private != bases[i].names_private) fail_msg("private? %s", bases[i].url);
        assert_int_equal(base_url_is_fine(str_from(bases[i].url)), bases[i].fine);
    }
    static const struct {
        const char *ip;
        bool is_private;
    } ips[] = {
        {"8.8.8.8", false},
        {"127.0.0.1", true},
        {"10.0.0.1", true},
        {"172.16.0.1", true},
        {"172.32.0.1", false},
        {"192.168.1.1", true},
        {"169.254.169.254", true},
        {"100.64.0.1", true},
        {"100.128.0.1", false},
        {"0.0.0.0", true},
        {"224.0.0.1", true},
        {"255.255.255.255", true},
        {"::1", true},
        {"::", true},
        {"fe80::1", true},
        {"fc00::1", true},
        {"fd12::1", true},
        {"ff02::1", true},
        {"2606:4700::1", false},
        {"::ffff:127.0.0.1", true},
        {"::ffff:8.8.8.8", false},
        {"64:ff9b::7f00:1", true},
        {"2002:7f00:1::", true},
        {"::127.0.0.1", true},
    };
    for (size_t i = 0; i < sizeof ips / sizeof *ips; i++) {
        struct sockaddr_in in = {.sin_family = AF_INET};
        struct sockaddr_in6 in6 = {.sin6_family = AF_INET6};
        bool got = false;
        if (inet_pton(AF_INET, ips[i].ip, &in.sin_addr) == 1)
            got = address_is_private((struct sockaddr *)&in, sizeof in);
        else if (inet_pton(AF_INET6, ips[i].ip, &in6.sin6_addr) == 1)
            got = address_is_private((struct sockaddr *)&in6, sizeof in6);
        else
            fail_msg("%s is no address", ips[i].ip);
        if (got != ips[i].is_private) fail_msg("%s", ips[i].ip);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_exchange),
        cmocka_unit_test(test_redirects_are_answers),
        cmocka_unit_test(test_mails_that_are_not_sent),
        cmocka_unit_test(test_mail_servers),
        cmocka_unit_test(test_limits),
        cmocka_unit_test(test_only_where_it_may_go),
        cmocka_unit_test(test_nobody_there),
        cmocka_unit_test(test_stop_ends_everything),
        cmocka_unit_test(test_addresses),
        cmocka_unit_test(test_webhooks),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
