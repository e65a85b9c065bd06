/* Licences in memory: what is kept, what is given back, who makes room for whom. */
#include "database.h"
#include "domain/license_cache.h"

static struct test_database t;
static struct test_port port;

static int open_it(void **state)
{
    (void)state;
    test_database_open(&t, true, (struct database_options){.watched = LICENSE_TABLE});
    test_port_open(&port, t.d);
    return test_script(t.d, "CREATE TABLE license (id INTEGER PRIMARY KEY, n INTEGER);"
                            "INSERT INTO license VALUES (1, 0), (2, 0), (3, 0), (4, 0), (5, 0);") != OK;
}

static int close_it(void **state)
{
    (void)state;
    test_port_close(&port);
    test_database_close(&t);
    return 0;
}

/* A function that runs in a read of a loop. */
struct turn {
    struct tx_job job;
    void (*fn)(struct db *db);
    struct arena arena;
    bool told;
};

static enum err turn_run(struct tx_job *job, struct db *db)
{
    ((struct turn *)job)->fn(db);
    return OK;
}

static void turn_done(struct tx_job *job, enum err e)
{
    check(e == OK);
    ((struct turn *)job)->told = true;
}

static void in_read(void (*fn)(struct db *db))
{
    struct turn turn = {.job = {.mode = TX_READ, .run = turn_run, .done = turn_done}, .fn = fn};
    turn.job.arena = &turn.arena;
    tx_submit(port.port, &turn.job);
    tx_port_pass(port.port);
    assert_true(turn.told);
    arena_done(&turn.arena);
}

/* The shelf, then what is different on it. */
struct hash {
    uint8_t bytes[VAULT_NAME_BYTES];
};

static struct hash hash_of(unsigned shelf, unsigned which)
{
    struct hash h = {{(uint8_t)(shelf >> 8), (uint8_t)shelf, (uint8_t)which, (uint8_t)(which >> 8)}};
    return h;
}

static bool keep(struct db *db, struct hash h, int64_t id, Str hardware_id)
{
    struct license_facts f = {{id}, {id + 100}, {id + 200}, id % 2, {id + 300}, hardware_id}, found;
    license_cache_keep(db, h.bytes, &f);
    if (!license_cache_find(db, h.bytes, &found)) return false;
    check(found.id.v == id && found.product_id.v == id + 100 && found.account_id.v == id + 200);
    check(found.is_good == (id % 2) && found.expires_at.ms == id + 300 && str_eq(found.hardware_id, hardware_id));
    return true;
}

static bool is_kept(struct db *db, struct hash h, int64_t id)
{
    struct license_facts found;
    if (!license_cache_find(db, h.bytes, &found)) return false;
    check(found.id.v == id);
    return true;
}

static void keep_and_find(struct db *db)
{
    static const char longest[LICENSE_CACHE_HARDWARE_MAX + 1] = {0};
    check(!is_kept(db, hash_of(1, 1), 1));
    check(keep(db, hash_of(1, 1), 1, STR("machine")));
    check(keep(db, hash_of(1, 2), 2, (Str){0}));
    check(!is_kept(db, hash_of(1, 3), 3));
    check(keep(db, hash_of(2, 1), 3, (Str){longest, LICENSE_CACHE_HARDWARE_MAX}));
    check(!keep(db, hash_of(2, 2), 4, (Str){longest, LICENSE_CACHE_HARDWARE_MAX + 1}));
    check(keep(db, hash_of(1, 1), 5, STR("another"))); /* the same key, another row */
    check(is_kept(db, hash_of(1, 2), 2));
}

static void test_kept(void **state)
{
    (void)state;
    in_read(keep_and_find);
}

/* More than fit on a shelf: the last is always kept, and nobody gets another's row. */
static void fill_shelf(struct db *db)
{
    for (unsigned i = 0; i < 20; i++) {
        check(keep(db, hash_of(7, i), i + 1, STR("x")));
        int kept = 0;
        for (unsigned k = 0; k <= i; k++) kept += is_kept(db, hash_of(7, k), k + 1);
        check(kept == (i < 7 ? (int)i + 1 : 7));
    }
}

static void test_full_shelf(void **state)
{
    (void)state;
    in_read(fill_shelf);
}

/* More than fit into the table. */
static void fill_table(struct db *db)
{
    unsigned kept = 0;
    for (unsigned i = 0; i < LICENSE_CACHE_ROWS + 1000; i++) check(keep(db, hash_of(i, i / 4096), i + 1, (Str){0}));
    for (unsigned i = 0; i < LICENSE_CACHE_ROWS + 1000; i++) kept += is_kept(db, hash_of(i, i / 4096), i + 1);
    check(kept == LICENSE_CACHE_ROWS);
}

static void test_full_table(void **state)
{
    (void)state;
    in_read(fill_table);
}

static void keep_four(struct db *db)
{
    for (unsigned i = 0; i < 4; i++) check(keep(db, hash_of(9, i), i + 1, (Str){0}));
}

/* The third row has changed, and its place is the next to be taken. */
static void take_place(struct db *db)
{
    check(!is_kept(db, hash_of(9, 2), 3));
    check(keep(db, hash_of(9, 5), 5, (Str){0}));
    for (unsigned i = 0; i < 4; i++) check(is_kept(db, hash_of(9, i), i + 1) == (i != 2));
}

static void test_changed(void **state)
{
    (void)state;
    in_read(keep_four);
    assert_int_equal(test_write(t.d, "UPDATE license SET n = 1 WHERE id = 3"), OK);
    in_read(take_place);
}

static enum err find_in_write(void *arg, struct db *db)
{
    (void)arg;
    check(!is_kept(db, hash_of(9, 0), 1) && !keep(db, hash_of(9, 0), 1, (Str){0}));
    return OK;
}

static void find_none(struct db *db)
{
    for (unsigned i = 0; i < 4; i++) check(!is_kept(db, hash_of(9, i), i + 1));
}

/* Not while writing, and not in another database. */
static void test_elsewhere(void **state)
{
    (void)state;
    in_read(keep_four);
    assert_int_equal(tx_call(t.d, TX_WRITE, find_in_write, NULL, NULL), OK);
    close_it(NULL);
    assert_int_equal(open_it(NULL), 0);
    in_read(find_none);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_kept, open_it, close_it),
        cmocka_unit_test_setup_teardown(test_full_shelf, open_it, close_it),
        cmocka_unit_test_setup_teardown(test_full_table, open_it, close_it),
        cmocka_unit_test_setup_teardown(test_changed, open_it, close_it),
        cmocka_unit_test_setup_teardown(test_elsewhere, open_it, close_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
