/* base/fiber.c - see fiber.h. The sanitizers are told of each switch, because they follow stacks.
 *
 * ucontext can switch everywhere, but asks the kernel for the signal mask each time: a tenth of a verification on
 * PostgreSQL. Fibers here do not change the mask, so on x86-64 and arm64 a few instructions do it, unless the processor
 * keeps a shadow stack, which only the C library knows how to exchange. */
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

#if defined(__x86_64__) || defined(__aarch64__)
/* Keeps what a function must keep for its caller and goes on where `to` was left. */
void fiber_switch(void **ret_left, void *to);
#endif

#ifdef __x86_64__
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

/* A stack as if `enter` had been left at its first instruction. The ABI wants its return address 8 bytes behind a
 * multiple of 16; no frame is above it, and below are the six registers, all 0. */
static void *first_frame(void **top, void (*enter)(void))
{
    top[-2] = (void *)(uintptr_t)enter;
    return top - 8;
}
#elif defined(__aarch64__)
/* The first instruction is where an indirect call may land (bti c). */
__asm__(".text\n"
        ".p2align 4\n"
        ".hidden fiber_switch\n"
        ".globl fiber_switch\n"
        ".type fiber_switch, %function\n"
        "fiber_switch:\n"
        "    hint #34\n"
        "    sub sp, sp, #160\n"
        "    stp x19, x20, [sp]\n"
        "    stp x21, x22, [sp, #16]\n"
        "    stp x23, x24, [sp, #32]\n"
        "    stp x25, x26, [sp, #48]\n"
        "    stp x27, x28, [sp, #64]\n"
        "    stp x29, x30, [sp, #80]\n"
        "    stp d8, d9, [sp, #96]\n"
        "    stp d10, d11, [sp, #112]\n"
        "    stp d12, d13, [sp, #128]\n"
        "    stp d14, d15, [sp, #144]\n"
        "    mov x9, sp\n"
        "    str x9, [x0]\n"
        "    mov sp, x1\n"
        "    ldp x19, x20, [sp]\n"
        "    ldp x21, x22, [sp, #16]\n"
        "    ldp x23, x24, [sp, #32]\n"
        "    ldp x25, x26, [sp, #48]\n"
        "    ldp x27, x28, [sp, #64]\n"
        "    ldp x29, x30, [sp, #80]\n"
        "    ldp d8, d9, [sp, #96]\n"
        "    ldp d10, d11, [sp, #112]\n"
        "    ldp d12, d13, [sp, #128]\n"
        "    ldp d14, d15, [sp, #144]\n"
        "    add sp, sp, #160\n"
        "    ret\n"
        ".size fiber_switch, . - fiber_switch\n");

static bool is_quick(void)
{
    register uint64_t features __asm__("x16") = 1; /* bit 0: is there no shadow stack? */
    __asm__ volatile("hint #40"
                     : "+r"(features)); /* chkfeat: clears it if there is one, does nothing where it is not known */
    return features != 0;
}

/* A stack as if `enter` had been left at its first instruction: x29, 0, ends the chain of frames, x30 is where it goes
 * on. The other registers are 0. */
static void *first_frame(void **top, void (*enter)(void))
{
    top[-20 + 11] = (void *)(uintptr_t)enter;
    return top - 20;
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

static void *first_frame(void **top, void (*enter)(void))
{
    (void)top, (void)enter;
    abort();
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

static void prepare(struct fiber *f)
{
    f->is_quick = is_quick();
    if (f->is_quick) {
        f->own_left = first_frame((void **)(void *)(f->stack + f->stack_bytes), enter);
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
