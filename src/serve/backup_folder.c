/* serve/backup_folder.c - see backup_folder.h. */
#include "serve/backup_folder.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <limits.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/log.h"

#define NAME_PATTERN "souk-00000000T000000Z.souk" /* 0: a digit */
#define NAME_CHARS (sizeof NAME_PATTERN - 1)
#define LEFTOVER_MS TIME_HOUR
#define HOOK_MS (6 * TIME_HOUR)

bool backup_folder_name(const char *folder, Time now, char *ret, size_t bytes)
{
    char text[TIME_TEXT_LEN + 1], name[TIME_TEXT_LEN + 1];
    size_t n = 0;
    time_format(now, text);
    for (const char *p = text; *p; p++)
        if (*p != '-' && *p != ':') name[n++] = *p;
    name[n] = '\0';
    int length = snprintf(ret, bytes, "%s/souk-%s.souk", folder, name);
    return length > 0 && (size_t)length < bytes;
}

static bool is_ours(const char *name)
{
    static const char pattern[] = NAME_PATTERN;
    if (strlen(name) != NAME_CHARS) return false;
    for (size_t i = 0; i < NAME_CHARS; i++) {
        bool is_digit = name[i] >= '0' && name[i] <= '9';
        if (pattern[i] == '0' ? !is_digit : name[i] != pattern[i]) return false;
    }
    return true;
}

static int is_kept(const struct dirent *d)
{
    return is_ours(d->d_name);
}

static bool path_of(char *ret, size_t bytes, const char *folder, const char *name)
{
    int n = snprintf(ret, bytes, "%s/%s", folder, name);
    return n > 0 && (size_t)n < bytes;
}

/* The names sort by time. */
void backup_folder_keep(const char *folder, int64_t keep)
{
    struct dirent **list;
    int count = keep > 0 ? scandir(folder, &list, is_kept, alphasort) : 0;
    if (count <= 0) return;
    for (int i = 0; i < count; i++) {
        char path[PATH_MAX];
        if (i < count - keep && path_of(path, sizeof path, folder, list[i]->d_name)) {
            bool removed = unlink(path) == 0;
            log_event(removed ? LOG_INFO : LOG_WARN, "backup.removed", LOGC("file", path),
                      LOGC("result", removed ? "removed" : strerror(errno)));
        }
        free(list[i]);
    }
    free(list);
}

static int remove_one(const char *path, const struct stat *info, int kind, struct FTW *at)
{
    (void)info, (void)kind, (void)at;
    return remove(path);
}

/* souk-….souk.XXXXXXXXXXXX.part and souk-verify-XXXXXX. */
void backup_folder_sweep(const char *folder)
{
    DIR *d = opendir(folder);
    if (!d) return;
    for (struct dirent *entry; (entry = readdir(d));) {
        Str name = str_from(entry->d_name);
        char path[PATH_MAX];
        struct stat info;
        bool is_part = str_starts(name, STR("souk-")) && str_ends(name, STR(".part"));
        bool is_scratch = str_starts(name, STR("souk-verify-"));
        if ((!is_part && !is_scratch) || !path_of(path, sizeof path, folder, entry->d_name)) continue;
        if (lstat(path, &info) != 0 || time_now().ms - (int64_t)info.st_mtime * 1000 < LEFTOVER_MS) continue;
        if (is_scratch && S_ISDIR(info.st_mode))
            nftw(path, remove_one, 8, FTW_DEPTH | FTW_PHYS);
        else if (is_part && S_ISREG(info.st_mode))
            unlink(path);
    }
    closedir(d);
}

/* The program's environment has none of our options: some are secrets. In the arena. */
static char **environment(struct arena *a)
{
    size_t count = 0, kept = 0;
    while (environ[count]) count++;
    char **list = arena_array(a, char *, count + 1);
    for (size_t i = 0; i < count; i++)
        if (!str_starts(str_from(environ[i]), STR("SOUK_"))) list[kept++] = environ[i];
    return list;
}

static bool start(const char *program, const char *path, pid_t *ret, char *ret_why, size_t why_bytes)
{
    char *const arguments[] = {(char *)(uintptr_t)program, (char *)(uintptr_t)path, NULL};
    sigset_t none, all;
    posix_spawnattr_t attributes;
    posix_spawn_file_actions_t files;
    sigemptyset(&none);
    sigfillset(&all);
    posix_spawnattr_init(&attributes);
    posix_spawnattr_setsigmask(&attributes, &none); /* the server blocks and ignores some */
    posix_spawnattr_setsigdefault(&attributes, &all);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
    posix_spawn_file_actions_init(&files);
    posix_spawn_file_actions_addopen(&files, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    struct arena scratch = {0};
    int rc = posix_spawn(ret, program, &files, &attributes, arguments, environment(&scratch));
    arena_done(&scratch);
    posix_spawn_file_actions_destroy(&files);
    posix_spawnattr_destroy(&attributes);
    if (rc) snprintf(ret_why, why_bytes, "it cannot be started: %s", strerror(rc));
    return rc == 0;
}

bool backup_hook_run(const char *program, const char *path, const _Atomic bool *stop, char *ret_why, size_t why_bytes)
{
    pid_t child;
    if (!start(program, path, &child, ret_why, why_bytes)) return false;
    int64_t until = time_monotonic_ns() + HOOK_MS * 1000000;
    int status;
    for (;;) {
        pid_t got = waitpid(child, &status, WNOHANG);
        if (got == child) break;
        if ((got < 0 && errno != EINTR) || atomic_load(stop) || time_monotonic_ns() > until) {
            kill(child, SIGTERM);
            waitpid(child, &status, 0);
            snprintf(ret_why, why_bytes, "it was ended: %s",
                     atomic_load(stop) ? "the server stops" : "it took too long");
            return false;
        }
        nanosleep(&(struct timespec){.tv_nsec = 50000000}, NULL);
    }
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return true;
    if (WIFEXITED(status))
        snprintf(ret_why, why_bytes, "it ended with %d", WEXITSTATUS(status));
    else
        snprintf(ret_why, why_bytes, "it was ended by signal %d", WTERMSIG(status));
    return false;
}
