/* tests/unit/test_shape.c - each field type against each kind of value, in bodies and in queries. */
#include "unit.h"

#include "base/buf.h"
#include "json/shape.h"

static struct arena arena;
static struct field_errors errors;

static int empty_arena(void **state)
{
    (void)state;
    arena_done(&arena);
    return 0;
}

static const char *const colours[] = {"red", "green", "blue", NULL};

/* Room for a value of any type, between flags that nobody but their field may set. */
struct one {
    bool guard, has, is_null;
    union {
        bool truth;
        int64_t number;
        Id id;
        Money money;
        Str text;
        Time time;
        int choice;
        unsigned set;
        struct id_list ids;
        struct str_list lines;
    };
};

/* Reads `"v": literal` (or a body without v) as that one field. */
static enum err read_one(struct field f, const char *literal, const struct one **ret)
{
    f.name = "v";
    f.offset = offsetof(struct one, number);
    f.has = offsetof(struct one, has);
    f.is_null = offsetof(struct one, is_null);
    const struct field table[] = {f, {0}};
    const struct shape shape = {table, sizeof(struct one)};
    Str body = literal ? str_printf(&arena, "{\"v\":%s}", literal) : STR("{}");
    const struct json *root;
    const char *why = "";
    if (json_read(&arena, body, &root, &why)) fail_msg("%.*s: %s", STR_FMT(body), why);
    field_errors_init(&errors, &arena);
    const void *out = NULL;
    enum err e = shape_read(&shape, root, 2, &arena, &out, &errors);
    assert_int_equal(e == OK, out != NULL);
    assert_int_equal(e == OK, errors.count == 0);
    if (e) {
        assert_err(e, ERR_VALIDATION);
        assert_int_equal(errors.count, 1);
        assert_str(errors.first->field, "v");
        return errors.first->err;
    }
    *ret = out;
    assert_false((*ret)->guard);
    return OK;
}

struct value_case {
    const char *literal; /* NULL ends the list */
    enum err want;
};

static void check(struct field f, const struct value_case *cases)
{
    for (const struct value_case *c = cases; c->literal; c++) {
        const struct one *one;
        enum err e = read_one(f, c->literal, &one);
        if (e != c->want)
            fail_msg("type %d: %s gave %s, want %s", f.type, c->literal, err_info(e)->code, err_info(c->want)->code);
    }
}

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

static const char *repeat(const char *part, size_t n)
{
    struct buf b;
    buf_init(&b, &arena, 1 << 20);
    buf_char(&b, '"');
    for (size_t i = 0; i < n; i++) buf_append(&b, str_from(part));
    buf_char(&b, '"');
    return str_cstr(&arena, buf_str(&b));
}

static void counts_code_points(void **state)
{
    (void)state;
    static const enum field_type texts[] = {FIELD_LINE, FIELD_TEXT, FIELD_SECRET};
    static const char *const parts[] = {"a",       "\xc3\xa9", "\xe2\x82\xac", "\xf0\x9f\x98\x80", "\\ud83d\\ude00",
                                        "\\u00e9", "\\\""};
    const struct one *one;
    for (size_t i = 0; i < 3; i++) {
        for (size_t k = 0; k < sizeof parts / sizeof *parts; k++) {
            const struct field f = {.type = texts[i], .flags = REQUIRED, .min = 2, .max = 255};
            assert_err(read_one(f, repeat(parts[k], 255), &one), OK);
            assert_int_equal(utf8_count(one->text), 255);
            assert_err(read_one(f, repeat(parts[k], 256), &one), ERR_FIELD_TOO_LONG);
            assert_err(read_one(f, repeat(parts[k], 2), &one), OK);
            assert_err(read_one(f, repeat(parts[k], 1), &one), ERR_FIELD_TOO_SHORT);
            assert_err(read_one(f, "\"\"", &one), ERR_FIELD_REQUIRED);
            arena_reset(&arena);
        }
        assert_err(read_one((struct field){.type = texts[i], .min = 1}, "\"\"", &one), ERR_FIELD_TOO_SHORT);
        assert_err(read_one((struct field){.type = texts[i]}, "\"\"", &one), OK);
        assert_true(one->has && one->text.len == 0);
        assert_err(read_one((struct field){.type = texts[i], .flags = REQUIRED}, "\"\"", &one), ERR_FIELD_REQUIRED);
        assert_err(read_one((struct field){.type = texts[i]}, repeat("a", 50000), &one), OK); /* no limit of its own */
    }
}

static void reads_lines_and_texts(void **state)
{
    (void)state;
    const struct one *one;
    const struct field line = {.type = FIELD_LINE, .flags = REQUIRED, .max = 20},
                       text = {.type = FIELD_TEXT, .max = 20},
                       secret = {.type = FIELD_SECRET, .flags = REQUIRED, .max = 20};
    const struct field exact_line = {.type = FIELD_LINE, .flags = REQUIRED | AS_SENT, .max = 20},
                       exact_text = {.type = FIELD_TEXT, .flags = REQUIRED | AS_SENT, .max = 20};
    assert_err(read_one(line, "\" a b \\u00a0 \"", &one), OK);
    assert_str(one->text, "a b");
    assert_err(read_one(exact_line, "\" a b \\u00a0 \"", &one), OK);
    assert_str(one->text, " a b \xc2\xa0 ");
    assert_err(read_one(exact_text, "\"\\r\\n a\\r\\n\\tb\\n \"", &one), OK);
    assert_str(one->text, "\r\n a\r\n\tb\n ");
    check(exact_line, (struct value_case[]){
                          {"\" \"", ERR_FIELD_REQUIRED},
                          {"\"a\\n\"", ERR_FIELD_CHARACTERS},
                          {"\"                    a\"", ERR_FIELD_TOO_LONG},
                          {0},
                      });
    check(exact_text, (struct value_case[]){
                          {"\" \\r\\n\"", ERR_FIELD_REQUIRED},
                          {"\"a\\r\"", ERR_FIELD_CHARACTERS},
                          {"\"a\\u0007\"", ERR_FIELD_CHARACTERS},
                          {0},
                      });
    assert_err(read_one(secret, "\"  a b \"", &one), OK);
    assert_str(one->text, "  a b ");
    assert_err(read_one(text, "\"\\r\\n a\\r\\n\\tb\\n\\r\\nc \\r\\n\"", &one), OK);
    assert_str(one->text, "a\n\tb\n\nc");
    assert_err(read_one(text, "\"12345\\r\\n12345\\r\\n12345\\r\\n12\"", &one), OK); /* 20 once CRLF is LF */
    assert_int_equal(one->text.len, 20);

    check(line, (struct value_case[]){
                    {"\"a\\nb\"", ERR_FIELD_CHARACTERS},
                    {"\"a\\n\"", ERR_FIELD_CHARACTERS}, /* at the ends like inside */
                    {"\"\\ta\"", ERR_FIELD_CHARACTERS},
                    {"\"a\\tb\"", ERR_FIELD_CHARACTERS},
                    {"\"a\\rb\"", ERR_FIELD_CHARACTERS},
                    {"\"a\\u0001b\"", ERR_FIELD_CHARACTERS},
                    {"\"a\\u007fb\"", ERR_FIELD_CHARACTERS},
                    {"\"a\\u0085b\"", ERR_FIELD_CHARACTERS},
                    {"\"a\\u009fb\"", ERR_FIELD_CHARACTERS},
                    {"\"a\\u00a0b\"", OK},
                    {"\"   \"", ERR_FIELD_REQUIRED},
                    {"\"\\u3000\\ufeff\"", ERR_FIELD_REQUIRED},
                    {"\"                    a                    \"", OK},
                    {"\"<script>alert('x')</script>\"", ERR_FIELD_TOO_LONG},
                    {"\"'; DROP TABLE a; --\"", OK},
                    {0},
                });
    check(text, (struct value_case[]){
                    {"\"a\\nb\\tc\"", OK},
                    {"\"a\\rb\"", ERR_FIELD_CHARACTERS},
                    {"\"a\\r\\rb\"", ERR_FIELD_CHARACTERS},
                    {"\"a\\r\\r\\nb\"", ERR_FIELD_CHARACTERS},
                    {"\"a\\u000bb\"", ERR_FIELD_CHARACTERS},
                    {"\"a\\u001bb\"", ERR_FIELD_CHARACTERS},
                    {"\"a\\u0090b\"", ERR_FIELD_CHARACTERS},
                    {"\" \\n \"", OK},
                    {"\"a\\r\"", ERR_FIELD_CHARACTERS},
                    {"\"\\u000ba\"", ERR_FIELD_CHARACTERS},
                    {0},
                });
    check(secret, (struct value_case[]){
                      {"\" \"", OK},
                      {"\"a\\tb\"", ERR_FIELD_CHARACTERS},
                      {"\"a\\n\"", ERR_FIELD_CHARACTERS},
                      {"\"\\u0080\"", ERR_FIELD_CHARACTERS},
                      {0},
                  });
}

static void reads_emails(void **state)
{
    (void)state;
    const struct one *one;
    const struct field f = {.type = FIELD_EMAIL, .flags = REQUIRED};
    assert_err(read_one(f, "\" Ann.Lee+X@Example.COM  \"", &one), OK);
    assert_str(one->text, "ann.lee+x@example.com");
    check(f, (struct value_case[]){
                 {"\"a@b.co\"", OK},
                 {"\"\"", ERR_FIELD_REQUIRED},
                 {"\"  \"", ERR_FIELD_REQUIRED},
                 {"\"a\"", ERR_FIELD_FORMAT},
                 {"\"a@b\"", ERR_FIELD_FORMAT},
                 {"\"a@b.co\\nBcc: c@d.ee\"", ERR_FIELD_CHARACTERS},
                 {"\"a@b.co\\n\"", ERR_FIELD_CHARACTERS},
                 {"\"\\u00e9@b.co\"", ERR_FIELD_FORMAT},
                 {0},
             });
    assert_err(read_one(f, repeat("abcdefgh@b.", 24), &one), ERR_FIELD_TOO_LONG);
}

static void reads_slugs_links_and_times(void **state)
{
    (void)state;
    const struct one *one;
    const struct field slug = {.type = FIELD_SLUG, .flags = REQUIRED}, url = {.type = FIELD_URL},
                       time = {.type = FIELD_TIME};
    assert_err(read_one(slug, "\"antivirus-2026\"", &one), OK);
    assert_str(one->text, "antivirus-2026");
    check(slug, (struct value_case[]){
                    {"\"\"", ERR_FIELD_REQUIRED},
                    {"\"A\"", ERR_FIELD_FORMAT},
                    {"\" a\"", ERR_FIELD_FORMAT},
                    {"\"../a\"", ERR_FIELD_FORMAT},
                    {0},
                });
    assert_err(read_one(slug, repeat("a", 100), &one), OK);
    assert_err(read_one(slug, repeat("a", 101), &one), ERR_FIELD_TOO_LONG);

    assert_err(read_one(url, "\"https:\\/\\/a.example\\/b?c=d\"", &one), OK);
    assert_str(one->text, "https://a.example/b?c=d");
    check(url, (struct value_case[]){
                   {"\"\"", ERR_FIELD_FORMAT},
                   {"\"javascript:alert(1)\"", ERR_FIELD_FORMAT},
                   {"\"http://u:p@a/\"", ERR_FIELD_FORMAT},
                   {"\"http://a/\\n\"", ERR_FIELD_FORMAT},
                   {0},
               });
    assert_err(read_one(url, repeat("http://a/", 228), &one), ERR_FIELD_TOO_LONG);

    assert_err(read_one(time, "\"2026-11-15T01:23:45.250Z\"", &one), OK);
    assert_true(one->time.ms == 1794705825250);
    check(time, (struct value_case[]){
                    {"\"2026-11-15\"", ERR_FIELD_FORMAT},
                    {"\"\"", ERR_FIELD_FORMAT},
                    {"\"2026-02-30T00:00:00Z\"", ERR_FIELD_FORMAT},
                    {"1794705825", ERR_FIELD_TYPE},
                    {0},
                });
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

/* A whole body. */
struct order {
    Id product;
    int64_t quantity;
    Str note;
    Money tip;
    bool has_quantity, has_note, note_is_null;
};
static const struct field order_fields[] = {
    {"product_id", FIELD_ID, REQUIRED, offsetof(struct order, product)},
    {"quantity", FIELD_INT, OPTIONAL, offsetof(struct order, quantity), .min = 1, .max = 1000,
     .has = offsetof(struct order, has_quantity)},
    {"note", FIELD_LINE, NULLABLE, offsetof(struct order, note), .min = 1, .max = 10,
     .has = offsetof(struct order, has_note), .is_null = offsetof(struct order, note_is_null)},
    {"tip", FIELD_MONEY, OPTIONAL, offsetof(struct order, tip), .min = 1},
    {0},
};
static const struct shape order_body = {order_fields, sizeof(struct order)};

/* "field:code field:code …" */
static Str told(void)
{
    struct buf b;
    buf_init(&b, &arena, 1 << 20);
    size_t n = 0;
    for (const struct field_error *e = errors.first; e; e = e->next, n++)
        buf_printf(&b, "%s%.*s:%s", n ? " " : "", STR_FMT(e->field), err_info(e->err)->code);
    assert_int_equal(n, errors.count);
    return buf_str(&b);
}

static enum err read_order(const char *body, const struct order **ret)
{
    const struct json *root = NULL;
    assert_err(json_read(&arena, str_from(body), &root, NULL), OK);
    field_errors_init(&errors, &arena);
    const void *out = *ret;
    enum err e = shape_read(&order_body, root, 2, &arena, &out, &errors);
    *ret = out;
    return e;
}

static void fills_the_struct(void **state)
{
    (void)state;
    const struct order *o = NULL;
    assert_err(read_order("{\"tip\":1.5,\"product_id\":7,\"note\":\"hi\"}", &o), OK);
    assert_int_equal(o->product.v, 7);
    assert_int_equal(o->quantity, 0);
    assert_int_equal(o->tip.minor, 150);
    assert_str(o->note, "hi");
    assert_true(o->has_note && !o->has_quantity && !o->note_is_null);
    assert_err(read_order("{\"note\":null,\"quantity\":null,\"product_id\":7}", &o), OK);
    assert_true(o->has_note && o->note_is_null && !o->has_quantity);
    assert_int_equal(o->note.len, 0);
}

static void tells_every_bad_field_at_once(void **state)
{
    (void)state;
    const struct order *o = (const struct order *)&arena;
    assert_err(read_order("{\"x\":1,\"tip\":0,\"qantity\":2,\"quantity\":1001,\"note\":\"\",\"balance\":1}", &o),
               ERR_VALIDATION);
    assert_str(told(), "product_id:required quantity:out_of_range note:too_short tip:not_positive x:unknown_field "
                       "qantity:unknown_field balance:unknown_field");
    assert_err(read_order("{}", &o), ERR_VALIDATION);
    assert_str(told(), "product_id:required");
    assert_err(read_order("{\"Product_Id\":1}", &o), ERR_VALIDATION);
    assert_str(told(), "product_id:required Product_Id:unknown_field");
    assert_err(read_order("{\"product_id\":1,\"x\":null}", &o), ERR_VALIDATION); /* unknown, null or not */
    assert_str(told(), "x:unknown_field");
    assert_ptr_equal(o, &arena); /* untouched */
}

static void wants_an_object(void **state)
{
    (void)state;
    static const char *const bodies[] = {"[]", "[{\"product_id\":1}]", "1", "\"x\"", "null", "true"};
    const struct order *o;
    for (size_t i = 0; i < sizeof bodies / sizeof *bodies; i++) {
        assert_err(read_order(bodies[i], &o), ERR_VALIDATION);
        assert_str(told(), ":wrong_type");
    }
    const void *out;
    field_errors_init(&errors, &arena);
    assert_err(shape_read(&order_body, NULL, 2, &arena, &out, &errors), ERR_VALIDATION);
    assert_str(told(), ":wrong_type");
}

static void bounds_what_it_tells(void **state)
{
    (void)state;
    struct buf b;
    buf_init(&b, &arena, 1 << 20);
    buf_lit(&b, "{\"product_id\":0");
    for (int i = 0; i < 500; i++) buf_printf(&b, ",\"unknown%d\":1", i);
    buf_lit(&b, "}");
    const struct order *o;
    assert_err(read_order(str_cstr(&arena, buf_str(&b)), &o), ERR_VALIDATION);
    assert_int_equal(errors.count, 100);
    assert_str(errors.first->field, "product_id");

    buf_reset(&b);
    buf_lit(&b, "{\"product_id\":1,\"");
    for (int i = 0; i < 1000; i++) buf_lit(&b, "\xe2\x82\xac");
    buf_lit(&b, "\":1}");
    assert_err(read_order(str_cstr(&arena, buf_str(&b)), &o), ERR_VALIDATION);
    assert_int_equal(errors.first->field.len, 64 * 3);

    /* Errors that were there before do not hide new ones, even when no more are kept. */
    const struct json *root;
    const void *out = NULL;
    assert_err(json_read(&arena, STR("{}"), &root, NULL), OK);
    field_errors_init(&errors, &arena);
    for (int i = 0; i < 200; i++) field_errors_add(&errors, STR("old"), ERR_FIELD_TYPE);
    assert_err(shape_read(&order_body, root, 2, &arena, &out, &errors), ERR_VALIDATION);
    assert_null(out);
}

static void follows_the_currency(void **state)
{
    (void)state;
    static const struct {
        int exponent;
        enum err want;
    } cases[] = {{0, ERR_VALIDATION}, {2, ERR_VALIDATION}, {3, OK}};
    const struct json *root;
    assert_err(json_read(&arena, STR("{\"product_id\":1,\"tip\":1.234}"), &root, NULL), OK);
    for (size_t i = 0; i < 3; i++) {
        const void *out;
        field_errors_init(&errors, &arena);
        assert_err(shape_read(&order_body, root, cases[i].exponent, &arena, &out, &errors), cases[i].want);
    }
}

/* Queries. */
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
    {"value", FIELD_NUMBER, OPTIONAL, offsetof(struct search, value)},
    {0},
};
static const struct shape search_query = {search_fields, sizeof(struct search)};

static const struct search *search(const char *query)
{
    const void *out = NULL;
    field_errors_init(&errors, &arena);
    enum err e = shape_read_query(&search_query, str_from(query), UNKNOWN_REFUSED, 2, &arena, &out, &errors);
    assert_int_equal(e == OK, out != NULL);
    assert_int_equal(e == OK, errors.count == 0);
    return out;
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
        cmocka_unit_test_teardown(treats_missing_and_null_alike_for_all_types, empty_arena),
        cmocka_unit_test_teardown(refuses_wrong_types_for_all_types, empty_arena),
        cmocka_unit_test_teardown(reads_bools, empty_arena),
        cmocka_unit_test_teardown(reads_ints, empty_arena),
        cmocka_unit_test_teardown(reads_ids, empty_arena),
        cmocka_unit_test_teardown(reads_money, empty_arena),
        cmocka_unit_test_teardown(reads_decimals, empty_arena),
        cmocka_unit_test_teardown(keeps_literals, empty_arena),
        cmocka_unit_test_teardown(counts_code_points, empty_arena),
        cmocka_unit_test_teardown(reads_lines_and_texts, empty_arena),
        cmocka_unit_test_teardown(reads_emails, empty_arena),
        cmocka_unit_test_teardown(reads_slugs_links_and_times, empty_arena),
        cmocka_unit_test_teardown(reads_choices, empty_arena),
        cmocka_unit_test_teardown(reads_lists, empty_arena),
        cmocka_unit_test_teardown(finds_the_double_among_many_ids, empty_arena),
        cmocka_unit_test_teardown(fills_the_struct, empty_arena),
        cmocka_unit_test_teardown(tells_every_bad_field_at_once, empty_arena),
        cmocka_unit_test_teardown(wants_an_object, empty_arena),
        cmocka_unit_test_teardown(bounds_what_it_tells, empty_arena),
        cmocka_unit_test_teardown(follows_the_currency, empty_arena),
        cmocka_unit_test_teardown(reads_queries, empty_arena),
        cmocka_unit_test_teardown(refuses_bad_queries, empty_arena),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
