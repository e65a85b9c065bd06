/* tests/unit/test_arena.c - zeroed, aligned, never overlapping, growing in place only when nothing stands behind. */
#include "unit.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/memory.h"

static struct arena arena;

static int empty_arena(void **state)
{
    (void)state;
    arena_done(&arena);
    return 0;
}

static void hands_out_zeroed_aligned_memory(void **state)
{
    (void)state;
    uint64_t seed = 1;
    for (int round = 0; round < 3; round++) {
        for (int i = 0; i < 2000; i++) {
            size_t n = unit_random(&seed) % (i % 50 ? 200 : 20000);
            unsigned char *p = arena_alloc(&arena, n);
            assert_non_null(p);
            assert_int_equal((uintptr_t)p % 16, 0);
            for (size_t k = 0; k < n; k++) assert_int_equal(p[k], 0);
            memset(p, 0xaa, n); /* dirty for the rounds after a reset */
        }
        arena_reset(&arena);
    }
}

static void keeps_allocations_apart(void **state)
{
    (void)state;
    enum { COUNT = 1000 };
    static struct {
        unsigned char *p;
        size_t n;
    } all[COUNT];
    uint64_t seed = 2;
    for (size_t i = 0; i < COUNT; i++) {
        all[i].n = unit_random(&seed) % 3000;
        all[i].p = i % 2 ? arena_take(&arena, all[i].n) : arena_alloc(&arena, all[i].n);
        memset(all[i].p, (int)(i % 251), all[i].n);
    }
    for (size_t i = 0; i < COUNT; i++)
        for (size_t k = 0; k < all[i].n; k++) assert_int_equal(all[i].p[k], i % 251);
}

static void grows(void **state)
{
    (void)state;
    char *p = arena_alloc(&arena, 10);
    memcpy(p, "123456789", 10);
    char *q = arena_grow(&arena, p, 10, 100);
    assert_ptr_equal(p, q); /* the last one: in place */
    assert_string_equal(q, "123456789");
    char *behind = arena_alloc(&arena, 1);
    memset(q, 'x', 100);
    assert_int_equal(*behind, 0);
    q[99] = '\0';
    char *r = arena_grow(&arena, q, 100, 200);
    assert_ptr_not_equal(q, r); /* something stands behind: a copy */
    assert_memory_equal(q, r, 100);
    char *big = arena_grow(&arena, r, 200, 1 << 20);
    assert_memory_equal(q, big, 100);
    memset(big, 'y', 1 << 20);
    assert_non_null(arena_grow(&arena, NULL, 0, 50));
    char *small = arena_grow(&arena, big, 1 << 20, 10); /* shrinking keeps what is left */
    assert_memory_equal(small, "yyyyyyyyyy", 10);
}

/* Two buffers that grow by turns never meet. */
static void grows_two_by_turns(void **state)
{
    (void)state;
    char *p[2] = {0};
    size_t n[2] = {0};
    uint64_t seed = 3;
    for (int i = 0; i < 500; i++) {
        int k = (int)(unit_random(&seed) % 2);
        size_t more = 1 + unit_random(&seed) % 300;
        p[k] = arena_grow(&arena, p[k], n[k], n[k] + more);
        memset(p[k] + n[k], 'a' + k, more);
        n[k] += more;
    }
    for (int k = 0; k < 2; k++)
        for (size_t i = 0; i < n[k]; i++) assert_int_equal(p[k][i], 'a' + k);
}

/* What a large buffer leaves behind when it grows is given back, whatever was allocated beside it. */
static void gives_old_bytes_of_large_ones_back(void **state)
{
    (void)state;
    size_t n = 64 * 1024;
    char *p = arena_take(&arena, n), *other = arena_take(&arena, 100 * 1024);
    memset(p, 'p', n);
    memset(other, 'o', 100 * 1024);
    for (; n < (size_t)64 << 20; n *= 2) {
        p = arena_grow(&arena, p, n, n * 2);
        assert_int_equal(p[n - 1], n == 64 * 1024 ? 'p' : 'q');
        p[n * 2 - 1] = 'q'; /* only these pages are touched: what counts is how many blocks there are */
        assert_non_null(arena_take(&arena, 10));
    }
    assert_int_equal(other[100 * 1024 - 1], 'o');
    size_t large = 0;
    for (const void *const *b = (void *)arena.large; b; b = *(void *const *)b) large++; /* the link stands first */
    assert_int_equal(large, 2);
    assert_int_equal(p[0], 'p');
}

static void starts_over(void **state)
{
    (void)state;
    void *first = arena_alloc(&arena, 100);
    arena_alloc(&arena, 1 << 20);
    arena_reset(&arena);
    assert_ptr_equal(arena_alloc(&arena, 100), first); /* the first block was kept */
    arena_done(&arena);
    assert_null(arena.block);
    arena_reset(&arena); /* an empty one may be reset and emptied again */
    arena_done(&arena);
    arena_alloc(&arena, 16 << 20); /* a huge first block is not kept */
    arena_reset(&arena);
    assert_null(arena.block);
    assert_non_null(arena_alloc(&arena, 1));
    free(memory_take(0));
    free(memory_zeroed(0, 0)); /* nothing is something that can be freed, whatever the library does */
    free(memory_grow(NULL, 0));
    arena_done(&arena);
    char *large = arena_alloc(&arena, 1 << 20); /* alone: there is no block that small ones share */
    large[9] = 'x';
    char *small = arena_grow(&arena, large, 1 << 20, 10);
    assert_int_equal(small[9], 'x');
}

static bool aborts(size_t n, size_t bytes)
{
    pid_t child = fork();
    assert_true(child >= 0);
    if (!child) {
        signal(SIGABRT, SIG_DFL);
        close(STDERR_FILENO);
        arena_calloc(&arena, n, bytes);
        _exit(0);
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    return WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT;
}

static void refuses_sizes_that_wrap(void **state)
{
    (void)state;
    assert_true(aborts(SIZE_MAX / 8, 16));
    assert_true(aborts(SIZE_MAX, 1));
    assert_true(aborts(SIZE_MAX / 2 + 2, 1));
    assert_false(aborts(4, 4));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(hands_out_zeroed_aligned_memory, empty_arena),
        cmocka_unit_test_teardown(keeps_allocations_apart, empty_arena),
        cmocka_unit_test_teardown(grows, empty_arena),
        cmocka_unit_test_teardown(grows_two_by_turns, empty_arena),
        cmocka_unit_test_teardown(gives_old_bytes_of_large_ones_back, empty_arena),
        cmocka_unit_test_teardown(starts_over, empty_arena),
        cmocka_unit_test_teardown(refuses_sizes_that_wrap, empty_arena),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
