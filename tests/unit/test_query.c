/* tests/unit/test_query.c - query strings read by a table of fields. */
#include "field_errors.h"

static const char *const colours[] = {"red", "green", "blue", NULL};

struct search {
    int64_t limit;
    Str q, cursor;
    int colour;
    bool active, has_active;
    Money least;
    struct id_list ids;
    struct str_list tags;
    unsigned colours;
    Time since;
    Str value;
    int64_t share;
};
static const struct field search_fields[] = {
    {"limit", FIELD_INT, OPTIONAL, offsetof(struct search, limit), .min = 1, .max = 100},
    {"q", FIELD_LINE, OPTIONAL, offsetof(struct search, q), .max = 10},
    {"cursor", FIELD_LINE, OPTIONAL, offsetof(struct search, cursor)},
    {"colour", FIELD_CHOICE, OPTIONAL, offsetof(struct search, colour), .choices = colours},
    {"active", FIELD_BOOL, OPTIONAL, offsetof(struct search, active), .has = offsetof(struct search, has_active)},
    {"least", FIELD_MONEY, OPTIONAL, offsetof(struct search, least)},
    {"ids", FIELD_IDS, OPTIONAL, offsetof(struct search, ids), .max = 3},
    {"tags", FIELD_LINES, OPTIONAL, offsetof(struct search, tags), .item_max = 5},
    {"colours", FIELD_CHOICES, OPTIONAL, offsetof(struct search, colours), .choices = colours},
    {"since", FIELD_TIME, OPTIONAL, offsetof(struct search, since)},
    {"share", FIELD_DECIMAL, OPTIONAL, offsetof(struct search, share), .decimals = 1},
    {"value", FIELD_NUMBER, OPTIONAL, offsetof(struct search, value)},
    {0},
};
static const struct shape search_query = {search_fields, sizeof(struct search)};

static const struct search *search(const char *query)
{
    const void *out = NULL;
    field_errors_init(&errors, &arena);
    enum err e = shape_read_query(&search_query, str_from(query), UNKNOWN_REFUSED, 2, &arena, &out, &errors);
    assert_int_equal(e == OK, errors.count == 0);
    return e ? NULL : out;
}

static void reads_queries(void **state)
{
    (void)state;
    const struct search *s = search("");
    assert_int_equal(s->limit, 0);
    assert_false(s->has_active);
    s = search("limit=20&q=a+b%26c%3D&colour=green&active=false&least=-1.50&ids=3,1&tags=x,y+z&colours=blue,red"
               "&since=2026-11-15T01%3A23%3A45Z");
    assert_non_null(s);
    assert_int_equal(s->limit, 20);
    assert_str(s->q, "a b&c=");
    assert_int_equal(s->colour, 1);
    assert_true(s->has_active && !s->active);
    assert_int_equal(s->least.minor, -150);
    assert_int_equal(s->ids.count, 2);
    assert_int_equal(s->ids.items[0].v, 3);
    assert_int_equal(s->tags.count, 2);
    assert_str(s->tags.items[1], "y z");
    assert_int_equal(s->colours, 5);
    assert_true(s->since.ms == 1794705825000);
    assert_true(search("active=true")->active);
    assert_int_equal(search("&&limit=5&")->limit, 5); /* empty pairs say nothing */
    assert_int_equal(search("li%6dit=5")->limit, 5);
    assert_str(search("value=1.5e2")->value, "1.5e2");
    assert_int_equal(search("share=12.5")->share, 125);
    assert_str(search("q=a=b")->q, "a=b");
    assert_int_equal(search("q")->q.len, 0);
    assert_int_equal(search("q=")->q.len, 0);
    assert_int_equal(search("ids=")->ids.count, 0);
    assert_str(search("q=%C3%A9%F0%9F%98%80")->q, "\xc3\xa9\xf0\x9f\x98\x80");
}

static void refuses_bad_queries(void **state)
{
    (void)state;
    static const struct {
        const char *query, *told;
    } cases[] = {
        {"limit=0", "limit:not_positive"},
        {"limit=101", "limit:out_of_range"},
        {"limit=99999999999999999999", "limit:out_of_range"},
        {"limit=", "limit:wrong_type"},
        {"limit", "limit:wrong_type"},
        {"limit=x", "limit:wrong_type"},
        {"limit=5.0", "limit:wrong_type"},
        {"limit=5e0", "limit:wrong_type"},
        {"limit=05", "limit:wrong_type"},
        {"limit=+5", "limit:wrong_type"},
        {"limit=%2B5", "limit:wrong_type"},
        {"limit=5%20", "limit:wrong_type"},
        {"limit=-0", "limit:wrong_type"},
        {"limit=0x10", "limit:wrong_type"},
        {"limit=5&limit=5", "limit:not_combinable"},
        {"limit=5&limit=6&limit=7", "limit:not_combinable"},
        {"limit=%zz&limit=5", "limit:not_combinable"},
        {"limit=%", "limit:bad_format"},
        {"q=%00", "q:bad_format"},
        {"q=%ff", "q:bad_format"},
        {"q=%0a%0ax%0ay", "q:bad_characters"},
        {"q=12345678901", "q:too_long"},
        {"colour=", "colour:not_allowed"},
        {"colour=black", "colour:not_allowed"},
        {"active=1", "active:wrong_type"},
        {"active=TRUE", "active:wrong_type"},
        {"active=", "active:wrong_type"},
        {"least=1.234", "least:too_precise"},
        {"least=.5", "least:wrong_type"},
        {"least=1,50", "least:wrong_type"},
        {"least=1e400", "least:out_of_range"},
        {"least=NaN", "least:wrong_type"},
        {"ids=1,2,3,4", "ids:too_many"},
        {"ids=1,,2", "ids:wrong_type"},
        {"ids=,", "ids:wrong_type"},
        {"ids=1,1", "ids:duplicate_item"},
        {"ids=a", "ids:wrong_type"},
        {"tags=a,,b", "tags:too_short"},
        {"tags=abcdef", "tags:too_long"},
        {"colours=red,black", "colours:not_allowed"},
        {"since=yesterday", "since:bad_format"},
        {"share=1.25", "share:too_precise"},
        {"value=", "value:wrong_type"},
        {"value=1x", "value:wrong_type"},
        {"value=01", "value:wrong_type"},
        {"nothing=1", "nothing:unknown_field"},
        {"=1", ":unknown_field"},
        {"%zz=1", "%zz:unknown_field"},
        {"Limit=5", "Limit:unknown_field"},
        {"x=1&q=%ff&limit=0&y", "limit:not_positive q:bad_format x:unknown_field y:unknown_field"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        if (search(cases[i].query)) fail_msg("%s was taken", cases[i].query);
        assert_str(told(), cases[i].told);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(reads_queries, empty_arena),
        cmocka_unit_test_teardown(refuses_bad_queries, empty_arena),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
