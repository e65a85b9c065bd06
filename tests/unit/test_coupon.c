/* Coupons: what a code looks like, what is taken off, who may use one and how often. The last on both engines, with
 * many at once. */
#include "store.h"

#include <pthread.h>

#include "domain/coupon.h"
#include "domain/product.h"
#include "unit.h"

static const Time now = {1000000};

/* As an order does. */
static enum err redeem(struct db *db, const struct coupon *c, Id account, Id order, Time at)
{
    enum err e = coupon_redeem(db, c, account);
    return e ? e : coupon_record(db, c, account, order, at);
}

static void test_codes(void **state)
{
    (void)state;
    static const struct {
        const char *given, *want; /* NULL: no coupon can have it */
    } cases[] = {
        {"WELCOME", "WELCOME"},
        {"welcome10", "WELCOME10"},
        {" a-B_9\n", "A-B_9"},
        {"-", "-"},
        {"", NULL},
        {"   ", NULL},
        {"a b", NULL},
        {"a.b", NULL},
        {"ÄB", NULL},
        {"a\x01", NULL},
        {"10%", NULL},
        {"a\xff", NULL},
    };
    struct arena a = {0};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        Str got = STR("untouched");
        bool ok = coupon_code_normalise(&a, str_from(cases[i].given), &got);
        assert_int_equal(ok, cases[i].want != NULL);
        assert_str(got, ok ? cases[i].want : "untouched");
    }
    char longest[COUPON_CODE_MAX + 2];
    memset(longest, 'x', sizeof longest);
    Str got;
    assert_true(coupon_code_normalise(&a, (Str){longest, COUPON_CODE_MAX}, &got));
    assert_false(coupon_code_normalise(&a, (Str){longest, COUPON_CODE_MAX + 1}, &got));
    arena_done(&a);
}

static void test_discount(void **state)
{
    (void)state;
    static const struct {
        enum coupon_kind kind;
        int64_t value, applicable, want;
    } cases[] = {
        {COUPON_PERCENT, 1000, 1000, 100},
        {COUPON_PERCENT, 1000, 1004, 100}, /* 100.4 */
        {COUPON_PERCENT, 1000, 1005, 101}, /* 100.5: half up */
        {COUPON_PERCENT, 3333, 100, 33},
        {COUPON_PERCENT, 1, 4999, 0},
        {COUPON_PERCENT, 1, 5000, 1},
        {COUPON_PERCENT, 10000, 1999, 1999},
        {COUPON_PERCENT, 10000, INT64_MAX, INT64_MAX},
        {COUPON_PERCENT, 5000, INT64_MAX, INT64_MAX / 2 + 1},
        {COUPON_PERCENT, 2500, 0, 0},
        {COUPON_FIXED, 500, 1999, 500},
        {COUPON_FIXED, 500, 500, 500},
        {COUPON_FIXED, 500, 499, 499}, /* never more than there is */
        {COUPON_FIXED, INT64_MAX, 1, 1},
        {COUPON_FIXED, 500, 0, 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct coupon c = {.kind = cases[i].kind, .value = cases[i].value};
        Money got = {-1};
        assert_true(coupon_discount(&c, (Money){cases[i].applicable}, &got));
        assert_true(got.minor == cases[i].want);
    }
}

static Id make_product(struct db *db, const char *name, int64_t price)
{
    struct product p = {.name = str_from(name), .own_price = {price}, .is_active = true}, made;
    assert_err(product_create(db, &p, now, &made), OK);
    return made.id;
}

static struct coupon make_coupon(struct db *db, struct coupon c, const Id *products, size_t count)
{
    struct coupon made;
    c.is_active = true;
    if (!c.value) c.value = 1000;
    assert_err(coupon_create(db, &c, products, count, now, &made), OK);
    return made;
}

static Id make_order(struct db *db, Id account)
{
    static const char insert[] = "INSERT INTO orders (account_id, status, channel, subtotal, total, created_at)"
                                 " VALUES ($1, 'confirmed', 'cart', 0, 0, 1) RETURNING id";
    struct stmt *st = db_prepare(db, insert);
    bind_id(st, account);
    Id id = db_step(st) ? col_id(st) : (Id){0};
    assert_err(db_done(st), OK);
    return id;
}

static enum err evaluate(struct db *db, const struct coupon *c, Id account, int64_t at, int64_t *ret)
{
    struct coupon_line line = {{1}, {10000}};
    Money off;
    enum err e = coupon_evaluate(db, c, account, &line, 1, (Time){at}, &off);
    if (!e && ret) *ret = off.minor;
    return e;
}

static enum err conditions(struct db *db)
{
    Id a = make_product(db, "A", 100), b = make_product(db, "B", 100);
    struct coupon open = make_coupon(db, (struct coupon){.code = STR("OPEN")}, NULL, 0);
    int64_t off = 0;
    assert_err(evaluate(db, &open, ada, 1, &off), OK);
    assert_true(off == 1000);

    struct coupon off_now = open;
    off_now.is_active = false;
    assert_err(evaluate(db, &off_now, ada, 1, NULL), ERR_COUPON_INVALID);

    struct coupon window = open;
    window.starts_at = (Time){50};
    window.expires_at = (Time){60};
    assert_err(evaluate(db, &window, ada, 49, NULL), ERR_COUPON_INVALID);
    assert_err(evaluate(db, &window, ada, 50, NULL), OK);
    assert_err(evaluate(db, &window, ada, 59, NULL), OK);
    assert_err(evaluate(db, &window, ada, 60, NULL), ERR_COUPON_INVALID);

    struct coupon scoped = make_coupon(db, (struct coupon){.code = STR("ONLY-B")}, &b, 1);
    const struct coupon_line lines[] = {{a, {1000}}, {b, {500}}, {b, {300}}, {{999}, {200}}};
    Money got;
    assert_err(coupon_evaluate(db, &scoped, ada, lines, 4, now, &got), OK);
    assert_true(got.minor == 80); /* of B alone */
    assert_err(coupon_evaluate(db, &scoped, ada, lines, 1, now, &got), ERR_COUPON_NOT_APPLICABLE);
    assert_err(coupon_evaluate(db, &scoped, ada, lines, 0, now, &got), ERR_COUPON_NOT_APPLICABLE);
    assert_err(coupon_evaluate(db, &open, ada, lines, 0, now, &got), OK);
    assert_true(got.minor == 0);

    struct coupon minimum = scoped;
    minimum.min_total = (Money){2000};
    assert_err(coupon_evaluate(db, &minimum, ada, lines, 4, now, &got), OK); /* all lines count: 2000 */
    minimum.min_total = (Money){2001};
    assert_err(coupon_evaluate(db, &minimum, ada, lines, 4, now, &got), ERR_COUPON_MIN_TOTAL);

    const struct coupon_line huge[] = {{a, {INT64_MAX}}, {b, {1}}};
    assert_err(coupon_evaluate(db, &open, ada, huge, 2, now, &got), ERR_FIELD_RANGE);
    return ERR_ROLLED_BACK;
}

static void test_conditions(void **state)
{
    (void)state;
    assert_err(store_tx(TX_WRITE, conditions), ERR_ROLLED_BACK);
}

/* One use for each customer: it was released, and the customer has used the coupon for another order since. */
static void reclaim_too_late(struct db *db, struct coupon want)
{
    struct coupon c = make_coupon(db, want, NULL, 0);
    Id older = make_order(db, ada), newer = make_order(db, ada);
    assert_err(redeem(db, &c, ada, older, now), OK);
    assert_err(coupon_release(db, older, now), OK);
    assert_err(redeem(db, &c, ada, newer, now), OK);
    assert_err(coupon_reclaim(db, older, now), ERR_COUPON_USED);
    assert_err(coupon_find(db, c.id, &c), OK);
    assert_true(c.uses == 1);
}

static enum err limits(struct db *db)
{
    struct coupon want = {.code = STR("TWO"), .max_uses = 2, .max_uses_per_customer = 1}, c;
    c = make_coupon(db, want, NULL, 0);
    Id first = make_order(db, ada);
    assert_err(redeem(db, &c, ada, first, now), OK);
    assert_err(coupon_find(db, c.id, &c), OK);
    assert_true(c.uses == 1);
    assert_err(evaluate(db, &c, ada, 1, NULL), ERR_COUPON_USED);
    assert_err(evaluate(db, &c, bob, 1, NULL), OK);

    Id second = make_order(db, bob);
    assert_err(redeem(db, &c, bob, second, now), OK);
    assert_err(coupon_find(db, c.id, &c), OK);
    assert_err(evaluate(db, &c, staff, 1, NULL), ERR_COUPON_EXHAUSTED);
    assert_err(redeem(db, &c, staff, make_order(db, staff), now), ERR_COUPON_EXHAUSTED);

    /* Cancelled: the use comes back, once. */
    assert_err(coupon_release(db, first, now), OK);
    assert_err(coupon_release(db, first, now), OK);
    assert_err(coupon_release(db, (Id){999999}, now), OK);
    assert_err(coupon_find(db, c.id, &c), OK);
    assert_true(c.uses == 1);
    assert_err(evaluate(db, &c, ada, 1, NULL), OK);

    /* Confirmed after all: it is taken again, once. */
    assert_err(coupon_reclaim(db, first, now), OK);
    assert_err(coupon_reclaim(db, first, now), OK);
    assert_err(coupon_reclaim(db, second, now), OK); /* was never released */
    assert_err(coupon_find(db, c.id, &c), OK);
    assert_true(c.uses == 2);

    /* Somebody else has it by then: people decide, and there is no use too many. */
    assert_err(coupon_release(db, first, now), OK);
    assert_err(redeem(db, &c, staff, make_order(db, staff), now), OK);
    assert_err(coupon_reclaim(db, first, now), ERR_COUPON_EXHAUSTED);
    assert_err(coupon_find(db, c.id, &c), OK);
    assert_true(c.uses == 2);

    /* The same for the limit per customer. With both limits the use that was counted for all is given back. */
    reclaim_too_late(db, (struct coupon){.code = STR("ONE-EACH"), .max_uses_per_customer = 1});
    reclaim_too_late(db, (struct coupon){.code = STR("ONE-OF-FIVE"), .max_uses = 5, .max_uses_per_customer = 1});
    return OK;
}

static void test_limits(void **state)
{
    (void)state;
    assert_err(store_tx(TX_WRITE, limits), OK);
    assert_int_equal(test_number(store.d, "SELECT COUNT(*) FROM coupon c WHERE c.uses <> CASE WHEN c.max_uses IS NULL"
                                          " THEN 0 ELSE (SELECT COUNT(*) FROM coupon_use u"
                                          " WHERE u.coupon_id = c.id AND u.released_at IS NULL) END"),
                     0);
}

static enum err second_use(struct db *db)
{
    struct coupon want = {.code = STR("ONCE"), .max_uses_per_customer = 1};
    struct coupon c = make_coupon(db, want, NULL, 0);
    assert_err(redeem(db, &c, ada, make_order(db, ada), now), OK);
    return redeem(db, &c, ada, make_order(db, ada), now);
}

static void test_second_use(void **state)
{
    (void)state;
    assert_err(store_tx(TX_WRITE, second_use), ERR_COUPON_USED);
}

#define RACERS 8
#define ROUNDS 8

struct race {
    pthread_t thread;
    struct coupon coupon;
    Id account;
    int redeemed, exhausted, used, other;
};

static enum err redeem_one(void *arg, struct db *db)
{
    struct race *r = arg;
    struct coupon c;
    enum err e = coupon_find(db, r->coupon.id, &c);
    Money off;
    struct coupon_line line = {{1}, {100}};
    if (!e) e = coupon_evaluate(db, &c, r->account, &line, 1, now, &off);
    return e ? e : redeem(db, &c, r->account, make_order(db, r->account), now);
}

static void *racer(void *arg)
{
    struct race *r = arg;
    for (int i = 0; i < ROUNDS; i++) {
        struct arena a = {0};
        switch (tx_call(store.d, TX_WRITE, redeem_one, r, &a)) {
        case OK: r->redeemed++; break;
        case ERR_COUPON_EXHAUSTED: r->exhausted++; break;
        case ERR_COUPON_USED: r->used++; break;
        default: r->other++; break;
        }
        arena_done(&a);
    }
    return NULL;
}

static struct coupon raced;
static int64_t race_max, race_per_customer;

static enum err race_coupon(struct db *db)
{
    struct coupon want = {.code = STR("RACE"), .max_uses = race_max, .max_uses_per_customer = race_per_customer};
    raced = make_coupon(db, want, NULL, 0);
    return OK;
}

/* Everybody at once; what came of it, summed. */
static struct race run_race(bool one_customer)
{
    assert_err(store_tx(TX_WRITE, race_coupon), OK);
    const Id people[] = {ada, bob, staff};
    struct race racers[RACERS] = {0}, sum = {0};
    for (int i = 0; i < RACERS; i++) {
        racers[i].coupon = raced;
        racers[i].account = one_customer ? ada : people[i % 3];
        assert_int_equal(pthread_create(&racers[i].thread, NULL, racer, &racers[i]), 0);
    }
    for (int i = 0; i < RACERS; i++) {
        pthread_join(racers[i].thread, NULL);
        sum.redeemed += racers[i].redeemed;
        sum.exhausted += racers[i].exhausted;
        sum.used += racers[i].used;
        sum.other += racers[i].other;
    }
    assert_int_equal(sum.other, 0);
    assert_int_equal(sum.redeemed + sum.exhausted + sum.used, RACERS * ROUNDS);
    /* Without a limit over all customers there is no row that everybody waits for. */
    assert_int_equal(test_number(store.d, "SELECT uses FROM coupon WHERE code = 'RACE'"), race_max ? sum.redeemed : 0);
    assert_int_equal(test_number(store.d, "SELECT COUNT(*) FROM coupon_use WHERE released_at IS NULL"), sum.redeemed);
    return sum;
}

static void test_race_for_all(void **state)
{
    (void)state;
    race_max = 13;
    race_per_customer = 0;
    struct race sum = run_race(false);
    assert_int_equal(sum.redeemed, 13);
    assert_int_equal(sum.used, 0);
}

static void test_race_of_one_customer(void **state)
{
    (void)state;
    race_max = 0;
    race_per_customer = 3;
    struct race sum = run_race(true);
    assert_int_equal(sum.redeemed, 3);
    assert_int_equal(sum.exhausted, 0);
}

static enum err staff_side(struct db *db)
{
    Id a = make_product(db, "A", 100), b = make_product(db, "B", 100);
    const Id both[] = {b, a}, missing[] = {a, {a.v + b.v + 1000}};
    struct coupon want = {.code = STR("STAFF"), .kind = COUPON_FIXED, .value = 500, .max_uses = 5}, c, again;
    c = make_coupon(db, want, both, 2);
    assert_true(c.version == 1 && c.uses == 0 && c.max_uses == 5 && c.max_uses_per_customer == 0);
    assert_err(coupon_create(db, &want, NULL, 0, now, &again), ERR_CODE_TAKEN);
    Id *products;
    size_t count;
    assert_err(coupon_products(db, c.id, &products, &count), OK);
    assert_true(count == 2 && id_eq(products[0], a) && id_eq(products[1], b));

    c.value = 700;
    assert_err(coupon_update(db, &c, NULL, 0, &again), OK);
    assert_true(again.version == 2 && again.value == 700);
    assert_err(coupon_products(db, c.id, &products, &count), OK);
    assert_int_equal(count, 2); /* not given: left alone */
    assert_err(coupon_update(db, &c, NULL, 0, &again), ERR_PRECONDITION_FAILED);
    assert_err(coupon_update(db, &(struct coupon){.id = {98765}, .code = STR("X"), .value = 1}, NULL, 0, &again),
               ERR_NOT_FOUND);
    c.version = 2;
    assert_err(coupon_update(db, &c, both, 0, &again), OK);
    assert_err(coupon_products(db, c.id, &products, &count), OK);
    assert_int_equal(count, 0);

    assert_err(redeem(db, &c, ada, make_order(db, ada), now), OK);
    assert_err(redeem(db, &c, bob, make_order(db, bob), now), OK);
    assert_err(coupon_find(db, c.id, &c), OK);
    c.max_uses = 1;
    assert_err(coupon_update(db, &c, NULL, 0, &again), ERR_FIELD_RANGE);
    c.max_uses = 2;
    assert_err(coupon_update(db, &c, NULL, 0, &c), OK);

    bool deleted = true;
    assert_err(coupon_delete(db, c.id, &deleted), OK);
    assert_false(deleted); /* it was used: orders point to it */
    assert_err(coupon_find(db, c.id, &c), OK);
    assert_false(c.is_active);

    want.code = STR("UNUSED");
    struct coupon unused = make_coupon(db, want, both, 2);
    struct coupon *list;
    assert_err(coupon_list(db, (Id){0}, 10, &list, &count), OK);
    assert_true(count == 2 && id_eq(list[0].id, unused.id) && id_eq(list[1].id, c.id));
    assert_err(coupon_list(db, unused.id, 10, &list, &count), OK);
    assert_true(count == 1 && id_eq(list[0].id, c.id));
    unused.code = STR("STAFF");
    assert_err(coupon_update(db, &unused, NULL, 0, &again), ERR_CODE_TAKEN);
    assert_err(coupon_delete(db, unused.id, &deleted), OK);
    assert_true(deleted);
    assert_err(coupon_find(db, unused.id, &again), ERR_NOT_FOUND);
    assert_err(coupon_delete(db, unused.id, &deleted), ERR_NOT_FOUND);

    want.code = STR("NOWHERE");
    assert_err(coupon_create(db, &want, missing, 2, now, &again), ERR_FIELD_NOT_FOUND);
    return OK;
}

static void test_staff_side(void **state)
{
    (void)state;
    assert_err(store_tx(TX_WRITE, staff_side), OK);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        {"sqlite test_codes", test_codes},  {"sqlite test_discount", test_discount},
        ON_BOTH(test_conditions),           ON_BOTH(test_limits),
        ON_BOTH(test_second_use),           ON_BOTH(test_race_for_all),
        ON_BOTH(test_race_of_one_customer), ON_BOTH(test_staff_side),
    };
    if (!test_postgres()) cmocka_set_test_filter("sqlite *");
    return cmocka_run_group_tests(tests, NULL, NULL);
}
