/* cli/supervisor.c - see supervisor.h. */
#include "cli/supervisor.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/log.h"
#include "base/memory.h"
#include "cli/command.h"

#define FIRST_FD 3 /* where handed-over descriptors begin */
#define PULSES_PER_WATCH 4
#define PULSE_MS_MAX 10000

/* A number from the environment; `otherwise` when there is none. */
static int64_t number(const char *name, int64_t otherwise)
{
    const char *text = getenv(name);
    int64_t v;
    return text && str_to_int64(str_from(text), &v) ? v : otherwise;
}

int supervisor_socket(void)
{
    int64_t count = number("LISTEN_PID", 0) == getpid() ? number("LISTEN_FDS", 0) : 0;
    unsetenv("LISTEN_PID");
    unsetenv("LISTEN_FDS");
    unsetenv("LISTEN_FDNAMES");
    if (!count) return 0;
    if (count != 1) {
        cli_fail("%lld sockets were handed over: souk serves on one", (long long)count);
        return -1;
    }
    if (fcntl(FIRST_FD, F_SETFD, FD_CLOEXEC) == 0) return FIRST_FD;
    cli_fail("the socket that was handed over cannot be used: %s", strerror(errno));
    return -1;
}

void supervisor_tell(const char *lines)
{
    const char *path = getenv("NOTIFY_SOCKET");
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    size_t len = path ? strlen(path) : 0;
    if (!len || len >= sizeof address.sun_path) return;
    memcpy(address.sun_path, path, len);
    if (*path == '@') address.sun_path[0] = '\0'; /* an abstract address: its length counts */
    socklen_t address_len = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + len);
    int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (fd < 0) return;
    ssize_t n = sendto(fd, lines, strlen(lines), MSG_NOSIGNAL, (const struct sockaddr *)&address, address_len);
    if (n < 0) log_event(LOG_WARN, "supervisor_not_told", LOGC("why", strerror(errno)));
    close(fd);
}

struct pulse {
    struct http_server *server;
    struct database *database;
    int64_t every_ms;
    int end_fd;
    pthread_t thread;
};

static enum err change_nothing(void *arg, struct db *db)
{
    (void)arg, (void)db;
    return OK;
}

/* True when the server is about to end, which may also be found out while waiting. */
static bool ends_within(const struct pulse *p, int64_t ms)
{
    struct pollfd end = {.fd = p->end_fd, .events = POLLIN};
    return poll(&end, 1, (int)ms) > 0;
}

/* A transaction that fails shows a living writer, too: the disk may be full. */
static void *beat(void *arg)
{
    struct pulse *p = arg;
    while (!ends_within(p, p->every_ms)) {
        if (!http_server_is_moving(p->server)) continue;
        if (database_is_sqlite(p->database)) tx_call(p->database, TX_WRITE, change_nothing, NULL, NULL);
        supervisor_tell("WATCHDOG=1");
    }
    return NULL;
}

struct pulse *pulse_start(struct http_server *server, struct database *d)
{
    int64_t watch_us = number("WATCHDOG_USEC", 0);
    if (watch_us <= 0 || number("WATCHDOG_PID", getpid()) != getpid()) return NULL;
    struct pulse *p = memory_zeroed(1, sizeof *p);
    int64_t ms = watch_us / 1000 / PULSES_PER_WATCH;
    *p = (struct pulse){.server = server,
                        .database = d,
                        .every_ms = ms < 1              ? 1
                                    : ms > PULSE_MS_MAX ? PULSE_MS_MAX
                                                        : ms};
    p->end_fd = eventfd(0, EFD_CLOEXEC);
    int failure = p->end_fd < 0 ? errno : pthread_create(&p->thread, NULL, beat, p);
    if (!failure) return p;
    log_event(LOG_ERROR, "watchdog_not_fed", LOGC("why", strerror(failure))); /* the supervisor will start us again */
    if (p->end_fd >= 0) close(p->end_fd);
    free(p);
    return NULL;
}

void pulse_stop(struct pulse *p)
{
    if (!p) return;
    const uint64_t one = 1;
    while (write(p->end_fd, &one, sizeof one) < 0) { /* a signal can come in between */
    }
    pthread_join(p->thread, NULL);
    close(p->end_fd);
    free(p);
}
