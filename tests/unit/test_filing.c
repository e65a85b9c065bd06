/* tests/unit/test_filing.c - lists of an owner's rows on SQLite: whatever is filed, added, undone or changed by others,
 * a page is what the table itself has. */
#include "store.h"

#include <inttypes.h>
#include <pthread.h>

#include "base/sanitized.h"
#include "domain/filing.h"
#include "domain/invariant.h"

#define OWNERS 5
#define ALL INT64_MAX

#define ADD_ORDERS "INSERT INTO orders (account_id, status, channel, subtotal, total, created_at)"
static const char add_order[] = ADD_ORDERS " VALUES ($1, 'pending', 'api', 1, 1, 1)";
static const char plain_page[] = "SELECT json_group_array(id) FROM (SELECT id FROM orders WHERE account_id = $1"
                                 " AND id < $2 ORDER BY id DESC LIMIT $3)";

static uint32_t seed;
static Id owners[OWNERS];

static int draw(int below)
{
    seed = seed * 1664525 + 1013904223;
    return (int)((seed >> 8) % (uint32_t)below);
}

static enum err make_owners(struct db *db)
{
    owners[0] = ada, owners[1] = bob, owners[2] = staff;
    owners[3] = store_account(db, "eve@example.com", "", "customer");
    owners[4] = store_account(db, "zoe@example.com", "", "customer");
    return OK;
}

static void start(uint32_t with)
{
    seed = with;
    assert_int_equal(store_tx(TX_WRITE, make_owners), OK);
}

static void add_one(struct db *db, Id owner)
{
    struct stmt *st = db_prepare(db, add_order);
    bind_id(st, owner);
    assert_int_equal(db_run(st), OK);
}

/* Whether the page of this list is the one that the table has. */
static bool is_right(struct db *db, Id owner, int64_t before, int64_t limit)
{
    Str ids;
    if (filing_page(db, FILING_ORDERS, owner, (Id){before}, limit, &ids) != OK) return false;
    struct stmt *st = db_prepare(db, plain_page);
    bind_id(st, owner);
    bind_int(st, before);
    bind_int(st, limit);
    bool same = db_step(st) && str_eq(col_text(st), ids);
    return db_done(st) == OK && same;
}

static enum err all_are_right(struct db *db)
{
    static const int64_t limits[] = {1, 2, 7, 100, ALL};
    for (int i = 0; i < OWNERS; i++)
        for (int n = 0; n < 5; n++) assert_true(is_right(db, owners[i], draw(3) ? ID_MAX : 1 + draw(400), limits[n]));
    return OK;
}

/* The same for large lists. */
static enum err two_are_right(struct db *db)
{
    assert_true(is_right(db, ada, ID_MAX, ALL));
    assert_true(is_right(db, bob, 1 + draw(40000), 7));
    return OK;
}

static enum err add_some(struct db *db)
{
    for (int left = 1 + draw(20); left > 0; left--) add_one(db, owners[draw(OWNERS)]);
    return draw(4) ? OK : all_are_right(db); /* a transaction sees its own */
}

static enum err add_some_and_fail(struct db *db)
{
    assert_int_equal(add_some(db), OK);
    assert_int_equal(all_are_right(db), OK);
    return ERR_CONFLICT;
}

static enum err file_some_and_fail(struct db *db)
{
    assert_int_equal(filing_step(db, 1), OK);
    assert_int_equal(all_are_right(db), OK);
    return ERR_CONFLICT;
}

static enum err file_some(struct db *db)
{
    return filing_step(db, 1 + draw(40));
}

static enum err file_any(struct db *db)
{
    return filing_step(db, 1);
}

static enum err follow_only(struct db *db)
{
    return filing_step(db, ALL);
}

static void elsewhere(const char *sql)
{
    test_commit_elsewhere(&store, sql);
}

/* Another program does what souk never does, to rows that are filed or not. The next write notices. */
static void change_elsewhere(void)
{
    static const char *const what[] = {
        "DELETE FROM orders WHERE id = (SELECT MAX(id) FROM orders)",
        "DELETE FROM orders WHERE id > (SELECT MAX(id) FROM orders) - 15",
        "DELETE FROM orders WHERE id % 11 = 5",
        "UPDATE orders SET account_id = 1 WHERE id % 7 = 3",
        "UPDATE orders SET id = id + 1 WHERE id = (SELECT MAX(id) FROM orders)",
        ADD_ORDERS " VALUES (1, 'pending', 'api', 1, 1, 1)",
    };
    elsewhere(what[draw(6)]);
    assert_int_equal(store_tx(TX_WRITE, add_some), OK);
}

/* How many checks of the lists complain. */
static int broken;

static enum err check_lists(struct db *db)
{
    struct check_result *results;
    size_t count, of_lists = 0;
    broken = 0;
    assert_int_equal(check_run(db, &results, &count), OK);
    for (size_t i = 0; i < count; i++) {
        if (!strstr(results[i].name, "_filed")) continue;
        of_lists++;
        broken += results[i].is_broken;
    }
    assert_int_equal(of_lists, FILINGS);
    return OK;
}

static int complaints(void)
{
    assert_int_equal(store_tx(TX_READ, check_lists), OK);
    return broken;
}

static void test_pages_are_those_of_the_table(void **state)
{
    (void)state;
    for (uint32_t with = 1; with <= 3; with++) {
        if (with > 1) elsewhere("DELETE FROM account WHERE email LIKE 'eve%' OR email LIKE 'zoe%'");
        start(with);
        for (int round = 0; round < 100; round++) {
            int what = draw(12);
            if (what < 4) assert_int_equal(store_tx(TX_WRITE, add_some), OK);
            if (what == 4) assert_int_equal(store_tx(TX_WRITE, add_some_and_fail), ERR_CONFLICT);
            if (what == 5 || what == 6) assert_int_equal(store_tx(TX_READ, file_some), OK); /* goes on as TX_WRITE */
            if (what == 7) assert_int_equal(store_tx(TX_WRITE, file_some_and_fail), ERR_CONFLICT);
            if (what == 8) assert_int_equal(store_tx(TX_READ, follow_only), OK);
            if (what == 9) change_elsewhere();
            if (what == 10) assert_int_equal(store_tx(TX_WRITE, filing_open), OK);
            if (what == 11 && draw(4) == 0) store_reopen();
            assert_int_equal(store_tx(TX_READ, all_are_right), OK);
            arena_done(&store_arena);
        }
        assert_int_equal(complaints(), 0);
        elsewhere("DELETE FROM orders; DELETE FROM orders_filed; UPDATE filing SET up_to = 0");
    }
}

static enum err add_one_of_next(struct db *db)
{
    static int next;
    add_one(db, owners[next++ % OWNERS]);
    return OK;
}

static bool is_in_slices(void)
{
    return test_number(store.d, "SELECT until > up_to FROM filing WHERE list = 'orders'");
}

/* The last id is given again, to somebody else: it must not count as filed. */
static void test_an_id_that_is_given_again(void **state)
{
    (void)state;
    start(7);
    assert_int_equal(store_tx(TX_WRITE, add_some), OK);
    assert_int_equal(store_tx(TX_WRITE, filing_open), OK);
    int64_t last = test_number(store.d, "SELECT MAX(id) FROM orders");
    for (int i = 0; i < OWNERS; i++) {
        elsewhere("DELETE FROM orders WHERE id IN (1, (SELECT MAX(id) FROM orders))");
        assert_int_equal(complaints(), 0);
        assert_false(is_in_slices());
        assert_int_equal(store_tx(TX_WRITE, add_one_of_next), OK);
        assert_int_equal(test_number(store.d, "SELECT MAX(id) FROM orders"), last);
        assert_int_equal(store_tx(TX_READ, all_are_right), OK);
        assert_int_equal(store_tx(TX_WRITE, filing_open), OK);
        assert_int_equal(store_tx(TX_READ, all_are_right), OK);
        assert_int_equal(complaints(), 0);
    }
}

#define MANY "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 40000)"

static void add_many(void)
{
    elsewhere(MANY " " ADD_ORDERS " SELECT 1 + i % 3, 'pending', 'api', 1, 1, 1 FROM n");
}

static int64_t mark(void)
{
    return test_number(store.d, "SELECT up_to FROM filing WHERE list = 'orders'");
}

#define VERY_MANY "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 1100000)"

/* More than are sorted at once; and a gap in which no row is. It is SQLite that works here: once is enough. */
static void test_all_are_filed_before_a_server_begins(void **state)
{
    (void)state;
#if defined(WITH_ASAN) || defined(WITH_TSAN)
    skip();
#endif
    elsewhere(VERY_MANY " " ADD_ORDERS " SELECT 1 + i % 3, 'pending', 'api', 1, 1, 1 FROM n");
    elsewhere("UPDATE orders SET id = 4000000000 WHERE id = (SELECT MAX(id) FROM orders)");
    int64_t rows = test_number(store.d, "SELECT COUNT(*) FROM orders");
    assert_int_equal(filing_all(store.d), OK);
    assert_int_equal(mark(), INT64_C(4000000000));
    assert_int_equal(test_number(store.d, "SELECT COUNT(*) FROM orders_filed"), rows);
    assert_int_equal(filing_all(store.d), OK);
    assert_int_equal(test_number(store.d, "SELECT COUNT(*) FROM orders_filed"), rows);
}

/* More than a transaction files at once, and more than memory keeps behind a mark. */
static void test_many_rows_are_filed_in_turn(void **state)
{
    (void)state;
    start(9);
    for (int round = 1; round <= 2; round++) {
        add_many();
        assert_int_equal(store_tx(TX_READ, two_are_right), OK);
        for (int step = 0; mark() < round * 40000; step++) {
            assert_true(step < 20);
            assert_int_equal(store_tx(TX_READ, file_any), OK);
            assert_int_equal(store_tx(TX_READ, two_are_right), OK);
            assert_int_equal(store_tx(TX_WRITE, two_are_right), OK);
            arena_done(&store_arena);
        }
    }
    assert_int_equal(test_number(store.d, "SELECT COUNT(*) FROM orders_filed"), 80000);
    assert_int_equal(complaints(), 0);
}

/* So many that a batch is filed in slices, and with room for more ids. */
#define MANY_OF(owners)                                                                                                \
    "DELETE FROM orders; DELETE FROM orders_filed; UPDATE filing SET up_to = 0, until = 0;" MANY                       \
    " INSERT INTO orders (id, account_id, status, channel, subtotal, total, created_at)"                               \
    " SELECT 2 * i, 1 + i * 7919 % " owners ", 'pending', 'api', 1, 1, 1 FROM n WHERE i <= 20000"

static enum err wide_are_right(struct db *db)
{
    static const int64_t some[] = {1, 2, 40, 5000};
    for (size_t i = 0; i < sizeof some / sizeof *some; i++) assert_true(is_right(db, (Id){some[i]}, ID_MAX, ALL));
    return OK;
}

static enum err slice_and_fail(struct db *db)
{
    assert_int_equal(filing_step(db, 1), OK);
    assert_int_equal(wide_are_right(db), OK);
    return ERR_CONFLICT;
}

#define ADD_BETWEEN                                                                                                    \
    "INSERT INTO orders (id, account_id, status, channel, subtotal, total, created_at)"                                \
    " SELECT MAX(id) - 1, 1, 'pending', 'api', 1, 1, 1 FROM orders WHERE id - 1 NOT IN (SELECT id FROM orders)"

/* What may happen between two slices. The next write notices what others have done. */
static void happen(int what)
{
    static const char *const elsewhere_there[] = {
        ADD_BETWEEN,
        "UPDATE orders SET account_id = 1 WHERE id = (SELECT MAX(id) FROM orders WHERE account_id > 40)",
        "DELETE FROM orders WHERE id = (SELECT MAX(id) FROM orders WHERE account_id = 2)",
    };
    if (what < 3) elsewhere(elsewhere_there[what]);
    if (what == 3) assert_int_equal(store_tx(TX_WRITE, slice_and_fail), ERR_CONFLICT);
    if (what == 4) store_reopen();
    if (what < 3 || what == 5) assert_int_equal(store_tx(TX_WRITE, add_some), OK);
}

static void test_a_batch_in_slices(void **state)
{
    (void)state;
    start(11);
#ifdef WITH_TSAN
    enum { NEXT = 5 }; /* no thread meets another here: some of each kind */
#else
    enum { NEXT = 1 };
#endif
    for (int what = 0; what < 14; what += NEXT) {
        int slices = 0;
        elsewhere(what % 2 ? MANY_OF("5000") : MANY_OF("50"));
        assert_int_equal(store_tx(TX_WRITE, add_some), OK); /* memory is read again */
        for (int step = 0; test_number(store.d, "SELECT up_to < (SELECT MAX(id) FROM orders) FROM filing"
                                                " WHERE list = 'orders'");
             step++) {
            assert_true(step < 30);
            assert_int_equal(store_tx(TX_READ, file_any), OK);
            slices += is_in_slices();
            if (step < 4) happen(what / 2);
            assert_int_equal(store_tx(TX_READ, wide_are_right), OK);
            if (step == 1) assert_int_equal(complaints(), 0);
            arena_done(&store_arena);
        }
        assert_int_equal(complaints(), 0);
        assert_true(slices > 1);
    }
}

#define FEW_BEHIND_MANY                                                                                                \
    MANY " INSERT INTO orders (id, account_id, status, channel, subtotal, total, created_at)"                          \
         " SELECT 1000000 + i, 1 + i * 7919 % 5000, 'pending', 'api', 1, 1, 1 FROM n WHERE i <= 3000;"                 \
         "UPDATE filing SET up_to = 1000000 WHERE list = 'orders'"

/* Of many owners in a long list, few rows take as long as many: each has a page to itself. */
static void test_few_rows_of_many_owners_in_slices(void **state)
{
    (void)state;
    start(13);
    elsewhere(FEW_BEHIND_MANY);
    int slices = 0;
    for (; mark() < 1003000; slices++) {
        assert_true(slices < 30);
        assert_int_equal(store_tx(TX_READ, file_any), OK);
        assert_int_equal(store_tx(TX_READ, wide_are_right), OK);
    }
    assert_true(slices > 2);
    assert_int_equal(complaints(), 0);
}

static enum err file_if_worth_it(struct db *db)
{
    return filing_step(db, FILING_WORTH);
}

/* What happens while a reader stays in its snapshot: everything is filed, and memory forgets the rows that were. */
static void *go_on(void *arg)
{
    static const struct {
        enum tx_mode mode;
        store_body body;
    } steps[] = {{TX_WRITE, filing_open}, {TX_WRITE, add_some}, {TX_READ, two_are_right}};
    for (size_t i = 0; i < 6; i++) {
        store_body body = steps[i % 3].body;
        if (i % 3 == 0) add_many();
        if (tx_call(store.d, steps[i % 3].mode, store_run, &body, arg) != OK) return arg;
    }
    return NULL;
}

static enum err read_beside(struct db *db, void *(*what)(void *arena))
{
    struct arena a = {0};
    pthread_t thread;
    void *failed;
    assert_int_equal(all_are_right(db), OK);
    assert_int_equal(pthread_create(&thread, NULL, what, &a), 0);
    assert_int_equal(pthread_join(thread, &failed), 0);
    arena_done(&a);
    assert_null(failed);
    return all_are_right(db);
}

static enum err read_while_all_goes_on(struct db *db)
{
    return read_beside(db, go_on);
}

static void test_a_snapshot_that_is_older_than_memory(void **state)
{
    (void)state;
    start(8);
    assert_int_equal(store_tx(TX_WRITE, add_some), OK);
    assert_int_equal(store_tx(TX_WRITE, filing_open), OK);
    assert_int_equal(store_tx(TX_WRITE, add_some), OK);
    assert_int_equal(store_tx(TX_READ, read_while_all_goes_on), OK);
    assert_int_equal(store_tx(TX_READ, two_are_right), OK);
}

static void *change_and_write(void *arg)
{
    store_body body = add_some;
    elsewhere("UPDATE orders SET account_id = 1 + account_id % 3");
    return tx_call(store.d, TX_WRITE, store_run, &body, arg) == OK ? NULL : arg;
}

static enum err read_after_a_change(struct db *db)
{
    return read_beside(db, change_and_write);
}

/* A reader whose snapshot is older than another program's change must not hand what it sees to those that come later.
 */
static void test_a_snapshot_that_is_older_than_a_change(void **state)
{
    (void)state;
    start(10);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(store_tx(TX_WRITE, add_some), OK);
        assert_int_equal(store_tx(TX_READ, read_after_a_change), OK);
        assert_int_equal(store_tx(TX_READ, all_are_right), OK);
    }
}

/* More than memory holds, or so it looks: they are read from the table. */
static void test_ids_far_apart(void **state)
{
    (void)state;
    start(3);
    assert_int_equal(store_tx(TX_WRITE, add_some), OK);
    elsewhere("UPDATE orders SET id = id * 1000000");
    assert_int_equal(store_tx(TX_WRITE, add_some), OK);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(store_tx(TX_READ, all_are_right), OK);
        assert_int_equal(store_tx(TX_READ, follow_only), OK);
    }
    assert_int_equal(store_tx(TX_READ, file_if_worth_it), OK); /* one step is enough for them */
    assert_int_equal(store_tx(TX_READ, all_are_right), OK);
    assert_int_equal(
        test_number(store.d, "SELECT up_to - (SELECT MAX(id) FROM orders) FROM filing WHERE list = 'orders'"), 0);
}

static enum err list_on_loop(struct tx_job *job, struct db *db)
{
    (void)job;
    Str ids;
    enum err e = filing_page(db, FILING_ORDERS, ada, (Id){ID_MAX}, ALL, &ids);
    return e ? e : two_are_right(db);
}

static enum err loop_ended;

static void note_end(struct tx_job *job, enum err e)
{
    (void)job;
    loop_ended = e;
}

/* So many that it would take long to look through them: not on a loop's thread, where they are read into memory bit by
 * bit. */
static void test_many_rows_on_a_loop(void **state)
{
    (void)state;
    struct test_port port;
    int away = 0;
    start(12);
    for (int i = 0; i < 3; i++) add_many();
    test_port_open(&port, store.d);
    for (loop_ended = ERR_RUN_ALONE; loop_ended == ERR_RUN_ALONE; away++) {
        struct tx_job job = {.mode = TX_READ, .run = list_on_loop, .done = note_end, .arena = &store_arena};
        if (away == 1) assert_int_equal(store_tx(TX_READ, two_are_right), OK);
        assert_true(away < 10);
        tx_submit(port.port, &job);
        tx_port_pass(port.port);
    }
    assert_int_equal(loop_ended, OK);
    assert_true(away > 1);
    test_port_close(&port);
}

static void test_few_rows_wait(void **state)
{
    (void)state;
    start(4);
    assert_int_equal(store_tx(TX_WRITE, add_some), OK);
    assert_int_equal(store_tx(TX_READ, file_if_worth_it), OK);
    assert_int_equal(store_tx(TX_WRITE, file_if_worth_it), OK);
    assert_int_equal(test_number(store.d, "SELECT COUNT(*) FROM orders_filed"), 0);
    assert_int_equal(store_tx(TX_READ, file_any), OK);
}

/* Threads that list while rows are added and filed, and another program commits. */
#define LISTERS 3

static _Atomic bool is_over;

struct lister {
    pthread_t thread;
    struct arena arena;
    int64_t n, wrong;
};

static enum err list_one(void *arg, struct db *db)
{
    struct lister *l = arg;
    if (!is_right(db, owners[l->n % OWNERS], l->n % 3 ? ID_MAX : 1 + l->n % 300, 1 + l->n % 50)) l->wrong++;
    return OK;
}

static void *list_all_the_time(void *arg)
{
    struct lister *l = arg;
    for (; !atomic_load(&is_over); l->n++) {
        if (tx_call(store.d, TX_READ, list_one, l, &l->arena) != OK) l->wrong++;
        arena_done(&l->arena);
    }
    return NULL;
}

static void test_lists_beside_the_writer(void **state)
{
    (void)state;
    struct lister listers[LISTERS] = {0};
    start(5);
    atomic_store(&is_over, false);
    for (int i = 0; i < LISTERS; i++)
        assert_int_equal(pthread_create(&listers[i].thread, NULL, list_all_the_time, &listers[i]), 0);
    for (int round = 0; round < 200; round++) {
        assert_int_equal(store_tx(TX_WRITE, draw(5) ? add_some : add_some_and_fail) == ERR_INTERNAL, false);
        if (round % 7 == 0) assert_int_equal(store_tx(TX_WRITE, file_some), OK);
        if (round % 50 == 0) elsewhere("UPDATE revision SET number = number");
        arena_done(&store_arena);
    }
    atomic_store(&is_over, true);
    for (int i = 0; i < LISTERS; i++) {
        pthread_join(listers[i].thread, NULL);
        assert_true(listers[i].n > 0);
        assert_int_equal(listers[i].wrong, 0);
    }
}

#define MARK_TOO_HIGH ADD_ORDERS " VALUES (1, 'pending', 'api', 1, 1, 1); UPDATE filing SET up_to = up_to + 1"

/* As an operator would find it who has changed rows by hand. */
static void test_check_finds_what_is_filed_wrongly(void **state)
{
    (void)state;
    static const char *const wrong[] = {
        "DELETE FROM orders_filed WHERE id = 2",
        "INSERT INTO orders_filed (account_id, id) VALUES (2, 1)",
        "INSERT INTO orders_filed (account_id, id) VALUES (2, 99)",
        MARK_TOO_HIGH,
    };
    start(6);
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        elsewhere(
            "DELETE FROM orders; DELETE FROM orders_filed; UPDATE filing SET up_to = 0;" ADD_ORDERS
            " VALUES (1, 'pending', 'api', 1, 1, 1), (1, 'pending', 'api', 1, 1, 1), (2, 'pending', 'api', 1, 1, 1)");
        assert_int_equal(store_tx(TX_WRITE, filing_open), OK);
        assert_int_equal(complaints(), 0);
        elsewhere(wrong[i]);
        assert_int_equal(complaints(), 1);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_pages_are_those_of_the_table, store_open_sqlite, store_close),
        cmocka_unit_test_setup_teardown(test_an_id_that_is_given_again, store_open_sqlite, store_close),
        cmocka_unit_test_setup_teardown(test_all_are_filed_before_a_server_begins, store_open_sqlite, store_close),
        cmocka_unit_test_setup_teardown(test_many_rows_are_filed_in_turn, store_open_sqlite, store_close),
        cmocka_unit_test_setup_teardown(test_a_batch_in_slices, store_open_sqlite, store_close),
        cmocka_unit_test_setup_teardown(test_few_rows_of_many_owners_in_slices, store_open_sqlite, store_close),
        cmocka_unit_test_setup_teardown(test_a_snapshot_that_is_older_than_memory, store_open_sqlite, store_close),
        cmocka_unit_test_setup_teardown(test_a_snapshot_that_is_older_than_a_change, store_open_sqlite, store_close),
        cmocka_unit_test_setup_teardown(test_ids_far_apart, store_open_sqlite, store_close),
        cmocka_unit_test_setup_teardown(test_many_rows_on_a_loop, store_open_sqlite, store_close),
        cmocka_unit_test_setup_teardown(test_few_rows_wait, store_open_sqlite, store_close),
        cmocka_unit_test_setup_teardown(test_lists_beside_the_writer, store_open_sqlite, store_close),
        cmocka_unit_test_setup_teardown(test_check_finds_what_is_filed_wrongly, store_open_sqlite, store_close),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
