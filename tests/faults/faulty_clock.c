/* tests/faults/faulty_clock.c - a library for LD_PRELOAD: the wall clock goes wrong by what the file FAULTY_CLOCK says,
 * nanoseconds (int64_t) that a test writes. The monotonic clock stays right, as it does when somebody sets a machine's
 * clock. */
#include <dlfcn.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <time.h>

#define SECOND INT64_C(1000000000)

typedef int get_fn(clockid_t, struct timespec *);

static const _Atomic int64_t *ahead_ns;
static get_fn *real_get;

__attribute__((constructor)) static void open_clock(void)
{
    const char *path = getenv("FAULTY_CLOCK");
    int fd = path ? open(path, O_RDONLY | O_CLOEXEC) : -1;
    real_get = (get_fn *)dlsym(RTLD_NEXT, "clock_gettime");
    if (fd < 0) return;
    void *at = mmap(NULL, sizeof *ahead_ns, PROT_READ, MAP_SHARED, fd, 0);
    if (at != MAP_FAILED) ahead_ns = at;
}

int clock_gettime(clockid_t clock, struct timespec *ret)
{
    if (!real_get) open_clock();
    int rc = real_get(clock, ret);
    if (rc != 0 || !ahead_ns || (clock != CLOCK_REALTIME && clock != CLOCK_REALTIME_COARSE)) return rc;
    int64_t ns = ret->tv_sec * SECOND + ret->tv_nsec + *ahead_ns;
    *ret = (struct timespec){ns / SECOND, ns % SECOND};
    return 0;
}

int gettimeofday(struct timeval *restrict ret, void *restrict zone)
{
    (void)zone;
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    *ret = (struct timeval){now.tv_sec, now.tv_nsec / 1000};
    return 0;
}

time_t time(time_t *ret)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    if (ret) *ret = now.tv_sec;
    return now.tv_sec;
}
