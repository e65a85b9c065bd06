/* Lines of other systems' files: what becomes of each, and which are passed over. */
#include "unit.h"

#include "cli/import_source.h"

struct cell {
    enum import_column column;
    const char *text;
};

static bool converts(const char *from, enum import_kind kind, const struct cell *cells, struct import_row *ret,
                     struct arena *a)
{
    const struct import_source *s = import_source_find(str_from(from), kind);
    assert_non_null(s);
    assert_false(import_source_is_ours(s));
    *ret = (struct import_row){0};
    for (; cells->text; cells++) ret->of[cells->column] = str_from(cells->text);
    return import_source_convert(s, a, ret);
}

#define ROW(...)                                                                                                       \
    (const struct cell[])                                                                                              \
    {                                                                                                                  \
        __VA_ARGS__,                                                                                                   \
        {                                                                                                              \
            0, NULL                                                                                                    \
        }                                                                                                              \
    }

static void dujiaoka(void **state)
{
    (void)state;
    struct arena a = {0};
    struct import_row r;
    assert_true(converts("dujiaoka", IMPORT_PRODUCTS,
                         ROW({COLUMN_REF, "7"}, {COLUMN_DELIVERY_TYPE, "1"}, {COLUMN_DESCRIPTION, "\\N"}), &r, &a));
    assert_str(r.of[COLUMN_REF], "dujiaoka:7");
    assert_str(r.of[COLUMN_DESCRIPTION], "");
    assert_true(converts("dujiaoka", IMPORT_PRODUCTS,
                         ROW({COLUMN_REF, ""}, {COLUMN_DELIVERY_TYPE, "1"}, {COLUMN_DESCRIPTION, "text"}), &r, &a));
    assert_str(r.of[COLUMN_REF], "");
    assert_str(r.of[COLUMN_DESCRIPTION], "text");
    assert_false(converts("dujiaoka", IMPORT_PRODUCTS, ROW({COLUMN_DELIVERY_TYPE, "2"}), &r, &a));
    static const struct {
        const char *status, *loops, *deleted;
        bool is_wanted;
    } codes[] = {{"1", "0", "NULL", true},
                 {"1", "0", "\\N", true},
                 {"2", "0", "NULL", false},
                 {"1", "1", "", false},
                 {"1", "0", "2024-01-01", false}};
    for (size_t i = 0; i < sizeof codes / sizeof *codes; i++)
        assert_int_equal(converts("dujiaoka", IMPORT_SERIALS,
                                  ROW({COLUMN_STATUS, codes[i].status}, {COLUMN_DEFAULT, codes[i].loops},
                                      {COLUMN_REASON, codes[i].deleted}),
                                  &r, &a),
                         codes[i].is_wanted);
    arena_done(&a);
}

static void woocommerce(void **state)
{
    (void)state;
    struct arena a = {0};
    struct import_row r;
    static const char *const nobody[] = {"", "NULL", "\\N", "0"};
    for (size_t i = 0; i < 4; i++)
        assert_false(converts("woocommerce", IMPORT_LICENSES,
                              ROW({COLUMN_STATUS, "SOLD"}, {COLUMN_CUSTOMER_REF, nobody[i]}), &r, &a));
    assert_false(
        converts("woocommerce", IMPORT_LICENSES, ROW({COLUMN_STATUS, "inactive"}, {COLUMN_CUSTOMER_REF, "3"}), &r, &a));
    assert_true(converts("woocommerce", IMPORT_LICENSES,
                         ROW({COLUMN_STATUS, "SOLD"}, {COLUMN_CUSTOMER_REF, "3"}, {COLUMN_PRODUCT_REF, "4"},
                             {COLUMN_EXPIRES_AT, "NULL"}, {COLUMN_CREATED_AT, "\\N"}),
                         &r, &a));
    assert_str(r.of[COLUMN_CUSTOMER_REF], "woocommerce:3");
    assert_str(r.of[COLUMN_STATUS], "active");
    assert_str(r.of[COLUMN_EXPIRES_AT], "");
    assert_str(r.of[COLUMN_CREATED_AT], "");
    assert_true(converts(
        "woocommerce", IMPORT_LICENSES,
        ROW({COLUMN_CUSTOMER_REF, "3"}, {COLUMN_EXPIRES_AT, "2030-01-01"}, {COLUMN_CREATED_AT, "2020-01-01"}), &r, &a));
    assert_str(r.of[COLUMN_EXPIRES_AT], "2030-01-01");
    assert_true(converts("woocommerce", IMPORT_CUSTOMERS, ROW({COLUMN_REF, "NULL"}), &r, &a));
    assert_str(r.of[COLUMN_REF], "");
    arena_done(&a);
}

static void edd(void **state)
{
    (void)state;
    struct arena a = {0};
    struct import_row r;
    static const struct {
        const char *theirs, *ours;
    } times[] = {
        {"", ""},
        {"0", ""},
        {"lifetime", ""},
        {"never", ""},
        {"\\N", ""},
        {"soon", "soon"},
        {"-5", "-5"},
        {"99999999999", "99999999999"},
        {"1700000000", "2023-11-14T22:13:20Z"},
    };
    for (size_t i = 0; i < sizeof times / sizeof *times; i++) {
        assert_true(converts("edd", IMPORT_LICENSES, ROW({COLUMN_EXPIRES_AT, times[i].theirs}), &r, &a));
        assert_str(r.of[COLUMN_EXPIRES_AT], times[i].ours);
    }
    static const char *const words[][2] = {{"disabled", "revoked"}, {"revoked", "revoked"}, {"expired", "active"}};
    for (size_t i = 0; i < 3; i++) {
        assert_true(converts("edd", IMPORT_LICENSES, ROW({COLUMN_STATUS, words[i][0]}), &r, &a));
        assert_str(r.of[COLUMN_STATUS], words[i][1]);
    }
    arena_done(&a);
}

static void gumroad(void **state)
{
    (void)state;
    struct arena a = {0};
    struct import_row r;
    assert_false(converts("gumroad", IMPORT_CUSTOMERS, ROW({COLUMN_NAME, "Totals"}), &r, &a));
    assert_false(converts("gumroad", IMPORT_LICENSES, ROW({COLUMN_EMAIL, "a@b"}), &r, &a));
    assert_false(converts("gumroad", IMPORT_LICENSES, ROW({COLUMN_KEY, "k"}), &r, &a));
    static const struct {
        const char *refunded, *disputed, *won, *enabled, *status;
    } lines[] = {
        {"0", "0", "0", "1", "active"}, {"1", "0", "0", "1", "refunded"}, {"0", "1", "0", "1", "revoked"},
        {"0", "1", "1", "1", "active"}, {"0", "0", "0", "0", "revoked"},
    };
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        assert_true(converts("gumroad", IMPORT_LICENSES,
                             ROW({COLUMN_KEY, "k"}, {COLUMN_EMAIL, "a@b"}, {COLUMN_ACTIVE, lines[i].refunded},
                                 {COLUMN_DEFAULT, lines[i].disputed}, {COLUMN_VERIFIED, lines[i].won},
                                 {COLUMN_STATUS, lines[i].enabled}),
                             &r, &a));
        assert_str(r.of[COLUMN_STATUS], lines[i].status);
    }
    arena_done(&a);
}

static void columns(void **state)
{
    (void)state;
    enum import_column column;
    const struct import_source *ours = import_source_find(STR(""), IMPORT_CUSTOMERS);
    assert_true(import_source_is_ours(ours));
    assert_true(import_source_column(ours, IMPORT_CUSTOMERS, STR("EMAIL"), &column));
    assert_false(import_source_column(ours, IMPORT_CUSTOMERS, STR("price"), &column)); /* of products alone */
    assert_false(import_source_column(ours, IMPORT_CUSTOMERS, STR("colour"), &column));
    const struct import_source *edd_file = import_source_find(STR("edd"), IMPORT_LICENSES);
    assert_true(import_source_column(edd_file, IMPORT_LICENSES, STR("license key"), &column));
    assert_false(import_source_column(edd_file, IMPORT_LICENSES, STR("key"), &column));
    assert_null(import_source_find(STR("edd"), IMPORT_PRODUCTS));
    assert_null(import_source_find(STR("shelf"), IMPORT_PRODUCTS));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(dujiaoka), cmocka_unit_test(woocommerce), cmocka_unit_test(edd),
        cmocka_unit_test(gumroad),  cmocka_unit_test(columns),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
