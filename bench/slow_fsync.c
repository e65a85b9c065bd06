/* bench/slow_fsync.c - a library for LD_PRELOAD that makes every fsync and fdatasync take SOUK_FSYNC_US microseconds
 * longer: a slower disk, for figures of group commits. */
#include <dlfcn.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

typedef int sync_fn(int);

static int slowly(const char *name, int fd)
{
    const char *us = getenv("SOUK_FSYNC_US");
    long n = us ? strtol(us, NULL, 10) : 0;
    struct timespec t = {.tv_sec = n / 1000000, .tv_nsec = n % 1000000 * 1000};
    sync_fn *real = (sync_fn *)dlsym(RTLD_NEXT, name);
    if (!real) abort();
    int rc = real(fd);
    if (n > 0) nanosleep(&t, NULL);
    return rc;
}

int fsync(int fd)
{
    return slowly("fsync", fd);
}

int fdatasync(int fd)
{
    return slowly("fdatasync", fd);
}
