/* tests/unit/test_gateway_books.c - the providers' books, line by line; and what adapters make of configurations that
 * lack something and of answers that are not what was asked for. */
#include "gateway.h"

#include "gateway/access_tokens.h"
#include "gateway/amount.h"
#include "gateway/payload.h"
#include "json/reader.h"

static const struct gateway *const gateways[] = {&gateway_stripe, &gateway_razorpay, &gateway_paypal, &gateway_btcpay,
                                                 &gateway_sandbox};
#define GATEWAYS (sizeof gateways / sizeof *gateways)

static struct gateway_config config_of(enum provider p)
{
    struct gateway_config c = test_config(p, "s");
    c.api_key = STR("key");
    c.api_secret = STR("secret");
    c.store_id = STR("store1");
    c.base_url = STR("http://127.0.0.1:9");
    return c;
}

/* The lines in the order of the book, as "REF PAYMENT AMOUNT CURRENCY[ decided][ pending];", and where it goes on. */
static Str read_book(struct arena *a, const struct gateway *g, struct book_request in, const char *body)
{
    struct gateway_config config = config_of(g->provider);
    struct http_reply answer = {200, str_from(body)};
    struct book_lines lines = {0};
    assert_int_equal(g->book_read(a, &config, &in, &answer, &lines), REPLY_OK);
    Str text = {0};
    for (const struct book_entry *e = lines.entries; e; e = e->next)
        text = str_printf(a, "%.*s %.*s%.*s %lld %.*s%s%s;%.*s", STR_FMT(e->ref), STR_FMT(e->payment_ref),
                          STR_FMT(e->reference), (long long)e->amount.minor, STR_FMT(e->currency),
                          e->is_decided ? " decided" : "", e->is_pending ? " pending" : "", STR_FMT(text));
    return lines.next.len ? str_printf(a, "%.*s next %.*s", STR_FMT(text), STR_FMT(lines.next)) : text;
}

struct line {
    const struct gateway *g;
    enum book book;
    const char *next, *body, *want;
};

static const struct line lines[] = {
    {&gateway_stripe, BOOK_CHARGES, "",
     "{\"data\":["
     "{\"id\":\"ch_1\",\"payment_intent\":\"pi_1\",\"paid\":true,\"amount\":500,\"currency\":\"usd\"},"
     "{\"id\":\"ch_2\",\"payment_intent\":\"pi_2\",\"paid\":false,\"amount\":500,\"currency\":\"usd\"},"
     "{\"id\":\"ch_3\",\"payment_intent\":\"pi_3\",\"paid\":true,\"amount\":500,\"currency\":\"dollars\"},"
     "{\"id\":\"ch_4\",\"paid\":true,\"amount\":500,\"currency\":\"usd\"},"
     "{\"id\":\"ch_5\",\"payment_intent\":\"pi_5\",\"paid\":true,\"amount\":-5,\"currency\":\"usd\"}"
     "],\"has_more\":true}",
     "ch_1 pi_1 500 USD; next ch_5"},
    {&gateway_stripe, BOOK_CHARGES, "", "{\"data\":[{\"id\":\"../../x\"}],\"has_more\":true}", ""},
    {&gateway_stripe, BOOK_REFUNDS, "",
     "{\"data\":["
     "{\"id\":\"re_1\",\"payment_intent\":\"pi_1\",\"status\":\"succeeded\",\"amount\":500,\"currency\":\"usd\"},"
     "{\"id\":\"re_2\",\"payment_intent\":\"pi_1\",\"status\":\"failed\",\"amount\":500,\"currency\":\"usd\"},"
     "{\"id\":\"re_3\",\"payment_intent\":\"pi_1\",\"status\":\"canceled\",\"amount\":500,\"currency\":\"usd\"}]}",
     "re_1 pi_1 500 USD;"},
    {&gateway_stripe, BOOK_DISPUTES, "",
     "{\"data\":["
     "{\"id\":\"dp_1\",\"payment_intent\":\"pi_1\",\"status\":\"won\",\"amount\":5,\"currency\":\"usd\"},"
     "{\"id\":\"dp_2\",\"payment_intent\":\"pi_2\",\"status\":\"lost\",\"amount\":5,\"currency\":\"usd\"},"
     "{\"id\":\"dp_3\",\"payment_intent\":\"pi_3\",\"status\":\"warning_closed\",\"amount\":5,\"currency\":\"usd\"},"
     "{\"id\":\"dp_4\",\"payment_intent\":\"pi_4\",\"status\":\"needs_response\",\"amount\":5,\"currency\":\"usd\"}]}",
     "dp_1 pi_1 5 USD decided;dp_2 pi_2 5 USD decided;dp_3 pi_3 5 USD decided;dp_4 pi_4 5 USD;"},
    {&gateway_razorpay, BOOK_CHARGES, "",
     "{\"items\":["
     "{\"id\":\"pay_1\",\"status\":\"captured\",\"amount\":500,\"currency\":\"INR\"},"
     "{\"id\":\"pay_2\",\"status\":\"refunded\",\"amount\":500,\"currency\":\"INR\"},"
     "{\"id\":\"pay_3\",\"status\":\"authorized\",\"amount\":500,\"currency\":\"INR\"},"
     "{\"status\":\"captured\",\"amount\":500,\"currency\":\"INR\"},"
     "{\"id\":\"pay_5\",\"status\":\"captured\",\"amount\":500},"
     "{\"id\":\"pay_6\",\"status\":\"captured\",\"amount\":-500,\"currency\":\"INR\"}]}",
     "pay_1 pay_1 500 INR;pay_2 pay_2 500 INR;"},
    {&gateway_razorpay, BOOK_REFUNDS, "",
     "{\"items\":["
     "{\"id\":\"rfnd_1\",\"payment_id\":\"pay_1\",\"status\":\"processed\",\"amount\":500,\"currency\":\"INR\"},"
     "{\"id\":\"rfnd_2\",\"payment_id\":\"pay_1\",\"status\":\"failed\",\"amount\":500,\"currency\":\"INR\"}]}",
     "rfnd_1 pay_1 500 INR;"},
    {&gateway_razorpay, BOOK_DISPUTES, "",
     "{\"items\":["
     "{\"id\":\"d1\",\"payment_id\":\"p1\",\"status\":\"won\",\"amount\":5,\"currency\":\"INR\"},"
     "{\"id\":\"d2\",\"payment_id\":\"p2\",\"status\":\"lost\",\"amount\":5,\"currency\":\"INR\"},"
     "{\"id\":\"d3\",\"payment_id\":\"p3\",\"status\":\"closed\",\"amount\":5,\"currency\":\"INR\"},"
     "{\"id\":\"d4\",\"payment_id\":\"p4\",\"status\":\"open\",\"amount\":5,\"currency\":\"INR\"}]}",
     "d1 p1 5 INR decided;d2 p2 5 INR decided;d3 p3 5 INR decided;d4 p4 5 INR;"},
    {&gateway_paypal, BOOK_CHARGES, "",
     "{\"total_pages\":3,\"transaction_details\":["
     "{\"transaction_info\":{\"transaction_id\":\"T1\",\"transaction_event_code\":\"T0006\",\"transaction_status\":"
     "\"S\",\"transaction_amount\":{\"currency_code\":\"EUR\",\"value\":\"10.00\"}}},"
     "{\"transaction_info\":{\"transaction_id\":\"T2\",\"transaction_event_code\":\"T0006\",\"transaction_status\":"
     "\"V\",\"transaction_amount\":{\"currency_code\":\"EUR\",\"value\":\"10.00\"}}},"
     "{\"transaction_info\":{\"transaction_id\":\"T3\",\"transaction_event_code\":\"T0006\",\"transaction_status\":"
     "\"P\",\"transaction_amount\":{\"currency_code\":\"EUR\",\"value\":\"10.00\"}}},"
     "{\"transaction_info\":{\"transaction_id\":\"T4\",\"transaction_event_code\":\"T0006\",\"transaction_status\":"
     "\"S\",\"transaction_amount\":{\"currency_code\":\"EUR\",\"value\":\"-10.00\"}}},"
     "{\"transaction_info\":{\"transaction_event_code\":\"T0006\",\"transaction_status\":\"S\"}},"
     "{\"transaction_info\":{\"transaction_id\":\"T6\",\"transaction_event_code\":\"T0400\"}}]}",
     "T1 T1 1000 EUR;T2 T2 1000 EUR; next 2"},
    {&gateway_paypal, BOOK_CHARGES, "3", "{\"total_pages\":3,\"transaction_details\":[]}", ""},
    {&gateway_paypal, BOOK_REFUNDS, "",
     "{\"transaction_details\":["
     "{\"transaction_info\":{\"transaction_id\":\"R1\",\"paypal_reference_id\":\"T1\",\"transaction_event_code\":"
     "\"T1107\",\"transaction_status\":\"S\",\"transaction_amount\":{\"currency_code\":\"EUR\",\"value\":\"-4.00\"}}},"
     "{\"transaction_info\":{\"transaction_id\":\"R2\",\"paypal_reference_id\":\"T1\",\"transaction_event_code\":"
     "\"T1107\",\"transaction_status\":\"P\",\"transaction_amount\":{\"currency_code\":\"EUR\",\"value\":\"-4.00\"}}},"
     "{\"transaction_info\":{\"transaction_id\":\"R3\",\"paypal_reference_id\":\"T1\",\"transaction_event_code\":"
     "\"T1107\",\"transaction_status\":\"V\",\"transaction_amount\":{\"currency_code\":\"EUR\",\"value\":\"-4.00\"}}},"
     "{\"transaction_info\":{\"transaction_id\":\"R4\",\"paypal_reference_id\":\"T1\",\"transaction_event_code\":"
     "\"T1107\",\"transaction_status\":\"S\",\"transaction_amount\":{\"currency_code\":\"EUR\",\"value\":\"4.00\"}}}]}",
     "R1 T1 400 EUR;R2 T1 400 EUR pending;"},
    {&gateway_paypal, BOOK_DISPUTES, "",
     "{\"items\":[{\"dispute_id\":\"PP-1\",\"status\":\"OPEN\",\"disputed_transactions\":[{\"seller_transaction_id\":"
     "\"T1\"}],\"dispute_amount\":{\"currency_code\":\"EUR\",\"value\":\"10.00\"}},{\"status\":\"OPEN\"}],"
     "\"links\":[{\"rel\":\"self\",\"href\":\"https://x\"},"
     "{\"rel\":\"next\",\"href\":\"https://x?next_page_token=aZ9-._~%=&page_size=50\"}]}",
     "PP-1 T1 1000 EUR; next aZ9-._~%="},
    {&gateway_paypal, BOOK_DISPUTES, "", "{\"links\":[{\"rel\":\"next\",\"href\":\"https://x?next_page_token=abc{\"}]}",
     " next abc"},
    {&gateway_paypal, BOOK_DISPUTES, "", "{\"links\":[{\"rel\":\"next\",\"href\":\"https://x?page=2\"}]}", ""},
    {&gateway_btcpay, BOOK_CHARGES, "",
     "[{\"id\":\"i1\",\"status\":\"Settled\",\"amount\":\"10.00\",\"currency\":\"EUR\"},"
     "{\"id\":\"i2\",\"status\":\"New\",\"amount\":\"10.00\",\"currency\":\"EUR\"},"
     "{\"status\":\"Settled\",\"amount\":\"10.00\",\"currency\":\"EUR\"},"
     "{\"id\":\"i4\",\"status\":\"Settled\",\"amount\":\"10.00\",\"currency\":\"SATS\"},"
     "{\"id\":\"i5\",\"status\":\"Settled\",\"currency\":\"EUR\"},"
     "{\"id\":\"i6\",\"status\":\"Settled\",\"amount\":\"10.001\",\"currency\":\"EUR\"},"
     "{\"id\":\"i7\",\"status\":\"Settled\",\"additionalStatus\":\"PaidOver\",\"amount\":\"10\",\"paidAmount\":\"11."
     "239\",\"currency\":\"EUR\"},"
     "{\"id\":\"i8\",\"status\":\"Settled\",\"additionalStatus\":\"PaidOver\",\"amount\":\"10\",\"paidAmount\":"
     "\"many\","
     "\"currency\":\"EUR\"},"
     "{\"id\":\"i9\",\"status\":\"Settled\",\"additionalStatus\":\"PaidOver\",\"amount\":\"10\",\"paidAmount\":\"11."
     "9\","
     "\"currency\":\"JPY\"},"
     "{\"id\":\"i10\",\"status\":\"Settled\",\"additionalStatus\":\"PaidPartial\",\"amount\":\"10\",\"paidAmount\":"
     "\"0\","
     "\"currency\":\"EUR\"}]",
     "i1 i1 1000 EUR;i7 i7 1123 EUR;i8 i8 1000 EUR;i9 i9 11 JPY;"},
    {&gateway_btcpay, BOOK_REFUNDS, "",
     "[{\"id\":\"p1\",\"name\":\"souk1-7\",\"amount\":\"4\",\"currency\":\"EUR\"},"
     "{\"id\":\"p2\",\"name\":\"Refund i1\",\"amount\":\"4\",\"currency\":\"EUR\"},"
     "{\"id\":\"p3\",\"name\":\"wages\",\"amount\":\"4\",\"currency\":\"EUR\"},"
     "{\"id\":\"p4\",\"name\":\"souk1-8\",\"archived\":true,\"amount\":\"4\",\"currency\":\"EUR\"},"
     "{\"name\":\"souk1-9\",\"amount\":\"4\",\"currency\":\"EUR\"},"
     "{\"id\":\"p6\",\"name\":\"souk1-7\",\"currency\":\"EUR\"},"
     "{\"id\":\"p7\",\"name\":\"souk1-7\",\"amount\":\"4\",\"currency\":\"SATS\"},"
     "{\"id\":\"p8\",\"name\":\"souk1-7\",\"amount\":\"four\",\"currency\":\"EUR\"}]",
     "p1 souk1 400 EUR;p2 i1 400 EUR; next payouts"},
    {&gateway_btcpay, BOOK_REFUNDS, "payouts",
     "[{\"pullPaymentId\":\"p1\",\"state\":\"Completed\"},{\"pullPaymentId\":\"p2\",\"state\":\"AwaitingPayment\"},"
     "{\"state\":\"Completed\"}]",
     "p1  0 ;"},
};

static void test_books(void **state)
{
    (void)state;
    struct arena a = {0};
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        struct book_request in = {.book = lines[i].book, .next = str_from(lines[i].next)};
        assert_str(read_book(&a, lines[i].g, in, lines[i].body), str_from(lines[i].want));
    }
    arena_done(&a);
}

/* A page that is full has another one behind it. */
static void test_full_pages(void **state)
{
    (void)state;
    struct arena a = {0};
    struct buf items;
    buf_init(&items, &a, 65536);
    for (int i = 0; i < 100; i++) buf_append(&items, str_from(i ? ",{}" : "{}"));
    Str list = buf_str(&items);
    struct book_request in = {.book = BOOK_CHARGES, .next = STR("200")};
    const char *object = str_printf(&a, "{\"items\":[%.*s]}%c", STR_FMT(list), 0).ptr;
    assert_str(read_book(&a, &gateway_razorpay, in, object), STR(" next 300"));
    const char *array = str_printf(&a, "[%.*s]%c", STR_FMT(list), 0).ptr;
    assert_str(read_book(&a, &gateway_btcpay, in, array), STR(" next 300"));
    struct buf token;
    buf_init(&token, &a, 65536);
    buf_lit(&token, "{\"links\":[{\"rel\":\"next\",\"href\":\"next_page_token=");
    for (int i = 0; i < 1001; i++) buf_char(&token, 'a');
    buf_lit(&token, "\"}]}");
    buf_char(&token, '\0');
    in = (struct book_request){.book = BOOK_DISPUTES};
    assert_str(read_book(&a, &gateway_paypal, in, buf_str(&token).ptr), (Str){0}); /* nobody's token is that long */
    arena_done(&a);
}

/* A name from outside is never put into an address unless it is a plain word. */
static void test_nothing_to_call_with(void **state)
{
    (void)state;
    struct arena a = {0};
    static const Str bad = S("../../x");
    struct http_call call;
    struct pay_request pay = {.reference = STR("r"), .order_ref = STR("1"), .amount = {100}, .currency = STR("EUR")};
    struct refund_request good = {
        .reference = STR("r"), .payment_ref = STR("p"), .group_ref = STR("g"), .amount = {100}, .currency = STR("EUR")};
    struct refund_request refund = good;
    refund.payment_ref = refund.group_ref = bad;
    for (size_t i = 0; i < GATEWAYS; i++) {
        const struct gateway *g = gateways[i];
        struct gateway_config config = config_of(g->provider);
        assert_false(g->ask_call(&a, &config, bad, &call));
        if (g->close_call) assert_false(g->close_call(&a, &config, bad, STR("r"), &call));
        if (g->capture_call) assert_false(g->capture_call(&a, &config, bad, STR("r"), &call));
        if (g->provider != PROVIDER_STRIPE) assert_false(g->refund_call(&a, &config, &refund, &call));
        assert_true(g->create_call(&a, &config, &pay, &call)); /* without addresses to come back to, or an end */
    }
    struct gateway_config config = config_of(PROVIDER_RAZORPAY);
    assert_false(gateway_razorpay.refund_find_call(&a, &config, &refund, &call));
    config = config_of(PROVIDER_STRIPE);
    refund.payment_ref = (Str){0};
    assert_false(gateway_stripe.refund_find_call(&a, &config, &refund, &call));
    assert_false(gateway_stripe.refund_call(&a, &config, &refund, &call));
    refund = good;
    refund.currency = STR("XXX");
    for (size_t i = 0; i < GATEWAYS; i++) {
        config = config_of(gateways[i]->provider);
        bool counts_itself = gateways[i] == &gateway_razorpay || gateways[i] == &gateway_sandbox;
        assert_int_equal(gateways[i]->refund_call(&a, &config, &refund, &call), counts_itself);
    }
    config = config_of(PROVIDER_BTCPAY);
    assert_true(gateway_btcpay.refund_call(&a, &config, &good, &call)); /* how it was paid is not known */
    struct refund_request elsewhere = good;
    elsewhere.group_ref = bad;
    assert_false(gateway_btcpay.method_call(&a, &config, &elsewhere, &call));
    config.store_id = bad; /* BTCPay's addresses are all below the store's */
    struct book_request book = {.book = BOOK_CHARGES};
    assert_false(gateway_btcpay.create_call(&a, &config, &pay, &call));
    assert_false(gateway_btcpay.find_call(&a, &config, &pay, &call));
    assert_false(gateway_btcpay.refund_call(&a, &config, &good, &call));
    assert_false(gateway_btcpay.refund_find_call(&a, &config, &good, &call));
    assert_false(gateway_btcpay.method_call(&a, &config, &good, &call));
    assert_false(gateway_btcpay.close_call(&a, &config, STR("g"), STR("r"), &call));
    assert_false(gateway_btcpay.ask_call(&a, &config, STR("g"), &call));
    assert_false(gateway_btcpay.book_call(&a, &config, &book, &call));
    arena_done(&a);
}

/* Every reader, with an answer that is not what it wants: never REPLY_OK. */
static void refuses(const struct gateway *g, struct http_reply answer)
{
    struct arena a = {0};
    struct gateway_config config = config_of(g->provider);
    struct pay_page page;
    struct refund_page refund;
    struct payment_event e, claim = {.kind = EVENT_SUCCEEDED, .payment_ref = STR("p"), .group_ref = STR("g")};
    struct pay_request pay = {.reference = STR("r")};
    struct refund_request back = {.reference = STR("r")};
    assert_int_not_equal(g->create_read(&a, &answer, &page), REPLY_OK);
    assert_int_not_equal(g->refund_read(&a, &answer, &refund), REPLY_OK);
    assert_int_not_equal(g->ask_read(&a, &config, &answer, &e), REPLY_OK);
    if (g->find_read) assert_int_not_equal(g->find_read(&a, &answer, &pay, &page), REPLY_OK);
    if (g->refund_find_read) assert_int_not_equal(g->refund_find_read(&a, &answer, &back, &refund), REPLY_OK);
    if (g->capture_read) assert_int_not_equal(g->capture_read(&a, &config, &answer, &e), REPLY_OK);
    if (g->confirm_read) {
        assert_int_not_equal(g->confirm_read(&a, &config, &claim, &answer, &e), REPLY_OK);
        claim.kind = EVENT_APPROVED;
        assert_int_not_equal(g->confirm_read(&a, &config, &claim, &answer, &e), REPLY_OK);
    }
    if (answer.status != 200) {
        struct book_request book = {.book = BOOK_CHARGES};
        struct book_lines found;
        Str text;
        int64_t seconds;
        if (g->book_read) assert_int_not_equal(g->book_read(&a, &config, &book, &answer, &found), REPLY_OK);
        if (g->method_read) assert_int_not_equal(g->method_read(&a, &answer, &text), REPLY_OK);
        if (g->auth_read) assert_int_not_equal(g->auth_read(&a, &answer, &text, &seconds), REPLY_OK);
    }
    arena_done(&a);
}

static void test_not_an_answer(void **state)
{
    (void)state;
    static const struct http_reply answers[] = {
        {200, S("{}")},
        {200, S("[]")},
        {200, S("[{}]")},
        {200, S("null")},
        {200, S("{\"id\":\"x\"}")},
        {200, S("{\"data\":[]}")},
        {404, S("{}")},
        {401, S("{}")},
        {425, S("{}")},
        {503, S("")},
    };
    for (size_t i = 0; i < GATEWAYS; i++)
        for (size_t k = 0; k < sizeof answers / sizeof *answers; k++) {
            bool is_asked = k == 4; /* a name alone is enough to say that nothing has happened yet */
            if (!is_asked) refuses(gateways[i], answers[k]);
        }
    assert_int_equal(reply_of_status(425), REPLY_RETRY);
}

static void test_refunds_that_did_not_happen(void **state)
{
    (void)state;
    struct arena a = {0};
    struct refund_page page;
    static const Str bodies[] = {S("{\"id\":\"r\",\"status\":\"failed\"}"), S("{\"id\":\"r\",\"status\":\"CANCELED\"}"),
                                 S("{\"id\":\"r\",\"status\":\"Cancelled\"}")};
    for (size_t i = 0; i < 3; i++) {
        struct http_reply answer = {200, bodies[i]};
        assert_int_equal(gateway_paypal.refund_read(&a, &answer, &page), REPLY_REFUSED);
    }
    struct refund_request in = {.reference = STR("r")};
    struct http_reply others = {200, STR("[{\"id\":\"p1\",\"name\":\"other\"}]")};
    assert_int_equal(gateway_btcpay.refund_find_read(&a, &others, &in, &page), REPLY_REFUSED);
    struct pay_request pay = {.reference = STR("r")};
    struct pay_page found;
    assert_int_equal(gateway_btcpay.find_read(&a, &others, &pay, &found), REPLY_REFUSED);
    arena_done(&a);
}

/* How an invoice was paid: the first method that money came in by. */
static void test_methods(void **state)
{
    (void)state;
    struct arena a = {0};
    static const struct {
        Str body;
        Str want;
    } methods[] = {
        {S("[]"), S("")},
        {S("[{\"paymentMethodId\":\"BTC-CHAIN\"}]"), S("")},
        {S("[{\"paymentMethodId\":\"BTC-CHAIN\",\"paymentMethodPaid\":\"0.000:0\"}]"), S("")},
        {S("[{\"paymentMethodId\":\"../x\",\"paymentMethodPaid\":\"1\"}]"), S("")},
        {S("[{\"paymentMethodId\":\"BTC\",\"paymentMethodPaid\":\"0.1\"}]"), S("BTC")},
        {S("[{\"paymentMethodId\":\"BTC-LNURL\",\"paymentMethodPaid\":\"0.1\"}]"), S("BTC-LN")},
        {S("[{\"paymentMethodId\":\"BTC-CHAIN\",\"paymentMethodPaid\":\"0.1\"}]"), S("BTC-CHAIN")},
    };
    for (size_t i = 0; i < sizeof methods / sizeof *methods; i++) {
        Str method = {0};
        struct http_reply answer = {200, methods[i].body};
        assert_int_equal(gateway_btcpay.method_read(&a, &answer, &method), REPLY_OK);
        assert_str(method, methods[i].want);
    }
    arena_done(&a);
}

/* Words of the providers that say how something stands. */
static void test_states(void **state)
{
    (void)state;
    struct arena a = {0};
    static const struct {
        const struct gateway *g;
        Str body;
        enum payment_event_kind kind;
    } asked[] = {
        {&gateway_sandbox, S("{\"data\":{\"payment\":\"p\",\"status\":\"paid\",\"currency\":\"EUR\",\"amount\":5}}"),
         EVENT_SUCCEEDED},
        {&gateway_sandbox, S("{\"data\":{\"payment\":\"p\",\"status\":\"failed\",\"currency\":\"EUR\",\"amount\":-5}}"),
         EVENT_FAILED},
        {&gateway_sandbox, S("{\"data\":{\"payment\":\"p\",\"status\":\"expired\"}}"), EVENT_EXPIRED},
        {&gateway_sandbox, S("{\"data\":{\"payment\":\"p\",\"status\":\"closed\"}}"), EVENT_EXPIRED},
        {&gateway_sandbox, S("{\"data\":{\"payment\":\"p\",\"status\":\"open\"}}"), EVENT_PENDING},
        {&gateway_stripe, S("{\"id\":\"cs\",\"livemode\":true,\"payment_status\":\"paid\"}"), EVENT_SUCCEEDED},
        {&gateway_paypal, S("{\"id\":\"o\",\"status\":\"VOIDED\"}"), EVENT_EXPIRED},
        {&gateway_paypal,
         S("{\"id\":\"o\",\"purchase_units\":[{\"payments\":{\"captures\":[{\"status\":\"PARTIALLY_REFUNDED\"}]}}]}"),
         EVENT_SUCCEEDED},
        {&gateway_paypal,
         S("{\"id\":\"o\",\"purchase_units\":[{\"payments\":{\"captures\":[{\"status\":\"FAILED\"}]}}]}"),
         EVENT_EXPIRED},
    };
    for (size_t i = 0; i < sizeof asked / sizeof *asked; i++) {
        struct payment_event e = {0};
        struct gateway_config config = config_of(asked[i].g->provider);
        struct http_reply answer = {200, asked[i].body};
        assert_int_equal(asked[i].g->ask_read(&a, &config, &answer, &e), REPLY_OK);
        assert_int_equal(e.kind, asked[i].kind);
    }
    static const struct {
        enum payment_event_kind claim, kind;
        Str status;
    } refunds[] = {
        {EVENT_REFUNDED, EVENT_REFUND_FAILED, S("FAILED")},
        {EVENT_REFUNDED, EVENT_REFUND_FAILED, S("CANCELLED")},
        {EVENT_REFUNDED, EVENT_PENDING, S("PENDING")},
        {EVENT_REVERSED, EVENT_REVERSED, S("COMPLETED")},
    };
    struct gateway_config config = config_of(PROVIDER_PAYPAL);
    struct payment_event claim = {.refund_ref = STR("r")}, e;
    struct http_call call;
    for (size_t i = 0; i < sizeof refunds / sizeof *refunds; i++) {
        claim.kind = refunds[i].claim;
        assert_true(gateway_paypal.confirm_call(&a, &config, &claim, &call));
        assert_str(call.url, STR("http://127.0.0.1:9/v2/payments/refunds/r"));
        struct http_reply answer = {200,
                                    str_printf(&a, "{\"id\":\"r\",\"status\":\"%.*s\"}", STR_FMT(refunds[i].status))};
        assert_int_equal(gateway_paypal.confirm_read(&a, &config, &claim, &answer, &e), REPLY_OK);
        assert_int_equal(e.kind, refunds[i].kind);
    }
    claim.kind = EVENT_IGNORED; /* there is nothing to ask about it */
    assert_false(gateway_paypal.confirm_call(&a, &config, &claim, &call));
    arena_done(&a);
}

static void test_tokens(void **state)
{
    (void)state;
    struct arena a = {0};
    static const Str wrong[] = {S("{}"), S("{\"access_token\":\"A\"}"), S("{\"access_token\":\"A\",\"expires_in\":-1}"),
                                S("{\"access_token\":\"\",\"expires_in\":9}")};
    Str token;
    int64_t seconds;
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        struct http_reply answer = {200, wrong[i]};
        assert_int_equal(gateway_paypal.auth_read(&a, &answer, &token, &seconds), REPLY_RETRY);
    }
    struct access_tokens kept = {0};
    struct cache_key owners[ACCESS_TOKENS_MAX + 1];
    access_tokens_init(&kept);
    for (size_t i = 0; i <= ACCESS_TOKENS_MAX; i++) memset(&owners[i], (int)i + 1, sizeof owners[i]);
    char longest[TOKEN_BYTES_MAX + 1];
    memset(longest, 'a', sizeof longest);
    access_token_keep(&kept, &owners[0], (Str){longest, sizeof longest}, 3600);
    access_token_keep(&kept, &owners[0], STR("short-lived"), 60);
    assert_false(access_token_find(&kept, &owners[0], &a, &token));
    access_token_keep(&kept, &owners[0], STR("for ever"), INT64_MAX);
    for (size_t i = 1; i <= ACCESS_TOKENS_MAX; i++)
        access_token_keep(&kept, &owners[i], str_printf(&a, "token %zu", i), 3600 - (int64_t)i);
    /* The one that would have ended first has made room for the last. */
    assert_true(access_token_find(&kept, &owners[0], &a, &token));
    assert_str(token, STR("for ever"));
    assert_false(access_token_find(&kept, &owners[ACCESS_TOKENS_MAX - 1], &a, &token));
    assert_true(access_token_find(&kept, &owners[ACCESS_TOKENS_MAX], &a, &token));
    access_tokens_done(&kept);
    arena_done(&a);
}

/* Disputes: what was taken, from what the provider says has moved. */
static void test_losses(void **state)
{
    (void)state;
    struct arena a = {0};
#define PAYPAL(moves, more)                                                                                            \
    "{\"id\":\"e\",\"event_type\":\"CUSTOMER.DISPUTE.RESOLVED\",\"resource\":{\"dispute_id\":\"d\",\"status\":"        \
    "\"RESOLVED\",\"dispute_amount\":{\"currency_code\":\"EUR\",\"value\":\"10.00\"},\"dispute_outcome\":"             \
    "{\"outcome_code\":\"RESOLVED_BUYER_FAVOUR\"" more "},\"money_movements\":[" moves "]}}"
#define MOVE(code, value, type)                                                                                        \
    "{\"affected_party\":\"SELLER\",\"type\":\"" type "\",\"amount\":{\"currency_code\":\"" code                       \
    "\",\"value\":\"" value "\"}}"
#define STRIPE(moves)                                                                                                  \
    "{\"id\":\"e\",\"type\":\"charge.dispute.closed\",\"data\":{\"object\":{\"id\":\"d\",\"status\":\"lost\","         \
    "\"amount\":1000,\"currency\":\"eur\",\"balance_transactions\":[" moves "]}}}"
    static const struct {
        const struct gateway *g;
        Str body;
        int64_t minor;
    } lost[] = {
        {&gateway_paypal, S(PAYPAL(MOVE("EUR", "4.00", "DEBIT"), "")), 400},
        {&gateway_paypal, S(PAYPAL(MOVE("EUR", "many", "DEBIT"), "")), 1000},
        {&gateway_paypal, S(PAYPAL(MOVE("USD", "4.00", "DEBIT"), "")), 1000},
        {&gateway_paypal,
         S(PAYPAL(MOVE("EUR", "90000000000000000.00", "DEBIT") "," MOVE("EUR", "90000000000000000.00", "DEBIT"), "")),
         1000},
        {&gateway_paypal, S(PAYPAL("", ",\"amount_refunded\":{\"currency_code\":\"EUR\",\"value\":\"3.00\"}")), 300},
        {&gateway_paypal, S(PAYPAL("", ",\"amount_refunded\":{\"currency_code\":\"USD\",\"value\":\"3.00\"}")), 1000},
        {&gateway_stripe, S(STRIPE("{\"currency\":\"eur\",\"amount\":-400}")), 400},
        {&gateway_stripe, S(STRIPE("{\"currency\":\"euro\",\"amount\":-400}")), 1000},
        {&gateway_stripe, S(STRIPE("{\"currency\":\"eur\"}")), 1000},
        {&gateway_stripe,
         S(STRIPE("{\"currency\":\"eur\",\"amount\":-9223372036854775807},{\"currency\":\"eur\",\"amount\":-2}")),
         1000},
    };
    for (size_t i = 0; i < sizeof lost / sizeof *lost; i++) {
        struct payment_event e = test_parse(&a, lost[i].g->provider, lost[i].body);
        assert_int_equal(e.kind, EVENT_DISPUTE_CLOSED);
        if (e.amount.minor != lost[i].minor) fail_msg("%zu: %lld", i, (long long)e.amount.minor);
    }
    static const struct {
        const char *type, *body;
        enum payment_event_kind kind;
    } rest[] = {
        {"btcpay", "{\"deliveryId\":\"d\",\"type\":\"InvoiceReceivedPayment\"}", EVENT_PENDING},
        {"btcpay", "{\"deliveryId\":\"d\",\"type\":\"InvoicePaymentSettled\"}", EVENT_PENDING},
        {"paypal", "{\"id\":\"e\",\"event_type\":\"PAYMENT.CAPTURE.DECLINED\",\"resource\":{}}", EVENT_EXPIRED},
    };
    for (size_t i = 0; i < sizeof rest / sizeof *rest; i++) {
        enum provider p = rest[i].type[0] == 'b' ? PROVIDER_BTCPAY : PROVIDER_PAYPAL;
        assert_int_equal(test_parse(&a, p, str_from(rest[i].body)).kind, rest[i].kind);
    }
    arena_done(&a);
}

static void test_configurations(void **state)
{
    (void)state;
    const char *field;
    struct gateway_config c = config_of(PROVIDER_BTCPAY);
    assert_null(gateway_btcpay.problem(&c, &field));
    c.store_id = STR("a/b");
    assert_non_null(gateway_btcpay.problem(&c, &field));
    assert_string_equal(field, "store_id");
    c = config_of(PROVIDER_PAYPAL);
    c.webhook_id = STR("W1");
    c.api_secret = (Str){0};
    assert_non_null(gateway_paypal.problem(&c, &field));
    assert_string_equal(field, "api_secret");
    struct gateway_config own = {.provider = PROVIDER_RAZORPAY};
    assert_str(gateway_base_url(&own), STR("https://api.razorpay.com"));
    own.provider = PROVIDER_BTCPAY; /* everybody has their own */
    assert_str(gateway_base_url(&own), (Str){0});
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_books),
        cmocka_unit_test(test_full_pages),
        cmocka_unit_test(test_nothing_to_call_with),
        cmocka_unit_test(test_not_an_answer),
        cmocka_unit_test(test_refunds_that_did_not_happen),
        cmocka_unit_test(test_methods),
        cmocka_unit_test(test_states),
        cmocka_unit_test(test_tokens),
        cmocka_unit_test(test_losses),
        cmocka_unit_test(test_configurations),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
