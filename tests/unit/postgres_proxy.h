/* tests/unit/postgres_proxy.h - a proxy between us and the PostgreSQL of the tests, which cuts where it is told to. */
#pragma once

#include <pthread.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "database.h"

enum cut {
    CUT_NEVER,
    CUT_BEFORE, /* what holds the needle does not reach the server */
    CUT_AFTER,  /* it does, and the server's answer does not reach us */
};

enum { PAIRS_MAX = 64 };

static struct proxy {
    pthread_t thread;
    char folder[128];
    struct sockaddr_un here, there;
    int listener;
    _Atomic bool stop;
    _Atomic bool down; /* nobody gets in, those inside are thrown out */
    _Atomic int limit; /* connections at once */
    _Atomic enum cut cut;
    const char *needle; /* set before cut */
    size_t needle_bytes;
    _Atomic int cuts;
    struct {
        int client, server;
        bool doomed; /* closes when the server speaks */
    } pairs[PAIRS_MAX];
    int count;
} proxy;

static void drop_pair(int i)
{
    close(proxy.pairs[i].client);
    close(proxy.pairs[i].server);
    proxy.pairs[i] = proxy.pairs[--proxy.count];
}

static void send_all(int fd, const char *p, size_t n)
{
    while (n) {
        ssize_t sent = send(fd, p, n, MSG_NOSIGNAL);
        if (sent <= 0) return;
        p += sent;
        n -= (size_t)sent;
    }
}

/* False: the pair is to be dropped. */
static bool pass_on(int i, bool from_client)
{
    static char data[65536];
    int from = from_client ? proxy.pairs[i].client : proxy.pairs[i].server;
    int to = from_client ? proxy.pairs[i].server : proxy.pairs[i].client;
    ssize_t n = recv(from, data, sizeof data, 0);
    if (n <= 0) return false;
    if (!from_client && proxy.pairs[i].doomed) return false;
    enum cut cut = atomic_load(&proxy.cut);
    if (from_client && cut != CUT_NEVER && memmem(data, (size_t)n, proxy.needle, proxy.needle_bytes)) {
        atomic_store(&proxy.cut, CUT_NEVER);
        atomic_fetch_add(&proxy.cuts, 1);
        if (cut == CUT_BEFORE) return false;
        proxy.pairs[i].doomed = true;
    }
    send_all(to, data, (size_t)n);
    return true;
}

static void let_in(void)
{
    int client = accept(proxy.listener, NULL, NULL);
    if (client < 0) return;
    if (atomic_load(&proxy.down) || proxy.count >= atomic_load(&proxy.limit)) {
        close(client);
        return;
    }
    int server = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    check(connect(server, (struct sockaddr *)&proxy.there, sizeof proxy.there) == 0);
    proxy.pairs[proxy.count].client = client;
    proxy.pairs[proxy.count].server = server;
    proxy.pairs[proxy.count].doomed = false;
    proxy.count++;
}

static void *proxy_main(void *arg)
{
    (void)arg;
    while (!atomic_load(&proxy.stop)) {
        struct pollfd f[1 + 2 * PAIRS_MAX] = {{.fd = proxy.listener, .events = POLLIN}};
        int count = proxy.count;
        for (int i = 0; i < count; i++) {
            f[1 + 2 * i] = (struct pollfd){.fd = proxy.pairs[i].client, .events = POLLIN};
            f[2 + 2 * i] = (struct pollfd){.fd = proxy.pairs[i].server, .events = POLLIN};
        }
        if (poll(f, (nfds_t)(1 + 2 * count), 20) < 0) continue;
        for (int i = count - 1; i >= 0; i--) {
            bool good = !atomic_load(&proxy.down);
            if (good && f[1 + 2 * i].revents) good = pass_on(i, true);
            if (good && f[2 + 2 * i].revents) good = pass_on(i, false);
            if (!good) drop_pair(i);
        }
        if (f[0].revents) let_in();
    }
    while (proxy.count) drop_pair(0);
    return NULL;
}

/* The folder of the server's socket, from "…?host=FOLDER". */
static bool proxy_start(void)
{
    const char *host = strstr(test_postgres(), "host=/");
    if (!host) return false;
    memset(&proxy, 0, sizeof proxy);
    test_folder(proxy.folder);
    proxy.limit = PAIRS_MAX;
    proxy.here.sun_family = proxy.there.sun_family = AF_UNIX;
    int n = (int)strcspn(host + 5, "&");
    snprintf(proxy.there.sun_path, sizeof proxy.there.sun_path, "%.*s/.s.PGSQL.5432", n, host + 5);
    snprintf(proxy.here.sun_path, sizeof proxy.here.sun_path, "%.80s/.s.PGSQL.5432", proxy.folder);
    proxy.listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    check(bind(proxy.listener, (struct sockaddr *)&proxy.here, sizeof proxy.here) == 0);
    check(listen(proxy.listener, 64) == 0);
    check(pthread_create(&proxy.thread, NULL, proxy_main, NULL) == 0);
    return true;
}

static void proxy_stop(void)
{
    atomic_store(&proxy.stop, true);
    pthread_join(proxy.thread, NULL);
    close(proxy.listener);
    test_folder_remove(proxy.folder);
}

static inline void proxy_cut(enum cut cut, const char *needle, size_t bytes)
{
    proxy.needle = needle;
    proxy.needle_bytes = bytes;
    atomic_store(&proxy.cuts, 0);
    atomic_store(&proxy.cut, cut);
}

/* The text of a Parse message: its NUL keeps READ COMMITTED out. */
#define CUT_AT_COMMIT "COMMIT", sizeof "COMMIT"
