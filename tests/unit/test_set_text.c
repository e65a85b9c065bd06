/* tests/unit/test_set_text.c - statements about one row become statements about many, or are left alone. */
#include "unit.h"

#include "db/set_text.h"

static const unsigned char ints[] = {BIND_INT, BIND_INT, BIND_INT, BIND_INT};

static void check_set(const char *sql, int params, enum set_kind kind, const char *expected)
{
    struct set_text t = set_text_make(sql, ints, params);
    assert_int_equal(t.kind, kind);
    if (expected)
        assert_string_equal(t.text, expected);
    else
        assert_null(t.text);
    free(t.text);
}

static void makes_sets(void **state)
{
    (void)state;
    check_set(
        "SELECT a, '$1' FROM t WHERE b = $1 AND c = $2", 2, SET_SELECT,
        "SELECT q.n, r.* FROM unnest($1::bigint[], $2::bigint[]) WITH ORDINALITY AS q(_1, _2, n), LATERAL (SELECT *"
        " FROM (SELECT a, '$1' FROM t WHERE b = q._1 AND c = q._2) one OFFSET 0) r");
    check_set("INSERT INTO t (a, b) VALUES ($1, (SELECT id FROM u WHERE c = $2)) ON CONFLICT DO NOTHING", 2, SET_INSERT,
              "INSERT INTO t (a, b) SELECT q._1, (SELECT id FROM u WHERE c = q._2) FROM unnest($1::bigint[],"
              " $2::bigint[]) WITH ORDINALITY AS q(_1, _2, n) ON CONFLICT DO NOTHING");
    check_set("INSERT INTO t (id) VALUES ($1) RETURNING id", 1, SET_INSERT,
              "INSERT INTO t (id) SELECT q._1 FROM unnest($1::bigint[]) WITH ORDINALITY AS q(_1, n) ");
    check_set("UPDATE t SET a = a - $2 WHERE id = $1 AND a >= $2 RETURNING id, a", 2, SET_UPDATE,
              "UPDATE t SET a = a - q._2 FROM unnest($1::bigint[], $2::bigint[]) WITH ORDINALITY AS q(_1, _2, n)"
              " WHERE id = q._1 AND a >= q._2 RETURNING q.n, id, a");
    check_set("UPDATE t SET a = $2 WHERE id = $1", 2, SET_UPDATE,
              "UPDATE t SET a = q._2 FROM unnest($1::bigint[], $2::bigint[]) WITH ORDINALITY AS q(_1, _2, n)"
              " WHERE id = q._1");
}

static void leaves_alone(void **state)
{
    (void)state;
    check_set("SELECT 1", 0, SET_NOT, NULL);
    check_set("DELETE FROM t WHERE id = $1", 1, SET_NOT, NULL);
    check_set("INSERT INTO t (a) VALUES ($1),($2)", 2, SET_NOT, NULL);
    check_set("UPDATE t SET a = $1 WHERE id = $2", 2, SET_NOT, NULL); /* $1 does not name the row */
    check_set("UPDATE t SET a = $2 WHERE id = $12", 2, SET_NOT, NULL);
    check_set("UPDATE t SET a = u.b FROM u WHERE id = $1", 1, SET_NOT, NULL);
    check_set("WITH p AS (SELECT 1) UPDATE t SET a = $2 WHERE id = $1", 2, SET_NOT, NULL);
    static const unsigned char unknown[] = {BIND_UNKNOWN};
    assert_int_equal(set_text_make("SELECT $1", unknown, 1).kind, SET_NOT);
}

static void shares_what_is_equal(void **state)
{
    (void)state;
    struct set_text t = set_text_make("SELECT a FROM t WHERE b = $1", ints, 1);
    assert_true(t.may_share && t.has_result);
    free(t.text);
    t = set_text_make("SELECT nextval('s') FROM generate_series(1, $1)", ints, 1);
    assert_false(t.may_share);
    free(t.text);
    assert_true(set_text_make("SELECT number FROM revision", ints, 0).may_share);
    t = set_text_make("UPDATE t SET a = $2 WHERE id = $1", ints, 2);
    assert_false(t.may_share || t.has_result);
    free(t.text);
    assert_true(set_text_writes("WITH x AS (SELECT 1) UPDATE t SET a = 1"));
    assert_false(set_text_writes("SELECT 1 FROM t FOR UPDATE"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(makes_sets),
        cmocka_unit_test(leaves_alone),
        cmocka_unit_test(shares_what_is_equal),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
