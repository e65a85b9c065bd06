/* Money that goes back: refunds that fail, are made twice or elsewhere, and disputes. */
#include "payment_edges.h"

static void refunds(void **state)
{
    (void)state;
    struct payment one = paid(editor);
    ask_back(&one, 100);
    refund_ref = STR("");
    assert_int_equal(store_swept(do_refund_done), OK);
    assert_int_equal(store_swept(do_refund_failed), OK); /* it was done: nothing changes */
    assert_int_equal(store_swept(do_refund_retry), ERR_INVALID_STATE);
    assert_int_equal(store_swept(do_refund_settle), ERR_INVALID_STATE);
    ask_back(&one, 200);
    is_refused = false;
    assert_int_equal(store_swept(do_refund_failed), OK);
    assert_int_equal(store_swept(do_refund_retry), OK);
    is_refused = true;
    assert_int_equal(store_swept(do_refund_failed), OK);
    assert_int_equal(store_swept(do_refund_settle), OK);
    assert_int_equal(now_of(&one).refunded_total.minor, 300);

    /* All of it went back another way: neither can be done any more. */
    ask_back(&one, 4699);
    assert_int_equal(store_swept(do_refund_failed), OK);
    tell(back(&one, 4000, "re_outside"), WEBHOOK_HANDLED);
    assert_int_equal(store_swept(do_refund_retry), ERR_INVALID_STATE);
    assert_int_equal(store_swept(do_refund_settle), ERR_INVALID_STATE);
    tell(back(&one, 99999, "re_outside_2"), WEBHOOK_HANDLED); /* never more than was received */
    assert_int_equal(now_of(&one).returned.minor, 4999);

    /* Refunds with names: told by their name, with others beside them. */
    one = paid(editor);
    ask_back(&one, 100);
    refund_ref = STR("re_1");
    assert_int_equal(store_swept(do_refund_done), OK);
    ask_back(&one, 200);
    Id second = refund.id;
    ask_back(&one, 300);
    is_refused = true;
    assert_int_equal(store_swept(do_refund_failed), OK);
    tell(back(&one, 250, ""), WEBHOOK_HANDLED);     /* of 150 more none of ours is it */
    tell(back(&one, 450, "re_2"), WEBHOOK_HANDLED); /* the second */
    tell(back(&one, 450, "re_2"), WEBHOOK_HANDLED);
    struct payment_event failed = of(&one, EVENT_REFUND_FAILED);
    failed.refund_ref = STR("re_2");
    failed.amount.minor = 200;
    tell(failed, WEBHOOK_HANDLED);
    failed.event_id = STR("edge_again");
    tell(failed, WEBHOOK_HANDLED);                  /* it has failed already */
    tell(back(&one, 450, "re_3"), WEBHOOK_HANDLED); /* made again under another name */
    assert_true(second.v > 0);
    failed = of(&one, EVENT_REFUND_FAILED);
    failed.refund_ref = STR("re_nobody");
    failed.amount.minor = 77;
    tell(failed, WEBHOOK_HANDLED);
    failed.event_id = STR("edge_no_amount");
    failed.has_amount = false;
    tell(failed, WEBHOOK_HANDLED);
    ask_back(&one, 50);
    failed = of(&one, EVENT_REFUND_FAILED);
    failed.refund_ref = STR("re_asked");
    failed.amount.minor = 50;
    tell(failed, WEBHOOK_HANDLED); /* before it was done */

    /* One that came back, and went through in the end: under its own name, or without one. */
    one = paid(editor);
    ask_back(&one, 100);
    tell(back(&one, 100, "re_9"), WEBHOOK_HANDLED);
    for (int i = 0; i < 2; i++) {
        failed = of(&one, EVENT_REFUND_FAILED);
        failed.refund_ref = STR("re_9");
        failed.amount.minor = 100;
        tell(failed, WEBHOOK_HANDLED);
        assert_int_equal(now_of(&one).refunded_total.minor, 0);
        tell(back(&one, 100, i ? "" : "re_9"), WEBHOOK_HANDLED);
        assert_int_equal(now_of(&one).refunded_total.minor, 100);
    }

    /* What is no refund of this payment. */
    struct payment_event e = of(&one, EVENT_REFUNDED);
    tell(e, WEBHOOK_REVIEW);
    e = back(&one, 1, "re_x");
    e.currency = STR("EUR");
    tell(e, WEBHOOK_REVIEW);
    e = back(&one, 1, "re_x");
    e.payment_ref = STR("pi_else");
    tell(e, WEBHOOK_REVIEW);
}

static void paypal_refunds(void **state)
{
    (void)state;
    struct payment one = paid(editor);
    gateway.provider = PROVIDER_PAYPAL;
    struct payment_event e = back(&one, 100, "R1");
    e.amount.minor = 100;
    tell(e, WEBHOOK_HANDLED);
    e = back(&one, 100, "R1");
    e.amount.minor = 100;
    tell(e, WEBHOOK_HANDLED); /* the same again */
    e = back(&one, 150, "R2");
    e.has_amount = false;
    tell(e, WEBHOOK_HANDLED);
    e = back(&one, 200, "");
    e.amount.minor = 50;
    tell(e, WEBHOOK_HANDLED);
    assert_int_equal(now_of(&one).refunded_total.minor, 200);
    ask_back(&one, 30);
    refund_ref = STR("R3");
    is_refused = true;
    assert_int_equal(store_swept(do_refund_failed), OK);
    struct payment_event failed = of(&one, EVENT_REFUND_FAILED);
    failed.refund_ref = STR("R1");
    failed.amount.minor = 100;
    tell(failed, WEBHOOK_HANDLED);
    e = back(&one, 300, "R1");
    e.amount.minor = 100;
    tell(e, WEBHOOK_HANDLED); /* after all */
    gateway.provider = PROVIDER_STRIPE;
}

static void disputes(void **state)
{
    (void)state;
    struct payment one = paid(editor);
    tell(disputed(&one, EVENT_DISPUTED, "d1", 100), WEBHOOK_REVIEW);
    struct payment_event e = disputed(&one, EVENT_DISPUTED, "d2", 0);
    e.has_amount = false;
    tell(e, WEBHOOK_REVIEW);
    e = disputed(&one, EVENT_DISPUTED, "d3", 5);
    e.currency = STR("EUR");
    tell(e, WEBHOOK_REVIEW);
    e = disputed(&one, EVENT_DISPUTE_CLOSED, "d1", 100);
    e.outcome = DISPUTE_WON;
    tell(e, WEBHOOK_HANDLED);
    assert_true(now_of(&one).is_disputed); /* two are open */
    e = disputed(&one, EVENT_DISPUTE_CLOSED, "d2", 0);
    e.has_amount = false;
    tell(e, WEBHOOK_HANDLED);
    assert_int_equal(now_of(&one).lost_total.minor, 4999);
    tell(back(&one, 4999, "re_late"), WEBHOOK_HANDLED);
    e = disputed(&one, EVENT_DISPUTE_CLOSED, "d3", 5);
    tell(e, WEBHOOK_HANDLED); /* nothing is left to lose */

    one = paid(editor);
    tell(disputed(&one, EVENT_REVERSED, "v1", 100), WEBHOOK_HANDLED);
    tell(disputed(&one, EVENT_REVERSED, "v1", 100), WEBHOOK_HANDLED);
    e = disputed(&one, EVENT_REVERSED, "v2", 100);
    e.has_amount = false;
    tell(e, WEBHOOK_REVIEW);
    e = disputed(&one, EVENT_REVERSED, "v2", 100);
    e.payment_ref = STR("pi_else");
    tell(e, WEBHOOK_REVIEW);

    one = topped_up(1000);
    tell_paid(&one, 1000, WEBHOOK_HANDLED);
    tell(disputed(&one, EVENT_DISPUTED, "d4", 1000), WEBHOOK_REVIEW);
    e = disputed(&one, EVENT_DISPUTE_CLOSED, "d4", 1000);
    tell(e, WEBHOOK_HANDLED);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        EDGE(refunds),
        EDGE(paypal_refunds),
        EDGE(disputes),
    };
    return cmocka_run_group_tests(tests, open_vault, NULL);
}
