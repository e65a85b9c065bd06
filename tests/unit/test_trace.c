/* tests/unit/test_trace.c - W3C Trace Context: what is valid is passed on under a parent id of our own, nothing else.
 */
#include "unit.h"

#include "base/trace.h"

#define ID "4bf92f3577b34da6a3ce929d0e0e4736"
#define PARENT "00f067aa0ba902b7"

static void takes_what_the_standard_does(void **state)
{
    (void)state;
    static const struct {
        const char *header;
        bool is_valid;
    } cases[] = {
        {"00-" ID "-" PARENT "-01", true},        {"00-" ID "-" PARENT "-00", true},
        {"01-" ID "-" PARENT "-01", true},        {"cc-" ID "-" PARENT "-01-what-comes-later", true},
        {"00-" ID "-" PARENT "-01-more", false},  {"cc-" ID "-" PARENT "-01.more", false},
        {"ff-" ID "-" PARENT "-01", false},       {"00-00000000000000000000000000000000-" PARENT "-01", false},
        {"00-" ID "-0000000000000000-01", false}, {"00-4BF92F3577B34DA6A3CE929D0E0E4736-" PARENT "-01", false},
        {"00-" ID "-" PARENT "-0", false},        {"00-" ID "-" PARENT "-0g", false},
        {"00_" ID "-" PARENT "-01", false},       {"00-" ID "_" PARENT "-01", false},
        {"00-" ID "-" PARENT "_01", false},       {"", false},
        {" 00-" ID "-" PARENT "-01", false},      {"0g-" ID "-" PARENT "-01", false},
        {"00-" ID "-00f067aa0ba902b/-01", false},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct trace t = {0};
        assert_int_equal(trace_read(str_from(cases[i].header), &t), cases[i].is_valid);
        assert_string_equal(t.id, cases[i].is_valid ? ID : "");
    }
    char longest[400];
    memset(longest, '-', sizeof longest);
    memcpy(longest, "cc-" ID "-" PARENT "-01", TRACEPARENT_LEN);
    struct trace t = {0};
    assert_true(trace_read((Str){longest, 256}, &t));
    assert_false(trace_read((Str){longest, 257}, &t));
}

static void passes_on_under_a_new_parent(void **state)
{
    (void)state;
    char one[TRACEPARENT_LEN + 1], two[TRACEPARENT_LEN + 1];
    struct trace t = {0}, again = {0};
    assert_false(trace_header(one));
    assert_true(trace_read(STR("cc-" ID "-" PARENT "-01-later"), &t));
    trace_enter(&t);
    assert_true(trace_header(one) && trace_header(two));
    trace_enter(NULL);
    assert_int_equal(strlen(one), TRACEPARENT_LEN);
    assert_true(trace_read(str_from(one), &again));
    assert_string_equal(again.id, ID);
    assert_string_equal(again.flags, "01");
    assert_true(strncmp(one, "00-", 3) == 0 && strcmp(one, two) != 0 && !strstr(one, PARENT));
    assert_false(trace_header(one));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(takes_what_the_standard_does),
        cmocka_unit_test(passes_on_under_a_new_parent),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
