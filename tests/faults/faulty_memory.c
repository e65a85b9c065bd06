/* tests/faults/faulty_memory.c - a library for LD_PRELOAD: malloc and its kin fail when told so.
 *
 * The file FAULTY_MEMORY has numbers (int32_t) that a test writes and reads: how many allocations still succeed until
 * some fail (0: none fails), how many fail then, one after the other, how many have failed so far, and whether only
 * those count that libpq itself asks for. */
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <malloc.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

struct orders {
    _Atomic int32_t left, times, failed, only_libpq;
};

void *__libc_malloc(size_t bytes);
void *__libc_calloc(size_t n, size_t bytes);
void *__libc_realloc(void *p, size_t bytes);
void *__libc_memalign(size_t align, size_t bytes);

static struct orders *orders;
static uintptr_t libpq_from, libpq_to;

static int find_libpq(struct dl_phdr_info *info, size_t bytes, void *ctx)
{
    (void)bytes;
    (void)ctx;
    if (!strstr(info->dlpi_name, "/libpq.so")) return 0;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *part = &info->dlpi_phdr[i];
        if (part->p_type != PT_LOAD || !(part->p_flags & PF_X)) continue;
        libpq_from = info->dlpi_addr + part->p_vaddr;
        libpq_to = libpq_from + part->p_memsz;
    }
    return 1;
}

__attribute__((constructor)) static void open_orders(void)
{
    dl_iterate_phdr(find_libpq, NULL);
    const char *path = getenv("FAULTY_MEMORY");
    int fd = path ? open(path, O_RDWR | O_CLOEXEC) : -1;
    if (fd < 0) return;
    void *at = mmap(NULL, sizeof *orders, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (at != MAP_FAILED) orders = at;
}

#define CALLER __builtin_return_address(0)

static int fails(const void *caller)
{
    if (!orders || orders->left <= 0) return 0;
    if (orders->only_libpq && ((uintptr_t)caller < libpq_from || (uintptr_t)caller >= libpq_to)) return 0;
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
    return fails(CALLER) ? NULL : __libc_malloc(bytes);
}

void *calloc(size_t n, size_t bytes)
{
    return fails(CALLER) ? NULL : __libc_calloc(n, bytes);
}

void *realloc(void *p, size_t bytes)
{
    return fails(CALLER) ? NULL : __libc_realloc(p, bytes);
}

void *memalign(size_t align, size_t bytes)
{
    return fails(CALLER) ? NULL : __libc_memalign(align, bytes);
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
