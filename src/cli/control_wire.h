/* cli/control_wire.h - the socket between a command and the running server, and what passes through it.
 *
 * A message is a list of texts: their number, then each with its length in front, all numbers 4 bytes, the high byte
 * first. The server greets with {CONTROL_HELLO, version, store}; a command asks with {its words, its arguments …, its
 * input}; the answer is {exit code, output, messages}. */
#pragma once

#include <sys/un.h>

#include "base/arena.h"
#include "base/str.h"
#include "cli/config.h"

#define CONTROL_HELLO "souk control 1"
#define CONTROL_REFUSED "souk control: not you"
#define CONTROL_TEXTS_MAX 64
#define CONTROL_BYTES_MAX ((size_t)64 * 1024 * 1024) /* of one message */

/* Where the socket is: an open folder and a name in it. A folder may have a longer path than fits into a socket's
 * address: it is then reached through /proc, which a chroot may lack. */
struct control_place {
    int folder; /* -1: no such folder */
    char path[4096];
    const char *name; /* in path */
};

/* False: switched off, or the path is too long. */
bool control_place_open(const struct config *config, struct control_place *ret);
void control_place_close(struct control_place *place);
struct sockaddr_un control_address(const struct control_place *place, const char *name);

/* Which store this is, as server and command must both see it: the file's inode, or a hash of the database's address,
 * which may have a password in it. */
Str control_store(const struct config *config, struct arena *a);

bool control_send(int fd, const Str *texts, size_t count);
/* The texts are from the arena, each followed by a NUL. False: the other end is gone, too slow, or sends too much. */
bool control_receive(int fd, struct arena *a, size_t count_max, Str *ret, size_t *ret_count);
