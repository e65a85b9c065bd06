/* db/lock.c - see lock.h. */
#include "db/lock.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

static long owner(int fd)
{
    char text[32] = {0};
    ssize_t n = pread(fd, text, sizeof text - 1, 0);
    return n > 0 ? strtol(text, NULL, 10) : 0;
}

static bool write_owner(int fd)
{
    char text[32];
    int n = snprintf(text, sizeof text, "%ld\n", (long)getpid());
    return ftruncate(fd, 0) == 0 && pwrite(fd, text, (size_t)n, 0) == n;
}

/* What root makes beside a database belongs to the database's owner, who could not open it otherwise; SQLite does the
 * same with its own files. */
static void give_to_owner(int fd, const char *database_path)
{
    struct stat database;
    if (geteuid() != 0 || stat(database_path, &database) != 0) return;
    int rc = fchown(fd, database.st_uid, database.st_gid);
    (void)rc; /* the owner of a file system without owners is root */
}

enum err lock_take(const char *database_path, int *ret_fd, char *ret_why, size_t why_bytes)
{
    char path[PATH_MAX];
    int n = snprintf(path, sizeof path, "%s.lock", database_path);
    if (n < 0 || (size_t)n >= sizeof path) {
        snprintf(ret_why, why_bytes, "the path of the database is too long");
        return ERR_UNAVAILABLE;
    }
    int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd < 0) {
        snprintf(ret_why, why_bytes, "the lock file %s cannot be opened: %s", path, strerror(errno));
        return ERR_UNAVAILABLE;
    }
    give_to_owner(fd, database_path);
    if (flock(fd, LOCK_EX | LOCK_NB) != 0) {
        if (errno == EWOULDBLOCK)
            snprintf(ret_why, why_bytes, "the database %s is in use by another souk (pid %ld)", database_path,
                     owner(fd));
        else
            snprintf(ret_why, why_bytes, "the lock file %s cannot be locked: %s", path, strerror(errno));
        enum err e = errno == EWOULDBLOCK ? ERR_CONFLICT : ERR_UNAVAILABLE;
        close(fd);
        return e;
    }
    if (!write_owner(fd)) {
        snprintf(ret_why, why_bytes, "the lock file %s cannot be written: %s", path, strerror(errno));
        close(fd);
        return ERR_UNAVAILABLE;
    }
    *ret_fd = fd;
    return OK;
}

void lock_release(int fd)
{
    if (fd < 0) return;
    int rc = ftruncate(fd, 0); /* only the text for the next one's message */
    (void)rc;
    close(fd);
}
