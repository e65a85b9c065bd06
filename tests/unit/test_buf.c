/* tests/unit/test_buf.c - what is appended is there in order, or the buffer says that it was full. */
#include "unit.h"

#include "base/buf.h"

static struct arena arena;
static struct buf b;

static int start(void **state)
{
    (void)state;
    buf_init(&b, &arena, 1 << 20);
    return 0;
}

static int stop(void **state)
{
    (void)state;
    arena_done(&arena);
    return 0;
}

static void appends(void **state)
{
    (void)state;
    assert_int_equal(buf_str(&b).len, 0);
    buf_lit(&b, "a");
    buf_append(&b, (Str){0});
    buf_char(&b, 'b');
    buf_int(&b, 0);
    buf_int(&b, -7);
    buf_int(&b, INT64_MIN);
    buf_int(&b, INT64_MAX);
    buf_printf(&b, "%s", "");
    buf_printf(&b, "|%d|%s|", 5, "x");
    assert_str(buf_str(&b), "ab0-7-92233720368547758089223372036854775807|5|x|");
    assert_false(b.full);
    buf_reset(&b);
    buf_printf(&b, "%0*d", 5000, 1);
    assert_int_equal(b.len, 5000);
    assert_int_equal(b.ptr[4999], '1');
    buf_reset(&b);
    buf_url_encoded(&b, STR("aZ09-._~{/\xc3\xa4"));
    assert_str(buf_str(&b), "aZ09-._~%7B%2F%C3%A4");
}

static void grows_while_others_allocate(void **state)
{
    (void)state;
    for (int i = 0; i < 20000; i++) {
        buf_printf(&b, "%05d", i);
        if (i % 7 == 0) memset(arena_alloc(&arena, 24), 0xff, 24);
    }
    assert_int_equal(b.len, 100000);
    for (int i = 0; i < 20000; i++) {
        char want[8];
        snprintf(want, sizeof want, "%05d", i);
        assert_memory_equal(b.ptr + 5 * i, want, 5);
    }
}

static void stops_at_its_maximum(void **state)
{
    (void)state;
    buf_init(&b, &arena, 10);
    buf_lit(&b, "123456");
    buf_printf(&b, "%d", 7890);
    assert_str(buf_str(&b), "1234567890"); /* to the last byte */
    assert_false(b.full);
    buf_append(&b, (Str){0}); /* nothing fits always */
    assert_false(b.full);
    buf_char(&b, 'x');
    assert_true(b.full);
    assert_str(buf_str(&b), "1234567890");

    buf_reset(&b);
    buf_lit(&b, "12345");
    buf_lit(&b, "too long");
    assert_true(b.full);
    buf_lit(&b, "x"); /* it would fit, but what stands before it is missing */
    buf_char(&b, 'x');
    buf_int(&b, 1);
    buf_printf(&b, "%d", 1);
    assert_null(buf_reserve(&b, 1));
    assert_str(buf_str(&b), "12345");
    buf_reset(&b);
    buf_lit(&b, "again");
    assert_str(buf_str(&b), "again");
    assert_null(buf_reserve(&b, SIZE_MAX));
    assert_true(b.full);
}

static void reserves(void **state)
{
    (void)state;
    char *p = buf_reserve(&b, 3);
    memcpy(p, "abc", 3);
    b.len += 2;
    p = buf_reserve(&b, 1000);
    memset(p, 'x', 1000);
    b.len += 1;
    assert_str(buf_str(&b), "abx");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(appends, start, stop),
        cmocka_unit_test_setup_teardown(grows_while_others_allocate, start, stop),
        cmocka_unit_test_setup_teardown(stops_at_its_maximum, start, stop),
        cmocka_unit_test_setup_teardown(reserves, start, stop),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
