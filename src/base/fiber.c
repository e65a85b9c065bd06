/* base/fiber.c - see fiber.h. The sanitizers are told of each switch, because they follow stacks.
 *
 * ucontext can switch everywhere, but asks the kernel for the signal mask each time: a tenth of a verification on
 * PostgreSQL. Fibers here do not change the mask, so on x86-64 a few instructions do it, unless the processor keeps a
 * shadow stack, which only the C library knows how to exchange. */
#include "base/fiber.h"

#include <assert.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

#include "base/memory.h"
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

#ifdef __x86_64__
/* Keeps what a function must keep for its caller and goes on where *to was left. */
void fiber_switch(void **ret_left, void *to);
__asm__(".text\n"
        ".p2align 4\n"
        ".hidden fiber_switch\n"
        ".globl fiber_switch\n"
        ".type fiber_switch, @function\n"
        "fiber_switch:\n"
        "    endbr64\n"
        "    pushq %rbp\n"
        "    pushq %rbx\n"
        "    pushq %r12\n"
        "    pushq %r13\n"
        "    pushq %r14\n"
        "    pushq %r15\n"
        "    movq %rsp, (%rdi)\n"
        "    movq %rsi, %rsp\n"
        "    popq %r15\n"
        "    popq %r14\n"
        "    popq %r13\n"
        "    popq %r12\n"
        "    popq %rbx\n"
        "    popq %rbp\n"
        "    ret\n"
        ".size fiber_switch, . - fiber_switch\n");

static bool is_quick(void)
{
    uint64_t shadow_stack = 0;
    __asm__ volatile("rdsspq %0" : "+r"(shadow_stack)); /* does nothing where there is none */
    return !shadow_stack;
}
#else
static void fiber_switch(void **ret_left, void *to)
{
    (void)ret_left, (void)to;
    abort();
}

static bool is_quick(void)
{
    return false;
}
#endif

struct fiber {
    void *own_left, *resumer_left; /* of fiber_switch, or: */
    ucontext_t own, resumer;
    char *stack; /* with a page in front that nobody may touch */
    size_t stack_bytes;
    void (*run)(void *arg);
    void *arg;
    bool has_started, is_running; /* its context has been entered; its function has not returned */
    bool is_quick;                /* switched by fiber_switch */
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
    struct fiber *f = memory_try_zeroed(1, sizeof *f);
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
    if (f->is_quick)
        fiber_switch(&f->resumer_left, f->own_left);
    else
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
    if (f->is_quick)
        fiber_switch(&f->own_left, f->resumer_left);
    else
        swapcontext(&f->own, &f->resumer);
#ifdef WITH_ASAN
    __sanitizer_finish_switch_fiber(f->own_fake, &f->resumer_stack, &f->resumer_bytes);
#endif
}

static _Thread_local struct fiber *starting; /* the one that is entered for the first time */

/* Never ends: stands by for the next function. */
static void enter(void)
{
    struct fiber *f = starting;
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
}

/* A stack as if `enter` had been left at its first instruction. The ABI wants its return address 8 bytes behind a
 * multiple of 16; no frame is above it. */
static void prepare(struct fiber *f)
{
    f->is_quick = is_quick();
    if (f->is_quick) {
        void **top = (void **)(void *)(f->stack + f->stack_bytes);
        top[-2] = (void *)(uintptr_t)enter; /* below it the six registers, all 0 */
        f->own_left = top - 8;
        return;
    }
    getcontext(&f->own);
    f->own.uc_stack.ss_sp = f->stack + page_bytes();
    f->own.uc_stack.ss_size = STACK_BYTES;
    makecontext(&f->own, enter, 0);
}

bool fiber_resume(struct fiber *f)
{
    assert(f->is_running);
    if (!f->has_started) {
        f->has_started = true;
        prepare(f);
        starting = f;
    }
    switch_in(f);
    return f->is_running;
}

void fiber_wait(struct fiber *f)
{
    switch_out(f);
}
