/* Pools of serial codes, on both engines: each code is taken once, by one, and the catalogue hears of an empty pool. */
#include "store.h"

#include <pthread.h>

#include "domain/product.h"
#include "domain/sealed_code.h"
#include "domain/serial.h"
#include "domain/serial_hint.h"
#include "unit.h"

static const Time now = {1000000};
static Id product, small, large; /* a product of codes and its two variants */

static enum err setup(struct db *db)
{
    struct product p = {.name = STR("Codes"), .delivery_type = DELIVERY_SERIAL_CODE, .is_active = true}, made;
    struct variant v = {.name = STR("Small"), .is_active = true}, made_variant;
    assert_err(product_create(db, &p, now, &made), OK);
    product = made.id;
    assert_err(variant_create(db, product, &v, now, &made_variant), OK);
    small = made_variant.id;
    v.name = STR("Large");
    assert_err(variant_create(db, product, &v, now, &made_variant), OK);
    large = made_variant.id;
    return OK;
}

static int open_sqlite(void **state)
{
    return store_open_sqlite(state) || store_tx(TX_WRITE, setup) != OK;
}

static int open_postgres(void **state)
{
    return store_open_postgres(state) || store_tx(TX_WRITE, setup) != OK;
}

static int64_t add(struct db *db, Id variant, const Str *codes, size_t count, int64_t *ret_duplicates)
{
    int64_t added = -1, duplicates = -1;
    assert_err(serial_import(db, product, variant, codes, count, &added, &duplicates), OK);
    if (ret_duplicates) *ret_duplicates = duplicates;
    return added;
}

static int64_t revision(struct db *db)
{
    int64_t n = -1;
    assert_err(catalog_revision(db, &n), OK);
    return n;
}

static bool in_stock(struct db *db, Id variant)
{
    struct product *list;
    size_t count;
    assert_err(catalog_list(db, &list, &count), OK);
    assert_int_equal(count, 1);
    for (size_t i = 0; i < list[0].variant_count; i++)
        if (id_eq(list[0].variants[i].id, variant)) return list[0].variants[i].in_stock;
    fail_msg("no such variant");
    return false;
}

static void take(struct db *db, Id variant, const char *want)
{
    Id id = {0};
    Str code = {0};
    assert_err(serial_take(db, product, variant, (Id){77}, now, &id, &code), OK);
    assert_true(id_is(id));
    assert_str(code, want);
}

static enum err order_of_pools(struct db *db)
{
    const Str own[] = {S("own-1"), S("own-2")}, shared[] = {S("shared-1"), S("shared-2")};
    assert_int_equal(add(db, small, own, 2, NULL), 2);
    assert_true(in_stock(db, small) && !in_stock(db, large));
    assert_int_equal(add(db, (Id){0}, shared, 2, NULL), 2);
    assert_true(in_stock(db, small) && in_stock(db, large));

    take(db, small, "own-1");
    take(db, large, "shared-1"); /* never what belongs to another variant */
    int64_t before = revision(db);
    take(db, small, "own-2");
    assert_true(revision(db) > before); /* its own pool is empty now */
    assert_true(in_stock(db, small));   /* by the shared one */
    before = revision(db);
    take(db, small, "shared-2");
    assert_true(revision(db) > before);
    assert_false(in_stock(db, small) || in_stock(db, large));
    Id id = {5};
    Str code = STR("untouched");
    assert_err(serial_take(db, product, small, (Id){78}, now, &id, &code), ERR_OUT_OF_STOCK);
    assert_err(serial_take(db, product, large, (Id){78}, now, &id, &code), ERR_OUT_OF_STOCK);
    assert_true(id.v == 5 && str_eq(code, STR("untouched")));
    return OK;
}

static void test_order_of_pools(void **state)
{
    (void)state;
    assert_err(store_tx(TX_WRITE, order_of_pools), OK);
    assert_int_equal(test_number(store.d, "SELECT COUNT(*) FROM serial WHERE taken_by = 77 AND taken_at = 1000000"), 4);
}

static enum err many_at_once(struct db *db)
{
    const Str own[] = {S("o1"), S("o2")}, shared[] = {S("s1"), S("s2"), S("s3")};
    add(db, small, own, 2, NULL);
    add(db, (Id){0}, shared, 3, NULL);
    struct serial got[4];
    assert_err(serial_take_many(db, product, small, (Id){9}, 4, now, got), OK);
    assert_str(got[0].code, "o1");
    assert_str(got[1].code, "o2");
    assert_str(got[2].code, "s1");
    assert_str(got[3].code, "s2");
    return serial_take_many(db, product, small, (Id){9}, 2, now, got); /* one is left */
}

static void test_many_at_once(void **state)
{
    (void)state;
    assert_err(store_tx(TX_WRITE, many_at_once), ERR_OUT_OF_STOCK);
    assert_int_equal(test_number(store.d, "SELECT COUNT(*) FROM serial"), 0); /* all of it was rolled back */
}

static enum err imports(struct db *db)
{
    enum { MANY = 321 };
    Str codes[MANY];
    for (int i = 0; i < MANY; i++) codes[i] = str_printf(&store_arena, "code-%d", i % 300);
    int64_t duplicates, before = revision(db);
    assert_int_equal(add(db, (Id){0}, codes, MANY, &duplicates), 300);
    assert_int_equal(duplicates, 21);
    assert_true(revision(db) > before);
    before = revision(db);
    assert_int_equal(add(db, small, codes, MANY, &duplicates), 0); /* a code is the product's once, whatever the pool */
    assert_int_equal(duplicates, MANY);
    assert_true(revision(db) == before);
    assert_int_equal(add(db, (Id){0}, codes, 0, &duplicates), 0);

    int64_t n;
    assert_err(serial_import(db, (Id){4711}, (Id){0}, codes, 1, &n, &n), ERR_NOT_FOUND);
    assert_err(serial_import(db, product, (Id){4711}, codes, 1, &n, &n), ERR_NOT_FOUND);
    struct product p = {.name = STR("Keys"), .delivery_type = DELIVERY_LICENSE_KEY}, keys;
    assert_err(product_create(db, &p, now, &keys), OK);
    assert_err(serial_import(db, keys.id, (Id){0}, codes, 1, &n, &n), ERR_INVALID_STATE);
    assert_err(serial_import(db, keys.id, small, codes, 1, &n, &n), ERR_NOT_FOUND); /* another product's variant */
    return OK;
}

static void test_imports(void **state)
{
    (void)state;
    assert_err(store_tx(TX_WRITE, imports), OK);
}

static enum err counts(struct db *db)
{
    const Str own[] = {S("o1"), S("o2")}, shared[] = {S("s1-0123456789"), S("s2-0123456789"), S("s3-0123456789")};
    add(db, small, own, 2, NULL);
    add(db, (Id){0}, shared, 3, NULL);
    struct serial got[3];
    assert_err(serial_take_many(db, product, small, (Id){9}, 3, now, got), OK);
    assert_err(serial_take_many(db, product, large, (Id){10}, 1, now, got), OK);
    assert_err(serial_mark_refunded(db, (Id){10}), OK);

    struct serial_pool *pools;
    size_t n;
    assert_err(serial_pools(db, product, &pools, &n), OK);
    assert_int_equal(n, 3);
    assert_true(pools[0].variant_id.v == 0 && pools[0].free == 1 && pools[0].taken == 2 && pools[0].refunded == 1);
    assert_true(id_eq(pools[1].variant_id, small) && pools[1].free == 0 && pools[1].taken == 2);
    assert_true(id_eq(pools[2].variant_id, large) && pools[2].free == 0 && pools[2].taken == 0);
    assert_str(pools[2].variant_name, "Large");

    struct serial_shortage *short_of;
    assert_err(serial_shortages(db, 0, &short_of, &n), OK);
    assert_int_equal(n, 0);
    assert_err(serial_shortages(db, 1, &short_of, &n), OK);
    assert_int_equal(n, 2); /* both live on the last shared one */
    assert_true(short_of[0].free == 1 && id_eq(short_of[0].product_id, product) &&
                id_eq(short_of[0].variant_id, small));
    assert_str(short_of[0].product_name, "Codes");

    struct serial_row *rows;
    assert_err(serial_list(db, product, (Id){0}, 2, &rows, &n), OK);
    assert_int_equal(n, 2);
    assert_str(rows[0].code, "s3-0123456789");
    assert_true(!id_is(rows[0].order_item) && !rows[0].is_refunded && rows[0].taken_at.ms == 0);
    assert_str(rows[1].code, "s2-0123456789");
    assert_true(rows[1].order_item.v == 10 && rows[1].is_refunded && rows[1].taken_at.ms == now.ms);
    assert_err(serial_list(db, product, rows[1].id, 10, &rows, &n), OK);
    assert_int_equal(n, 3);
    return OK;
}

static void test_counts(void **state)
{
    (void)state;
    assert_err(store_tx(TX_WRITE, counts), OK);
}

static void test_masks(void **state)
{
    (void)state;
    struct arena a = {0};
    assert_str(code_mask(&a, STR("ABCD-EFGH-IJKL")), "**********IJKL");
    assert_str(code_mask(&a, STR("12345678901")), "***********");
    assert_str(code_mask(&a, STR("")), "");
    assert_str(code_mask(&a, STR("ääääääääääöüÄÖ")), "**********öüÄÖ");
    assert_true(serial_code_is_valid(STR("a")) && serial_code_is_valid(STR("ключ 1")));
    assert_false(serial_code_is_valid(STR("")) || serial_code_is_valid(STR("a\tb")) ||
                 serial_code_is_valid(STR("\xff")));
    arena_done(&a);
}

#define TAKERS 8
#define CODES 150

struct taker {
    pthread_t thread;
    Id variant, item;
    int64_t taken[CODES];
    size_t count;
    bool rolls_back; /* every other of its takes */
    int other;
};

static Str race_codes[CODES];

static enum err fill(struct db *db)
{
    for (int i = 0; i < CODES; i++) race_codes[i] = str_printf(&store_arena, "race-%d", i);
    add(db, small, race_codes, CODES / 3, NULL);
    add(db, (Id){0}, race_codes + CODES / 3, CODES - CODES / 3, NULL);
    return OK;
}

static enum err take_one(void *arg, struct db *db)
{
    struct taker *t = arg;
    Id id;
    Str code;
    enum err e = serial_take(db, product, t->variant, t->item, now, &id, &code);
    if (e) return e;
    if (t->rolls_back && id.v % 2) {
        t->rolls_back = false; /* so that it comes to an end */
        return ERR_ROLLED_BACK;
    }
    t->taken[t->count] = id.v;
    return OK;
}

static void *taker(void *arg)
{
    struct taker *t = arg;
    for (;;) {
        struct arena a = {0};
        enum err e = tx_call(store.d, TX_WRITE, take_one, t, &a);
        arena_done(&a);
        if (e == ERR_OUT_OF_STOCK) return NULL;
        if (e == OK)
            t->count++;
        else if (e != ERR_ROLLED_BACK)
            t->other++;
        if (t->other > 3) return NULL;
    }
}

/* Eight take from the pools until they are told that nothing is left: by then all is taken, and nothing twice. */
static void test_race(void **state)
{
    (void)state;
    assert_err(store_tx(TX_WRITE, fill), OK);
    static struct taker takers[TAKERS];
    memset(takers, 0, sizeof takers);
    for (int i = 0; i < TAKERS; i++) {
        takers[i].variant = small;
        takers[i].item = (Id){i + 1};
        takers[i].rolls_back = i % 2;
        assert_int_equal(pthread_create(&takers[i].thread, NULL, taker, &takers[i]), 0);
    }
    size_t sum = 0;
    int64_t ids = 0;
    for (int i = 0; i < TAKERS; i++) {
        pthread_join(takers[i].thread, NULL);
        assert_int_equal(takers[i].other, 0);
        sum += takers[i].count;
        for (size_t n = 0; n < takers[i].count; n++) ids += takers[i].taken[n];
    }
    assert_int_equal(sum, CODES);
    assert_int_equal(test_number(store.d, "SELECT COUNT(*) FROM serial WHERE taken_by IS NOT NULL"), CODES);
    assert_int_equal(test_number(store.d, "SELECT CAST(SUM(id) AS BIGINT) FROM serial"), ids);
}

/* A transaction holds the last code and rolls back: a taker that comes in between waits for that, and gets it. */
struct held {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    bool is_taken;
};
static struct held held = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, false};

static enum err take_and_give_back(void *arg, struct db *db)
{
    (void)arg;
    Id id;
    Str code;
    enum err e = serial_take(db, product, (Id){0}, (Id){1}, now, &id, &code);
    pthread_mutex_lock(&held.lock);
    held.is_taken = true;
    pthread_cond_signal(&held.changed);
    pthread_mutex_unlock(&held.lock);
    usleep(300 * 1000);
    return e ? e : ERR_ROLLED_BACK;
}

static void *hold_and_give_back(void *arg)
{
    struct arena a = {0};
    *(enum err *)arg = tx_call(store.d, TX_WRITE, take_and_give_back, NULL, &a);
    arena_done(&a);
    return NULL;
}

static enum err add_one(struct db *db)
{
    const Str last = STR("the last one");
    add(db, (Id){0}, &last, 1, NULL);
    return OK;
}

static enum err take_last(struct db *db)
{
    take(db, (Id){0}, "the last one");
    return OK;
}

static void test_waits_for_rollback(void **state)
{
    (void)state;
    pthread_t other;
    enum err e = OK;
    held.is_taken = false;
    assert_err(store_tx(TX_WRITE, add_one), OK);
    assert_int_equal(pthread_create(&other, NULL, hold_and_give_back, &e), 0);
    pthread_mutex_lock(&held.lock);
    while (!held.is_taken) pthread_cond_wait(&held.changed, &held.lock);
    pthread_mutex_unlock(&held.lock);
    assert_err(store_tx(TX_WRITE, take_last), OK);
    pthread_join(other, NULL);
    assert_err(e, ERR_ROLLED_BACK);
}

/* Two pools whose hints would be kept in one place: the later takes it, and what the earlier finds changes nothing. */
static void test_hints_in_one_place(void **state)
{
    (void)state;
    const Id shop = {INT64_C(77777777777)}, none = {0};
    serial_hint(shop, none, now);
    serial_hint_note(shop, none, none, (Id){5});
    assert_int_equal(serial_hint_peek(shop, none).v, 5);
    Id variant = {0};
    while (serial_hint_peek(shop, none).v == 5) {
        variant.v++;
        assert_true(variant.v < 100000);
        serial_hint(shop, variant, now);
    }
    assert_int_equal(serial_hint_peek(shop, none).v, 0);
    serial_hint_note(shop, none, none, (Id){6});
    assert_int_equal(serial_hint_peek(shop, none).v, 0);
    assert_int_equal(serial_hint_peek(shop, variant).v, 0);
    serial_hint_note(shop, variant, none, (Id){7});
    assert_int_equal(serial_hint_peek(shop, variant).v, 7);
    serial_hint_forget(shop);
}

#define ON_BOTH_WITH_CODES(f)                                                                                          \
    {"sqlite " #f, f, open_sqlite, store_close, NULL},                                                                 \
    {                                                                                                                  \
        "postgres " #f, f, open_postgres, store_close, NULL                                                            \
    }

int main(void)
{
    const struct CMUnitTest tests[] = {
        {"sqlite test_masks", test_masks},       {"sqlite test_hints_in_one_place", test_hints_in_one_place},
        ON_BOTH_WITH_CODES(test_order_of_pools), ON_BOTH_WITH_CODES(test_many_at_once),
        ON_BOTH_WITH_CODES(test_imports),        ON_BOTH_WITH_CODES(test_counts),
        ON_BOTH_WITH_CODES(test_race),           ON_BOTH_WITH_CODES(test_waits_for_rollback),
    };
    if (!test_postgres()) cmocka_set_test_filter("sqlite *");
    return cmocka_run_group_tests(tests, NULL, NULL);
}
