/* Payments through gateways: whatever arrives, in whatever order and how often, ends in one state. On both engines. */
#include "payment_shop.h"

#include "domain/ledger.h"
#include "domain/payment_desk.h"
#include "domain/payment_refund.h"

static enum err succeeds(struct db *db)
{
    stock(db);
    struct payment p = buy(db, editor);
    struct payment_event e = event_of(db, &p, EVENT_SUCCEEDED);
    struct payment_outcome o = receive(db, &e);
    assert_int_equal(o.status, WEBHOOK_HANDLED);
    assert_int_equal(o.payment.v, p.id.v);
    assert_int_equal(order_status(db, &p), ORDER_CONFIRMED);
    assert_int_equal(number(db, "SELECT COUNT(*) FROM delivery"), 1);
    assert_int_equal(
        number(db, "SELECT amount FROM transfer WHERE kind = 'payment' AND debit_id = 6 AND credit_id = 1"), 4999);
    assert_int_equal(number(db, "SELECT COUNT(*) FROM notification WHERE kind = 'order_delivered'"), 1);
    /* The same event, and another event for the same success. */
    o = receive(db, &e);
    assert_int_equal(o.event.v, 0);
    struct payment_event again = event_of(db, &p, EVENT_SUCCEEDED);
    assert_int_equal(receive(db, &again).status, WEBHOOK_HANDLED);
    assert_int_equal(number(db, "SELECT COUNT(*) FROM delivery"), 1);
    assert_int_equal(number(db, "SELECT COUNT(*) FROM transfer"), 2);
    /* Another payment for the same order is somebody's money. */
    struct payment_event second = event_of(db, &p, EVENT_SUCCEEDED);
    second.payment_ref = STR("pi_other");
    assert_int_equal(receive(db, &second).status, WEBHOOK_REVIEW);
    assert_int_equal(number(db, "SELECT COUNT(*) FROM notification WHERE kind = 'payment_review'"), 1);
    assert_books(db);
    return OK;
}

static enum err wrong_money(struct db *db)
{
    stock(db);
    struct payment p = buy(db, editor);
    struct payment_event e = event_of(db, &p, EVENT_SUCCEEDED);
    e.amount = (Money){4998};
    assert_int_equal(receive(db, &e).status, WEBHOOK_REVIEW);
    e = event_of(db, &p, EVENT_SUCCEEDED);
    e.amount = (Money){5000};
    assert_int_equal(receive(db, &e).status, WEBHOOK_REVIEW);
    e = event_of(db, &p, EVENT_SUCCEEDED);
    e.currency = STR("EUR");
    assert_int_equal(receive(db, &e).status, WEBHOOK_REVIEW);
    e = event_of(db, &p, EVENT_SUCCEEDED);
    e.has_amount = false;
    assert_int_equal(receive(db, &e).status, WEBHOOK_REVIEW);
    e = event_of(db, &p, EVENT_SUCCEEDED);
    e.mode = EVENT_MODE_LIVE;
    assert_int_equal(receive(db, &e).status, WEBHOOK_REVIEW);
    gateway.is_live = true;
    e = event_of(db, &p, EVENT_SUCCEEDED);
    assert_int_equal(receive(db, &e).status, WEBHOOK_IGNORED);
    gateway.is_live = false;
    e = event_of(db, &p, EVENT_SUCCEEDED);
    e.review = "marked by hand";
    assert_int_equal(receive(db, &e).status, WEBHOOK_REVIEW);
    assert_int_equal(order_status(db, &p), ORDER_PENDING);
    assert_int_equal(status(db, &p), PAYMENT_OPEN);
    assert_int_equal(number(db, "SELECT waiting FROM payment"), 5000); /* what came is booked, whatever becomes of it */
    assert_int_equal(number(db, "SELECT COUNT(*) FROM delivery"), 0);
    assert_books(db);
    /* The right one still counts. */
    e = event_of(db, &p, EVENT_SUCCEEDED);
    assert_int_equal(receive(db, &e).status, WEBHOOK_HANDLED);
    assert_int_equal(order_status(db, &p), ORDER_CONFIRMED);
    assert_books(db);
    return OK;
}

static enum err unmatched(struct db *db)
{
    stock(db);
    struct payment p = buy(db, editor), q = buy(db, editor);
    struct payment_event e = event_of(db, &p, EVENT_SUCCEEDED);
    e.order_ref = STR("999999");
    e.payment_ref = STR("pi_unknown");
    assert_int_equal(receive(db, &e).status, WEBHOOK_UNMATCHED);
    static const char *const odd[] = {"", "0", "-1", "042", "4 2", "abc", "topup-", "topup-x", "99999999999999999999"};
    for (size_t i = 0; i < sizeof odd / sizeof *odd; i++) {
        e = event_of(db, &p, EVENT_SUCCEEDED);
        e.payment_ref = STR("pi_unknown");
        e.order_ref = str_from(odd[i]);
        assert_int_equal(receive(db, &e).status, WEBHOOK_UNMATCHED);
    }
    /* An order of another gateway is not this one's to confirm; nor is an order a top-up. */
    struct gateway_config other = gateway;
    assert_int_equal(gateway_config_find(db, STR("card_gateway_b"), &other), OK);
    struct payment_outcome o;
    e = event_of(db, &p, EVENT_SUCCEEDED);
    assert_int_equal(payment_receive(db, &other, &e, STR("{}"), NOW, &o), OK);
    assert_int_equal(o.status, WEBHOOK_UNMATCHED);
    e = event_of(db, &p, EVENT_SUCCEEDED);
    e.order_ref = str_printf(db_arena(db), "topup-%lld", (long long)p.id.v);
    assert_int_equal(receive(db, &e).status, WEBHOOK_UNMATCHED);

    /* A refund that knows the payment's name alone waits for the success that tells whose name it is. */
    struct payment_event refund = refund_of(db, &p, 1500);
    refund.order_ref = (Str){0};
    assert_int_equal(receive(db, &refund).status, WEBHOOK_UNMATCHED);
    e = event_of(db, &p, EVENT_SUCCEEDED);
    assert_int_equal(receive(db, &e).status, WEBHOOK_HANDLED);
    assert_int_equal(number(db, "SELECT refunded_amount FROM orders WHERE refunded_amount > 0"), 1500);

    /* Names of two payments. */
    e = event_of(db, &q, EVENT_SUCCEEDED);
    e.payment_ref = str_printf(db_arena(db), "pi_%lld", (long long)p.id.v);
    assert_int_equal(receive(db, &e).status, WEBHOOK_REVIEW);
    assert_int_equal(order_status(db, &q), ORDER_PENDING);
    assert_books(db);
    return OK;
}

/* The names that the gateway gives come after the event that uses them. */
static enum err overtaken(struct db *db)
{
    stock(db);
    struct payment p = buy(db, editor);
    struct payment_event e = event_of(db, &p, EVENT_SUCCEEDED);
    e.order_ref = (Str){0};
    e.payment_ref = STR("pi_1");
    e.group_ref = STR("cs_1");
    assert_int_equal(receive(db, &e).status, WEBHOOK_UNMATCHED);
    assert_int_equal(payment_set_page(db, &gateway, p.id, STR("cs_1"), (Str){0}, STR("https://pay/1"), (Time){0}, NOW),
                     OK);
    assert_int_equal(order_status(db, &p), ORDER_CONFIRMED);
    struct payment after;
    assert_int_equal(payment_find(db, p.id, &after), OK);
    assert_true(str_eq(after.url, STR("https://pay/1")));
    assert_true(str_eq(after.payment_ref, STR("pi_1")));
    assert_int_equal(number(db, "SELECT COUNT(*) FROM outbox WHERE kind = 'ask'"), 1);
    assert_books(db);
    return OK;
}

static enum err stock_runs_out(struct db *db)
{
    stock(db);
    struct payment p = buy(db, codes), q = buy(db, codes);
    struct payment_event e = event_of(db, &p, EVENT_SUCCEEDED);
    assert_int_equal(receive(db, &e).status, WEBHOOK_HANDLED);
    e = event_of(db, &q, EVENT_SUCCEEDED);
    assert_int_equal(receive(db, &e).status, WEBHOOK_REVIEW);
    assert_int_equal(status(db, &q), PAYMENT_SUCCEEDED);
    assert_int_equal(order_status(db, &q), ORDER_PENDING);
    assert_books(db);
    /* Staff put codes in and confirm: it is the gateway's money, not a gift. */
    bool changed = false;
    import_code(db, codes, STR("S-2"));
    assert_int_equal(payment_confirm_order(db, q.order_id, (Id){0}, NOW, &changed), OK);
    assert_true(changed);
    assert_int_equal(number(db, "SELECT COUNT(*) FROM transfer WHERE debit_id = 6 AND credit_id = 1"), 2);
    assert_books(db);
    return OK;
}

static enum err by_hand(struct db *db)
{
    stock(db);
    struct payment p = buy(db, editor);
    bool changed = false;
    assert_int_equal(payment_confirm_order(db, p.order_id, (Id){0}, NOW, &changed), OK);
    assert_true(changed);
    assert_int_equal(number(db, "SELECT COUNT(*) FROM transfer WHERE debit_id = 5 AND credit_id = 1"), 1);
    /* A late failure does not undo it; a late success is money that is owed to somebody. */
    struct payment_event e = event_of(db, &p, EVENT_FAILED);
    assert_int_equal(receive(db, &e).status, WEBHOOK_HANDLED);
    assert_int_equal(order_status(db, &p), ORDER_CONFIRMED);
    e = event_of(db, &p, EVENT_SUCCEEDED);
    assert_int_equal(receive(db, &e).status, WEBHOOK_REVIEW);
    assert_int_equal(number(db, "SELECT waiting FROM payment"), 4999);
    struct payment_event refund = refund_of(db, &p, 4999);
    assert_int_equal(receive(db, &refund).status, WEBHOOK_HANDLED);
    assert_int_equal(number(db, "SELECT waiting FROM payment"), 0);
    assert_int_equal(order_status(db, &p), ORDER_CONFIRMED);
    assert_books(db);
    return OK;
}

static enum err staff_refunds(struct db *db)
{
    stock(db);
    struct payment p = buy(db, editor);
    struct payment_event e = event_of(db, &p, EVENT_SUCCEEDED);
    receive(db, &e);
    struct refund r, again;
    assert_int_equal(payment_refund_order(db, p.order_id, (Money){1000}, STR("a gift"), staff, NOW, &r), OK);
    assert_int_equal(r.status, REFUND_REQUESTED);
    assert_int_equal(number(db, "SELECT amount FROM outbox WHERE kind = 'refund'"), 1000);
    /* Nothing is booked before the gateway agrees, and no more is asked for than is left. */
    assert_int_equal(number(db, "SELECT refunded_amount FROM orders"), 0);
    assert_int_equal(payment_refund_order(db, p.order_id, (Money){4000}, STR(""), staff, NOW, &again), ERR_FIELD_RANGE);
    assert_books(db);
    /* The gateway's event is faster than the answer to our call; together they are one refund. */
    struct payment_event refund = refund_of(db, &p, 1000);
    assert_int_equal(receive(db, &refund).status, WEBHOOK_HANDLED);
    assert_int_equal(payment_refund_done(db, r.id, STR("re_1"), (Str){0}, NOW), OK);
    assert_int_equal(number(db, "SELECT refunded_amount FROM orders"), 1000);
    assert_int_equal(number(db, "SELECT COUNT(*) FROM refund WHERE status = 'done'"), 1);
    assert_books(db);
    /* Refused: nothing happened, somebody is told, and it can be tried again. */
    assert_int_equal(payment_refund_order(db, p.order_id, (Money){0}, STR(""), staff, NOW, &r), OK);
    assert_int_equal(r.amount.minor, 3999);
    assert_int_equal(payment_refund_failed(db, r.id, STR("no money"), true, NOW), OK);
    assert_int_equal(order_status(db, &p), ORDER_CONFIRMED);
    assert_int_equal(number(db, "SELECT COUNT(*) FROM review WHERE kind = 'refund_failed' AND status = 'open'"), 1);
    assert_books(db);
    assert_int_equal(payment_refund_retry(db, r.id, (Id){0}, NOW, &r), OK);
    assert_int_equal(payment_refund_retry(db, r.id, (Id){0}, NOW, &r), ERR_INVALID_STATE);
    assert_int_equal(payment_refund_done(db, r.id, STR("re_2"), (Str){0}, NOW), OK);
    assert_int_equal(order_status(db, &p), ORDER_REFUNDED);
    assert_int_equal(payment_refund_order(db, p.order_id, (Money){0}, STR(""), staff, NOW, &again), ERR_INVALID_STATE);
    assert_int_equal(number(db, "SELECT COUNT(*) FROM outbox WHERE kind = 'refund'"), 3);
    assert_int_equal(
        number(db, "SELECT CAST(SUM(amount) AS BIGINT) FROM transfer WHERE debit_id = 1 AND credit_id = 2"), 4999);
    assert_books(db);
    /* The bank sends it back days later: the order stays refunded, the money waits for somebody to decide. */
    struct payment_event failed = event_of(db, &p, EVENT_REFUND_FAILED);
    failed.refund_ref = STR("re_2");
    failed.amount = (Money){3999};
    assert_int_equal(receive(db, &failed).status, WEBHOOK_HANDLED);
    assert_int_equal(number(db, "SELECT waiting FROM payment"), 3999);
    assert_int_equal(order_status(db, &p), ORDER_REFUNDED);
    assert_books(db);
    Id open = {number(db, "SELECT id FROM review WHERE kind = 'refund_failed' AND status = 'open'")};
    assert_int_equal(payment_review_resolve(db, open, REVIEW_CREDIT, STR("by phone"), staff, NOW), OK);
    assert_int_equal(payment_review_resolve(db, open, REVIEW_CREDIT, STR("by phone"), staff, NOW), ERR_INVALID_STATE);
    assert_int_equal(number(db, "SELECT balance FROM ledger_account WHERE kind = 'wallet'"), 3999);
    assert_books(db);
    return OK;
}

static enum err topups(struct db *db)
{
    stock(db);
    struct payment p = top_up(db, 2000);
    struct wallet w;
    struct payment_event e = event_of(db, &p, EVENT_FAILED);
    assert_int_equal(receive(db, &e).status, WEBHOOK_HANDLED);
    e = event_of(db, &p, EVENT_SUCCEEDED);
    assert_int_equal(receive(db, &e).status, WEBHOOK_HANDLED);
    e = event_of(db, &p, EVENT_SUCCEEDED);
    assert_int_equal(receive(db, &e).status, WEBHOOK_HANDLED);
    assert_int_equal(wallet_find(db, ada, &w), OK);
    assert_int_equal(w.balance.minor, 2000);
    assert_books(db);
    e = refund_of(db, &p, 500);
    assert_int_equal(receive(db, &e).status, WEBHOOK_HANDLED);
    e = refund_of(db, &p, 500);
    assert_int_equal(receive(db, &e).status, WEBHOOK_HANDLED);
    assert_int_equal(wallet_find(db, ada, &w), OK);
    assert_int_equal(w.balance.minor, 1500);
    /* What is spent is owed, and the next money in repays it. */
    struct transfer spend = {LEDGER_ADJUSTMENT, {1400}, {0}, STR("spent"), NOW};
    assert_int_equal(ledger_debit(db, ada, LEDGER_ADJUSTMENTS, &spend, false), OK);
    e = refund_of(db, &p, 2000);
    assert_int_equal(receive(db, &e).status, WEBHOOK_HANDLED);
    assert_int_equal(wallet_find(db, ada, &w), OK);
    assert_int_equal(w.balance.minor, 0);
    assert_int_equal(w.debt.minor, 1400);
    assert_books(db);
    struct transfer back = {LEDGER_ADJUSTMENT, {2000}, {0}, STR("back"), NOW};
    assert_int_equal(ledger_credit(db, ada, LEDGER_ADJUSTMENTS, &back), OK);
    assert_int_equal(wallet_find(db, ada, &w), OK);
    assert_int_equal(w.balance.minor, 600);
    assert_int_equal(w.debt.minor, 0);
    assert_books(db);
    return OK;
}

/* All orders in which five events can come, each of them twice. */
static void permute(int *order, size_t n, size_t k, void (*each)(struct db *, const int *), struct db *db)
{
    if (k == n) {
        each(db, order);
        return;
    }
    for (size_t i = k; i < n; i++) {
        int t = order[k];
        order[k] = order[i];
        order[i] = t;
        permute(order, n, k + 1, each, db);
        order[i] = order[k];
        order[k] = t;
    }
}

static struct payment_event nth(struct db *db, const struct payment *p, int n)
{
    switch (n) {
    case 0: return event_of(db, p, EVENT_SUCCEEDED);
    case 1: return event_of(db, p, EVENT_FAILED);
    case 2: return refund_of(db, p, 1500);
    case 3: return refund_of(db, p, 4999);
    default: return event_of(db, p, EVENT_PENDING);
    }
}

static void one_order(struct db *db, const int *order)
{
    struct payment p = buy(db, editor);
    int64_t before = number(db, "SELECT COUNT(*) FROM delivery");
    for (int i = 0; i < 5; i++) {
        struct payment_event e = nth(db, &p, order[i]);
        receive(db, &e);
        receive(db, &e);
    }
    assert_int_equal(order_status(db, &p), ORDER_REFUNDED);
    assert_int_equal(number(db, "SELECT COUNT(*) FROM delivery") - before, 1);
}

static void one_order_kept(struct db *db, const int *order)
{
    struct payment p = buy(db, editor);
    for (int i = 0; i < 3; i++) {
        struct payment_event e = nth(db, &p, order[i]);
        receive(db, &e);
        receive(db, &e);
    }
    assert_int_equal(order_status(db, &p), ORDER_CONFIRMED);
    assert_int_equal(status(db, &p), PAYMENT_SUCCEEDED);
}

static enum err permutations(struct db *db)
{
    stock(db);
    int five[] = {0, 1, 2, 3, 4}, three[] = {0, 1, 2};
    permute(five, 5, 0, one_order, db);
    permute(three, 3, 0, one_order_kept, db);
    assert_int_equal(
        number(db, "SELECT CAST(SUM(CASE debit_id WHEN 2 THEN amount ELSE -amount END) AS BIGINT) FROM transfer"
                   " WHERE 2 IN (debit_id, credit_id)"),
        6 * (4999 - 1500));
    assert_int_equal(number(db, "SELECT COUNT(*) FROM webhook_event WHERE status <> 'handled'"), 0);
    assert_books(db);
    return OK;
}

static enum err envelopes(struct db *db)
{
    stock(db);
    struct payment p = buy(db, editor);
    struct payment_outcome o;
    struct payment_event e = event_of(db, &p, EVENT_PENDING);
    e.delivery_id = STR("tr-1");
    assert_int_equal(payment_receive(db, &gateway, &e, STR("{\"a\":1}"), NOW, &o), OK);
    assert_int_equal(payment_receive(db, &gateway, &e, STR("{\"a\":1}"), NOW, &o), OK);
    assert_int_equal(o.event.v, 0);
    e.delivery_id = STR("tr-2"); /* sent once more, in another envelope */
    assert_int_equal(payment_receive(db, &gateway, &e, STR("{\"a\":1}"), NOW, &o), OK);
    assert_int_equal(o.event.v, 0);
    struct payment_event forged = event_of(db, &p, EVENT_SUCCEEDED);
    forged.delivery_id = STR("tr-1");
    assert_int_equal(payment_receive(db, &gateway, &forged, STR("{\"a\":2}"), NOW, &o), ERR_SIGNATURE_INVALID);
    forged.event_id = e.event_id;
    assert_int_equal(payment_receive(db, &gateway, &forged, STR("{\"a\":2}"), NOW, &o), ERR_SIGNATURE_INVALID);
    assert_int_equal(order_status(db, &p), ORDER_PENDING);
    return OK;
}

static enum err secrets(struct db *db)
{
    stock(db);
    struct gateway_config c, *all;
    size_t count;
    c = gateway;
    c.secrets[1] = STR("whsec_0");
    c.secret_count = 2;
    c.api_secret = STR("canary-in-the-clear");
    assert_int_equal(gateway_config_save(db, &c, NOW, &c), OK);
    assert_int_equal(c.secret_count, 2);
    assert_true(str_eq(c.secrets[0], STR("whsec_1")) && str_eq(c.secrets[1], STR("whsec_0")));
    assert_true(str_eq(c.api_secret, STR("canary-in-the-clear")));
    assert_int_equal(gateway_config_named(db, STR("stripe"), &all, &count), OK);
    assert_int_equal(count, 1);
    assert_int_equal(gateway_config_named(db, STR("card_gateway_a"), &all, &count), OK);
    assert_int_equal(count, 1);
    assert_int_equal(gateway_config_named(db, STR("razorpay"), &all, &count), OK);
    assert_int_equal(count, 0);
    assert_int_equal(gateway_config_list(db, &all, &count), OK);
    assert_int_equal(count, 5);
    /* Moved to another label, a sealed secret is worth nothing. */
    assert_int_equal(
        db_run(db_prepare(db, "UPDATE gateway SET api_secret = (SELECT g.api_secret FROM gateway g WHERE g.label ="
                              " 'card_gateway_a') WHERE label = 'card_gateway_b'")),
        OK);
    assert_int_equal(gateway_config_find(db, STR("card_gateway_b"), &c), ERR_INTERNAL);
    buy(db, editor);
    c = gateway;
    c.provider = PROVIDER_PAYPAL;
    assert_int_equal(gateway_config_save(db, &c, NOW, &c), ERR_INVALID_STATE);
    return OK;
}

TEST(succeeds)
TEST(wrong_money)
TEST(unmatched)
TEST(overtaken)
TEST(stock_runs_out)
TEST(by_hand)
TEST(staff_refunds)
TEST(topups)
TEST(permutations)
TEST(envelopes)
TEST(secrets)

int main(void)
{
    const struct CMUnitTest tests[] = {
        ON_BOTH(test_succeeds),       ON_BOTH(test_wrong_money), ON_BOTH(test_unmatched),     ON_BOTH(test_overtaken),
        ON_BOTH(test_stock_runs_out), ON_BOTH(test_by_hand),     ON_BOTH(test_staff_refunds), ON_BOTH(test_topups),
        ON_BOTH(test_permutations),   ON_BOTH(test_envelopes),   ON_BOTH(test_secrets),
    };
    if (!test_postgres()) cmocka_set_test_filter("sqlite *");
    return cmocka_run_group_tests(tests, open_vault, NULL);
}
