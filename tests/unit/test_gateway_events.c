/* tests/unit/test_gateway_events.c - providers' messages in our words, and messages that are not what they should be.
 */
#include "gateway.h"

#include "gateway/amount.h"

struct want {
    enum provider provider;
    const char *body;
    enum payment_event_kind kind;
    const char *payment_ref, *group_ref, *order_ref, *currency, *refund_ref;
    int64_t amount, refunded; /* -1: not said */
};

#define STRIPE(type, object)                                                                                           \
    "{\"id\":\"evt_1\",\"type\":\"" type "\",\"created\":1,\"livemode\":true,\"data\":{\"object\":" object "}}"
#define RAZORPAY(event, payload)                                                                                       \
    "{\"entity\":\"event\",\"event\":\"" event "\",\"payload\":{" payload "},\"created_at\":1}"
#define RAZORPAY_PAYMENT(more)                                                                                         \
    "\"payment\":{\"entity\":{\"id\":\"pay_1\",\"amount\":4999,\"currency\":\"INR\",\"order_id\":\"order_1\"" more "}" \
    "}"
#define PAYPAL(type, resource)                                                                                         \
    "{\"id\":\"WH-1\",\"create_time\":\"2024-01-01T00:00:00Z\",\"event_type\":\"" type "\",\"resource\":" resource "}"
#define PAYPAL_CAPTURE(value, code)                                                                                    \
    "{\"id\":\"CAP1\",\"amount\":{\"currency_code\":\"" code "\",\"value\":\"" value "\"},\"custom_id\":\"42\","       \
    "\"supplementary_data\":{\"related_ids\":{\"order_id\":\"ORD1\"}}}"
#define BTCPAY(type)                                                                                                   \
    "{\"deliveryId\":\"d2\",\"originalDeliveryId\":\"d1\",\"type\":\"" type "\",\"timestamp\":1,\"storeId\":\"s\","    \
    "\"invoiceId\":\"inv1\",\"metadata\":{\"orderId\":\"42\"}}"

static const struct want wants[] = {
    {PROVIDER_STRIPE,
     STRIPE("payment_intent.succeeded", "{\"id\":\"pi_1\",\"amount\":9,\"amount_received\":4999,"
                                        "\"currency\":\"usd\",\"metadata\":{\"order_id\":\"42\"}}"),
     EVENT_SUCCEEDED, "pi_1", "", "42", "USD", "", 4999, -1},
    {PROVIDER_STRIPE,
     STRIPE("payment_intent.succeeded", "{\"id\":\"pi_1\",\"amount_received\":500,\"currency\":\"jpy\"}"),
     EVENT_SUCCEEDED, "pi_1", "", "", "JPY", "", 500, -1},
    /* Stripe counts UGX in hundredths that must be 00, MGA in whole units, KWD in thousandths. */
    {PROVIDER_STRIPE,
     STRIPE("payment_intent.succeeded", "{\"id\":\"pi_1\",\"amount_received\":50000,\"currency\":\"ugx\"}"),
     EVENT_SUCCEEDED, "pi_1", "", "", "UGX", "", 500, -1},
    {PROVIDER_STRIPE,
     STRIPE("payment_intent.succeeded", "{\"id\":\"pi_1\",\"amount_received\":50050,\"currency\":\"ugx\"}"),
     EVENT_SUCCEEDED, "pi_1", "", "", "UGX", "", -1, -1},
    {PROVIDER_STRIPE,
     STRIPE("payment_intent.succeeded", "{\"id\":\"pi_1\",\"amount_received\":500,\"currency\":\"mga\"}"),
     EVENT_SUCCEEDED, "pi_1", "", "", "MGA", "", 50000, -1},
    {PROVIDER_STRIPE,
     STRIPE("payment_intent.succeeded", "{\"id\":\"pi_1\",\"amount_received\":5120,\"currency\":\"kwd\"}"),
     EVENT_SUCCEEDED, "pi_1", "", "", "KWD", "", 5120, -1},
    {PROVIDER_STRIPE,
     STRIPE("payment_intent.payment_failed", "{\"id\":\"pi_1\",\"amount\":4999,\"currency\":\"usd\","
                                             "\"metadata\":{\"order_id\":42}}"),
     EVENT_FAILED, "pi_1", "", "42", "USD", "", 4999, -1},
    {PROVIDER_STRIPE, STRIPE("payment_intent.canceled", "{\"id\":\"pi_1\"}"), EVENT_EXPIRED, "pi_1", "", "", "", "", -1,
     -1},
    {PROVIDER_STRIPE, STRIPE("payment_intent.processing", "{\"id\":\"pi_1\"}"), EVENT_PENDING, "pi_1", "", "", "", "",
     -1, -1},
    {PROVIDER_STRIPE, STRIPE("payment_intent.created", "{\"id\":\"pi_1\"}"), EVENT_IGNORED, "", "", "", "", "", -1, -1},
    {PROVIDER_STRIPE,
     STRIPE("checkout.session.completed",
            "{\"id\":\"cs_1\",\"payment_intent\":\"pi_1\",\"status\":"
            "\"complete\",\"payment_status\":\"paid\",\"amount_total\":4999,\"currency\":\"eur\","
            "\"client_reference_id\":\"42\"}"),
     EVENT_SUCCEEDED, "pi_1", "cs_1", "42", "EUR", "", 4999, -1},
    {PROVIDER_STRIPE,
     STRIPE("checkout.session.completed", "{\"id\":\"cs_1\",\"payment_intent\":{\"id\":\"pi_1\"},"
                                          "\"payment_status\":\"unpaid\",\"metadata\":{\"order_id\":\"42\"}}"),
     EVENT_PENDING, "pi_1", "cs_1", "42", "", "", -1, -1},
    {PROVIDER_STRIPE,
     STRIPE("checkout.session.async_payment_succeeded", "{\"id\":\"cs_1\",\"payment_intent\":\"pi_1\"}"),
     EVENT_SUCCEEDED, "pi_1", "cs_1", "", "", "", -1, -1},
    {PROVIDER_STRIPE, STRIPE("checkout.session.async_payment_failed", "{\"id\":\"cs_1\"}"), EVENT_EXPIRED, "", "cs_1",
     "", "", "", -1, -1},
    {PROVIDER_STRIPE, STRIPE("checkout.session.expired", "{\"id\":\"cs_1\"}"), EVENT_EXPIRED, "", "cs_1", "", "", "",
     -1, -1},
    {PROVIDER_STRIPE,
     STRIPE("charge.refunded", "{\"id\":\"ch_1\",\"payment_intent\":\"pi_1\",\"amount\":4999,"
                               "\"amount_refunded\":4999,\"refunded\":true,\"currency\":\"usd\",\"refunds\":{\"data\":"
                               "[{\"id\":\"re_1\"}]}}"),
     EVENT_REFUNDED, "pi_1", "", "", "USD", "re_1", 4999, 4999},
    {PROVIDER_STRIPE,
     STRIPE("charge.dispute.created", "{\"id\":\"dp_1\",\"payment_intent\":\"pi_1\",\"amount\":4999,"
                                      "\"currency\":\"usd\",\"status\":\"needs_response\"}"),
     EVENT_DISPUTED, "pi_1", "", "", "USD", "dp_1", 4999, -1},
    {PROVIDER_STRIPE,
     STRIPE("refund.failed", "{\"id\":\"re_1\",\"payment_intent\":\"pi_1\",\"amount\":1,\"currency\":\"usd\"}"),
     EVENT_REFUND_FAILED, "pi_1", "", "", "USD", "re_1", 1, -1},
    {PROVIDER_STRIPE,
     STRIPE("payment_intent.succeeded", "{\"id\":\"pi_1\",\"amount_received\":-5,\"currency\":\"usd\"}"),
     EVENT_SUCCEEDED, "pi_1", "", "", "USD", "", -1, -1},
    {PROVIDER_STRIPE,
     STRIPE("payment_intent.succeeded", "{\"id\":\"pi_1\",\"amount_received\":49.99,\"currency\":\"usd\"}"),
     EVENT_SUCCEEDED, "pi_1", "", "", "USD", "", -1, -1},
    {PROVIDER_STRIPE,
     STRIPE("payment_intent.succeeded", "{\"id\":\"pi_1\",\"amount_received\":\"4999\",\"currency\":\"usd\"}"),
     EVENT_SUCCEEDED, "pi_1", "", "", "USD", "", -1, -1},
    {PROVIDER_STRIPE,
     STRIPE("payment_intent.succeeded", "{\"id\":\"pi_1\",\"amount_received\":1,\"currency\":\"xxx\"}"),
     EVENT_SUCCEEDED, "pi_1", "", "", "", "", -1, -1},
    {PROVIDER_STRIPE,
     STRIPE("payment_intent.succeeded",
            "{\"id\":\"pi_1\",\"amount_received\":9223372036854775808,\"currency\":\"usd\"}"),
     EVENT_SUCCEEDED, "pi_1", "", "", "USD", "", -1, -1},
    {PROVIDER_STRIPE, STRIPE("payment_intent.succeeded", "[]"), EVENT_SUCCEEDED, "", "", "", "", "", -1, -1},
    {PROVIDER_STRIPE, STRIPE("payment_intent.succeeded", "{\"id\":null,\"metadata\":[]}"), EVENT_SUCCEEDED, "", "", "",
     "", "", -1, -1},
    {PROVIDER_STRIPE, "{\"id\":\"evt_1\",\"type\":\"charge.refunded\"}", EVENT_REFUNDED, "", "", "", "", "", -1, -1},

    {PROVIDER_RAZORPAY, RAZORPAY("payment.captured", RAZORPAY_PAYMENT(",\"notes\":{\"order_id\":\"42\"}")),
     EVENT_SUCCEEDED, "pay_1", "", "42", "INR", "", 4999, -1},
    {PROVIDER_RAZORPAY, RAZORPAY("payment.captured", RAZORPAY_PAYMENT(",\"notes\":[]")), EVENT_SUCCEEDED, "pay_1", "",
     "", "INR", "", 4999, -1},
    {PROVIDER_RAZORPAY,
     RAZORPAY("order.paid",
              RAZORPAY_PAYMENT("") ",\"order\":{\"entity\":{\"id\":\"order_1\",\"notes\":{\"order_id\":\"42\"}}}"),
     EVENT_SUCCEEDED, "pay_1", "", "42", "INR", "", 4999, -1},
    {PROVIDER_RAZORPAY,
     RAZORPAY(
         "payment_link.paid",
         RAZORPAY_PAYMENT("") ",\"payment_link\":{\"entity\":{\"id\":\"plink_1\",\"notes\":{\"order_id\":\"42\"}}}"),
     EVENT_SUCCEEDED, "pay_1", "plink_1", "42", "INR", "", 4999, -1},
    {PROVIDER_RAZORPAY, RAZORPAY("payment.failed", RAZORPAY_PAYMENT("")), EVENT_FAILED, "pay_1", "", "", "INR", "",
     4999, -1},
    {PROVIDER_RAZORPAY, RAZORPAY("payment.authorized", RAZORPAY_PAYMENT("")), EVENT_PENDING, "pay_1", "", "", "INR", "",
     4999, -1},
    {PROVIDER_RAZORPAY,
     RAZORPAY("refund.processed",
              RAZORPAY_PAYMENT(",\"amount_refunded\":1500") ",\"refund\":{\"entity\":{\"id\":\"rfnd_1\","
                                                            "\"amount\":500,\"payment_id\":\"pay_1\"}}"),
     EVENT_REFUNDED, "pay_1", "", "", "INR", "rfnd_1", 4999, 1500},
    {PROVIDER_RAZORPAY,
     RAZORPAY("refund.processed", "\"refund\":{\"entity\":{\"id\":\"rfnd_1\",\"payment_id\":\"pay_9\"}}"),
     EVENT_REFUNDED, "pay_9", "", "", "", "rfnd_1", -1, -1},
    {PROVIDER_RAZORPAY,
     RAZORPAY("payment.dispute.created",
              RAZORPAY_PAYMENT("") ",\"dispute\":{\"entity\":{\"id\":\"disp_1\","
                                   "\"payment_id\":\"pay_1\",\"amount\":100,\"currency\":\"INR\"}}"),
     EVENT_DISPUTED, "pay_1", "", "", "INR", "disp_1", 100, -1},
    {PROVIDER_RAZORPAY, RAZORPAY("settlement.processed", "\"x\":{}"), EVENT_IGNORED, "", "", "", "", "", -1, -1},
    {PROVIDER_RAZORPAY, RAZORPAY("payment.captured", "\"payment\":[]"), EVENT_SUCCEEDED, "", "", "", "", "", -1, -1},

    {PROVIDER_PAYPAL, PAYPAL("PAYMENT.CAPTURE.COMPLETED", PAYPAL_CAPTURE("30.00", "USD")), EVENT_SUCCEEDED, "CAP1",
     "ORD1", "42", "USD", "", 3000, -1},
    {PROVIDER_PAYPAL, PAYPAL("PAYMENT.CAPTURE.COMPLETED", PAYPAL_CAPTURE("30", "JPY")), EVENT_SUCCEEDED, "CAP1", "ORD1",
     "42", "JPY", "", 30, -1},
    {PROVIDER_PAYPAL, PAYPAL("PAYMENT.CAPTURE.COMPLETED", PAYPAL_CAPTURE("30.001", "USD")), EVENT_SUCCEEDED, "CAP1",
     "ORD1", "42", "", "", -1, -1},
    {PROVIDER_PAYPAL, PAYPAL("PAYMENT.CAPTURE.COMPLETED", PAYPAL_CAPTURE("-30.00", "USD")), EVENT_SUCCEEDED, "CAP1",
     "ORD1", "42", "", "", -1, -1},
    {PROVIDER_PAYPAL, PAYPAL("PAYMENT.CAPTURE.DENIED", PAYPAL_CAPTURE("30.00", "USD")), EVENT_EXPIRED, "CAP1", "ORD1",
     "42", "USD", "", 3000, -1},
    {PROVIDER_PAYPAL, PAYPAL("PAYMENT.CAPTURE.PENDING", PAYPAL_CAPTURE("30.00", "USD")), EVENT_PENDING, "CAP1", "ORD1",
     "42", "USD", "", 3000, -1},
    {PROVIDER_PAYPAL,
     PAYPAL("PAYMENT.CAPTURE.REFUNDED",
            "{\"id\":\"REF1\",\"amount\":{\"currency_code\":\"USD\",\"value\":\"0.99\"},"
            "\"seller_payable_breakdown\":{\"total_refunded_amount\":{\"currency_code\":\"USD\",\"value\":\"1.98\"}},"
            "\"links\":[{\"href\":\"https://api.paypal.com/v2/payments/refunds/REF1\",\"rel\":\"self\"},"
            "{\"href\":\"https://api.paypal.com/v2/payments/captures/CAP1\",\"rel\":\"up\"}]}"),
     EVENT_REFUNDED, "CAP1", "", "", "USD", "REF1", 99, 198},
    {PROVIDER_PAYPAL,
     PAYPAL("PAYMENT.CAPTURE.REVERSED",
            "{\"id\":\"REF1\",\"links\":[{\"href\":\"https://x/v2/payments/captures/../orders\","
            "\"rel\":\"up\"}]}"),
     EVENT_REVERSED, "", "", "", "", "REF1", -1, -1},
    {PROVIDER_PAYPAL,
     PAYPAL("CUSTOMER.DISPUTE.CREATED",
            "{\"dispute_id\":\"PP-D-1\",\"status\":\"OPEN\",\"disputed_transactions\":"
            "[{\"seller_transaction_id\":\"CAP1\"}],\"dispute_amount\":{\"currency_code\":\"USD\",\"value\":\"3\"}}"),
     EVENT_DISPUTED, "CAP1", "", "", "USD", "PP-D-1", 300, -1},
    {PROVIDER_PAYPAL,
     PAYPAL("CHECKOUT.ORDER.APPROVED", "{\"id\":\"ORD1\",\"purchase_units\":[{\"custom_id\":\"42\"}]}"), EVENT_APPROVED,
     "", "ORD1", "42", "", "", -1, -1},
    {PROVIDER_PAYPAL, PAYPAL("BILLING.PLAN.CREATED", "{}"), EVENT_IGNORED, "", "", "", "", "", -1, -1},

    {PROVIDER_BTCPAY, BTCPAY("InvoiceSettled"), EVENT_SUCCEEDED, "inv1", "inv1", "42", "", "", -1, -1},
    {PROVIDER_BTCPAY, BTCPAY("InvoiceProcessing"), EVENT_PENDING, "inv1", "inv1", "42", "", "", -1, -1},
    {PROVIDER_BTCPAY, BTCPAY("InvoiceExpired"), EVENT_EXPIRED, "inv1", "inv1", "42", "", "", -1, -1},
    {PROVIDER_BTCPAY, BTCPAY("InvoiceInvalid"), EVENT_EXPIRED, "inv1", "inv1", "42", "", "", -1, -1},
    {PROVIDER_BTCPAY, BTCPAY("InvoiceCreated"), EVENT_IGNORED, "inv1", "inv1", "42", "", "", -1, -1},
};

static void check(struct arena *a, const struct want *w)
{
    struct payment_event e = test_parse(a, w->provider, str_from(w->body));
    if (e.kind != w->kind)
        fail_msg("%s: %s, wanted %s", w->body, payment_event_kind_names[e.kind], payment_event_kind_names[w->kind]);
    assert_str(e.payment_ref, str_from(w->payment_ref));
    assert_str(e.group_ref, str_from(w->group_ref));
    assert_str(e.order_ref, str_from(w->order_ref));
    assert_str(e.currency, str_from(w->currency));
    assert_str(e.refund_ref, str_from(w->refund_ref));
    if (e.has_amount != (w->amount >= 0) || (e.has_amount && e.amount.minor != w->amount))
        fail_msg("%s: amount %lld, wanted %lld", w->body, (long long)e.amount.minor, (long long)w->amount);
    if (e.has_refunded_total != (w->refunded >= 0) || (e.has_refunded_total && e.refunded_total.minor != w->refunded))
        fail_msg("%s: refunded %lld, wanted %lld", w->body, (long long)e.refunded_total.minor, (long long)w->refunded);
}

static void test_messages(void **state)
{
    (void)state;
    struct arena a = {0};
    for (size_t i = 0; i < sizeof wants / sizeof *wants; i++) check(&a, &wants[i]);
    arena_done(&a);
}

/* How disputes end: who has the money decides, not a word that only sounds like an end. */
static const struct ended {
    enum provider provider;
    const char *body;
    enum payment_event_kind kind;
    enum dispute_outcome outcome;
    int64_t amount;
    bool review;
} ended[] = {
#define STRIPE_DISPUTE(status, more)                                                                                   \
    STRIPE("charge.dispute.closed",                                                                                    \
           "{\"id\":\"dp_1\",\"payment_intent\":\"pi_1\",\"amount\":4999,\"currency\":\"usd\","                        \
           "\"status\":\"" status "\"" more "}")
#define STRIPE_MOVE(count, currency) "{\"amount\":" count ",\"currency\":\"" currency "\"}"
    {PROVIDER_STRIPE, STRIPE_DISPUTE("won", ""), EVENT_DISPUTE_CLOSED, DISPUTE_WON, 4999, false},
    {PROVIDER_STRIPE, STRIPE_DISPUTE("warning_closed", ""), EVENT_DISPUTE_CLOSED, DISPUTE_WON, 4999, false},
    {PROVIDER_STRIPE, STRIPE_DISPUTE("lost", ""), EVENT_DISPUTE_CLOSED, DISPUTE_LOST, 4999, false},
    {PROVIDER_STRIPE, STRIPE_DISPUTE("prevented", ""), EVENT_DISPUTE_CLOSED, DISPUTE_LOST, 4999, true},
    /* "Partially won" is called lost: a part came back. */
    {PROVIDER_STRIPE,
     STRIPE_DISPUTE("lost",
                    ",\"balance_transactions\":[" STRIPE_MOVE("-4999", "usd") "," STRIPE_MOVE("2000", "usd") "]"),
     EVENT_DISPUTE_CLOSED, DISPUTE_LOST, 2999, false},
    {PROVIDER_STRIPE,
     STRIPE_DISPUTE("lost",
                    ",\"balance_transactions\":[" STRIPE_MOVE("-4999", "usd") "," STRIPE_MOVE("4999", "usd") "]"),
     EVENT_DISPUTE_CLOSED, DISPUTE_WON, 4999, false},
    {PROVIDER_STRIPE, STRIPE_DISPUTE("lost", ",\"balance_transactions\":[" STRIPE_MOVE("-4600", "eur") "]"),
     EVENT_DISPUTE_CLOSED, DISPUTE_LOST, 4999, false},
    /* An amount that the currency does not have is none: the dispute's own counts. */
    {PROVIDER_STRIPE,
     STRIPE("charge.dispute.closed",
            "{\"id\":\"dp_1\",\"payment_intent\":\"pi_1\",\"amount\":50000,\"currency\":\"ugx\",\"status\":\"lost\","
            "\"balance_transactions\":[" STRIPE_MOVE("-50050", "ugx") "]}"),
     EVENT_DISPUTE_CLOSED, DISPUTE_LOST, 500, false},
#define RAZORPAY_DISPUTE(type, deducted)                                                                               \
    RAZORPAY("payment.dispute." type,                                                                                  \
             "\"dispute\":{\"entity\":{\"id\":\"disp_1\",\"payment_id\":\"pay_1\",\"amount\":5000,"                    \
             "\"amount_deducted\":" deducted ",\"currency\":\"INR\"}}")
    {PROVIDER_RAZORPAY, RAZORPAY_DISPUTE("won", "0"), EVENT_DISPUTE_CLOSED, DISPUTE_WON, 5000, false},
    {PROVIDER_RAZORPAY, RAZORPAY_DISPUTE("closed", "0"), EVENT_DISPUTE_CLOSED, DISPUTE_WITHDRAWN, 5000, false},
    {PROVIDER_RAZORPAY, RAZORPAY_DISPUTE("lost", "3000"), EVENT_DISPUTE_CLOSED, DISPUTE_LOST, 3000, false},
    {PROVIDER_RAZORPAY, RAZORPAY_DISPUTE("lost", "0"), EVENT_DISPUTE_CLOSED, DISPUTE_LOST, 5000, false},
    {PROVIDER_RAZORPAY, RAZORPAY_DISPUTE("lost", "null"), EVENT_DISPUTE_CLOSED, DISPUTE_LOST, 5000, false},
    {PROVIDER_RAZORPAY, RAZORPAY_DISPUTE("won", "null"), EVENT_DISPUTE_CLOSED, DISPUTE_WON, 5000, false},
#define PAYPAL_MONEY(value) "{\"currency_code\":\"USD\",\"value\":\"" value "\"}"
#define PAYPAL_DISPUTE(outcome, more)                                                                                  \
    PAYPAL("CUSTOMER.DISPUTE.RESOLVED",                                                                                \
           "{\"dispute_id\":\"PP-D-1\",\"status\":\"RESOLVED\",\"disputed_transactions\":[{\"seller_transaction_id\":" \
           "\"CAP1\"}],\"dispute_amount\":" PAYPAL_MONEY("30.00") ",\"dispute_outcome\":{\"outcome_code\":\"" outcome  \
                                                                  "\"" more "}")
#define PAYPAL_MOVE(party, type, value)                                                                                \
    "{\"affected_party\":\"" party "\",\"type\":\"" type "\",\"amount\":" PAYPAL_MONEY(value) "}"
    {PROVIDER_PAYPAL, PAYPAL_DISPUTE("RESOLVED_SELLER_FAVOUR", "}"), EVENT_DISPUTE_CLOSED, DISPUTE_WON, 3000, false},
    {PROVIDER_PAYPAL, PAYPAL_DISPUTE("CANCELED_BY_BUYER", "}"), EVENT_DISPUTE_CLOSED, DISPUTE_WITHDRAWN, 3000, false},
    {PROVIDER_PAYPAL, PAYPAL_DISPUTE("RESOLVED_BUYER_FAVOUR", "}"), EVENT_DISPUTE_CLOSED, DISPUTE_LOST, 3000, false},
    {PROVIDER_PAYPAL, PAYPAL_DISPUTE("RESOLVED_BUYER_FAVOUR", ",\"amount_refunded\":" PAYPAL_MONEY("12.50") "}"),
     EVENT_DISPUTE_CLOSED, DISPUTE_LOST, 1250, false},
    /* What the buyer got was PayPal's own money. */
    {PROVIDER_PAYPAL,
     PAYPAL_DISPUTE("RESOLVED_BUYER_FAVOUR",
                    ",\"amount_refunded\":" PAYPAL_MONEY("30.00") "},\"money_movements\":[" PAYPAL_MOVE(
                        "BUYER", "CREDIT", "30.00") "," PAYPAL_MOVE("SELLER", "DEBIT", "10.00") "]"),
     EVENT_DISPUTE_CLOSED, DISPUTE_LOST, 1000, false},
    {PROVIDER_PAYPAL,
     PAYPAL_DISPUTE("RESOLVED_WITH_PAYOUT", "},\"money_movements\":[" PAYPAL_MOVE("BUYER", "CREDIT", "30.00") "]"),
     EVENT_DISPUTE_CLOSED, DISPUTE_WON, 3000, false},
    {PROVIDER_PAYPAL,
     PAYPAL_DISPUTE("RESOLVED_WITH_PAYOUT",
                    "},\"money_movements\":[" PAYPAL_MOVE("SELLER", "DEBIT",
                                                          "30.00") "," PAYPAL_MOVE("SELLER", "CREDIT", "30.00") "]"),
     EVENT_DISPUTE_CLOSED, DISPUTE_WON, 3000, false},
    {PROVIDER_PAYPAL, PAYPAL_DISPUTE("RESOLVED_WITH_PAYOUT", "}"), EVENT_DISPUTE_CLOSED, DISPUTE_LOST, 3000, true},
    {PROVIDER_PAYPAL, PAYPAL_DISPUTE("ACCEPTED", "}"), EVENT_DISPUTE_CLOSED, DISPUTE_LOST, 3000, true},
    {PROVIDER_PAYPAL, PAYPAL_DISPUTE("SOMETHING_NEW", "}"), EVENT_DISPUTE_CLOSED, DISPUTE_LOST, 3000, true},
    {PROVIDER_PAYPAL, PAYPAL_DISPUTE("NONE", "}"), EVENT_PENDING, DISPUTE_LOST, 3000, false},
};

static void test_disputes(void **state)
{
    (void)state;
    struct arena a = {0};
    for (size_t i = 0; i < sizeof ended / sizeof *ended; i++) {
        const struct ended *w = &ended[i];
        struct payment_event e = test_parse(&a, w->provider, str_from(w->body));
        if (e.kind != w->kind || e.amount.minor != w->amount || (e.review != NULL) != w->review)
            fail_msg("%s: kind %d, amount %lld, review %s", w->body, (int)e.kind, (long long)e.amount.minor,
                     e.review ? e.review : "none");
        if (!w->review && e.kind == EVENT_DISPUTE_CLOSED && e.outcome != w->outcome)
            fail_msg("%s: outcome %d, wanted %d", w->body, (int)e.outcome, (int)w->outcome);
        assert_true(e.has_amount);
    }
    arena_done(&a);
}

/* When staff must have answered: a moment that the calendar does not have is none. */
static void test_due_times(void **state)
{
    (void)state;
    static const struct {
        const char *seconds;
        int64_t ms;
    } times[] = {{"1893456000", 1893456000000}, {"0", 0},       {"-1", 0}, {"253402300799", 253402300799000},
                 {"253402300800", 0},           {"\"soon\"", 0}};
    struct arena a = {0};
    for (size_t i = 0; i < sizeof times / sizeof *times; i++) {
        Str body = str_printf(&a,
                              STRIPE("charge.dispute.created", "{\"id\":\"dp_1\",\"payment_intent\":\"pi_1\","
                                                               "\"evidence_details\":{\"due_by\":%s}}"),
                              times[i].seconds);
        assert_int_equal(test_parse(&a, PROVIDER_STRIPE, body).due_at.ms, times[i].ms);
    }
    arena_done(&a);
}

static void test_vectors(void **state)
{
    (void)state;
    struct arena a = {0};
    struct payment_event e = test_parse(&a, PROVIDER_STRIPE, test_vector(&a, "stripe.json"));
    assert_int_equal(e.kind, EVENT_SUCCEEDED);
    assert_str(e.event_id, STR("evt_1OrderPaid"));
    assert_str(e.order_ref, STR("42"));
    assert_int_equal(e.amount.minor, 4999);
    assert_int_equal(e.mode, EVENT_MODE_TEST);
    assert_int_equal(e.occurred_at.ms, 1700000000 * TIME_SECOND);
    e = test_parse(&a, PROVIDER_STRIPE, test_vector(&a, "stripe_refund.json"));
    assert_int_equal(e.kind, EVENT_REFUNDED);
    assert_int_equal(e.refunded_total.minor, 1500);
    assert_str(e.payment_ref, STR("pi_1Test"));
    e = test_parse(&a, PROVIDER_STRIPE, test_vector(&a, "stripe_utf8.json"));
    assert_int_equal(e.kind, EVENT_SUCCEEDED);
    assert_false(e.has_amount);
    e = test_parse(&a, PROVIDER_RAZORPAY, test_vector(&a, "razorpay.json"));
    assert_int_equal(e.kind, EVENT_SUCCEEDED);
    assert_str(e.payment_ref, STR("pay_DESp9bgForNoUd"));
    assert_int_equal(e.event_id.len, 64);
    e = test_parse(&a, PROVIDER_BTCPAY, test_vector(&a, "btcpay.json"));
    assert_int_equal(e.kind, EVENT_SUCCEEDED);
    assert_str(e.event_id, STR("6HSHAEU4iYWtjxtyRs9KyP"));
    assert_null(e.review);
    arena_done(&a);
}

/* The same body twice is the same event; one byte more is another. */
static void test_event_ids(void **state)
{
    (void)state;
    struct arena a = {0};
    Str one = STR(RAZORPAY("payment.captured", RAZORPAY_PAYMENT("")));
    Str two = STR(RAZORPAY("payment.captured", RAZORPAY_PAYMENT("")) " ");
    assert_str(test_parse(&a, PROVIDER_RAZORPAY, one).event_id, test_parse(&a, PROVIDER_RAZORPAY, one).event_id);
    assert_false(
        str_eq(test_parse(&a, PROVIDER_RAZORPAY, one).event_id, test_parse(&a, PROVIDER_RAZORPAY, two).event_id));
    assert_str(test_parse(&a, PROVIDER_BTCPAY, STR(BTCPAY("InvoiceSettled"))).event_id, STR("d1"));
    arena_done(&a);
}

static void test_other_store(void **state)
{
    (void)state;
    struct arena a = {0};
    struct gateway_config config = test_config(PROVIDER_BTCPAY, "s");
    struct webhook hook = {.raw = STR(BTCPAY("InvoiceSettled"))};
    struct payment_event e;
    config.store_id = STR("s");
    assert_true(gateway_btcpay.parse(&a, &config, &hook, &e));
    assert_null(e.review);
    config.store_id = STR("t");
    assert_true(gateway_btcpay.parse(&a, &config, &hook, &e));
    assert_non_null(e.review);
    arena_done(&a);
}

static void test_not_messages(void **state)
{
    (void)state;
    static const char *const bad[] = {
        "",
        " ",
        "null",
        "[]",
        "42",
        "\"text\"",
        "{",
        "{}",
        "{\"id\":\"x\"}",
        "{\"type\":\"x\"}",
        "{\"id\":1.5,\"type\":\"x\"}",
        "{\"id\":{},\"type\":\"x\"}",
        "{\"id\":\"\",\"type\":\"x\"}",
        "{\"id\":\"x\",\"type\":\"x\",\"id\":\"y\"}",
        "{\"id\":\"x\",\"type\":\"x\"}{}",
        "{\"id\":\"\\u0000\",\"type\":\"x\"}",
        "\xff\xfe{}",
        "{\"event\":{}}",
    };
    struct arena a = {0};
    struct payment_event e;
    for (enum provider p = 0; p < PROVIDER_COUNT; p++) {
        struct gateway_config config = test_config(p, "s");
        for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
            struct webhook hook = {.raw = str_from(bad[i])};
            if (gateway_of(p)->parse(&a, &config, &hook, &e))
                fail_msg("%.*s accepted: %s", STR_FMT(gateway_of(p)->name), bad[i]);
        }
        /* An id longer than what can be kept is no id. */
        Str long_id = str_printf(
            &a, "{\"id\":\"%0300d\",\"originalDeliveryId\":\"%0300d\",\"type\":\"x\",\"event_type\":\"x\"}", 1, 1);
        struct webhook hook = {.raw = long_id};
        assert_false(gateway_of(p)->parse(&a, &config, &hook, &e));
    }
    arena_done(&a);
}

/* Every prefix of a good message, and every message with one byte replaced, is read without harm. */
static void test_broken_messages(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof wants / sizeof *wants; i++) {
        const struct gateway *g = gateway_of(wants[i].provider);
        struct gateway_config config = test_config(wants[i].provider, "s");
        size_t n = strlen(wants[i].body);
        struct arena a = {0};
        struct payment_event e;
        for (size_t cut = 0; cut < n; cut++) {
            struct webhook hook = {.raw = {wants[i].body, cut}};
            assert_false(g->parse(&a, &config, &hook, &e));
            char *body = str_cstr(&a, (Str){wants[i].body, n});
            body[cut] = (char)(cut * 31 + i);
            hook.raw = (Str){body, n};
            g->parse(&a, &config, &hook, &e);
            arena_reset(&a);
        }
        arena_done(&a);
    }
}

static void test_amounts(void **state)
{
    (void)state;
    Money m = {7};
    assert_true(amount_from_text(STR("1.5"), STR("USD"), &m));
    assert_int_equal(m.minor, 150);
    assert_false(amount_from_text(STR("1.5"), STR("JPY"), &m));
    assert_false(amount_from_text(STR("1.5"), STR("XXX"), &m));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_amounts),      cmocka_unit_test(test_disputes),        cmocka_unit_test(test_messages),
        cmocka_unit_test(test_vectors),      cmocka_unit_test(test_event_ids),       cmocka_unit_test(test_other_store),
        cmocka_unit_test(test_not_messages), cmocka_unit_test(test_broken_messages), cmocka_unit_test(test_due_times),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
