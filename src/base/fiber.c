/* base/fiber.c - see fiber.h. ucontext does the switching; the sanitizers are told, because they follow stacks. */
#include "base/fiber.h"

#include <assert.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

#include "base/sanitized.h"

#ifdef WITH_ASAN
#include <sanitizer/common_interface_defs.h>
#endif
#ifdef WITH_TSAN
#include <sanitizer/tsan_interface.h>
#endif

/* A request's handler needs some 20 KiB; pages that are not touched cost nothing. */
#if defined(WITH_ASAN) || defined(WITH_TSAN)
#define STACK_BYTES (1024 * 1024)
#else
#define STACK_BYTES (256 * 1024)
#endif

struct fiber {
    ucontext_t own, resumer;
    char *stack; /* with a page in front that nobody may touch */
    size_t stack_bytes;
    void (*run)(void *arg);
    void *arg;
    bool has_started, is_running; /* its context has been entered; its function has not returned */
#ifdef WITH_ASAN
    void *own_fake, *resumer_fake;
    const void *resumer_stack;
    size_t resumer_bytes;
#endif
#ifdef WITH_TSAN
    void *own_tsan, *resumer_tsan;
#endif
};

static size_t page_bytes(void)
{
    return (size_t)sysconf(_SC_PAGESIZE);
}

struct fiber *fiber_new(void)
{
    struct fiber *f = calloc(1, sizeof *f);
    if (!f) return NULL;
    f->stack_bytes = STACK_BYTES + page_bytes();
    f->stack = mmap(NULL, f->stack_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (f->stack == MAP_FAILED || mprotect(f->stack, page_bytes(), PROT_NONE) != 0) {
        if (f->stack != MAP_FAILED) munmap(f->stack, f->stack_bytes);
        free(f);
        return NULL;
    }
#ifdef WITH_TSAN
    f->own_tsan = __tsan_create_fiber(0);
#endif
    return f;
}

void fiber_free(struct fiber *f)
{
    if (!f) return;
    assert(!f->is_running);
#ifdef WITH_TSAN
    __tsan_destroy_fiber(f->own_tsan);
#endif
    munmap(f->stack, f->stack_bytes);
    free(f);
}

static void switch_in(struct fiber *f)
{
#ifdef WITH_ASAN
    __sanitizer_start_switch_fiber(&f->resumer_fake, f->stack + page_bytes(), STACK_BYTES);
#endif
#ifdef WITH_TSAN
    f->resumer_tsan = __tsan_get_current_fiber();
    __tsan_switch_to_fiber(f->own_tsan, 0);
#endif
    swapcontext(&f->resumer, &f->own);
#ifdef WITH_ASAN
    __sanitizer_finish_switch_fiber(f->resumer_fake, NULL, NULL);
#endif
}

static void switch_out(struct fiber *f)
{
#ifdef WITH_ASAN
    __sanitizer_start_switch_fiber(&f->own_fake, f->resumer_stack, f->resumer_bytes);
#endif
#ifdef WITH_TSAN
    __tsan_switch_to_fiber(f->resumer_tsan, 0);
#endif
    swapcontext(&f->own, &f->resumer);
#ifdef WITH_ASAN
    __sanitizer_finish_switch_fiber(f->own_fake, &f->resumer_stack, &f->resumer_bytes);
#endif
}

/* makecontext hands over ints only: the address comes in two of them. The context never ends: it stands by for the next
 * function. */
static void enter(unsigned high, unsigned low)
{
    struct fiber *f = (struct fiber *)((uintptr_t)high << 32 | low);
#ifdef WITH_ASAN
    __sanitizer_finish_switch_fiber(NULL, &f->resumer_stack, &f->resumer_bytes);
#endif
    for (;;) {
        f->run(f->arg);
        f->is_running = false;
        switch_out(f);
    }
}

void fiber_begin(struct fiber *f, void (*run)(void *arg), void *arg)
{
    assert(!f->is_running);
    f->run = run;
    f->arg = arg;
    f->is_running = true;
    if (f->has_started) return;
    f->has_started = true;
    getcontext(&f->own);
    f->own.uc_stack.ss_sp = f->stack + page_bytes();
    f->own.uc_stack.ss_size = STACK_BYTES;
    uint64_t address = (uintptr_t)f;
    makecontext(&f->own, (void (*)(void))enter, 2, (unsigned)(address >> 32), (unsigned)(address & UINT32_MAX));
}

bool fiber_resume(struct fiber *f)
{
    assert(f->is_running);
    switch_in(f);
    return f->is_running;
}

void fiber_wait(struct fiber *f)
{
    switch_out(f);
}
