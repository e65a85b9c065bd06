/* tests/faults/faulty_calls.c - a library for LD_PRELOAD: calls of the C library (and few of others) fail when told so.
 *
 * The file FAULTY_CALLS has numbers (int32_t) that a test writes and reads: how many calls are still made until one
 * fails (0: none fails), how many have failed so far, and how they fail (enum how). Only calls that the program itself
 * makes are counted: those of SQLite, libpq and curl have sweeps of their own. */
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <link.h>
#include <poll.h>
#include <stdarg.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <zlib.h>

enum how {
    WITH_ERROR = 1,  /* the error that the call is known for: a full disk, no more descriptors */
    INTERRUPTED = 2, /* by a signal: the calls that wait */
    AT_END = 4,      /* nothing more comes or goes: the calls that move bytes */
    UNKNOWN = 8,     /* the file system does not know the call */
    ON_DISK = 16,    /* with an error, and only those calls that make what was written last */
};

struct orders {
    _Atomic int32_t left, failed, how;
};

static struct orders *orders;
static uintptr_t program_begin, program_end;

static int note_program(struct dl_phdr_info *info, size_t bytes, void *arg)
{
    (void)bytes;
    (void)arg;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        uintptr_t at = info->dlpi_addr + info->dlpi_phdr[i].p_vaddr;
        if (info->dlpi_phdr[i].p_type != PT_LOAD) continue;
        if (!program_begin || at < program_begin) program_begin = at;
        if (at + info->dlpi_phdr[i].p_memsz > program_end) program_end = at + info->dlpi_phdr[i].p_memsz;
    }
    return 1; /* the program comes first, and is all that counts */
}

__attribute__((constructor)) static void open_orders(void)
{
    const char *path = getenv("FAULTY_CALLS");
    int fd = path ? open(path, O_RDWR | O_CLOEXEC) : -1;
    if (fd < 0) return;
    void *at = mmap(NULL, sizeof *orders, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    dl_iterate_phdr(note_program, NULL);
    if (at != MAP_FAILED) orders = at;
}

/* Whether this call is the one, `can` being the ways in which it can fail; errno is then as after such a failure. */
static int fails(const void *caller, int can, int error)
{
    uintptr_t from = (uintptr_t)caller;
    if (!orders || orders->left <= 0 || from < program_begin || from >= program_end || !(can & orders->how)) return 0;
    if (--orders->left != 0) return 0;
    orders->failed++;
    errno = orders->how == INTERRUPTED ? EINTR : orders->how == UNKNOWN ? EINVAL : error;
    return 1;
}

#define CALL(ret, symbol, params, args, can, error, value)                                                             \
    ret faulty_##symbol params __asm__(#symbol);                                                                       \
    __attribute__((visibility("default"))) ret faulty_##symbol params                                                  \
    {                                                                                                                  \
        static ret(*next) params;                                                                                      \
        if (fails(__builtin_return_address(0), can, error)) return value;                                              \
        if (!next) next = (ret(*) params)dlsym(RTLD_NEXT, #symbol);                                                    \
        return next args;                                                                                              \
    }

#define MOVED (orders->how == AT_END ? 0 : -1)
#define MOVES WITH_ERROR | INTERRUPTED | AT_END
#define LASTS WITH_ERROR | ON_DISK
#define WAITS WITH_ERROR | INTERRUPTED

/* The mode is always passed on: a callee that does not want it does not look. */
#define OPEN(symbol)                                                                                                   \
    int faulty_##symbol(const char *path, int flags, ...) __asm__(#symbol);                                            \
    __attribute__((visibility("default"))) int faulty_##symbol(const char *path, int flags, ...)                       \
    {                                                                                                                  \
        static int (*next)(const char *, int, ...);                                                                    \
        va_list rest;                                                                                                  \
        va_start(rest, flags);                                                                                         \
        mode_t mode = flags & O_CREAT ? va_arg(rest, mode_t) : 0;                                                      \
        va_end(rest);                                                                                                  \
        if (fails(__builtin_return_address(0), flags & O_PATH ? WITH_ERROR : LASTS, EMFILE)) return -1;                \
        if (!next) next = (int (*)(const char *, int, ...))dlsym(RTLD_NEXT, #symbol);                                  \
        return next(path, flags, mode);                                                                                \
    }

OPEN(open)
OPEN(open64)
CALL(int, __open_2, (const char *path, int flags), (path, flags), WITH_ERROR, EMFILE, -1)
CALL(int, __open64_2, (const char *path, int flags), (path, flags), WITH_ERROR, EMFILE, -1)
CALL(FILE *, fopen, (const char *path, const char *mode), (path, mode), WITH_ERROR, EMFILE, NULL)
CALL(FILE *, fopen64, (const char *path, const char *mode), (path, mode), WITH_ERROR, EMFILE, NULL)
CALL(FILE *, fmemopen, (void *at, size_t n, const char *mode), (at, n, mode), WITH_ERROR, ENOMEM, NULL)
CALL(FILE *, open_memstream, (char **at, size_t *n), (at, n), WITH_ERROR, ENOMEM, NULL)
CALL(DIR *, opendir, (const char *path), (path), WITH_ERROR, EMFILE, NULL)

CALL(ssize_t, read, (int fd, void *at, size_t n), (fd, at, n), MOVES, EIO, MOVED)
CALL(ssize_t, __read_chk, (int fd, void *at, size_t n, size_t room), (fd, at, n, room), MOVES, EIO, MOVED)
CALL(ssize_t, write, (int fd, const void *at, size_t n), (fd, at, n), MOVES | ON_DISK, ENOSPC, MOVED)
CALL(ssize_t, recv, (int fd, void *at, size_t n, int flags), (fd, at, n, flags), MOVES, ECONNRESET, MOVED)
CALL(ssize_t, __recv_chk, (int fd, void *at, size_t n, size_t room, int flags), (fd, at, n, room, flags), MOVES,
     ECONNRESET, MOVED)
CALL(ssize_t, send, (int fd, const void *at, size_t n, int flags), (fd, at, n, flags), MOVES, EPIPE, MOVED)
CALL(ssize_t, sendto, (int fd, const void *at, size_t n, int flags, const struct sockaddr *to, socklen_t bytes),
     (fd, at, n, flags, to, bytes), WAITS, ENOBUFS, -1)
CALL(ssize_t, sendmsg, (int fd, const struct msghdr *m, int flags), (fd, m, flags), WAITS, EPIPE, -1)

CALL(int, fsync, (int fd), (fd), LASTS, EIO, -1)
CALL(int, ftruncate, (int fd, long n), (fd, n), LASTS, EIO, -1)
CALL(int, ftruncate64, (int fd, long n), (fd, n), LASTS, EIO, -1)
CALL(int, fstat, (int fd, void *ret), (fd, ret), WITH_ERROR, EIO, -1)
CALL(int, fstat64, (int fd, void *ret), (fd, ret), WITH_ERROR, EIO, -1)
CALL(int, stat, (const char *path, void *ret), (path, ret), WITH_ERROR, EACCES, -1)
CALL(int, stat64, (const char *path, void *ret), (path, ret), WITH_ERROR, EACCES, -1)
CALL(int, lstat64, (const char *path, void *ret), (path, ret), WITH_ERROR, EACCES, -1)
CALL(int, fstatat64, (int fd, const char *path, void *ret, int flags), (fd, path, ret, flags), WITH_ERROR, EACCES, -1)
CALL(int, statvfs64, (const char *path, void *ret), (path, ret), WITH_ERROR, EIO, -1)
CALL(int, fchmod, (int fd, mode_t mode), (fd, mode), WITH_ERROR, EPERM, -1)
CALL(int, flock, (int fd, int how), (fd, how), WITH_ERROR, ENOLCK, -1)
CALL(int, mkdir, (const char *path, mode_t mode), (path, mode), LASTS, ENOSPC, -1)
CALL(char *, mkdtemp, (char *path), (path), WITH_ERROR, ENOSPC, NULL)
CALL(char *, realpath, (const char *path, char *ret), (path, ret), WITH_ERROR, EACCES, NULL)
CALL(char *, __realpath_chk, (const char *path, char *ret, size_t room), (path, ret, room), WITH_ERROR, EACCES, NULL)
CALL(int, link, (const char *from, const char *to), (from, to), LASTS, EIO, -1)
CALL(int, rename, (const char *from, const char *to), (from, to), LASTS, EIO, -1)
CALL(int, renameat, (int a, const char *from, int b, const char *to), (a, from, b, to), LASTS, EIO, -1)
CALL(int, renameat2, (int a, const char *from, int b, const char *to, unsigned flags), (a, from, b, to, flags),
     LASTS | UNKNOWN, EIO, -1)

CALL(int, socket, (int domain, int type, int protocol), (domain, type, protocol), WITH_ERROR, EMFILE, -1)
CALL(int, bind, (int fd, const struct sockaddr *at, socklen_t bytes), (fd, at, bytes), WITH_ERROR, EADDRINUSE, -1)
CALL(int, listen, (int fd, int n), (fd, n), WITH_ERROR, EADDRINUSE, -1)
CALL(int, connect, (int fd, const struct sockaddr *at, socklen_t bytes), (fd, at, bytes), WITH_ERROR, ECONNREFUSED, -1)
CALL(int, accept4, (int fd, struct sockaddr *at, socklen_t *bytes, int flags), (fd, at, bytes, flags), WAITS, EMFILE,
     -1)
CALL(int, getsockopt, (int fd, int level, int name, void *at, socklen_t *bytes), (fd, level, name, at, bytes),
     WITH_ERROR, ENOBUFS, -1)
CALL(int, eventfd, (unsigned n, int flags), (n, flags), WITH_ERROR, EMFILE, -1)
CALL(int, poll, (struct pollfd * fds, nfds_t n, int ms), (fds, n, ms), WAITS, ENOMEM, -1)
CALL(int, fcntl64, (int fd, int what, long arg), (fd, what, arg), WITH_ERROR, EBADF, -1)
CALL(int, pthread_create, (void *thread, const void *attr, void *(*run)(void *), void *arg), (thread, attr, run, arg),
     WITH_ERROR, EAGAIN, EAGAIN)

/* What was buffered goes where it belongs: only the last part of it is said to be lost. */
#define FLUSH(symbol)                                                                                                  \
    int faulty_##symbol(FILE *f) __asm__(#symbol);                                                                     \
    __attribute__((visibility("default"))) int faulty_##symbol(FILE *f)                                                \
    {                                                                                                                  \
        static int (*next)(FILE *);                                                                                    \
        if (!next) next = (int (*)(FILE *))dlsym(RTLD_NEXT, #symbol);                                                  \
        int done = next(f);                                                                                            \
        return fails(__builtin_return_address(0), LASTS, ENOSPC) ? EOF : done;                                         \
    }

FLUSH(fclose)
FLUSH(fflush)
CALL(int, ferror, (FILE * f), (f), WITH_ERROR, EIO, 1)

int faulty_dprintf(int fd, const char *format, ...) __asm__("dprintf");
__attribute__((visibility("default"), format(printf, 2, 3))) int faulty_dprintf(int fd, const char *format, ...)
{
    if (fails(__builtin_return_address(0), LASTS, ENOSPC)) return -1;
    va_list rest;
    va_start(rest, format);
    int n = vdprintf(fd, format, rest);
    va_end(rest);
    return n;
}

int faulty_dprintf_chk(int fd, int flag, const char *format, ...) __asm__("__dprintf_chk");
__attribute__((visibility("default"), format(printf, 3, 4))) int faulty_dprintf_chk(int fd, int flag,
                                                                                    const char *format, ...)
{
    (void)flag;
    if (fails(__builtin_return_address(0), LASTS, ENOSPC)) return -1;
    va_list rest;
    va_start(rest, format);
    int n = vdprintf(fd, format, rest);
    va_end(rest);
    return n;
}

/* Libraries that fail for want of memory or of randomness. */
CALL(int, sodium_init, (void), (), WITH_ERROR, ENOMEM, -1)
CALL(int, crypto_pwhash,
     (void *ret, unsigned long long n, const char *text, unsigned long long bytes, const void *salt,
      unsigned long long rounds, size_t memory, int kind),
     (ret, n, text, bytes, salt, rounds, memory, kind), WITH_ERROR, ENOMEM, -1)
CALL(int, crypto_pwhash_str_alg,
     (char *ret, const char *text, unsigned long long bytes, unsigned long long rounds, size_t memory, int kind),
     (ret, text, bytes, rounds, memory, kind), WITH_ERROR, ENOMEM, -1)
CALL(int, compress2, (void *to, unsigned long *room, const void *from, unsigned long n, int level),
     (to, room, from, n, level), WITH_ERROR, ENOMEM, Z_MEM_ERROR)

/* dlsym itself allocates. */
void *__libc_calloc(size_t n, size_t bytes);
void *faulty_calloc(size_t n, size_t bytes) __asm__("calloc");
__attribute__((visibility("default"))) void *faulty_calloc(size_t n, size_t bytes)
{
    return fails(__builtin_return_address(0), WITH_ERROR, ENOMEM) ? NULL : __libc_calloc(n, bytes);
}
