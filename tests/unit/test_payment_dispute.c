/* Disputes and money that a provider takes back: each is counted once, in whatever order it is told. On both engines.
 */
#include "payment_shop.h"

static enum err disputes(struct db *db)
{
    stock(db);
    struct payment p = buy(db, editor), q = buy(db, editor);
    struct payment_event e = event_of(db, &p, EVENT_SUCCEEDED);
    receive(db, &e);
    struct payment_event dispute = event_of(db, &p, EVENT_DISPUTED);
    dispute.refund_ref = STR("dp_1");
    assert_int_equal(receive(db, &dispute).status, WEBHOOK_REVIEW);
    assert_int_equal(number(db, "SELECT COUNT(*) FROM license WHERE on_hold = 1"), 1);
    /* Told again, with a date by which it must be answered; told once more without one, which changes nothing. */
    for (int64_t due = 1800000000000; due >= 0; due -= 1800000000000) {
        dispute = event_of(db, &p, EVENT_DISPUTED);
        dispute.refund_ref = STR("dp_1");
        dispute.due_at = (Time){due};
        assert_int_equal(receive(db, &dispute).status, WEBHOOK_REVIEW);
        assert_int_equal(number(db, "SELECT due_at FROM dispute"), 1800000000000);
    }
    struct payment_event closed = event_of(db, &p, EVENT_DISPUTE_CLOSED);
    closed.refund_ref = STR("dp_1");
    closed.outcome = DISPUTE_WON;
    assert_int_equal(receive(db, &closed).status, WEBHOOK_HANDLED);
    assert_int_equal(number(db, "SELECT COUNT(*) FROM license WHERE on_hold = 1"), 0);
    /* The opening, late: it has been decided. */
    dispute = event_of(db, &p, EVENT_DISPUTED);
    dispute.refund_ref = STR("dp_1");
    assert_int_equal(receive(db, &dispute).status, WEBHOOK_HANDLED);
    assert_int_equal(number(db, "SELECT COUNT(*) FROM license WHERE on_hold = 1"), 0);

    /* Everything before the success; lost: the money is gone. */
    dispute = event_of(db, &q, EVENT_DISPUTED);
    dispute.refund_ref = STR("dp_2");
    assert_int_equal(receive(db, &dispute).status, WEBHOOK_UNMATCHED);
    closed = event_of(db, &q, EVENT_DISPUTE_CLOSED);
    closed.refund_ref = STR("dp_2");
    assert_int_equal(receive(db, &closed).status, WEBHOOK_UNMATCHED);
    e = event_of(db, &q, EVENT_SUCCEEDED);
    assert_int_equal(receive(db, &e).status, WEBHOOK_HANDLED);
    assert_int_equal(order_status(db, &q), ORDER_REFUNDED);
    assert_int_equal(number(db, "SELECT returned FROM payment ORDER BY id DESC LIMIT 1"), 4999);
    assert_int_equal(number(db, "SELECT COUNT(*) FROM webhook_event WHERE status = 'unmatched'"), 0);
    assert_books(db);
    return OK;
}

/* PayPal takes money back for a dispute and tells of it twice; a refund's total may include it. In every order, with
 * the last event repeated: the money is counted once. */
static void play_reversal(struct db *db, const int order[4], bool total_has_reversal)
{
    struct payment p = buy(db, editor), now;
    struct payment_event e = event_of(db, &p, EVENT_SUCCEEDED);
    receive(db, &e);
    for (int i = 0; i < 5; i++) {
        switch (order[i < 4 ? i : 3]) {
        case 0:
            e = event_of(db, &p, EVENT_DISPUTED);
            e.refund_ref = STR("PP-D-1");
            break;
        case 1:
            e = event_of(db, &p, EVENT_DISPUTE_CLOSED);
            e.refund_ref = STR("PP-D-1");
            e.outcome = DISPUTE_LOST;
            break;
        case 2:
            e = event_of(db, &p, EVENT_REVERSED);
            e.refund_ref = STR("REV1");
            break;
        default: e = refund_of(db, &p, total_has_reversal ? 2500 : 1000); e.refund_ref = STR("REF1");
        }
        e.amount = (Money){order[i < 4 ? i : 3] == 3 ? 1000 : 1500};
        receive(db, &e);
    }
    assert_int_equal(payment_find(db, p.id, &now), OK);
    assert_int_equal(now.returned.minor, 2500);
    assert_int_equal(now.lost_total.minor, 1500);
    assert_int_equal(now.refunded_total.minor, 1000);
    assert_int_equal(order_status(db, &p), ORDER_CONFIRMED);
    assert_false(now.is_disputed);
}

static enum err reversals(struct db *db)
{
    stock(db);
    gateway.provider = PROVIDER_PAYPAL;
    for (int code = 0; code < 256; code++) {
        int order[4] = {code & 3, code >> 2 & 3, code >> 4 & 3, code >> 6 & 3};
        unsigned seen = 1u << order[0] | 1u << order[1] | 1u << order[2] | 1u << order[3];
        if (seen != 15) continue;
        play_reversal(db, order, false);
        play_reversal(db, order, true);
    }
    assert_books(db);
    gateway.provider = PROVIDER_STRIPE;
    return OK;
}

/* Not lost, though the money was taken back: a person looks. And a loss that the reversal does not cover counts whole.
 */
static enum err reversed_and_won(struct db *db)
{
    stock(db);
    struct payment p = buy(db, editor), now;
    struct payment_event e = event_of(db, &p, EVENT_SUCCEEDED);
    receive(db, &e);
    e = event_of(db, &p, EVENT_REVERSED);
    e.refund_ref = STR("REV1");
    e.amount = (Money){1500};
    assert_int_equal(receive(db, &e).status, WEBHOOK_HANDLED);
    e = event_of(db, &p, EVENT_DISPUTE_CLOSED);
    e.refund_ref = STR("PP-D-1");
    e.outcome = DISPUTE_WON;
    assert_int_equal(receive(db, &e).status, WEBHOOK_REVIEW);
    e = event_of(db, &p, EVENT_DISPUTE_CLOSED);
    e.refund_ref = STR("PP-D-2");
    e.outcome = DISPUTE_LOST;
    e.amount = (Money){2000};
    assert_int_equal(receive(db, &e).status, WEBHOOK_HANDLED);
    assert_int_equal(payment_find(db, p.id, &now), OK);
    assert_int_equal(now.lost_total.minor, 2000);
    e = event_of(db, &p, EVENT_REVERSED);
    e.refund_ref = STR("REV2");
    e.currency = STR("EUR");
    assert_int_equal(receive(db, &e).status, WEBHOOK_REVIEW);
    assert_books(db);
    return OK;
}

TEST(disputes)
TEST(reversals)
TEST(reversed_and_won)

int main(void)
{
    const struct CMUnitTest tests[] = {
        ON_BOTH(test_disputes),
        ON_BOTH(test_reversals),
        ON_BOTH(test_reversed_and_won),
    };
    if (!test_postgres()) cmocka_set_test_filter("sqlite *");
    return cmocka_run_group_tests(tests, open_vault, NULL);
}
