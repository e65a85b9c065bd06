/* tests/unit/test_gateway_calls.c - the calls that adapters describe, byte for byte, and what they make of answers. */
#include "gateway.h"

#include "gateway/amount.h"
#include "json/reader.h"

static struct gateway_config config_of(enum provider p)
{
    struct gateway_config c = test_config(p, "s");
    c.api_key = STR("key");
    c.api_secret = STR("secret");
    c.store_id = STR("store1");
    c.access_token = STR("token");
    c.base_url = STR("http://127.0.0.1:9");
    return c;
}

static struct pay_request request_of(Money amount, const char *currency)
{
    return (struct pay_request){
        .reference = STR("souk-ref-1"),
        .order_ref = STR("42"),
        .description = STR("Order 42 & more"),
        .amount = amount,
        .currency = str_from(currency),
        .email = STR("a+b@example.com"),
        .success_url = STR("https://shop.example/ok?x=1"),
        .cancel_url = STR("https://shop.example/no"),
        .now = {1700000000 * TIME_SECOND},
        .expires_at = {1700003600 * TIME_SECOND},
    };
}

static void test_create(void **state)
{
    (void)state;
    static const struct {
        enum provider provider;
        const char *url, *auth, *key_header, *body;
    } wants[] = {
        {PROVIDER_STRIPE, "http://127.0.0.1:9/v1/checkout/sessions", "Bearer key", "Idempotency-Key",
         "mode=payment&client_reference_id=42&success_url=https%3A%2F%2Fshop.example%2Fok%3Fx%3D1&cancel_url=https%3A%"
         "2F%2F"
         "shop.example%2Fno&customer_email=a%2Bb%40example.com&expires_at=1700003600&line_items[0][quantity]=1&line_"
         "items[0]"
         "[price_data][currency]=usd&line_items[0][price_data][unit_amount]=4999&line_items[0][price_data][product_"
         "data][name]"
         "=Order%2042%20%26%20more&metadata[order_id]=42&payment_intent_data[metadata][order_id]=42"
         "&metadata[reference]=souk-ref-1&payment_intent_data[metadata][reference]=souk-ref-1"},
        {PROVIDER_RAZORPAY, "http://127.0.0.1:9/v1/payment_links", "Basic a2V5OnNlY3JldA==", NULL,
         "{\"amount\":4999,\"currency\":\"USD\",\"reference_id\":\"souk-ref-1\",\"description\":\"Order 42 \\u0026 "
         "more\","
         "\"customer\":{\"email\":\"a+b@example.com\"},\"notify\":{\"sms\":false,\"email\":false},\"notes\":{\"order_"
         "id\":"
         "\"42\",\"reference\":\"souk-ref-1\"},\"expire_by\":1700003600,\"callback_url\":\"https://shop.example/"
         "ok?x=1\",\"callback_method\":\"get\"}"},
        {PROVIDER_PAYPAL, "http://127.0.0.1:9/v2/checkout/orders", "Bearer token", "PayPal-Request-Id",
         "{\"intent\":\"CAPTURE\",\"purchase_units\":[{\"custom_id\":\"42\",\"invoice_id\":\"souk-ref-1\","
         "\"description\":"
         "\"Order 42 \\u0026 "
         "more\",\"amount\":{\"currency_code\":\"USD\",\"value\":\"49.99\"}}],\"payment_source\":{\"paypal\":"
         "{\"experience_context\":{\"shipping_preference\":\"NO_SHIPPING\",\"user_action\":\"PAY_NOW\",\"return_url\":"
         "\"https://shop.example/ok?x=1\",\"cancel_url\":\"https://shop.example/no\"}}}}"},
        {PROVIDER_BTCPAY, "http://127.0.0.1:9/api/v1/stores/store1/invoices", "token key", NULL,
         "{\"amount\":\"49.99\",\"currency\":\"USD\",\"metadata\":{\"orderId\":\"42\",\"reference\":\"souk-ref-1\","
         "\"itemDesc\":"
         "\"Order 42 \\u0026 "
         "more\"},\"checkout\":{\"expirationMinutes\":60,\"redirectURL\":\"https://shop.example/ok?x=1\"}}"},
        {PROVIDER_SANDBOX, "http://127.0.0.1:9/sandbox/api/payments", "Sandbox key", "Idempotency-Key",
         "{\"reference\":\"souk-ref-1\",\"order_ref\":\"42\",\"description\":\"Order 42 \\u0026 more\",\"amount\":4999,"
         "\"currency\":\"USD\",\"success_url\":\"https://shop.example/ok?x=1\",\"cancel_url\":\"https://shop.example/"
         "no\"}"},
    };
    struct arena a = {0};
    struct pay_request in = request_of((Money){4999}, "USD");
    for (size_t i = 0; i < sizeof wants / sizeof *wants; i++) {
        struct gateway_config config = config_of(wants[i].provider);
        struct http_call call;
        assert_true(gateway_of(wants[i].provider)->create_call(&a, &config, &in, &call));
        assert_string_equal(call.method, "POST");
        assert_str(call.url, str_from(wants[i].url));
        assert_str(test_call_header(&call, "Authorization"), str_from(wants[i].auth));
        if (wants[i].key_header) assert_str(test_call_header(&call, wants[i].key_header), in.reference);
        assert_str(call.body, str_from(wants[i].body));
    }
    assert_str(gateway_base_url(&(struct gateway_config){.provider = PROVIDER_STRIPE}), STR("https://api.stripe.com"));
    assert_str(gateway_base_url(&(struct gateway_config){.provider = PROVIDER_PAYPAL}),
               STR("https://api-m.sandbox.paypal.com"));
    assert_str(gateway_base_url(&(struct gateway_config){.provider = PROVIDER_PAYPAL, .is_live = true}),
               STR("https://api-m.paypal.com"));
    arena_done(&a);
}

static void test_stripe_session_end(void **state)
{
    (void)state;
    struct arena a = {0};
    struct gateway_config config = config_of(PROVIDER_STRIPE);
    struct pay_request in = request_of((Money){1}, "USD");
    struct http_call call;
    in.expires_at = (Time){in.now.ms + TIME_MINUTE};
    assert_true(gateway_stripe.create_call(&a, &config, &in, &call));
    assert_non_null(strstr(str_cstr(&a, call.body), "expires_at=1700001860&"));
    in.expires_at = (Time){in.now.ms + 30 * TIME_DAY};
    assert_true(gateway_stripe.create_call(&a, &config, &in, &call));
    assert_non_null(strstr(str_cstr(&a, call.body), "expires_at=1700086340&"));
    arena_done(&a);
}

/* What a provider cannot express is refused, not rounded. */
static void test_amounts(void **state)
{
    (void)state;
    static const struct {
        enum provider provider;
        int64_t minor;
        const char *currency, *want;
    } cases[] = {
        {PROVIDER_STRIPE, 500, "JPY", "[unit_amount]=500&"},
        {PROVIDER_STRIPE, 500, "UGX", "[unit_amount]=50000&"},
        {PROVIDER_STRIPE, 500, "ISK", "[unit_amount]=50000&"},
        {PROVIDER_STRIPE, 50000, "MGA", "[unit_amount]=500&"},
        {PROVIDER_STRIPE, 50001, "MGA", NULL},
        {PROVIDER_STRIPE, INT64_MAX, "UGX", NULL},
        {PROVIDER_STRIPE, 5120, "KWD", "[unit_amount]=5120&"},
        {PROVIDER_STRIPE, 1, "XXX", NULL},
        {PROVIDER_PAYPAL, 500, "JPY", "\"value\":\"500\""},
        {PROVIDER_PAYPAL, 50000, "HUF", "\"value\":\"500\""},
        {PROVIDER_PAYPAL, 50001, "HUF", NULL},
        {PROVIDER_PAYPAL, 50000, "TWD", "\"value\":\"500\""},
        {PROVIDER_PAYPAL, 5, "USD", "\"value\":\"0.05\""},
        {PROVIDER_BTCPAY, 5, "KWD", "\"amount\":\"0.005\""},
        {PROVIDER_BTCPAY, INT64_MAX, "USD", "\"amount\":\"92233720368547758.07\""},
        {PROVIDER_BTCPAY, 1, "XXX", NULL},
    };
    struct arena a = {0};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct gateway_config config = config_of(cases[i].provider);
        struct pay_request in = request_of((Money){cases[i].minor}, cases[i].currency);
        struct http_call call;
        bool made = gateway_of(cases[i].provider)->create_call(&a, &config, &in, &call);
        assert_int_equal(made, cases[i].want != NULL);
        if (made && !strstr(str_cstr(&a, call.body), cases[i].want))
            fail_msg("no %s in %.*s", cases[i].want, STR_FMT(call.body));
    }
    int64_t r;
    assert_true(amount_rescale(-150, 2, 1, &r) && r == -15);
    assert_false(amount_rescale(155, 2, 1, &r));
    assert_false(amount_rescale(INT64_MAX / 5, 0, 1, &r));
    arena_done(&a);
}

static void test_refund(void **state)
{
    (void)state;
    static const struct {
        enum provider provider;
        const char *url, *key_header, *body;
    } wants[] = {
        {PROVIDER_STRIPE, "http://127.0.0.1:9/v1/refunds", "Idempotency-Key",
         "payment_intent=pay_1&amount=1500&metadata[reference]=souk-refund-1"},
        {PROVIDER_RAZORPAY, "http://127.0.0.1:9/v1/payments/pay_1/refund", "X-Refund-Idempotency",
         "{\"amount\":1500,\"receipt\":\"souk-refund-1\"}"},
        {PROVIDER_PAYPAL, "http://127.0.0.1:9/v2/payments/captures/pay_1/refund", "PayPal-Request-Id",
         "{\"custom_id\":\"souk-refund-1\",\"amount\":{\"currency_code\":\"USD\",\"value\":\"15.00\"}}"},
        {PROVIDER_BTCPAY, "http://127.0.0.1:9/api/v1/stores/store1/invoices/grp_1/refund", NULL,
         "{\"name\":\"souk-refund-1\",\"payoutMethodId\":\"BTC-LN\",\"refundVariant\":\"Custom\","
         "\"customAmount\":\"15.00\",\"customCurrency\":\"USD\"}"},
        {PROVIDER_SANDBOX, "http://127.0.0.1:9/sandbox/api/payments/pay_1/refund", "Idempotency-Key",
         "{\"amount\":1500}"},
    };
    struct arena a = {0};
    for (size_t i = 0; i < sizeof wants / sizeof *wants; i++) {
        const struct gateway *g = gateway_of(wants[i].provider);
        struct gateway_config config = config_of(wants[i].provider);
        struct refund_request in = {.reference = STR("souk-refund-1"),
                                    .payment_ref = STR("pay_1"),
                                    .group_ref = STR("grp_1"),
                                    .amount = {1500},
                                    .paid = {4999},
                                    .currency = STR("USD"),
                                    .method = STR("BTC-LN")};
        struct http_call call;
        assert_true(g->refund_call(&a, &config, &in, &call));
        assert_str(call.url, str_from(wants[i].url));
        assert_str(call.body, str_from(wants[i].body));
        if (wants[i].key_header) assert_str(test_call_header(&call, wants[i].key_header), in.reference);
        /* An id that would leave its place in the path makes no call. */
        in.payment_ref = in.group_ref = STR("../../v1/payouts");
        if (wants[i].provider != PROVIDER_STRIPE) assert_false(g->refund_call(&a, &config, &in, &call));
        in.payment_ref = in.group_ref = (Str){0};
        assert_false(g->refund_call(&a, &config, &in, &call));
    }
    arena_done(&a);
}

static const char *const ok_page[PROVIDER_COUNT] = {
    [PROVIDER_STRIPE] = "{\"id\":\"cs_1\",\"url\":\"https://pay/1\",\"expires_at\":1700003600,\"payment_intent\":null}",
    [PROVIDER_RAZORPAY] = "{\"id\":\"plink_1\",\"short_url\":\"https://pay/1\",\"expire_by\":1700003600}",
    [PROVIDER_PAYPAL] =
        ("{\"id\":\"ORD1\",\"links\":[{\"rel\":\"self\",\"href\":\"x\"},{\"rel\":\"payer-action\",\"href\":"
         "\"https://pay/1\"}]}"),
    [PROVIDER_BTCPAY] = "{\"id\":\"inv1\",\"checkoutLink\":\"https://pay/1\",\"expirationTime\":1700003600}",
    [PROVIDER_SANDBOX] = "{\"status\":\"success\",\"data\":{\"id\":\"sbx_1\",\"url\":\"https://pay/1\"}}",
};

static void test_answers(void **state)
{
    (void)state;
    static const struct {
        int status;
        enum reply want;
    } statuses[] = {{0, REPLY_RETRY},     {400, REPLY_REFUSED}, {401, REPLY_UNAUTHORIZED}, {402, REPLY_REFUSED},
                    {403, REPLY_REFUSED}, {404, REPLY_REFUSED}, {408, REPLY_RETRY},        {409, REPLY_RETRY},
                    {422, REPLY_REFUSED}, {429, REPLY_RETRY},   {500, REPLY_RETRY},        {503, REPLY_RETRY},
                    {302, REPLY_REFUSED}, {100, REPLY_REFUSED}};
    struct arena a = {0};
    for (enum provider p = 0; p < PROVIDER_COUNT; p++) {
        const struct gateway *g = gateway_of(p);
        struct gateway_config config = config_of(p);
        struct pay_page page = {0};
        struct refund_page refund = {0};
        struct payment_event event = {0};
        for (size_t i = 0; i < sizeof statuses / sizeof *statuses; i++) {
            struct http_reply reply = {statuses[i].status, str_from(ok_page[p])};
            assert_int_equal(g->create_read(&a, &reply, &page), statuses[i].want);
            assert_int_equal(g->refund_read(&a, &reply, &refund), statuses[i].want);
            assert_int_equal(g->ask_read(&a, &config, &reply, &event), statuses[i].want);
        }
        /* A success that cannot be read may have had its effect: again, with the same key. */
        static const char *const junk[] = {"", "<html>", "{}", "[]", "null", "{\"id\":5.5}", "{\"data\":[]}"};
        for (size_t i = 0; i < sizeof junk / sizeof *junk; i++) {
            struct http_reply reply = {200, str_from(junk[i])};
            assert_int_equal(g->create_read(&a, &reply, &page), REPLY_RETRY);
            assert_int_equal(g->refund_read(&a, &reply, &refund), REPLY_RETRY);
            assert_int_equal(g->ask_read(&a, &config, &reply, &event), REPLY_RETRY);
        }
        assert_null(page.url.ptr);
        /* The same for a page whose address is missing: nobody could be sent there. */
        char *unnamed = str_cstr(&a, str_from(ok_page[p])), *url = strstr(unnamed, "https://pay/1");
        memmove(url, url + strlen("https://pay/1"), strlen(url + strlen("https://pay/1")) + 1);
        struct http_reply without = {201, str_from(unnamed)};
        assert_int_equal(g->create_read(&a, &without, &page), REPLY_RETRY);
        assert_null(page.url.ptr);
        struct http_reply good = {201, str_from(ok_page[p])};
        assert_int_equal(g->create_read(&a, &good, &page), REPLY_OK);
        assert_str(page.url, STR("https://pay/1"));
        assert_true(page.group_ref.len > 0);
    }
    arena_done(&a);
}

struct asked {
    enum provider provider;
    const char *body;
    enum payment_event_kind kind;
    int64_t amount; /* -1: not said */
    bool review;
};

static void test_ask(void **state)
{
    (void)state;
#define SESSION(status, paid)                                                                                          \
    "{\"id\":\"cs_1\",\"payment_intent\":\"pi_1\",\"status\":\"" status "\",\"payment_status\":\"" paid                \
    "\",\"amount_total\":4999,\"currency\":\"usd\",\"client_reference_id\":\"42\",\"livemode\":false}"
#define LINK(status)                                                                                                   \
    "{\"id\":\"plink_1\",\"status\":\"" status                                                                         \
    "\",\"amount_paid\":4999,\"currency\":\"USD\",\"notes\":{\"order_id\":\"42\"},"                                    \
    "\"payments\":[{\"payment_id\":\"pay_1\"}]}"
#define ORDER(status, payments)                                                                                        \
    "{\"id\":\"ORD1\",\"status\":\"" status "\",\"purchase_units\":[{\"custom_id\":\"42\"" payments "}]}"
#define CAPTURES(status)                                                                                               \
    ",\"payments\":{\"captures\":[{\"id\":\"CAP1\",\"status\":\"" status                                               \
    "\",\"amount\":{\"currency_code\":\"USD\",\"value\":\"49.99\"}}]}"
#define INVOICE(status, extra)                                                                                         \
    "{\"id\":\"inv1\",\"storeId\":\"store1\",\"amount\":\"49.990\",\"currency\":\"USD\",\"status\":\"" status          \
    "\",\"additionalStatus\":\"" extra "\",\"metadata\":{\"orderId\":\"42\"}}"
    static const struct asked cases[] = {
        {PROVIDER_STRIPE, SESSION("complete", "paid"), EVENT_SUCCEEDED, 4999, false},
        {PROVIDER_STRIPE, SESSION("complete", "unpaid"), EVENT_PENDING, 4999, false},
        {PROVIDER_STRIPE, SESSION("open", "unpaid"), EVENT_PENDING, 4999, false},
        {PROVIDER_STRIPE, SESSION("expired", "unpaid"), EVENT_EXPIRED, 4999, false},
        {PROVIDER_RAZORPAY, LINK("paid"), EVENT_SUCCEEDED, 4999, false},
        {PROVIDER_RAZORPAY, LINK("created"), EVENT_PENDING, 4999, false},
        {PROVIDER_RAZORPAY, LINK("partially_paid"), EVENT_PENDING, 4999, false},
        {PROVIDER_RAZORPAY, LINK("expired"), EVENT_EXPIRED, 4999, false},
        {PROVIDER_RAZORPAY, LINK("cancelled"), EVENT_EXPIRED, 4999, false},
        {PROVIDER_PAYPAL, ORDER("CREATED", ""), EVENT_PENDING, -1, false},
        {PROVIDER_PAYPAL, ORDER("APPROVED", ""), EVENT_APPROVED, -1, false},
        {PROVIDER_PAYPAL, ORDER("VOIDED", ""), EVENT_EXPIRED, -1, false},
        {PROVIDER_PAYPAL, ORDER("COMPLETED", CAPTURES("COMPLETED")), EVENT_SUCCEEDED, 4999, false},
        {PROVIDER_PAYPAL, ORDER("COMPLETED", CAPTURES("PENDING")), EVENT_PENDING, 4999, false},
        {PROVIDER_PAYPAL, ORDER("COMPLETED", CAPTURES("DECLINED")), EVENT_EXPIRED, 4999, false},
        {PROVIDER_PAYPAL, ORDER("COMPLETED", CAPTURES("REFUNDED")), EVENT_SUCCEEDED, 4999, false},
        {PROVIDER_BTCPAY, INVOICE("New", "None"), EVENT_PENDING, 4999, false},
        {PROVIDER_BTCPAY, INVOICE("Processing", "None"), EVENT_PENDING, 4999, false},
        {PROVIDER_BTCPAY, INVOICE("Settled", "None"), EVENT_SUCCEEDED, 4999, false},
        {PROVIDER_BTCPAY, INVOICE("Settled", "PaidOver"), EVENT_SUCCEEDED, 4999, false},
        {PROVIDER_BTCPAY, INVOICE("Settled", "PaidOver\",\"paidAmount\":\"74.9912345"), EVENT_SUCCEEDED, 7499, false},
        {PROVIDER_BTCPAY, INVOICE("Settled", "PaidPartial\",\"paidAmount\":\"49.50"), EVENT_SUCCEEDED, 4950, false},
        {PROVIDER_BTCPAY, INVOICE("Settled", "PaidPartial"), EVENT_SUCCEEDED, -1, false},
        {PROVIDER_BTCPAY, INVOICE("Settled", "PaidLate"), EVENT_SUCCEEDED, 4999, true},
        {PROVIDER_BTCPAY, INVOICE("Settled", "Marked"), EVENT_SUCCEEDED, 4999, true},
        {PROVIDER_BTCPAY, INVOICE("Expired", "None"), EVENT_EXPIRED, 4999, false},
        {PROVIDER_BTCPAY, INVOICE("Expired", "PaidPartial"), EVENT_EXPIRED, 4999, true},
        {PROVIDER_BTCPAY, INVOICE("Invalid", "None"), EVENT_EXPIRED, 4999, false},
        {PROVIDER_BTCPAY, "{\"id\":\"inv1\",\"storeId\":\"other\",\"status\":\"Settled\"}", EVENT_SUCCEEDED, -1, true},
    };
    struct arena a = {0};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct gateway_config config = config_of(cases[i].provider);
        struct http_reply reply = {200, str_from(cases[i].body)};
        struct payment_event e;
        assert_int_equal(gateway_of(cases[i].provider)->ask_read(&a, &config, &reply, &e), REPLY_OK);
        if (e.kind != cases[i].kind) fail_msg("%s: %s", cases[i].body, payment_event_kind_names[e.kind]);
        assert_int_equal(e.has_amount, cases[i].amount >= 0);
        if (e.has_amount) assert_int_equal(e.amount.minor, cases[i].amount);
        assert_int_equal(e.review != NULL, cases[i].review);
        if (cases[i].amount >= 0 && cases[i].provider != PROVIDER_PAYPAL) assert_str(e.order_ref, STR("42"));
    }
    arena_done(&a);
}

/* Only what was asked for is believed: an answer about something else is no answer. */
static void test_confirm(void **state)
{
    (void)state;
    struct arena a = {0};
    struct gateway_config config = config_of(PROVIDER_PAYPAL);
    struct payment_event claim = {.kind = EVENT_SUCCEEDED,
                                  .event_id = STR("WH-1"),
                                  .delivery_id = STR("tr-1"),
                                  .type = STR("PAYMENT.CAPTURE.COMPLETED"),
                                  .payment_ref = STR("CAP1"),
                                  .order_ref = STR("forged"),
                                  .has_amount = true,
                                  .amount = {999900},
                                  .currency = STR("USD")};
    struct payment_event got;
    struct http_call call;
    assert_true(gateway_paypal.confirm_call(&a, &config, &claim, &call));
    assert_string_equal(call.method, "GET");
    assert_str(call.url, STR("http://127.0.0.1:9/v2/payments/captures/CAP1"));
    struct http_reply truth = {
        200, STR("{\"id\":\"CAP1\",\"status\":\"COMPLETED\",\"amount\":{\"currency_code\":\"USD\",\"value\":"
                 "\"30.00\"},\"custom_id\":\"7\"}")};
    assert_int_equal(gateway_paypal.confirm_read(&a, &config, &claim, &truth, &got), REPLY_OK);
    assert_int_equal(got.amount.minor, 3000);
    assert_str(got.order_ref, STR("7"));
    assert_str(got.event_id, STR("WH-1"));
    assert_str(got.delivery_id, STR("tr-1"));
    struct http_reply declined = {200, STR("{\"id\":\"CAP1\",\"status\":\"DECLINED\"}")};
    assert_int_equal(gateway_paypal.confirm_read(&a, &config, &claim, &declined, &got), REPLY_OK);
    assert_int_equal(got.kind, EVENT_EXPIRED);
    struct http_reply other = {200, STR("{\"id\":\"CAP2\",\"status\":\"COMPLETED\"}")};
    assert_int_equal(gateway_paypal.confirm_read(&a, &config, &claim, &other, &got), REPLY_RETRY);
    struct http_reply none = {404, STR("{}")};
    assert_int_equal(gateway_paypal.confirm_read(&a, &config, &claim, &none, &got), REPLY_REFUSED);

    claim = (struct payment_event){.kind = EVENT_REFUNDED, .refund_ref = STR("REF1"), .event_id = STR("WH-2")};
    assert_true(gateway_paypal.confirm_call(&a, &config, &claim, &call));
    assert_str(call.url, STR("http://127.0.0.1:9/v2/payments/refunds/REF1"));
    struct http_reply refund = {
        200, STR("{\"id\":\"REF1\",\"status\":\"COMPLETED\",\"amount\":{\"currency_code\":\"USD\",\"value\":"
                 "\"0.99\"},\"seller_payable_breakdown\":{\"total_refunded_amount\":{\"currency_code\":"
                 "\"USD\",\"value\":\"1.98\"}},\"links\":[{\"rel\":\"up\",\"href\":"
                 "\"https://api.paypal.com/v2/payments/captures/CAP1\"}]}")};
    assert_int_equal(gateway_paypal.confirm_read(&a, &config, &claim, &refund, &got), REPLY_OK);
    assert_int_equal(got.kind, EVENT_REFUNDED);
    assert_int_equal(got.refunded_total.minor, 198);
    assert_str(got.payment_ref, STR("CAP1"));

    claim = (struct payment_event){.kind = EVENT_APPROVED, .group_ref = STR("ORD1")};
    assert_true(gateway_paypal.confirm_call(&a, &config, &claim, &call));
    assert_str(call.url, STR("http://127.0.0.1:9/v2/checkout/orders/ORD1"));
    claim.group_ref = STR("a/b");
    assert_false(gateway_paypal.confirm_call(&a, &config, &claim, &call));
    claim = (struct payment_event){.kind = EVENT_DISPUTED, .refund_ref = STR("PP-D-1")};
    assert_true(gateway_paypal.confirm_call(&a, &config, &claim, &call));
    assert_str(call.url, STR("http://127.0.0.1:9/v1/customer/disputes/PP-D-1"));
    struct http_reply closed = {200, STR("{\"dispute_id\":\"PP-D-1\",\"status\":\"RESOLVED\",\"disputed_transactions\":"
                                         "[{\"seller_transaction_id\":\"CAP1\"}],\"dispute_outcome\":{\"outcome_code\":"
                                         "\"RESOLVED_SELLER_FAVOUR\"}}")};
    assert_int_equal(gateway_paypal.confirm_read(&a, &config, &claim, &closed, &got), REPLY_OK);
    assert_int_equal(got.kind, EVENT_DISPUTE_CLOSED);
    assert_int_equal(got.outcome, DISPUTE_WON);

    config = config_of(PROVIDER_BTCPAY);
    claim = (struct payment_event){.kind = EVENT_SUCCEEDED, .group_ref = STR("inv1"), .event_id = STR("d1")};
    assert_true(gateway_btcpay.confirm_call(&a, &config, &claim, &call));
    assert_str(call.url, STR("http://127.0.0.1:9/api/v1/stores/store1/invoices/inv1"));
    struct http_reply expired = {200, STR(INVOICE("Expired", "None"))};
    assert_int_equal(gateway_btcpay.confirm_read(&a, &config, &claim, &expired, &got), REPLY_OK);
    assert_int_equal(got.kind, EVENT_EXPIRED);
    claim.group_ref = STR("inv2");
    assert_int_equal(gateway_btcpay.confirm_read(&a, &config, &claim, &expired, &got), REPLY_RETRY);
    arena_done(&a);
}

static void test_paypal_token_and_capture(void **state)
{
    (void)state;
    struct arena a = {0};
    struct gateway_config config = config_of(PROVIDER_PAYPAL);
    struct http_call call;
    assert_true(gateway_paypal.auth_call(&a, &config, &call));
    assert_str(call.url, STR("http://127.0.0.1:9/v1/oauth2/token"));
    assert_str(test_call_header(&call, "Authorization"), STR("Basic a2V5OnNlY3JldA=="));
    assert_str(call.body, STR("grant_type=client_credentials"));
    Str token = {0};
    int64_t seconds = 0;
    struct http_reply good = {200, STR("{\"access_token\":\"A21\",\"token_type\":\"Bearer\",\"expires_in\":32400}")};
    assert_int_equal(gateway_paypal.auth_read(&a, &good, &token, &seconds), REPLY_OK);
    assert_str(token, STR("A21"));
    assert_int_equal(seconds, 32400);
    struct http_reply bad = {401, STR("{\"error\":\"invalid_client\"}")};
    assert_int_equal(gateway_paypal.auth_read(&a, &bad, &token, &seconds), REPLY_UNAUTHORIZED);

    assert_true(gateway_paypal.capture_call(&a, &config, STR("ORD1"), STR("souk-ref-1"), &call));
    assert_str(call.url, STR("http://127.0.0.1:9/v2/checkout/orders/ORD1/capture"));
    assert_str(test_call_header(&call, "PayPal-Request-Id"), STR("souk-ref-1-capture"));
    assert_str(call.body, STR("{}"));
    arena_done(&a);
}

/* Before an attempt is repeated where repeating would make a second payment page. */
static void test_find(void **state)
{
    (void)state;
    struct arena a = {0};
    struct pay_request in = request_of((Money){4999}, "USD");
    struct pay_page page;
    struct http_call call;
    struct gateway_config config = config_of(PROVIDER_RAZORPAY);
    assert_true(gateway_razorpay.find_call(&a, &config, &in, &call));
    assert_str(call.url, STR("http://127.0.0.1:9/v1/payment_links?reference_id=souk-ref-1"));
    struct http_reply links = {
        200, STR("{\"payment_links\":[{\"id\":\"plink_0\",\"reference_id\":\"other\",\"short_url\":\"x\"},"
                 "{\"id\":\"plink_1\",\"reference_id\":\"souk-ref-1\",\"short_url\":\"https://pay/1\"}]}")};
    assert_int_equal(gateway_razorpay.find_read(&a, &links, &in, &page), REPLY_OK);
    assert_str(page.group_ref, STR("plink_1"));
    struct http_reply empty = {200, STR("{\"payment_links\":[]}")};
    assert_int_equal(gateway_razorpay.find_read(&a, &empty, &in, &page), REPLY_REFUSED);

    config = config_of(PROVIDER_BTCPAY);
    assert_true(gateway_btcpay.find_call(&a, &config, &in, &call));
    assert_str(call.url, STR("http://127.0.0.1:9/api/v1/stores/store1/invoices?orderId=42"));
    struct http_reply invoices = {
        200, STR("[{\"id\":\"inv0\",\"metadata\":{\"orderId\":\"42\"},\"checkoutLink\":\"x\"},{\"id\":\"inv1\","
                 "\"metadata\":{\"reference\":\"souk-ref-1\"},\"checkoutLink\":\"https://pay/1\"}]")};
    assert_int_equal(gateway_btcpay.find_read(&a, &invoices, &in, &page), REPLY_OK);
    assert_str(page.group_ref, STR("inv1"));
    arena_done(&a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_create),
        cmocka_unit_test(test_stripe_session_end),
        cmocka_unit_test(test_amounts),
        cmocka_unit_test(test_refund),
        cmocka_unit_test(test_answers),
        cmocka_unit_test(test_ask),
        cmocka_unit_test(test_confirm),
        cmocka_unit_test(test_find),
        cmocka_unit_test(test_paypal_token_and_capture),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
