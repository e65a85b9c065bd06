/* tests/faults/faulty_memory.c - a library for LD_PRELOAD: malloc and its kin fail when told so.
 *
 * The file FAULTY_MEMORY has numbers (int32_t) that a test writes and reads: how many allocations still succeed until
 * some fail (0: none fails), how many fail then, one after the other, and how many have failed so far. */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>

struct orders {
    _Atomic int32_t left, times, failed;
};

void *__libc_malloc(size_t bytes);
void *__libc_calloc(size_t n, size_t bytes);
void *__libc_realloc(void *p, size_t bytes);
void *__libc_memalign(size_t align, size_t bytes);

static struct orders *orders;

__attribute__((constructor)) static void open_orders(void)
{
    const char *path = getenv("FAULTY_MEMORY");
    int fd = path ? open(path, O_RDWR | O_CLOEXEC) : -1;
    if (fd < 0) return;
    void *at = mmap(NULL, sizeof *orders, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (at != MAP_FAILED) orders = at;
}

static int fails(void)
{
    if (!orders || orders->left <= 0) return 0;
    if (orders->left > 1) {
        orders->left--;
        return 0;
    }
    if (--orders->times <= 0) orders->left = 0;
    orders->failed++;
    errno = ENOMEM;
    return 1;
}

void *malloc(size_t bytes)
{
    return fails() ? NULL : __libc_malloc(bytes);
}

void *calloc(size_t n, size_t bytes)
{
    return fails() ? NULL : __libc_calloc(n, bytes);
}

void *realloc(void *p, size_t bytes)
{
    return fails() ? NULL : __libc_realloc(p, bytes);
}

void *memalign(size_t align, size_t bytes)
{
    return fails() ? NULL : __libc_memalign(align, bytes);
}

void *aligned_alloc(size_t align, size_t bytes)
{
    return memalign(align, bytes);
}

int posix_memalign(void **ret, size_t align, size_t bytes)
{
    *ret = memalign(align, bytes);
    return *ret ? 0 : ENOMEM;
}
