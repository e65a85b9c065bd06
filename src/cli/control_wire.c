/* cli/control_wire.c - see control_wire.h. */
#include "cli/control_wire.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <sodium.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/command.h"

bool control_place_open(const struct config *config, struct control_place *ret)
{
    const char *path = config->control_socket;
    if (strcmp(path, "off") == 0) return false;
    struct control_place place = {.folder = -1};
    int n = *path ? snprintf(place.path, sizeof place.path, "%s", path)
                  : snprintf(place.path, sizeof place.path, "%s/control.sock", cli_data_dir(config));
    if (n >= (int)sizeof place.path) return false;
    *ret = place;
    char *slash = strrchr(ret->path, '/');
    ret->name = slash ? slash + 1 : ret->path;
    if (slash) *slash = '\0';
    ret->folder = open(!slash ? "." : slash == ret->path ? "/" : ret->path, O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (slash) *slash = '/';
    return *ret->name != '\0';
}

void control_place_close(struct control_place *place)
{
    if (place->folder >= 0) close(place->folder);
    place->folder = -1;
}

struct sockaddr_un control_address(const struct control_place *place, const char *name)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    int n = snprintf(address.sun_path, sizeof address.sun_path, "%.*s%s", (int)(place->name - place->path), place->path,
                     name);
    if (n >= (int)sizeof address.sun_path)
        n = snprintf(address.sun_path, sizeof address.sun_path, "/proc/self/fd/%d/%s", place->folder, name);
    if (n >= (int)sizeof address.sun_path) address.sun_path[0] = '\0'; /* connects to nothing */
    return address;
}

Str control_store(const struct config *config, struct arena *a)
{
    struct stat st;
    if (!strstr(config->db, "://") && stat(config->db, &st) == 0)
        return str_printf(a, "file %llx %llx", (unsigned long long)st.st_dev, (unsigned long long)st.st_ino);
    unsigned char hash[16];
    char hex[sizeof hash * 2 + 1];
    crypto_generichash(hash, sizeof hash, (const unsigned char *)config->db, strlen(config->db), NULL, 0);
    return str_printf(a, "address %s", sodium_bin2hex(hex, sizeof hex, hash, sizeof hash));
}

static bool send_all(int fd, const char *bytes, size_t n)
{
    while (n) {
        ssize_t sent = send(fd, bytes, n, MSG_NOSIGNAL);
        if (sent < 0 && errno == EINTR) continue;
        if (sent <= 0) return false;
        bytes += sent;
        n -= (size_t)sent;
    }
    return true;
}

static bool receive_all(int fd, char *to, size_t n)
{
    while (n) {
        ssize_t got = recv(fd, to, n, 0);
        if (got < 0 && errno == EINTR) continue;
        if (got <= 0) return false;
        to += got;
        n -= (size_t)got;
    }
    return true;
}

static bool send_number(int fd, size_t v)
{
    uint32_t wire = htonl((uint32_t)v);
    return v <= UINT32_MAX && send_all(fd, (const char *)&wire, sizeof wire);
}

static bool receive_number(int fd, size_t *ret)
{
    uint32_t wire;
    if (!receive_all(fd, (char *)&wire, sizeof wire)) return false;
    *ret = ntohl(wire);
    return true;
}

bool control_send(int fd, const Str *texts, size_t count)
{
    bool ok = send_number(fd, count);
    for (size_t i = 0; ok && i < count; i++)
        ok = send_number(fd, texts[i].len) && send_all(fd, texts[i].ptr, texts[i].len);
    return ok;
}

bool control_receive(int fd, struct arena *a, size_t count_max, Str *ret, size_t *ret_count)
{
    size_t count, left = CONTROL_BYTES_MAX;
    if (!receive_number(fd, &count) || count > count_max) return false;
    for (size_t i = 0; i < count; i++) {
        size_t n;
        if (!receive_number(fd, &n) || n > left) return false;
        left -= n;
        char *text = arena_alloc(a, n + 1);
        if (!receive_all(fd, text, n)) return false;
        text[n] = '\0';
        ret[i] = (Str){text, n};
    }
    *ret_count = count;
    return true;
}
