/* tests/unit/payment_shop.h - a shop with a gateway, for the tests of payments: somebody buys or tops up, and the
 * gateway tells what became of it. */
#pragma once

#include "store.h"

#include "domain/invariant.h"
#include "domain/order.h"
#include "domain/payment_apply.h"
#include "domain/serial.h"
#include "master_key.h"

#define NOW ((Time){1700000000000})

static Id editor, codes;
static struct gateway_config gateway;

static inline int64_t number(struct db *db, const char *sql)
{
    struct stmt *st = db_prepare(db, sql);
    int64_t v = db_step(st) ? col_int(st) : -1;
    assert_int_equal(db_done(st), OK);
    return v;
}

static inline void import_code(struct db *db, Id product, Str code)
{
    int64_t added, duplicates;
    assert_int_equal(serial_import(db, product, (Id){0}, &code, 1, &added, &duplicates), OK);
    assert_int_equal(added, 1);
}

static inline void stock(struct db *db)
{
    editor = store_product(db, "editor", "license_key", 4999);
    codes = store_product(db, "codes", "serial_code", 500);
    import_code(db, codes, STR("S-1"));
    struct gateway_config want;
    assert_int_equal(gateway_config_find(db, STR("card_gateway_a"), &want), OK);
    want.is_enabled = true;
    want.secrets[0] = STR("whsec_1");
    want.secret_count = 1;
    want.api_key = STR("sk_1");
    assert_int_equal(gateway_config_save(db, &want, NOW, &gateway), OK);
}

static inline void assert_books(struct db *db)
{
    struct check_result *results;
    size_t count;
    assert_int_equal(check_run(db, &results, &count), OK);
    for (size_t i = 0; i < count; i++)
        if (results[i].is_broken) fail_msg("%s: %s", results[i].name, results[i].sentence);
}

static inline struct payment buy(struct db *db, Id what)
{
    struct order_line l = {.quantity = 1};
    struct order o;
    struct payment p;
    assert_int_equal(catalog_offer(db, what, (Id){0}, VARIANT_DEFAULT, &l.offer), OK);
    l.unit_price = l.offer.price;
    struct order_draft draft = {.account = ada, .channel = CHANNEL_CART, .lines = &l, .line_count = 1};
    assert_int_equal(order_create(db, &draft, NOW, &o), OK);
    struct payment want = {
        .gateway_id = gateway.id, .account_id = ada, .order_id = o.id, .amount = o.total, .currency = STR("USD")};
    assert_int_equal(payment_create(db, &want, NOW, &p), OK);
    return p;
}

static inline struct payment top_up(struct db *db, int64_t amount)
{
    struct payment p, want = {.gateway_id = gateway.id, .account_id = ada, .amount = {amount}, .currency = STR("USD")};
    assert_int_equal(payment_create(db, &want, NOW, &p), OK);
    return p;
}

static inline struct payment_event event_of(struct db *db, const struct payment *p, enum payment_event_kind kind)
{
    static int counter;
    struct payment_event e = {.kind = kind, .type = STR("test"), .mode = EVENT_MODE_TEST, .currency = STR("USD")};
    e.event_id = str_printf(db_arena(db), "evt_%d", ++counter);
    e.payment_ref = str_printf(db_arena(db), "pi_%lld", (long long)p->id.v);
    e.order_ref = payment_order_ref(db_arena(db), p);
    e.has_amount = true;
    e.amount = p->amount;
    return e;
}

static inline struct payment_event refund_of(struct db *db, const struct payment *p, int64_t total)
{
    struct payment_event e = event_of(db, p, EVENT_REFUNDED);
    e.has_refunded_total = true;
    e.refunded_total = (Money){total};
    return e;
}

static inline struct payment_outcome receive(struct db *db, const struct payment_event *e)
{
    struct payment_outcome o = {0};
    assert_int_equal(payment_receive(db, &gateway, e, STR("{}"), NOW, &o), OK);
    return o;
}

static inline enum order_status order_status(struct db *db, const struct payment *p)
{
    struct order o;
    assert_int_equal(order_find(db, (Id){0}, p->order_id, &o), OK);
    return o.status;
}

static inline enum payment_status status(struct db *db, const struct payment *p)
{
    struct payment now;
    assert_int_equal(payment_find(db, p->id, &now), OK);
    return now.status;
}

#define TEST(body)                                                                                                     \
    static void test_##body(void **state)                                                                              \
    {                                                                                                                  \
        (void)state;                                                                                                   \
        assert_int_equal(store_tx(TX_WRITE, body), OK);                                                                \
    }
