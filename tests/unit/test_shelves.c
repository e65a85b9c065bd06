/* What threads keep in common: found as it was put, by its whole key, and never half of it. */
#include "database.h"

#include <pthread.h>

#include "base/shelves.h"

#define PLACES 3
#define WORDS 12

struct entry {
    uint64_t key[2];
    uint64_t body[WORDS];
};
SHELVES(shelves, struct entry, 4, PLACES);

static void put(size_t shelf, size_t place, uint64_t low, uint64_t high, uint64_t body)
{
    struct entry e = {.key = {low, high}};
    for (size_t i = 0; i < WORDS; i++) e.body[i] = body;
    shelves_lock(&shelves, shelf);
    shelves_put(&shelves, shelf, place, &e);
    shelves_unlock(&shelves, shelf);
}

/* What the entry says, 0 if there is none; all its words say the same. */
static uint64_t find(size_t shelf, uint64_t low, uint64_t high)
{
    const uint64_t key[2] = {low, high};
    struct entry e = {0};
    if (!shelves_find(&shelves, shelf, key, &e)) return 0;
    check(e.key[0] == low && e.key[1] == high);
    for (size_t i = 1; i < WORDS; i++) check(e.body[i] == e.body[0]);
    return e.body[0];
}

static void test_entries(void **state)
{
    (void)state;
    assert_int_equal(find(1, 5, 6), 0);
    put(1, 0, 5, 6, 50);
    put(1, 2, 5, 7, 51);
    put(2, 1, 5, 6, 52);
    assert_int_equal(find(1, 5, 6), 50);
    assert_int_equal(find(1, 5, 7), 51);
    assert_int_equal(find(2, 5, 6), 52);
    assert_int_equal(find(0, 5, 6), 0);
    assert_int_equal(find(1, 6, 6), 0);
    assert_int_equal(find(1, 5, 8), 0);
    put(1, 0, 8, 9, 53);
    assert_int_equal(find(1, 5, 6), 0);
    assert_int_equal(find(1, 8, 9), 53);
    struct entry e;
    shelves_look(&shelves, 1, 2, &e);
    assert_true(e.key[1] == 7 && e.body[WORDS - 1] == 51);
    shelves_look(&shelves, 1, 1, &e);
    assert_true(e.key[0] == 0 && e.body[0] == 0);
}

/* While it is being changed, nothing is found on a shelf; beside it, everything is. */
static void test_a_shelf_that_is_being_changed(void **state)
{
    (void)state;
    put(0, 0, 1, 1, 7);
    put(3, 0, 1, 1, 8);
    atomic_fetch_add(shelf_at(&shelves, 0), 1);
    assert_int_equal(find(0, 1, 1), 0);
    assert_int_equal(find(3, 1, 1), 8);
    atomic_fetch_add(shelf_at(&shelves, 0), 1);
    assert_int_equal(find(0, 1, 1), 7);
}

#define CHANGES 200000

/* Keys go from place to place, and what belongs to them changes. */
static void *change(void *arg)
{
    uint64_t from = *(const uint64_t *)arg;
    for (uint64_t n = 1; n <= CHANGES; n++) put(2, (from + n) % PLACES, 100 + n % 2, 0, (from + n) * 2 + n % 2);
    return NULL;
}

static _Atomic bool is_over;

static void *look(void *arg)
{
    int64_t *found = arg;
    for (uint64_t n = 0; !atomic_load(&is_over) || n < 1000; n++) {
        uint64_t body = find(2, 100 + n % 2, 0);
        if (!body) continue;
        check(body % 2 == n % 2); /* of this key */
        ++*found;
    }
    return NULL;
}

static void test_nobody_gets_half_an_entry(void **state)
{
    (void)state;
    pthread_t writers[2], readers[2];
    uint64_t from[2] = {0, UINT64_C(1) << 40};
    int64_t found[2] = {0, 0};
    atomic_store(&is_over, false);
    for (int i = 0; i < 2; i++) assert_int_equal(pthread_create(&readers[i], NULL, look, &found[i]), 0);
    for (int i = 0; i < 2; i++) assert_int_equal(pthread_create(&writers[i], NULL, change, &from[i]), 0);
    for (int i = 0; i < 2; i++) pthread_join(writers[i], NULL);
    atomic_store(&is_over, true);
    for (int i = 0; i < 2; i++) {
        pthread_join(readers[i], NULL);
        assert_true(found[i] > 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_entries),
        cmocka_unit_test(test_a_shelf_that_is_being_changed),
        cmocka_unit_test(test_nobody_gets_half_an_entry),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
