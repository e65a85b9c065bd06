/* tests/unit/test_order_keys.c - a server that starts knows the Idempotency-Keys that stand in the rows of orders,
 * however few orders have one, and whatever was undone, expired or changed by others before. */
#include "key_rows.h"

#include "base/sanitized.h"

#define KEYS_OF_PAGE 4096
#ifdef WITH_TSAN /* no thread meets another here */
#define ROUNDS 14
#else
#define ROUNDS 40
#endif

static uint32_t seed;
static int to_add, one_in; /* of so many orders one has a key; 0: none */
static Id expired;         /* orders up to this one */

static int draw(int below)
{
    seed = seed * 1664525 + 1013904223;
    return (int)((seed >> 8) % (uint32_t)below);
}

#define COLUMNS "account_id, status, channel, subtotal, total, created_at, key_hash, request_hash"
#define OTHERS(count, hash)                                                                                            \
    "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < " count ")"                              \
    " INSERT INTO orders (" COLUMNS ") SELECT 1, 'confirmed', 'api', 0, 0, 1, " hash ", x'00' FROM n"

static enum err add_one(struct db *db, bool has_key)
{
    static const char insert[] =
        "INSERT INTO orders (" COLUMNS
        ") VALUES (1, 'confirmed', 'api', 0, 0, 1, NULLIF($1, x''), NULLIF($1, x'')) RETURNING id";
    uint8_t hash[KEY_HASH_BYTES];
    Id row;
    for (size_t i = 0; i < sizeof hash; i++) hash[i] = (uint8_t)draw(256);
    Str key = {(const char *)hash, has_key ? sizeof hash : 0};
    struct stmt *st = db_prepare(db, insert);
    bind_blob(st, key);
    enum err e = db_insert(st, &row);
    if (e) return e;
    return has_key ? key_index_add(db, KEYS_OF_ORDERS, hash, row) : key_index_pass(db, row);
}

static enum err add(struct db *db)
{
    for (int i = 0; i < to_add; i++) assert_int_equal(add_one(db, one_in && draw(one_in) == 0), OK);
    return OK;
}

static enum err add_and_fail(struct db *db)
{
    assert_int_equal(add(db), OK);
    return ERR_CONFLICT;
}

static void add_some(int count, int keys, bool fails)
{
    to_add = count;
    one_in = keys;
    assert_int_equal(store_tx(TX_WRITE, fails ? add_and_fail : add), fails ? ERR_CONFLICT : OK);
}

static int64_t number(const char *sql)
{
    return test_number(store.d, sql);
}

static int64_t known;
static int step; /* every so-manieth order is looked for */

static enum err all_are_known(struct db *db)
{
    static const char rows_of[] =
        "SELECT id, key_hash FROM orders WHERE key_hash IS NOT NULL AND id > $1 AND id % $2 = $3";
    struct stmt *st = db_prepare(db, rows_of);
    bind_id(st, expired);
    bind_int(st, step);
    bind_int(st, draw(step));
    known += key_rows_are_known(db, st, KEYS_OF_ORDERS);
    return OK;
}

static bool is_broken(void)
{
    return key_rows_are_broken("order_key_pages");
}

/* As if all pages were old: the first one goes. */
static enum err expire(struct db *db)
{
    static const char first[] = "SELECT last FROM orders_key_page WHERE first > 0 ORDER BY last LIMIT 1";
    struct stmt *st = db_prepare(db, first);
    if (db_step(st)) expired = col_id(st);
    assert_int_equal(db_done(st), OK);
    return key_index_expire_orders(db, time_add(time_now(), TIME_DAY));
}

static enum err expire_and_fail(struct db *db)
{
    assert_int_equal(expire(db), OK);
    return ERR_CONFLICT;
}

static void happen(void)
{
    int what = draw(10), keys = draw(3) ? 1 : 500;
    if (what < 4) add_some(1 + draw(6000), keys, false);
    if (what == 4 || what == 5) add_some(1 + draw(4000), keys, true);
    if (what == 6 && !draw(3)) assert_int_equal(store_tx(TX_WRITE, expire), OK);
    if (what == 7 && !draw(3)) assert_int_equal(store_tx(TX_WRITE, expire_and_fail), ERR_CONFLICT);
    if (what == 8) test_commit_elsewhere(&store, OTHERS("30000", "NULL"));
    if (what == 9) test_commit_elsewhere(&store, OTHERS("2000", "randomblob(16)"));
}

static int begin(void **state)
{
    seed = 5;
    expired = (Id){0};
    step = 1;
    return store_open_sqlite(state);
}

static void test_a_start_knows_all_keys(void **state)
{
    (void)state;
    int64_t most = 0;
    step = 7;
    for (int round = 0; round < ROUNDS; round++) {
        happen();
        if (draw(3) == 0) store_reopen();
        assert_int_equal(store_tx(TX_WRITE, all_are_known), OK);
        int64_t pages = number("SELECT COUNT(*) FROM orders_key_page");
        if (pages > most) most = pages;
        arena_done(&store_arena);
    }
    assert_true(ROUNDS < 40 || (most >= 3 && known > 1000 && id_is(expired)));
}

/* However few keys there are, a start reads no more orders than one page covers. */
static void test_orders_without_keys_are_covered(void **state)
{
    (void)state;
    add_some(3, 1, false);
    test_commit_elsewhere(&store, OTHERS("70000", "NULL"));
    store_reopen();
    assert_int_equal(store_tx(TX_WRITE, all_are_known), OK);
    assert_int_equal(number("SELECT COUNT(*) FROM orders_key_page"), 0);
    add_some(1, 0, false);
    assert_int_equal(number("SELECT COUNT(*) FROM orders_key_page WHERE first = 1 AND last = 70004"
                            " AND length(keys) = 48"),
                     1);
    add_some(100, 0, false);
    assert_int_equal(number("SELECT COUNT(*) FROM orders_key_page"), 1);

    test_commit_elsewhere(&store, OTHERS("70000", "NULL"));
    store_reopen();
    assert_int_equal(store_tx(TX_WRITE, all_are_known), OK);
    add_some(1, 0, false);
    assert_int_equal(number("SELECT COUNT(*) FROM orders_key_page WHERE first = 70005 AND length(keys) = 0"), 1);
}

/* A page that was undone is written again, later. */
static void test_a_page_that_was_undone(void **state)
{
    (void)state;
    test_commit_elsewhere(&store, OTHERS("70000", "NULL"));
    assert_int_equal(store_tx(TX_WRITE, all_are_known), OK);
    add_some(1, 1, true);
    assert_int_equal(number("SELECT COUNT(*) FROM orders_key_page"), 0);
    add_some(KEYS_OF_PAGE, 1, false);
    assert_int_equal(number("SELECT COUNT(*) FROM orders_key_page WHERE first = 1"), 1);
    store_reopen();
    assert_int_equal(store_tx(TX_WRITE, all_are_known), OK);
}

/* What is behind an expired page is read from the pages that are left, not from all orders. */
static void test_an_expired_page_still_covers_its_orders(void **state)
{
    (void)state;
    for (int i = 0; i < 3; i++) add_some(KEYS_OF_PAGE, 1, false);
    assert_int_equal(number("SELECT COUNT(*) FROM orders_key_page"), 3);
    for (int i = 1; i <= 2; i++) {
        assert_int_equal(store_tx(TX_WRITE, expire), OK);
        assert_int_equal(expired.v, i * KEYS_OF_PAGE);
        assert_int_equal(number("SELECT COUNT(*) FROM orders_key_page"), 4 - i);
        assert_int_equal(number("SELECT last FROM orders_key_page WHERE first = 0 AND length(keys) = 0"),
                         i * KEYS_OF_PAGE);
        store_reopen();
        known = 0;
        assert_int_equal(store_tx(TX_WRITE, all_are_known), OK);
        assert_int_equal(known, (3 - i) * KEYS_OF_PAGE);
    }
}

/* Memory leaves out what has expired when it needs more room, and nothing else. */
static void test_what_expired_makes_room(void **state)
{
    (void)state;
    for (int i = 0; i < 2; i++) add_some(KEYS_OF_PAGE, 1, false);
    assert_int_equal(store_tx(TX_WRITE, expire), OK);
    for (int i = 0; i < 3; i++) add_some(KEYS_OF_PAGE, 1, false);
    known = 0;
    assert_int_equal(store_tx(TX_WRITE, all_are_known), OK);
    assert_int_equal(known, 4 * KEYS_OF_PAGE);
}

static enum err expire_older(struct db *db)
{
    return key_index_expire_orders(db, time_add(time_now(), -TIME_DAY));
}

static void test_only_old_pages_expire(void **state)
{
    (void)state;
    assert_int_equal(store_tx(TX_READ, expire_older), OK);
    for (int i = 0; i < 2; i++) add_some(KEYS_OF_PAGE, 1, false);
    assert_int_equal(store_tx(TX_READ, expire_older), OK);
    assert_int_equal(number("SELECT COUNT(*) FROM orders_key_page WHERE length(keys) > 0"), 2);
    test_commit_elsewhere(&store, "UPDATE orders_key_page SET made_at = made_at - 86400000 WHERE first = 1");
    for (int i = 0; i < 2; i++) {
        assert_int_equal(store_tx(TX_READ, expire_older), OK);
        assert_int_equal(number("SELECT COUNT(*) FROM orders_key_page WHERE length(keys) > 0"), 1);
    }
}

static void test_check_finds_what_a_page_lacks(void **state)
{
    (void)state;
    add_some(2 * KEYS_OF_PAGE, 2, false);
    add_some(KEYS_OF_PAGE, 1, false);
    assert_false(is_broken());
    test_commit_elsewhere(&store, "UPDATE orders_key_page SET keys = substr(keys, 17)");
    assert_true(is_broken());
    test_commit_elsewhere(&store, "UPDATE orders_key_page SET first = 0");
    assert_false(is_broken());
    test_commit_elsewhere(
        &store, "UPDATE orders_key_page SET last = 1000000 WHERE last = (SELECT MAX(last) FROM orders_key_page)");
    assert_true(is_broken());
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_a_start_knows_all_keys, begin, store_close),
        cmocka_unit_test_setup_teardown(test_orders_without_keys_are_covered, begin, store_close),
        cmocka_unit_test_setup_teardown(test_a_page_that_was_undone, begin, store_close),
        cmocka_unit_test_setup_teardown(test_an_expired_page_still_covers_its_orders, begin, store_close),
        cmocka_unit_test_setup_teardown(test_what_expired_makes_room, begin, store_close),
        cmocka_unit_test_setup_teardown(test_only_old_pages_expire, begin, store_close),
        cmocka_unit_test_setup_teardown(test_check_finds_what_a_page_lacks, begin, store_close),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
