/* tests/unit/test_key_pages.c - a server that starts knows all Idempotency-Keys of its SQLite store, whatever was
 * added, undone, forgotten or changed by others before, and however few pages were written. */
#include "key_rows.h"

#define ROWS_OF_PAGE 4096

static uint32_t seed;
static uint64_t added;
static int to_add;

static int draw(int below)
{
    seed = seed * 1664525 + 1013904223;
    return (int)((seed >> 8) % (uint32_t)below);
}

static void new_hash(uint8_t ret[KEY_HASH_BYTES])
{
    uint64_t n = ++added * 0x9e3779b97f4a7c15;
    n = (n ^ n >> 30) * 0xbf58476d1ce4e5b9;
    n ^= n >> 31;
    for (int i = 0; i < KEY_HASH_BYTES; i++) ret[i] = (uint8_t)(n >> (i % 8 * 8));
}

static enum err add(struct db *db)
{
    static const char insert[] = "INSERT INTO idempotency (account_id, key_hash, request_hash, created_at)"
                                 " VALUES (1, $1, x'00', 1) RETURNING id";
    for (int i = 0; i < to_add; i++) {
        Id row;
        uint8_t hash[KEY_HASH_BYTES];
        new_hash(hash);
        struct stmt *st = db_prepare(db, insert);
        bind_blob(st, (Str){(const char *)hash, sizeof hash});
        assert_int_equal(db_insert(st, &row), OK);
        assert_int_equal(key_index_add(db, KEYS_OF_REQUESTS, hash, row), OK);
    }
    return OK;
}

static enum err add_and_fail(struct db *db)
{
    assert_int_equal(add(db), OK);
    return ERR_CONFLICT;
}

static void add_some(int most, bool fails)
{
    to_add = 1 + draw(most);
    assert_int_equal(store_tx(TX_WRITE, fails ? add_and_fail : add), fails ? ERR_CONFLICT : OK);
}

static int64_t number(const char *sql)
{
    return test_number(store.d, sql);
}

/* Every so-manieth row, from this one on. */
static int step = 1;
static int64_t from;

static enum err all_are_known(struct db *db)
{
    static const char rows_of[] = "SELECT id, key_hash FROM idempotency WHERE id % $1 = $2 AND id >= $3";
    struct stmt *st = db_prepare(db, rows_of);
    bind_int(st, step);
    bind_int(st, draw(step));
    bind_int(st, from);
    key_rows_are_known(db, st, KEYS_OF_REQUESTS);
    return OK;
}

static bool is_broken(void)
{
    return key_rows_are_broken("key_pages");
}

static enum err forget_last(struct db *db)
{
    static const char forget[] = "DELETE FROM idempotency WHERE id > (SELECT MAX(id) FROM idempotency) - $1";
    struct stmt *st = db_prepare(db, forget);
    bind_int(st, 1 + draw(draw(3) ? 3 : 3000));
    return db_run(st);
}

static enum err forget_some(struct db *db)
{
    static const char forget[] = "DELETE FROM idempotency WHERE id % 13 = $1";
    struct stmt *st = db_prepare(db, forget);
    bind_int(st, draw(13));
    return db_run(st);
}

/* As the oldest expire. */
static enum err expire(struct db *db)
{
    static const char oldest[] = "SELECT COALESCE(MIN(id), 0) FROM idempotency";
    static const char forget[] = "DELETE FROM idempotency WHERE id < $1";
    struct stmt *st = db_prepare(db, oldest);
    Id first = db_step(st) ? col_id(st) : (Id){0};
    assert_int_equal(db_done(st), OK);
    assert_int_equal(key_index_expire(db, first), OK);
    st = db_prepare(db, forget);
    bind_int(st, first.v + draw(2000));
    return db_run(st);
}

static enum err expire_and_fail(struct db *db)
{
    assert_int_equal(expire(db), OK);
    return ERR_CONFLICT;
}

static void happen(void)
{
    int what = draw(10);
    if (what < 4) add_some(2500, false);
    if (what == 4 || what == 5) add_some(2500, true);
    if (what == 6) assert_int_equal(store_tx(TX_WRITE, forget_last), OK);
    if (what == 7) assert_int_equal(store_tx(TX_WRITE, draw(2) ? expire : forget_some), OK);
    if (what == 8) assert_int_equal(store_tx(TX_WRITE, expire_and_fail), ERR_CONFLICT);
    if (what == 9)
        test_commit_elsewhere(&store, "DELETE FROM idempotency WHERE id = (SELECT MAX(id) FROM idempotency)");
}

static void test_a_start_knows_all_keys(void **state)
{
    (void)state;
    int64_t most = 0;
    seed = 3;
    step = 13;
    for (int round = 0; round < 36; round++) {
        happen();
        if (draw(3) == 0) store_reopen();
        assert_int_equal(store_tx(TX_WRITE, all_are_known), OK);
        if (round % 6 == 5) assert_false(is_broken());
        int64_t pages = number("SELECT COUNT(*) FROM idempotency_page");
        if (pages > most) most = pages;
        arena_done(&store_arena);
    }
    assert_true(most >= 3);
}

/* Numbers that are given again right behind a page. */
static void test_the_last_row_of_a_page_goes(void **state)
{
    (void)state;
    step = 1;
    to_add = ROWS_OF_PAGE;
    assert_int_equal(store_tx(TX_WRITE, add), OK);
    assert_int_equal(number("SELECT last FROM idempotency_page"), ROWS_OF_PAGE);
    assert_int_equal(test_write(store.d, "DELETE FROM idempotency WHERE id > 4090"), OK);
    assert_int_equal(number("SELECT COUNT(*) FROM idempotency_page"), 0);
    to_add = 3;
    assert_int_equal(store_tx(TX_WRITE, add), OK);
    store_reopen();
    assert_int_equal(store_tx(TX_WRITE, all_are_known), OK);
}

/* Numbers of rows that were undone say nothing about those that get them. */
static void test_a_page_behind_rows_that_were_undone(void **state)
{
    (void)state;
    step = 1;
    to_add = 100;
    assert_int_equal(store_tx(TX_WRITE, add_and_fail), ERR_CONFLICT);
    to_add = ROWS_OF_PAGE - 101;
    assert_int_equal(store_tx(TX_WRITE, add), OK);
    to_add = 50;
    assert_int_equal(store_tx(TX_WRITE, add_and_fail), ERR_CONFLICT); /* with it a page */
    assert_int_equal(number("SELECT COUNT(*) FROM idempotency_page"), 0);
    to_add = 30;
    assert_int_equal(store_tx(TX_WRITE, add), OK);
    store_reopen();
    assert_int_equal(store_tx(TX_WRITE, all_are_known), OK);
    to_add = ROWS_OF_PAGE;
    assert_int_equal(store_tx(TX_WRITE, add), OK);
    assert_int_equal(number("SELECT first FROM idempotency_page"), 1);
    assert_int_equal(number("SELECT last - (SELECT MAX(id) FROM idempotency) FROM idempotency_page"), 0);
    assert_false(is_broken());
}

/* After a restore there are no pages: they are made as keys are added, none of them endless. */
static void test_a_store_without_pages(void **state)
{
    (void)state;
    step = 211;
    test_commit_elsewhere(&store, "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 70000)"
                                  " INSERT INTO idempotency (account_id, key_hash, request_hash, created_at)"
                                  " SELECT 1, randomblob(16), x'00', 1 FROM n");
    for (int i = 0; i < 3; i++) {
        to_add = ROWS_OF_PAGE;
        assert_int_equal(store_tx(TX_WRITE, add), OK);
    }
    assert_false(is_broken());
    assert_int_equal(number("SELECT COUNT(*) FROM idempotency_page WHERE length(keys) <= 16 * 65536"), 3);
    assert_int_equal(number("SELECT MAX(last) - (SELECT MAX(id) FROM idempotency) FROM idempotency_page"), 0);
    store_reopen();
    assert_int_equal(store_tx(TX_WRITE, all_are_known), OK);
}

/* Rows between two pages are read themselves. */
static void test_a_page_that_is_missing(void **state)
{
    (void)state;
    step = 1;
    for (int i = 0; i < 3; i++) {
        to_add = ROWS_OF_PAGE;
        assert_int_equal(store_tx(TX_WRITE, add), OK);
    }
    for (int i = 0; i < 2; i++) {
        test_commit_elsewhere(&store,
                              i ? "DELETE FROM idempotency_page WHERE last = (SELECT MAX(last) FROM idempotency_page)"
                                : "DELETE FROM idempotency_page WHERE first = (SELECT MAX(first) FROM"
                                  " idempotency_page WHERE last < 9000)");
        assert_int_equal(number("SELECT COUNT(*) FROM idempotency_page"), 2 - i);
        store_reopen();
        assert_int_equal(store_tx(TX_WRITE, all_are_known), OK);
    }
}

/* The last row that fits into a page was undone, and added again with another key. */
static void test_a_page_ends_with_a_row_that_was_undone(void **state)
{
    (void)state;
    step = 1;
    from = 65500;
    test_commit_elsewhere(&store, "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 65531)"
                                  " INSERT INTO idempotency (account_id, key_hash, request_hash, created_at)"
                                  " SELECT 1, randomblob(16), x'00', 1 FROM n");
    store_reopen();
    assert_int_equal(store_tx(TX_WRITE, all_are_known), OK);
    to_add = 10;
    assert_int_equal(store_tx(TX_WRITE, add_and_fail), ERR_CONFLICT);
    to_add = ROWS_OF_PAGE - 10;
    assert_int_equal(store_tx(TX_WRITE, add), OK);
    assert_int_equal(number("SELECT last FROM idempotency_page"), 65534);
    to_add = ROWS_OF_PAGE;
    assert_int_equal(store_tx(TX_WRITE, add), OK);
    store_reopen();
    assert_int_equal(store_tx(TX_WRITE, all_are_known), OK);
    from = 0;
}

static void test_check_finds_what_a_page_lacks(void **state)
{
    (void)state;
    to_add = ROWS_OF_PAGE;
    assert_int_equal(store_tx(TX_WRITE, add), OK);
    assert_false(is_broken());
    test_commit_elsewhere(&store, "UPDATE idempotency_page SET keys = substr(keys, 33)");
    assert_true(is_broken());
    test_commit_elsewhere(&store, "DELETE FROM idempotency WHERE id = 5");
    assert_false(is_broken());
    test_commit_elsewhere(&store, "INSERT INTO idempotency_page (first, last, keys) VALUES (5000, 5000, x'00')");
    assert_true(is_broken());
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_a_start_knows_all_keys, store_open_sqlite, store_close),
        cmocka_unit_test_setup_teardown(test_the_last_row_of_a_page_goes, store_open_sqlite, store_close),
        cmocka_unit_test_setup_teardown(test_a_page_behind_rows_that_were_undone, store_open_sqlite, store_close),
        cmocka_unit_test_setup_teardown(test_a_store_without_pages, store_open_sqlite, store_close),
        cmocka_unit_test_setup_teardown(test_a_page_that_is_missing, store_open_sqlite, store_close),
        cmocka_unit_test_setup_teardown(test_a_page_ends_with_a_row_that_was_undone, store_open_sqlite, store_close),
        cmocka_unit_test_setup_teardown(test_check_finds_what_a_page_lacks, store_open_sqlite, store_close),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
