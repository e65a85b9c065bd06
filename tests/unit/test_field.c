/* tests/unit/test_field.c - each type of field against each kind of value; test_field_text.c has those of texts. */
#include "field_case.h"

static const char *const colours[] = {"red", "green", "blue", NULL};

static const enum field_type all_types[] = {
    FIELD_NUMBER, FIELD_BOOL,   FIELD_INT,    FIELD_ID,    FIELD_MONEY,   FIELD_DECIMAL,
    FIELD_LINE,   FIELD_TEXT,   FIELD_SECRET, FIELD_EMAIL, FIELD_SLUG,    FIELD_URL,
    FIELD_TIME,   FIELD_CHOICE, FIELD_IDS,    FIELD_LINES, FIELD_CHOICES,
};

static void treats_missing_and_null_alike_for_all_types(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof all_types / sizeof *all_types; i++) {
        struct field f = {.type = all_types[i], .choices = colours};
        const struct one *one;
        assert_err(read_one(f, NULL, &one), OK);
        assert_false(one->has || one->is_null);
        assert_err(read_one(f, "null", &one), OK);
        assert_false(one->has || one->is_null);

        f.flags = REQUIRED;
        assert_err(read_one(f, NULL, &one), ERR_FIELD_REQUIRED);
        assert_err(read_one(f, "null", &one), ERR_FIELD_REQUIRED);

        f.flags = NULLABLE;
        assert_err(read_one(f, NULL, &one), OK);
        assert_false(one->has || one->is_null);
        assert_err(read_one(f, "null", &one), OK);
        assert_true(one->has && one->is_null);
        assert_int_equal(one->number, 0);

        f.flags = REQUIRED | NULLABLE;
        assert_err(read_one(f, NULL, &one), ERR_FIELD_REQUIRED);
        assert_err(read_one(f, "null", &one), OK);
        assert_true(one->has && one->is_null);
    }
}

/* One literal of each JSON type, and the field types that may take it. */
static void refuses_wrong_types_for_all_types(void **state)
{
    (void)state;
    static const struct {
        const char *literal;
        unsigned takers; /* bit set over enum field_type: may be refused, but not for its type */
    } kinds[] = {
        {"true", 1u << FIELD_BOOL},
        {"false", 1u << FIELD_BOOL},
        {"1", 1u << FIELD_NUMBER | 1u << FIELD_INT | 1u << FIELD_ID | 1u << FIELD_MONEY | 1u << FIELD_DECIMAL},
        {"\"1\"", 1u << FIELD_LINE | 1u << FIELD_TEXT | 1u << FIELD_SECRET | 1u << FIELD_EMAIL | 1u << FIELD_SLUG |
                      1u << FIELD_URL | 1u << FIELD_TIME | 1u << FIELD_CHOICE},
        {"[]", 1u << FIELD_IDS | 1u << FIELD_LINES | 1u << FIELD_CHOICES},
        {"{}", 0},
        {"{\"v\":1}", 0},
    };
    for (size_t i = 0; i < sizeof all_types / sizeof *all_types; i++) {
        for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++) {
            const struct field f = {.type = all_types[i], .choices = colours};
            const struct one *one;
            enum err e = read_one(f, kinds[k].literal, &one);
            bool takes = kinds[k].takers >> all_types[i] & 1;
            if (takes == (e == ERR_FIELD_TYPE)) fail_msg("type %d: %s", all_types[i], kinds[k].literal);
        }
    }
}

static void reads_bools(void **state)
{
    (void)state;
    const struct one *one;
    const struct field f = {.type = FIELD_BOOL, .flags = REQUIRED};
    assert_err(read_one(f, "true", &one), OK);
    assert_true(one->truth && one->has && !one->is_null);
    assert_err(read_one(f, "false", &one), OK);
    assert_true(!one->truth && one->has);
    check(f, (struct value_case[]){{"0", ERR_FIELD_TYPE}, {"1", ERR_FIELD_TYPE}, {"\"true\"", ERR_FIELD_TYPE}, {0}});
}

static void reads_ints(void **state)
{
    (void)state;
    const struct one *one;
    assert_err(read_one((struct field){.type = FIELD_INT}, "-9223372036854775808", &one), OK);
    assert_true(one->number == INT64_MIN);
    check((struct field){.type = FIELD_INT}, (struct value_case[]){
                                                 {"0", OK},
                                                 {"-5", OK},
                                                 {"9223372036854775807", OK},
                                                 {"9223372036854775808", ERR_FIELD_RANGE},
                                                 {"-9223372036854775809", ERR_FIELD_RANGE},
                                                 {"123456789012345678901234567890", ERR_FIELD_RANGE},
                                                 {"-0", ERR_FIELD_TYPE},
                                                 {"5.0", ERR_FIELD_TYPE},
                                                 {"5.5", ERR_FIELD_TYPE},
                                                 {"5e0", ERR_FIELD_TYPE},
                                                 {"1e400", ERR_FIELD_TYPE},
                                                 {"\"5\"", ERR_FIELD_TYPE},
                                                 {0},
                                             });
    check((struct field){.type = FIELD_INT, .min = 1, .max = 1000},
          (struct value_case[]){
              {"1", OK},
              {"1000", OK},
              {"1001", ERR_FIELD_RANGE},
              {"0", ERR_FIELD_NOT_POSITIVE},
              {"-1", ERR_FIELD_NOT_POSITIVE},
              {"-9223372036854775809", ERR_FIELD_NOT_POSITIVE},
              {"9223372036854775808", ERR_FIELD_RANGE},
              {"2147483648", ERR_FIELD_RANGE},
              {"4294967297", ERR_FIELD_RANGE},
              {0},
          });
    check((struct field){.type = FIELD_INT, .min = 1},
          (struct value_case[]){{"9223372036854775807", OK}, {"0", ERR_FIELD_NOT_POSITIVE}, {0}});
    check((struct field){.type = FIELD_INT, .max = 100},
          (struct value_case[]){{"0", OK}, {"100", OK}, {"101", ERR_FIELD_RANGE}, {"-1", ERR_FIELD_RANGE}, {0}});
    check((struct field){.type = FIELD_INT, .min = -5},
          (struct value_case[]){{"-5", OK}, {"0", OK}, {"1", ERR_FIELD_RANGE}, {"-6", ERR_FIELD_RANGE}, {0}});
    check((struct field){.type = FIELD_INT, .min = 10, .max = 20},
          (struct value_case[]){
              {"10", OK}, {"9", ERR_FIELD_RANGE}, {"-1", ERR_FIELD_RANGE}, {"21", ERR_FIELD_RANGE}, {0}});
}

static void reads_ids(void **state)
{
    (void)state;
    const struct one *one;
    assert_err(read_one((struct field){.type = FIELD_ID}, "9007199254740991", &one), OK);
    assert_true(one->id.v == ID_MAX);
    check((struct field){.type = FIELD_ID}, (struct value_case[]){
                                                {"1", OK},
                                                {"0", ERR_FIELD_NOT_POSITIVE},
                                                {"-1", ERR_FIELD_NOT_POSITIVE},
                                                {"9007199254740992", ERR_FIELD_RANGE},
                                                {"9223372036854775808", ERR_FIELD_RANGE},
                                                {"-99999999999999999999", ERR_FIELD_NOT_POSITIVE},
                                                {"1.0", ERR_FIELD_TYPE},
                                                {"1e0", ERR_FIELD_TYPE},
                                                {"\"1\"", ERR_FIELD_TYPE},
                                                {0},
                                            });
}

static void reads_money(void **state)
{
    (void)state;
    const struct one *one;
    assert_err(read_one((struct field){.type = FIELD_MONEY}, "19.99", &one), OK);
    assert_int_equal(one->money.minor, 1999);
    assert_err(read_one((struct field){.type = FIELD_MONEY}, "-1.5e1", &one), OK);
    assert_int_equal(one->money.minor, -1500);
    check((struct field){.type = FIELD_MONEY, .min = 1}, (struct value_case[]){
                                                             {"0.01", OK},
                                                             {"1.500000", OK},
                                                             {"92233720368547758.07", OK},
                                                             {"92233720368547758.08", ERR_FIELD_RANGE},
                                                             {"1e400", ERR_FIELD_RANGE},
                                                             {"-1e400", ERR_FIELD_NOT_POSITIVE},
                                                             {"0", ERR_FIELD_NOT_POSITIVE},
                                                             {"-0", ERR_FIELD_NOT_POSITIVE},
                                                             {"0.00", ERR_FIELD_NOT_POSITIVE},
                                                             {"-0.01", ERR_FIELD_NOT_POSITIVE},
                                                             {"0.001", ERR_FIELD_TOO_PRECISE},
                                                             {"1.999", ERR_FIELD_TOO_PRECISE},
                                                             {"1e-400", ERR_FIELD_TOO_PRECISE},
                                                             {"\"1.00\"", ERR_FIELD_TYPE},
                                                             {0},
                                                         });
    check((struct field){.type = FIELD_MONEY, .max = 10000},
          (struct value_case[]){{"0", OK}, {"100", OK}, {"100.01", ERR_FIELD_RANGE}, {"-0.01", ERR_FIELD_RANGE}, {0}});
    check((struct field){.type = FIELD_MONEY},
          (struct value_case[]){{"-92233720368547758.08", OK}, {"-92233720368547758.09", ERR_FIELD_RANGE}, {0}});
}

static void reads_decimals(void **state)
{
    (void)state;
    const struct one *one;
    const struct field percent = {.type = FIELD_DECIMAL, .decimals = 2, .min = 1, .max = 10000};
    assert_err(read_one(percent, "12.5", &one), OK);
    assert_int_equal(one->number, 1250);
    check(percent, (struct value_case[]){
                       {"0.01", OK},
                       {"100", OK},
                       {"100.00", OK},
                       {"1e2", OK},
                       {"100.01", ERR_FIELD_RANGE},
                       {"0", ERR_FIELD_NOT_POSITIVE},
                       {"-1", ERR_FIELD_NOT_POSITIVE},
                       {"0.005", ERR_FIELD_TOO_PRECISE},
                       {"1e99", ERR_FIELD_RANGE},
                       {"\"5\"", ERR_FIELD_TYPE},
                       {0},
                   });
    assert_err(read_one((struct field){.type = FIELD_DECIMAL}, "7.0", &one), OK); /* no decimals of its own */
    assert_int_equal(one->number, 7);
}

static void keeps_literals(void **state)
{
    (void)state;
    const struct one *one;
    assert_err(read_one((struct field){.type = FIELD_NUMBER}, "-1.50e+400", &one), OK);
    assert_str(one->text, "-1.50e+400");
    check((struct field){.type = FIELD_NUMBER}, (struct value_case[]){{"0", OK}, {"\"1\"", ERR_FIELD_TYPE}, {0}});
}

static void reads_choices(void **state)
{
    (void)state;
    const struct one *one;
    const struct field one_of = {.type = FIELD_CHOICE, .choices = colours},
                       some_of = {.type = FIELD_CHOICES, .choices = colours, .min = 1, .max = 2};
    assert_err(read_one(one_of, "\"blue\"", &one), OK);
    assert_int_equal(one->choice, 2);
    check(one_of, (struct value_case[]){
                      {"\"red\"", OK},
                      {"\"Red\"", ERR_FIELD_VALUE},
                      {"\"red \"", ERR_FIELD_VALUE},
                      {"\"re\"", ERR_FIELD_VALUE},
                      {"\"\"", ERR_FIELD_VALUE},
                      {"0", ERR_FIELD_TYPE},
                      {0},
                  });
    assert_err(read_one(some_of, "[\"blue\",\"red\"]", &one), OK);
    assert_int_equal(one->set, 5);
    check(some_of, (struct value_case[]){
                       {"[\"green\"]", OK},
                       {"[]", ERR_FIELD_TOO_FEW},
                       {"[\"red\",\"green\",\"blue\"]", ERR_FIELD_TOO_MANY},
                       {"[\"red\",\"red\"]", ERR_FIELD_DUPLICATE},
                       {"[\"black\"]", ERR_FIELD_VALUE},
                       {"[\"red\",1]", ERR_FIELD_TYPE},
                       {"[null]", ERR_FIELD_TYPE},
                       {"\"red\"", ERR_FIELD_TYPE},
                       {0},
                   });
}

static void reads_lists(void **state)
{
    (void)state;
    const struct one *one;
    const struct field ids = {.type = FIELD_IDS, .min = 1, .max = 3},
                       lines = {.type = FIELD_LINES, .max = 3, .item_max = 4};
    assert_err(read_one(ids, "[7,3,5]", &one), OK);
    assert_int_equal(one->ids.count, 3);
    assert_int_equal(one->ids.items[0].v, 7); /* in the order given */
    assert_int_equal(one->ids.items[2].v, 5);
    check(ids, (struct value_case[]){
                   {"[1]", OK},
                   {"[]", ERR_FIELD_TOO_FEW},
                   {"[1,2,3,4]", ERR_FIELD_TOO_MANY},
                   {"[1,2,1]", ERR_FIELD_DUPLICATE},
                   {"[0]", ERR_FIELD_NOT_POSITIVE},
                   {"[1,-2]", ERR_FIELD_NOT_POSITIVE},
                   {"[9007199254740992]", ERR_FIELD_RANGE},
                   {"[1.0]", ERR_FIELD_TYPE},
                   {"[\"1\"]", ERR_FIELD_TYPE},
                   {"[null]", ERR_FIELD_TYPE},
                   {"[[1]]", ERR_FIELD_TYPE},
                   {"1", ERR_FIELD_TYPE},
                   {0},
               });
    assert_err(read_one((struct field){.type = FIELD_IDS}, "[]", &one), OK);
    assert_int_equal(one->ids.count, 0);
    assert_true(one->has);

    assert_err(read_one(lines, "[\" ab \",\"cd\",\"ab\"]", &one), OK);
    assert_int_equal(one->lines.count, 3);
    assert_str(one->lines.items[0], "ab");
    assert_str(one->lines.items[2], "ab");
    check(lines, (struct value_case[]){
                     {"[]", OK},
                     {"[\"\\ud83d\\ude00\\ud83d\\ude00\\ud83d\\ude00\\ud83d\\ude00\"]", OK},
                     {"[\"12345\"]", ERR_FIELD_TOO_LONG},
                     {"[\"\"]", ERR_FIELD_TOO_SHORT},
                     {"[\"  \"]", ERR_FIELD_TOO_SHORT},
                     {"[\"a\\nb\"]", ERR_FIELD_CHARACTERS},
                     {"[1]", ERR_FIELD_TYPE},
                     {"[\"a\",null]", ERR_FIELD_TYPE},
                     {"[\"a\",\"b\",\"c\",\"d\"]", ERR_FIELD_TOO_MANY},
                     {0},
                 });
    int64_t most = 0; /* of the list, which was too long; then of an item */
    assert_true(field_error_max(errors.first, &most));
    assert_int_equal(most, 3);
    assert_err(read_one(lines, "[\"12345\"]", &one), ERR_FIELD_TOO_LONG);
    assert_true(field_error_max(errors.first, &most));
    assert_int_equal(most, 4);
}

static void finds_the_double_among_many_ids(void **state)
{
    (void)state;
    struct buf b;
    buf_init(&b, &arena, 1 << 20);
    for (int i = 0; i < 50000; i++) buf_printf(&b, "%c%d", i ? ',' : '[', 1 + (i * 7919) % 50021);
    size_t end = b.len;
    buf_lit(&b, "]");
    const struct one *one;
    assert_err(read_one((struct field){.type = FIELD_IDS}, str_cstr(&arena, buf_str(&b)), &one), OK);
    assert_int_equal(one->ids.count, 50000);
    b.len = end;
    buf_lit(&b, ",1]");
    assert_err(read_one((struct field){.type = FIELD_IDS}, str_cstr(&arena, buf_str(&b)), &one), ERR_FIELD_DUPLICATE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(treats_missing_and_null_alike_for_all_types, empty_arena),
        cmocka_unit_test_teardown(refuses_wrong_types_for_all_types, empty_arena),
        cmocka_unit_test_teardown(reads_bools, empty_arena),
        cmocka_unit_test_teardown(reads_ints, empty_arena),
        cmocka_unit_test_teardown(reads_ids, empty_arena),
        cmocka_unit_test_teardown(reads_money, empty_arena),
        cmocka_unit_test_teardown(reads_decimals, empty_arena),
        cmocka_unit_test_teardown(keeps_literals, empty_arena),
        cmocka_unit_test_teardown(reads_choices, empty_arena),
        cmocka_unit_test_teardown(reads_lists, empty_arena),
        cmocka_unit_test_teardown(finds_the_double_among_many_ids, empty_arena),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
