/* Starting, waking and stopping the HTTP server from its owner's side. What clients see is tested over sockets, in
 * tests/api/codec.test.mjs and echo.test.mjs. */
#include <arpa/inet.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#include "http/loop.h"

/* What the hooks have seen. */
static struct {
    _Atomic int starts, stops, woken, ticks, begun, requests, finished, passes;
    _Atomic bool holds; /* the first loop is kept in its owner's hands */
    struct http_loop *loops[8];
    struct http_server *server;
} seen;

static void on_tick(void *loop_user)
{
    assert_non_null(loop_user);
    seen.ticks++;
}

static void *loop_start(void *ctx, struct http_loop *loop, int index)
{
    assert_ptr_equal(ctx, &seen);
    assert_non_null(seen.server); /* set before any hook */
    seen.loops[index] = loop;
    seen.starts++;
    http_loop_every(loop, 1, on_tick);
    return &seen.loops[index];
}

static void loop_stop(void *loop_user)
{
    assert_non_null(loop_user);
    seen.stops++;
}

static void begin(void *loop_user, struct exchange *x)
{
    assert_ptr_equal(http_loop_user(x->loop), loop_user);
    assert_null(x->user);
    x->user = &seen;
    seen.begun++;
}

static void request(void *loop_user, struct exchange *x)
{
    (void)loop_user;
    seen.requests++;
    assert_int_equal(exchange_client(x), CLIENT_THERE);
    exchange_answer(x, &(struct http_answer){.status = 200, .body = STR("hello")});
}

static void refuse(void *loop_user, struct exchange *x, enum err e, struct http_answer *ret)
{
    (void)loop_user, (void)x;
    assert_int_equal(ret->status, err_info(e)->status);
}

static void pass(void *loop_user)
{
    (void)loop_user;
    seen.passes++;
}

static void woken(void *loop_user)
{
    seen.woken++;
    while (seen.holds && loop_user == &seen.loops[0]) usleep(1000);
}

static void finished(void *loop_user, struct exchange *x, int status, int64_t bytes)
{
    (void)loop_user, (void)status, (void)bytes;
    assert_ptr_equal(x->user, &seen);
    seen.finished++;
}

static const struct http_hooks hooks = {&seen, loop_start, loop_stop, begin, request, refuse, pass, woken, finished};

static enum err start(const char *listen, int loops, const char *proxy, char *why)
{
    struct http_options options = {.listen = listen, .loops = loops, .trusted_proxy = proxy, .drain_ms = 2000};
    memset(&seen, 0, sizeof seen);
    return http_server_start(&options, &hooks, &seen.server, why, 256);
}

static void wait_for(_Atomic int *counter, int least)
{
    for (int i = 0; i < 10000 && *counter < least; i++) usleep(1000);
    assert_true(*counter >= least);
}

static void starts_and_stops(void **state)
{
    (void)state;
    char why[256] = "";
    for (int loops = 1; loops <= 4; loops++) {
        assert_int_equal(start("127.0.0.1:0", loops, NULL, why), OK);
        assert_int_equal(seen.starts, loops);
        assert_true(http_server_port(seen.server) > 0);
        assert_false(http_server_is_draining(seen.server));
        wait_for(&seen.ticks, loops);
        for (int i = 0; i < loops; i++) {
            int before = seen.woken;
            http_loop_wake(seen.loops[i]);
            wait_for(&seen.woken, before + 1);
        }
        http_server_stop(seen.server);
        assert_true(http_server_is_draining(seen.server));
        assert_int_equal(seen.stops, loops);
        for (int i = 0; i < loops; i++) http_loop_wake(seen.loops[i]); /* too late, and harmless */
        assert_int_equal(http_server_stats(seen.server)->open, 0);
        http_server_free(seen.server);
    }
}

static void says_why_it_can_not(void **state)
{
    (void)state;
    static const char *const wrong[] = {"",
                                        "nonsense",
                                        "127.0.0.1",
                                        "127.0.0.1:",
                                        "127.0.0.1:x",
                                        "127.0.0.1:65536",
                                        "127.0.0.1:-1",
                                        "256.0.0.1:80",
                                        "[::1:80",
                                        "no.such.host.invalid:80"};
    char why[256];
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        *why = '\0';
        assert_int_equal(start(wrong[i], 1, NULL, why), ERR_UNAVAILABLE);
        assert_non_null(strstr(why, "cannot listen on"));
    }
    assert_int_equal(start("127.0.0.1:0", 1, "proxy.example", why), ERR_UNAVAILABLE);
    assert_non_null(strstr(why, "is not an address"));
    assert_int_equal(start("192.0.2.1:0", 1, NULL, why), ERR_UNAVAILABLE); /* an address of nobody */
    assert_int_equal(seen.starts, 0);
}

/* Sharing a port is for the loops of one server, not for a second server. */
static void port_is_its_own(void **state)
{
    (void)state;
    char why[256] = "", same[64];
    assert_int_equal(start("127.0.0.1:0", 2, NULL, why), OK);
    struct http_server *first = seen.server;
    snprintf(same, sizeof same, "127.0.0.1:%d", http_server_port(first));
    struct http_options options = {.listen = same, .loops = 2};
    struct http_server *second = NULL;
    assert_int_equal(http_server_start(&options, &hooks, &second, why, sizeof why), ERR_UNAVAILABLE);
    assert_non_null(strstr(why, "Address already in use"));
    assert_null(second);
    http_server_stop(first);
    http_server_free(first);
    assert_int_equal(http_server_start(&options, &hooks, &seen.server, why, sizeof why), OK); /* it is free again */
    http_server_stop(seen.server);
    http_server_free(seen.server);
}

static int dial(int port)
{
    struct sockaddr_in a = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
    a.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    assert_true(fd >= 0);
    assert_int_equal(connect(fd, (struct sockaddr *)&a, sizeof a), 0);
    return fd;
}

/* Every exchange that began is finished exactly once: answered, refused later, or left by its client. */
static void every_exchange_is_finished_once(void **state)
{
    (void)state;
    char why[256] = "";
    assert_int_equal(start("127.0.0.1:0", 2, NULL, why), OK);
    int port = http_server_port(seen.server);
    static const char *const texts[] = {
        "GET / HTTP/1.1\r\nHost: h\r\n\r\n",                                         /* answered */
        "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 99\r\n\r\nx",                 /* left in its body */
        "POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\nx",         /* refused in its body */
        "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 99999999\r\n\r\n",            /* refused before its body */
        "GET / HTTP/1.1\r\nHost: h\r\n\r\nGET / HTTP/1.1\r\nHost: h\r\n\r\nGET / H", /* two answered, one left in its
                                                                                        head */
    };
    int began_each[] = {1, 1, 1, 1, 2}, began = 0;
    for (int round = 0; round < 50; round++) {
        size_t i = (size_t)round % 5;
        int fd = dial(port);
        assert_int_equal(send(fd, texts[i], strlen(texts[i]), MSG_NOSIGNAL), (ssize_t)strlen(texts[i]));
        began += began_each[i];
        wait_for(&seen.begun, began);
        close(fd);
    }
    wait_for(&seen.finished, began);
    http_server_stop(seen.server);
    assert_int_equal(seen.begun, began);
    assert_int_equal(seen.finished, began);
    assert_int_equal(seen.requests, 10 + 20);
    assert_true(seen.passes > 0);
    const struct http_stats *stats = http_server_stats(seen.server);
    assert_int_equal(stats->accepted, 50);
    assert_int_equal(stats->bad_requests, 20);
    assert_int_equal(stats->open, 0);
    http_server_free(seen.server);
}

static void wait_for_open(int64_t count)
{
    const struct http_stats *stats = http_server_stats(seen.server);
    for (int i = 0; i < 10000 && stats->open != count; i++) usleep(1000);
    assert_int_equal(stats->open, count);
}

/* A loop that does not come back from its owner is noticed, and noticed again when it has come back. */
static void says_whether_it_moves(void **state)
{
    (void)state;
    char why[256] = "";
    assert_int_equal(start("127.0.0.1:0", 2, NULL, why), OK);
    seen.holds = true;
    http_loop_wake(seen.loops[0]);
    wait_for(&seen.woken, 1);
    assert_true(http_server_is_moving(seen.server)); /* nobody was asked before */
    wait_for(&seen.woken, 2);
    assert_false(http_server_is_moving(seen.server));
    seen.holds = false;
    bool moves = false;
    for (int i = 0; i < 10000 && !(moves = http_server_is_moving(seen.server)); i++) usleep(1000);
    assert_true(moves);
    http_server_stop(seen.server);
    http_server_free(seen.server);
}

/* A socket that was made by somebody else: one that takes TCP clients, or none. */
static void inherits_a_socket(void **state)
{
    (void)state;
    char why[256] = "", text[16];
    int pair[2], pipes[2];
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
    assert_int_equal(pipe(pipes), 0);
    int idle = socket(AF_INET, SOCK_STREAM, 0);
    const int wrong[] = {pair[0], pipes[0], idle, 987};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        struct http_options options = {.listen = "127.0.0.1:0", .loops = 1, .listen_fd = wrong[i]};
        memset(&seen, 0, sizeof seen);
        assert_int_equal(http_server_start(&options, &hooks, &seen.server, why, sizeof why), ERR_UNAVAILABLE);
        assert_non_null(strstr(why, "cannot listen on the inherited socket"));
    }
    for (size_t i = 0; i < 2; i++) close(pair[i]), close(pipes[i]);
    close(idle);

    int six = socket(AF_INET6, SOCK_STREAM, 0);
    struct sockaddr_in6 a = {.sin6_family = AF_INET6, .sin6_addr = IN6ADDR_LOOPBACK_INIT};
    if (six < 0 || bind(six, (struct sockaddr *)&a, sizeof a) != 0) return; /* a machine without IPv6 */
    assert_int_equal(listen(six, 5), 0);
    struct http_options options = {.listen = "127.0.0.1:0",
                                   .listen_fd = six,
                                   .linger_ms = 10,
                                   .body_window_ms = 100,
                                   .drain_ms = 60000,
                                   .drain_idle_ms = 10};
    memset(&seen, 0, sizeof seen);
    assert_int_equal(http_server_start(&options, &hooks, &seen.server, why, sizeof why), OK);
    assert_non_null(strstr(http_server_address(seen.server), "[::1]:"));
    a.sin6_port = htons((uint16_t)http_server_port(seen.server));
    int idle_client = socket(AF_INET6, SOCK_STREAM, 0);
    assert_int_equal(connect(idle_client, (struct sockaddr *)&a, sizeof a), 0);
    wait_for_open(1);
    http_server_stop(seen.server); /* the socket stays: who is idle is spared, but not for long */
    assert_int_equal(recv(idle_client, text, sizeof text, 0), 0);
    close(idle_client);
    http_server_free(seen.server);
    http_server_free(NULL);
    close(six);
}

static void addresses(void **state)
{
    (void)state;
    char text[INET6_ADDRSTRLEN], host[300];
    static const struct {
        Str from;
        const char *to;
    } cases[] = {{S("[::1]"), "::1"},
                 {S("2001:DB8:0::1"), "2001:db8::1"},
                 {S("::ffff:10.0.0.1"), "10.0.0.1"},
                 {S("127.0.0.1"), "127.0.0.1"},
                 {S("[::1"), NULL},
                 {S(""), NULL},
                 {S("a.example"), NULL},
                 {S("1111:2222:3333:4444:5555:6666:7777:8888:9999:aaaa"), NULL}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        assert_int_equal(address_canonical(cases[i].from, text), cases[i].to != NULL);
        if (cases[i].to) assert_string_equal(text, cases[i].to);
    }
    assert_true(listens_on_loopback("127.0.0.1:1") && listens_on_loopback("[::1]:1"));
    assert_false(listens_on_loopback(":1") || listens_on_loopback("0.0.0.0:1") || listens_on_loopback("x"));
    assert_true(address_is_loopback(STR("::1")) && address_is_loopback(STR("127.0.0.9")));
    assert_false(address_is_loopback(STR("10.0.0.1")));
    memset(host, 'a', sizeof host);
    memcpy(host + sizeof host - 4, ":80", 4);
    assert_false(listens_on_loopback(host));
    struct sockaddr_storage other = {.ss_family = AF_UNIX};
    address_text(&other, text);
    assert_string_equal(text, "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(starts_and_stops),  cmocka_unit_test(says_why_it_can_not),
        cmocka_unit_test(port_is_its_own),   cmocka_unit_test(every_exchange_is_finished_once),
        cmocka_unit_test(inherits_a_socket), cmocka_unit_test(says_whether_it_moves),
        cmocka_unit_test(addresses),
    };
    return cmocka_run_group_tests_name("server", tests, NULL, NULL);
}
