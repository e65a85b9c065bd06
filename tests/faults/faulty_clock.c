/* tests/faults/faulty_clock.c - a library for LD_PRELOAD: the wall clock goes wrong by what the file FAULTY_CLOCK says,
 * nanoseconds (int64_t) that a test writes. The monotonic clock stays right, as it does when somebody sets a machine's
 * clock. A second number, if the file has one, is what the kernel says of the clock's synchronisation (enum kept). */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <sys/timex.h>
#include <time.h>

#define SECOND INT64_C(1000000000)

enum kept { KEPT_AS_IT_IS, KEPT, KEPT_BY_NOBODY, KEPT_SECRET };

struct orders {
    _Atomic int64_t ahead_ns, kept;
};

typedef int get_fn(clockid_t, struct timespec *);

static const struct orders *orders;
static get_fn *real_get;

__attribute__((constructor)) static void open_clock(void)
{
    const char *path = getenv("FAULTY_CLOCK");
    int fd = path ? open(path, O_RDONLY | O_CLOEXEC) : -1;
    real_get = (get_fn *)dlsym(RTLD_NEXT, "clock_gettime");
    if (fd < 0) return;
    void *at = mmap(NULL, sizeof *orders, PROT_READ, MAP_SHARED, fd, 0); /* behind the file's end are zeros */
    if (at != MAP_FAILED) orders = at;
}

int clock_gettime(clockid_t clock, struct timespec *ret)
{
    if (!real_get) open_clock();
    int rc = real_get(clock, ret);
    if (rc != 0 || !orders || (clock != CLOCK_REALTIME && clock != CLOCK_REALTIME_COARSE)) return rc;
    int64_t ns = ret->tv_sec * SECOND + ret->tv_nsec + orders->ahead_ns;
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

int adjtimex(struct timex *t)
{
    static int (*next)(struct timex *);
    if (!next) next = (int (*)(struct timex *))dlsym(RTLD_NEXT, "adjtimex");
    switch (orders ? orders->kept : KEPT_AS_IT_IS) {
    case KEPT: return TIME_OK;
    case KEPT_BY_NOBODY: return TIME_ERROR;
    case KEPT_SECRET: errno = EPERM; return -1;
    default: return next(t);
    }
}
