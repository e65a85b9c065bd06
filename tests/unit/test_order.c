/* Orders: who confirms first delivers, who comes later changes nothing, and what is refused leaves nothing behind. On
 * both engines. */
#include "store.h"

#include "domain/invariant.h"
#include "domain/ledger.h"
#include "domain/license.h"
#include "domain/order.h"
#include "domain/serial.h"
#include "master_key.h"

#define NOW ((Time){1000000})

static Id editor, codes, manual; /* a licence, serial codes, a download */

static Id product(struct db *db, const char *slug, const char *type, int64_t price)
{
    static const char insert[] =
        "INSERT INTO product (slug, name, price, delivery_type, is_active, download_url, created_at, updated_at)"
        " VALUES ($1, $1, $2, $3, 1, $4, 1, 1) RETURNING id";
    struct stmt *st = db_prepare(db, insert);
    bind_text(st, str_from(slug));
    bind_int(st, price);
    bind_text(st, str_from(type));
    bind_text(st, strcmp(type, "download_url") == 0 ? STR("https://example.com/manual") : (Str){0});
    Id id = db_step(st) ? col_id(st) : (Id){0};
    assert_int_equal(db_done(st), OK);
    return id;
}

/* Codes into a pool, as staff would put them there. */
static void import_codes(struct db *db, Id product, Id variant, const Str *list, size_t count)
{
    int64_t added, duplicates;
    assert_int_equal(serial_import(db, product, variant, list, count, &added, &duplicates), OK);
    assert_int_equal(added, count);
}

static enum err stock(struct db *db)
{
    editor = product(db, "editor", "license_key", 1000);
    codes = product(db, "codes", "serial_code", 500);
    manual = product(db, "manual", "download_url", 250);
    import_codes(db, codes, (Id){0}, (const Str[]){S("S-1"), S("S-2"), S("S-3")}, 3);
    struct transfer t = {LEDGER_ADJUSTMENT, {10000}, {0}, STR("by hand"), {1}};
    return ledger_credit(db, ada, LEDGER_ADJUSTMENTS, &t);
}

static int64_t number(struct db *db, const char *sql)
{
    struct stmt *st = db_prepare(db, sql);
    int64_t v = db_step(st) ? col_int(st) : -1;
    assert_int_equal(db_done(st), OK);
    return v;
}

static int64_t balance(struct db *db, Id account)
{
    struct wallet w;
    assert_int_equal(wallet_find(db, account, &w), OK);
    return w.balance.minor;
}

static void assert_books(struct db *db)
{
    struct check_result *results;
    size_t count;
    assert_int_equal(check_run(db, &results, &count), OK);
    for (size_t i = 0; i < count; i++)
        if (results[i].is_broken) fail_msg("%s: %s", results[i].name, results[i].sentence);
}

static struct order_line line(struct db *db, Id product, int64_t quantity)
{
    struct order_line l = {.quantity = quantity};
    assert_int_equal(catalog_offer(db, product, (Id){0}, VARIANT_DEFAULT, &l.offer), OK);
    l.unit_price = l.offer.price;
    return l;
}

static enum err place(struct db *db, Id account, enum order_channel channel, Id product, int64_t quantity,
                      struct order *ret, struct order_shortfall *ret_short)
{
    struct order_line l = line(db, product, quantity);
    struct order_draft draft = {.account = account, .channel = channel, .lines = &l, .line_count = 1};
    return order_place(db, &draft, NOW, ret, ret_short);
}

/* Three lines, one of each kind. */
static enum err create(struct db *db, struct order *ret)
{
    struct order_line lines[] = {line(db, editor, 2), line(db, codes, 2), line(db, manual, 1)};
    struct order_draft draft = {.account = ada, .channel = CHANNEL_CART, .lines = lines, .line_count = 3};
    return order_create(db, &draft, NOW, ret);
}

static enum err places(struct db *db)
{
    struct order o, seen;
    struct order_shortfall s;
    assert_int_equal(stock(db), OK);
    assert_int_equal(place(db, ada, CHANNEL_API, editor, 3, &o, &s), OK);
    assert_int_equal(o.total.minor, 3000);
    assert_int_equal(balance(db, ada), 7000);
    assert_int_equal(order_find(db, ada, o.id, &seen), OK);
    assert_int_equal(seen.status, ORDER_CONFIRMED);
    assert_int_equal(seen.item_count, 1);
    assert_int_equal(seen.items[0].delivery_count, 3);
    for (size_t i = 0; i < 3; i++) {
        assert_true(str_eq(seen.items[0].deliveries[i].value, o.items[0].deliveries[i].value));
        struct license_verdict v;
        assert_int_equal(license_verify(db, o.items[0].deliveries[i].value, editor, (Str){0}, NOW, &v), OK);
        assert_int_equal(v.account_id.v, ada.v);
    }
    assert_int_equal(order_find(db, bob, o.id, &seen), ERR_NOT_FOUND);
    assert_int_equal(order_find(db, (Id){0}, o.id, &seen), OK);
    assert_true(str_eq(seen.email, STR("ada@example.com")));
    assert_books(db);
    return OK;
}

static void test_places(void **state)
{
    (void)state;
    assert_int_equal(store_tx(TX_WRITE, places), OK);
}

/* Post-pay is for orders of the API alone; the answer says what is missing. */
static enum err credit_api(struct db *db)
{
    struct order o;
    struct order_shortfall s = {0};
    assert_int_equal(stock(db), OK);
    assert_int_equal(wallet_set_credit_limit(db, bob, (Money){1500}), OK);
    assert_int_equal(place(db, bob, CHANNEL_API, editor, 1, &o, &s), OK);
    assert_int_equal(balance(db, bob), -1000);
    assert_int_equal(place(db, bob, CHANNEL_API, codes, 1, &o, &s), OK);
    assert_int_equal(balance(db, bob), -1500);
    assert_books(db);
    return OK;
}

static struct order_shortfall short_of;

static enum err credit_used_up(struct db *db)
{
    struct order o;
    return place(db, bob, CHANNEL_API, manual, 1, &o, &short_of);
}

static enum err credit_cart(struct db *db)
{
    struct order o;
    assert_int_equal(wallet_set_credit_limit(db, bob, (Money){9000}), OK);
    return place(db, bob, CHANNEL_CART, manual, 1, &o, &short_of);
}

static enum err nothing_of_bob(struct db *db)
{
    assert_int_equal(number(db, "SELECT COUNT(*) FROM orders"), 2);
    assert_int_equal(number(db, "SELECT COUNT(*) FROM delivery"), 2);
    assert_int_equal(balance(db, bob), -1500);
    return OK;
}

static void test_credit(void **state)
{
    (void)state;
    assert_int_equal(store_tx(TX_WRITE, credit_api), OK);
    assert_int_equal(store_tx(TX_WRITE, credit_used_up), ERR_INSUFFICIENT_BALANCE);
    assert_true(short_of.required.minor == 250 && short_of.available.minor == 0);
    assert_int_equal(store_tx(TX_WRITE, credit_cart), ERR_INSUFFICIENT_BALANCE);
    assert_true(short_of.required.minor == 250 && short_of.available.minor == -1500);
    assert_int_equal(store_tx(TX_READ, nothing_of_bob), OK);
}

static enum err too_many(struct db *db)
{
    struct order o;
    struct order_shortfall s;
    assert_int_equal(stock(db), OK);
    return place(db, ada, CHANNEL_API, codes, 4, &o, &s);
}

static enum err nothing_at_all(struct db *db)
{
    assert_int_equal(number(db, "SELECT COUNT(*) FROM orders"), 0);
    assert_int_equal(number(db, "SELECT COUNT(*) FROM serial WHERE taken_by IS NOT NULL"), 0);
    return OK;
}

static void test_out_of_stock(void **state)
{
    (void)state;
    assert_int_equal(store_tx(TX_WRITE, too_many), ERR_OUT_OF_STOCK);
    assert_int_equal(store_tx(TX_READ, nothing_at_all), OK);
}

static enum err huge(struct db *db)
{
    struct order o;
    struct order_shortfall s;
    Id gold = product(db, "gold", "license_key", INT64_MAX / 2);
    assert_int_equal(place(db, ada, CHANNEL_API, gold, 3, &o, &s), ERR_FIELD_RANGE);
    struct order_line lines[] = {line(db, gold, 2), line(db, gold, 1)};
    struct order_draft draft = {.account = ada, .channel = CHANNEL_CART, .lines = lines, .line_count = 2};
    assert_int_equal(order_create(db, &draft, NOW, &o), ERR_FIELD_RANGE);
    return OK;
}

static void test_overflow(void **state)
{
    (void)state;
    assert_int_equal(store_tx(TX_WRITE, huge), OK);
}

static enum err confirms(struct db *db)
{
    struct order o;
    bool changed = false;
    assert_int_equal(stock(db), OK);
    assert_int_equal(create(db, &o), OK);
    assert_int_equal(o.status, ORDER_PENDING);
    assert_int_equal(number(db, "SELECT COUNT(*) FROM delivery"), 0);
    assert_books(db);

    assert_int_equal(order_confirm(db, o.id, STR(PAID_BY_HAND), NOW, &changed), OK);
    assert_true(changed);
    assert_int_equal(number(db, "SELECT COUNT(*) FROM delivery"), 5);
    assert_int_equal(balance(db, ada), 10000);
    assert_books(db);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(order_confirm(db, o.id, STR(PAID_BY_HAND), NOW, &changed), OK);
        assert_false(changed);
    }
    assert_int_equal(number(db, "SELECT COUNT(*) FROM delivery"), 5);
    assert_int_equal(order_cancel(db, o.id, (Id){0}, NOW, &changed), ERR_INVALID_STATE);
    struct order seen;
    assert_int_equal(order_find(db, ada, o.id, &seen), OK);
    assert_true(str_eq(seen.paid_with, STR(PAID_BY_HAND)));
    assert_int_equal(order_confirm(db, (Id){999}, STR(PAID_BY_HAND), NOW, &changed), ERR_NOT_FOUND);
    assert_books(db);
    return OK;
}

static void test_confirms(void **state)
{
    (void)state;
    assert_int_equal(store_tx(TX_WRITE, confirms), OK);
}

static enum err cancels(struct db *db)
{
    static const char coupon[] = "INSERT INTO coupon (code, kind, value, max_uses, created_at)"
                                 " VALUES ('ONCE', 'percent', 1000, 1, 1)";
    struct order o;
    struct coupon c;
    bool changed = false;
    assert_int_equal(stock(db), OK);
    struct stmt *st = db_prepare(db, coupon);
    assert_int_equal(db_run(st), OK);
    assert_int_equal(coupon_find_code(db, STR("once"), &c), OK);
    struct order_line l = line(db, editor, 1);
    struct order_draft draft = {.account = ada, .channel = CHANNEL_CART, .lines = &l, .line_count = 1, .coupon = &c};
    assert_int_equal(order_create(db, &draft, NOW, &o), OK);
    assert_true(o.discount.minor == 100 && o.total.minor == 900);
    assert_int_equal(number(db, "SELECT uses FROM coupon"), 1);

    assert_int_equal(order_cancel(db, o.id, (Id){0}, NOW, &changed), OK);
    assert_true(changed);
    assert_int_equal(order_cancel(db, o.id, (Id){0}, NOW, &changed), OK);
    assert_false(changed);
    assert_int_equal(number(db, "SELECT uses FROM coupon"), 0);
    assert_books(db);

    /* The money came after all. */
    assert_int_equal(order_confirm(db, o.id, STR(PAID_BY_HAND), NOW, &changed), OK);
    assert_true(changed);
    assert_int_equal(number(db, "SELECT uses FROM coupon"), 1);
    assert_int_equal(number(db, "SELECT COUNT(*) FROM delivery"), 1);
    assert_int_equal(number(db, "SELECT COUNT(*) FROM orders WHERE closed_at IS NULL"), 1);
    assert_books(db);
    return OK;
}

static void test_cancels(void **state)
{
    (void)state;
    assert_int_equal(store_tx(TX_WRITE, cancels), OK);
}

static enum err refunds(struct db *db)
{
    struct order o;
    struct order_shortfall s;
    struct license_verdict v;
    Money given = {-1};
    bool changed = false;
    assert_int_equal(stock(db), OK);
    assert_int_equal(place(db, ada, CHANNEL_API, editor, 1, &o, &s), OK);
    Str key = o.items[0].deliveries[0].value;
    assert_int_equal(order_refund(db, o.id, (Money){400}, NOW, &given), OK);
    assert_int_equal(given.minor, 400);
    assert_int_equal(order_refund(db, o.id, (Money){400}, NOW, &given), OK); /* told twice */
    assert_int_equal(given.minor, 0);
    assert_int_equal(order_refund(db, o.id, (Money){300}, NOW, &given), OK); /* an older one, told late */
    assert_int_equal(given.minor, 0);
    assert_int_equal(balance(db, ada), 9400);
    assert_int_equal(license_verify(db, key, editor, (Str){0}, NOW, &v), OK);
    assert_books(db);

    assert_int_equal(order_refund(db, o.id, (Money){5000}, NOW, &given), OK); /* never more than was paid */
    assert_int_equal(given.minor, 600);
    assert_int_equal(balance(db, ada), 10000);
    assert_int_equal(license_verify(db, key, editor, (Str){0}, NOW, &v), ERR_LICENSE_REVOKED);
    assert_int_equal(order_refund(db, o.id, (Money){1000}, NOW, &given), OK);
    assert_int_equal(given.minor, 0);
    assert_int_equal(order_confirm(db, o.id, STR(PAID_BY_HAND), NOW, &changed), ERR_INVALID_STATE);
    assert_int_equal(order_cancel(db, o.id, (Id){0}, NOW, &changed), ERR_INVALID_STATE);
    assert_books(db);

    /* Of a gateway: the money goes back where it came from, everything that was delivered is closed. */
    assert_int_equal(create(db, &o), OK);
    assert_int_equal(order_refund(db, o.id, (Money){1}, NOW, &given), ERR_INVALID_STATE);
    assert_int_equal(order_confirm(db, o.id, STR(PAID_BY_HAND), NOW, &changed), OK);
    assert_int_equal(order_refund(db, o.id, o.total, NOW, &given), OK);
    assert_int_equal(given.minor, o.total.minor);
    assert_int_equal(balance(db, ada), 10000);
    assert_int_equal(number(db, "SELECT COUNT(*) FROM delivery WHERE is_revoked = 1"), 6);
    assert_int_equal(number(db, "SELECT COUNT(*) FROM serial WHERE status = 'refunded'"), 2);
    assert_int_equal(number(db, "SELECT COUNT(*) FROM license WHERE status = 'refunded'"), 3);
    assert_int_equal(number(db, "SELECT CAST(COALESCE(SUM(CASE WHEN credit_id = 2 THEN amount ELSE -amount END), 0)"
                                " AS BIGINT) FROM transfer WHERE 2 IN (credit_id, debit_id)"),
                     0);
    assert_books(db);
    return OK;
}

static void test_refunds(void **state)
{
    (void)state;
    assert_int_equal(store_tx(TX_WRITE, refunds), OK);
}

/* Paid at the gateway, but somebody took the codes meanwhile: it stays as it was until there are codes again. */
static enum err sold_meanwhile(struct db *db)
{
    struct order waiting, o;
    struct order_shortfall s;
    bool changed = true;
    assert_int_equal(stock(db), OK);
    assert_int_equal(create(db, &waiting), OK);
    assert_int_equal(place(db, ada, CHANNEL_API, codes, 2, &o, &s), OK);
    int64_t transfers = number(db, "SELECT COUNT(*) FROM transfer");
    assert_int_equal(order_confirm(db, waiting.id, STR(PAID_BY_HAND), NOW, &changed), ERR_OUT_OF_STOCK);
    assert_int_equal(number(db, "SELECT COUNT(*) FROM transfer"), transfers);
    assert_int_equal(number(db, "SELECT COUNT(*) FROM orders WHERE status = 'pending'"), 1);
    assert_int_equal(number(db, "SELECT COUNT(*) FROM delivery"), 2);
    struct order refused;
    assert_int_equal(create(db, &refused), ERR_OUT_OF_STOCK);
    assert_books(db);

    import_codes(db, codes, (Id){0}, (const Str[]){S("S-4"), S("S-5")}, 2);
    assert_int_equal(order_confirm(db, waiting.id, STR(PAID_BY_HAND), NOW, &changed), OK);
    assert_true(changed);
    assert_books(db);
    return OK;
}

static void test_sold_meanwhile(void **state)
{
    (void)state;
    assert_int_equal(store_tx(TX_WRITE, sold_meanwhile), OK);
}

/* Variants with pools of their own share what is left in the common one. */
static enum err shared_pool(struct db *db)
{
    static const char variant[] = "INSERT INTO variant (product_id, name, price, is_default) VALUES ($1, $2, 500, $3)"
                                  " RETURNING id";
    Id v[2];
    assert_int_equal(stock(db), OK);
    for (int i = 0; i < 2; i++) {
        struct stmt *st = db_prepare(db, variant);
        bind_id(st, codes);
        bind_text(st, i ? STR("B") : STR("A"));
        bind_bool(st, i == 0);
        v[i] = db_step(st) ? col_id(st) : (Id){0};
        assert_int_equal(db_done(st), OK);
    }
    import_codes(db, codes, v[0], (const Str[]){S("A-1")}, 1);

    struct delivery_job jobs[2] = {
        {.product = codes, .variant = v[0], .type = DELIVERY_SERIAL_CODE, .quantity = 3},
        {.product = codes, .variant = v[1], .type = DELIVERY_SERIAL_CODE, .quantity = 2},
    };
    assert_int_equal(delivery_check(db, &jobs[0], 1), OK);
    assert_int_equal(delivery_check(db, &jobs[1], 1), OK);
    assert_int_equal(delivery_check(db, jobs, 2), ERR_OUT_OF_STOCK); /* 2 + 2 of a shared pool of 3 */
    jobs[0].quantity = 2;
    assert_int_equal(delivery_check(db, jobs, 2), OK);
    return OK;
}

static void test_shared_pool(void **state)
{
    (void)state;
    assert_int_equal(store_tx(TX_WRITE, shared_pool), OK);
}

static enum err holds(struct db *db)
{
    struct order o;
    struct order_shortfall s;
    struct license_verdict v;
    assert_int_equal(stock(db), OK);
    assert_int_equal(place(db, ada, CHANNEL_API, editor, 1, &o, &s), OK);
    Str key = o.items[0].deliveries[0].value;
    assert_int_equal(order_set_hold(db, o.id, true, time_now()), OK);
    assert_int_equal(license_verify(db, key, editor, STR("hw"), NOW, &v), ERR_LICENSE_REVOKED);
    assert_int_equal(order_set_hold(db, o.id, false, time_now()), OK);
    assert_int_equal(license_verify(db, key, editor, STR("hw"), NOW, &v), OK);
    assert_int_equal(order_set_hold(db, (Id){999}, true, time_now()), ERR_NOT_FOUND);
    return OK;
}

static void test_holds(void **state)
{
    (void)state;
    assert_int_equal(store_tx(TX_WRITE, holds), OK);
}

static enum err staff_issues(struct db *db)
{
    struct license l, *list;
    struct license_verdict v;
    size_t count;
    assert_int_equal(stock(db), OK);
    assert_int_equal(license_issue(db, editor, (Id){0}, bob, (Time){NOW.ms + 5}, NOW, &l), OK);
    assert_true(str_eq(l.email, STR("bob@example.com")) && l.expires_at.ms == NOW.ms + 5 && !id_is(l.order_id));
    assert_int_equal(license_issue(db, (Id){99}, (Id){0}, bob, (Time){0}, NOW, &l), ERR_PRODUCT_NOT_FOUND);
    assert_int_equal(license_issue(db, editor, (Id){99}, bob, (Time){0}, NOW, &l), ERR_FIELD_NOT_FOUND);
    assert_int_equal(license_issue(db, editor, (Id){0}, (Id){99}, (Time){0}, NOW, &l), ERR_NOT_FOUND);

    assert_int_equal(license_verify(db, l.key, editor, STR("hw-1"), NOW, &v), OK);
    assert_int_equal(license_verify(db, l.key, editor, STR("hw-2"), NOW, &v), ERR_HARDWARE_MISMATCH);
    assert_int_equal(license_clear_hardware(db, l.id, time_now()), OK);
    assert_int_equal(license_clear_hardware(db, (Id){99}, time_now()), ERR_NOT_FOUND);
    assert_int_equal(license_verify(db, l.key, editor, STR("hw-2"), NOW, &v), OK);
    assert_int_equal(license_verify(db, l.key, editor, (Str){0}, (Time){NOW.ms + 5}, &v), ERR_LICENSE_EXPIRED);
    assert_int_equal(license_set_expiry(db, l.id, (Time){0}), OK);
    assert_int_equal(license_verify(db, l.key, editor, (Str){0}, (Time){NOW.ms + 5}, &v), OK);

    assert_int_equal(license_reinstate(db, l.id, time_now()), ERR_INVALID_STATE);
    assert_int_equal(license_revoke(db, l.id, STR("abuse"), time_now()), OK);
    assert_int_equal(license_revoke(db, l.id, STR("abuse"), time_now()), ERR_INVALID_STATE);
    assert_int_equal(license_revoke(db, (Id){99}, STR(""), time_now()), ERR_NOT_FOUND);
    assert_int_equal(license_verify(db, l.key, editor, STR("hw-2"), NOW, &v), ERR_LICENSE_REVOKED);
    assert_int_equal(license_find(db, l.id, &l), OK);
    assert_true(l.status == LICENSE_REVOKED && str_eq(l.reason, STR("abuse")));
    assert_int_equal(license_reinstate(db, l.id, time_now()), OK);
    assert_int_equal(license_verify(db, l.key, editor, STR("hw-2"), NOW, &v), OK);

    assert_int_equal(license_seen(db, l.id, 3, (Time){70}), OK);
    assert_int_equal(license_seen(db, l.id, 2, (Time){60}), OK);
    assert_int_equal(license_find(db, l.id, &l), OK);
    assert_true(l.seen_count == 5 && l.last_seen_at.ms == 70);

    assert_int_equal(license_search(db, str_lower(db_arena(db), l.key), (Id){0}, 10, &list, &count), OK);
    assert_true(count == 1 && id_eq(list[0].id, l.id));
    assert_int_equal(license_search(db, STR("BOB@"), (Id){0}, 10, &list, &count), OK);
    assert_int_equal(count, 1);
    assert_int_equal(license_search(db, STR("b_b"), (Id){0}, 10, &list, &count), OK);
    assert_int_equal(count, 0);
    assert_int_equal(license_search(db, STR("bob"), l.id, 10, &list, &count), OK);
    assert_int_equal(count, 0);
    assert_books(db);
    return OK;
}

static void test_staff_issues(void **state)
{
    (void)state;
    assert_int_equal(store_tx(TX_WRITE, staff_issues), OK);
}

/* In a read a first binding asks to be run again; a verdict that needs no write does not. */
static Str bound_key;

static enum err make_two(struct db *db)
{
    struct license l;
    assert_int_equal(stock(db), OK);
    assert_int_equal(license_issue(db, editor, (Id){0}, bob, (Time){0}, NOW, &l), OK);
    bound_key = l.key;
    return OK;
}

static int binding_runs;

static enum err bind_one(struct db *db)
{
    struct license_verdict v;
    binding_runs++;
    return license_verify(db, bound_key, editor, STR("hw"), NOW, &v);
}

static void test_binding_needs_write(void **state)
{
    (void)state;
    assert_int_equal(store_tx(TX_WRITE, make_two), OK);
    binding_runs = 0;
    assert_int_equal(store_tx(TX_READ, bind_one), OK);
    assert_int_equal(binding_runs, 2);
    assert_int_equal(store_tx(TX_READ, bind_one), OK);
    assert_int_equal(binding_runs, 3);
}

static enum err place_one(struct db *db)
{
    struct order o;
    assert_int_equal(key_index_open(db, KEYS_OF_ORDERS), OK);
    return place(db, ada, CHANNEL_API, manual, 1, &o, &short_of);
}

/* A server that starts need not look for keys in orders that have none. */
static void test_orders_without_keys_are_noted(void **state)
{
    (void)state;
    assert_int_equal(store_tx(TX_WRITE, stock), OK);
    test_commit_elsewhere(&store, "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 66000)"
                                  " INSERT INTO orders (account_id, status, channel, subtotal, total, created_at)"
                                  " SELECT 1, 'pending', 'api', 0, 0, 1 FROM n");
    for (int i = 0; i < 2; i++) {
        assert_int_equal(store_tx(TX_WRITE, place_one), OK);
        assert_int_equal(test_number(store.d, "SELECT COUNT(*) FROM orders_key_page WHERE last = 66001"), 1);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        ON_BOTH(test_places),
        ON_BOTH(test_credit),
        ON_BOTH(test_out_of_stock),
        ON_BOTH(test_overflow),
        ON_BOTH(test_confirms),
        ON_BOTH(test_cancels),
        ON_BOTH(test_refunds),
        ON_BOTH(test_sold_meanwhile),
        ON_BOTH(test_shared_pool),
        ON_BOTH(test_holds),
        ON_BOTH(test_staff_issues),
        ON_BOTH(test_binding_needs_write),
        {"sqlite test_orders_without_keys_are_noted", test_orders_without_keys_are_noted, store_open_sqlite,
         store_close, NULL},
    };
    if (!test_postgres()) cmocka_set_test_filter("sqlite *");
    return cmocka_run_group_tests(tests, open_vault, NULL);
}
