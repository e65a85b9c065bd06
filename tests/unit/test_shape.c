/* tests/unit/test_shape.c - whole bodies read by a table of fields: what is filled, what is refused, what is told. */
#include "field_errors.h"

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
    assert_int_equal(o->product.v, 1); /* what could be read is there */
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
    field_errors_add_about(&errors, STR("old"), ERR_FIELD_TYPE, STR("something"));
    assert_int_equal(errors.count, 100);
    assert_err(shape_read(&order_body, root, 2, &arena, &out, &errors), ERR_VALIDATION);
    assert_non_null(out);
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(fills_the_struct, empty_arena),
        cmocka_unit_test_teardown(tells_every_bad_field_at_once, empty_arena),
        cmocka_unit_test_teardown(wants_an_object, empty_arena),
        cmocka_unit_test_teardown(bounds_what_it_tells, empty_arena),
        cmocka_unit_test_teardown(follows_the_currency, empty_arena),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
