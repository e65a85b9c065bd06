/* cli/control.c - the server's end of the control socket. See control.h. */
#include "cli/control.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <sodium.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/log.h"
#include "base/memory.h"
#include "cli/caller.h"
#include "cli/control_wire.h"
#include "serve/version.h"

#define PEER_TIMEOUT_S 10 /* for a command that has connected and then says nothing, or does not read */
#define POLL_AGAIN_US 10000
#define OUTPUT_BYTES_MAX ((size_t)16 * 1024 * 1024)

struct control {
    const struct config *config;
    struct database *database;
    struct control_place place;
    struct stat self; /* of the socket's file */
    int listen_fd, end_fd;
    pthread_t thread;
    pthread_mutex_t lock; /* over: */
    int peer_fd;          /* of the command at the other end, or -1 */
    bool is_ending;
};

static void set_peer(struct control *c, int fd)
{
    pthread_mutex_lock(&c->lock);
    c->peer_fd = fd;
    if (fd >= 0 && c->is_ending) shutdown(fd, SHUT_RD);
    pthread_mutex_unlock(&c->lock);
}

static bool is_heard(int fd, struct ucred *ret)
{
    socklen_t len = sizeof *ret;
    if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, ret, &len) != 0) return false;
    return ret->uid == 0 || ret->uid == geteuid();
}

static const struct command *find(Str words)
{
    for (const struct command *c = commands; c->words; c++)
        if (c->through_server && str_eq(words, str_from(c->words))) return c;
    return NULL;
}

/* What a stream in memory holds, up to a limit; ends the stream. */
static Str gather(FILE *f, struct arena *a, char **text, const size_t *len)
{
    if (!f) return (Str){0};
    fclose(f); /* only now *text and *len are what was written */
    Str all = str_dup(a, (Str){*text, *len < OUTPUT_BYTES_MAX ? *len : OUTPUT_BYTES_MAX});
    free(*text);
    return all;
}

/* Runs the command with its streams in memory. */
static int run(const struct control *c, const struct command *command, const struct config *config, uid_t uid,
               Str input, struct arena *a, Str *ret_out, Str *ret_err)
{
    struct cli_caller caller = {.uid = uid, .database = c->database};
    char *out = NULL, *err = NULL;
    size_t out_len = 0, err_len = 0;
    caller.in = fmemopen((char *)input.ptr, input.len ? input.len : 1, "r");
    if (caller.in && !input.len) (void)fgetc(caller.in);
    caller.out = open_memstream(&out, &out_len);
    caller.err = open_memstream(&err, &err_len);
    bool has_streams = caller.in && caller.out && caller.err;
    int code = EXIT_FAILED;
    if (has_streams) {
        caller_set(&caller);
        code = command->run(config, a);
        caller_set(NULL);
    }
    if (caller.in) fclose(caller.in);
    *ret_out = gather(caller.out, a, &out, &out_len);
    *ret_err = gather(caller.err, a, &err, &err_len);
    if (!has_streams) *ret_err = STR("souk: the running server has no memory for this command\n");
    return code;
}

static void converse(const struct control *c, int fd, const struct ucred *peer, struct arena *a)
{
    const Str hello[] = {STR(CONTROL_HELLO), STR(SOUK_VERSION), control_store(c->config, a)};
    Str texts[CONTROL_TEXTS_MAX];
    size_t count = 0;
    if (!control_send(fd, hello, 3) || !control_receive(fd, a, CONTROL_TEXTS_MAX, texts, &count) || count < 2) return;
    Str input = texts[count - 1], out = {0}, err = {0};
    const struct command *command = find(texts[0]);
    char *words[CONTROL_TEXTS_MAX];
    for (size_t i = 1; i + 1 < count; i++) words[i - 1] = (char *)texts[i].ptr;
    struct config config;
    int code = EXIT_USAGE;
    if (!command || !config_of_command(c->config, count - 2, words, &config)) {
        err = STR("souk: the running server does not know this command\n");
    } else {
        code = run(c, command, &config, peer->uid, input, a, &out, &err);
        log_event(LOG_INFO, "command", LOGC("command", command->words), LOGI("uid", peer->uid), LOGI("pid", peer->pid),
                  LOGI("exit", code));
    }
    sodium_memzero((char *)input.ptr, input.len); /* it may be a password */
    const Str answer[] = {str_printf(a, "%d", code), out, err};
    control_send(fd, answer, 3);
}

static void take(struct control *c)
{
    int fd = accept4(c->listen_fd, NULL, NULL, SOCK_CLOEXEC);
    if (fd < 0) return;
    const struct timeval patience = {.tv_sec = PEER_TIMEOUT_S};
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
    struct ucred peer = {0};
    set_peer(c, fd);
    if (is_heard(fd, &peer)) {
        struct arena a = {0};
        converse(c, fd, &peer, &a);
        arena_done(&a);
    } else {
        const Str refused[] = {STR(CONTROL_REFUSED)};
        log_event(LOG_WARN, "command_refused", LOGI("uid", peer.uid), LOGI("pid", peer.pid));
        control_send(fd, refused, 1);
    }
    set_peer(c, -1);
    close(fd);
}

static void *listen_and_run(void *arg)
{
    struct control *c = arg;
    struct pollfd fds[] = {{.fd = c->listen_fd, .events = POLLIN}, {.fd = c->end_fd, .events = POLLIN}};
    for (;;) {
        if (poll(fds, 2, -1) < 0) { /* a signal, or no memory for a moment: what it found last time means nothing */
            usleep(POLL_AGAIN_US);
            continue;
        }
        if (fds[1].revents) break;
        take(c);
    }
    return NULL;
}

/* A socket with the mode 0600 from the start, under a name of its own first. */
static bool stand(struct control *c)
{
    char own[64];
    snprintf(own, sizeof own, ".control-%ld", (long)getpid());
    struct sockaddr_un address = control_address(&c->place, own);
    unlinkat(c->place.folder, own, 0);
    c->listen_fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    bool ok = c->listen_fd >= 0 && fchmod(c->listen_fd, 0600) == 0 &&
              bind(c->listen_fd, (const struct sockaddr *)&address, sizeof address) == 0 &&
              listen(c->listen_fd, 16) == 0 && fstatat(c->place.folder, own, &c->self, AT_SYMLINK_NOFOLLOW) == 0 &&
              renameat(c->place.folder, own, c->place.folder, c->place.name) == 0;
    int why = errno;
    if (!ok) unlinkat(c->place.folder, own, 0);
    errno = why;
    return ok;
}

static void leave(struct control *c)
{
    struct stat now;
    if (fstatat(c->place.folder, c->place.name, &now, AT_SYMLINK_NOFOLLOW) == 0 && now.st_dev == c->self.st_dev &&
        now.st_ino == c->self.st_ino)
        unlinkat(c->place.folder, c->place.name, 0);
}

static void forget(struct control *c)
{
    if (c->listen_fd >= 0) close(c->listen_fd);
    if (c->end_fd >= 0) close(c->end_fd);
    control_place_close(&c->place);
    pthread_mutex_destroy(&c->lock);
    free(c);
}

struct control *control_start(const struct config *config, struct database *d)
{
    struct control *c = memory_zeroed(1, sizeof *c);
    *c = (struct control){
        .config = config, .database = d, .place.folder = -1, .listen_fd = -1, .end_fd = -1, .peer_fd = -1};
    pthread_mutex_init(&c->lock, NULL);
    if (!control_place_open(config, &c->place)) {
        forget(c);
        return NULL;
    }
    c->end_fd = eventfd(0, EFD_CLOEXEC);
    bool stands = c->end_fd >= 0 && stand(c);
    int failure = stands ? pthread_create(&c->thread, NULL, listen_and_run, c) : errno;
    if (failure) {
        log_event(LOG_WARN, "control_socket_missing", LOGC("path", c->place.path), LOGC("why", strerror(failure)));
        if (stands) leave(c);
        forget(c);
        return NULL;
    }
    return c;
}

void control_stop(struct control *c)
{
    if (!c) return;
    leave(c);
    pthread_mutex_lock(&c->lock);
    c->is_ending = true;
    if (c->peer_fd >= 0) shutdown(c->peer_fd, SHUT_RD); /* it may be waiting for a command that never comes */
    pthread_mutex_unlock(&c->lock);
    const uint64_t one = 1;
    while (write(c->end_fd, &one, sizeof one) < 0) { /* a signal can come in between */
    }
    pthread_join(c->thread, NULL);
    forget(c);
}
