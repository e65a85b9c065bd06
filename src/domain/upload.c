/* domain/upload.c - see upload.h. */
#include "domain/upload.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/random.h"
#include "domain/download_link.h"

#define KEY_CHARS 24
#define UNFINISHED ".upload-" /* a download never opens a name that starts with a dot */

/* path = data_dir/files/prefix + name. */
static bool path_of(char *ret, size_t bytes, const char *data_dir, const char *prefix, Str name)
{
    int n = snprintf(ret, bytes, "%s/" DOWNLOAD_FOLDER "/%s%.*s", data_dir, prefix, STR_FMT(name));
    return n > 0 && (size_t)n < bytes;
}

enum err upload_begin(const char *data_dir, struct upload *ret)
{
    char folder[sizeof ret->path], name[KEY_CHARS];
    ret->fd = -1;
    ret->bytes = 0;
    random_base62(name, sizeof name);
    if (!path_of(folder, sizeof folder, data_dir, "", STR(""))) return ERR_UNAVAILABLE;
    if (mkdir(folder, 0700) != 0 && errno != EEXIST) return ERR_UNAVAILABLE;
    if (!path_of(ret->path, sizeof ret->path, data_dir, UNFINISHED, (Str){name, sizeof name})) return ERR_UNAVAILABLE;
    ret->fd = open(ret->path, O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC | O_NOFOLLOW, 0600);
    return ret->fd >= 0 ? OK : ERR_UNAVAILABLE;
}

bool upload_write(struct upload *u, Str bytes)
{
    while (bytes.len) {
        ssize_t n = write(u->fd, bytes.ptr, bytes.len);
        if (n < 0 && errno == EINTR) continue;
        if (n <= 0) return false;
        bytes.ptr += n;
        bytes.len -= (size_t)n;
        u->bytes += n;
    }
    return true;
}

static bool sync_folder(const char *data_dir)
{
    char folder[4096];
    if (!path_of(folder, sizeof folder, data_dir, "", STR(""))) return false;
    int fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0) return false;
    bool ok = fsync(fd) == 0;
    close(fd);
    return ok;
}

enum err upload_keep_as(struct upload *u, const char *data_dir, Str key)
{
    char path[sizeof u->path];
    if (!path_of(path, sizeof path, data_dir, "", key)) return ERR_UNAVAILABLE;
    if (fsync(u->fd) != 0 || rename(u->path, path) != 0 || !sync_folder(data_dir)) return ERR_UNAVAILABLE;
    close(u->fd);
    u->fd = -1;
    return OK;
}

enum err upload_keep(struct upload *u, const char *data_dir, struct arena *a, Str *ret_key)
{
    char *key = arena_alloc(a, KEY_CHARS + 1);
    random_base62(key, KEY_CHARS);
    enum err e = upload_keep_as(u, data_dir, (Str){key, KEY_CHARS});
    if (!e) *ret_key = (Str){key, KEY_CHARS};
    return e;
}

void upload_drop(struct upload *u)
{
    if (u->fd < 0) return;
    close(u->fd);
    u->fd = -1;
    unlink(u->path);
}

void upload_remove(const char *data_dir, Str key)
{
    char path[4096];
    if (key.len && path_of(path, sizeof path, data_dir, "", key)) unlink(path);
}

void upload_sweep(const char *data_dir)
{
    char path[4096];
    if (!path_of(path, sizeof path, data_dir, "", STR(""))) return;
    DIR *folder = opendir(path);
    if (!folder) return;
    for (struct dirent *d; (d = readdir(folder));) {
        if (!str_starts(str_from(d->d_name), STR(UNFINISHED))) continue;
        if (path_of(path, sizeof path, data_dir, "", str_from(d->d_name))) unlink(path);
    }
    closedir(folder);
}
