/* tests/unit/test_gateway_signature.c - MACs of webhooks: the known good ones pass, and nothing else does. */
#include "gateway.h"

#include "gateway/sandbox.h"
#include "gateway/signature.h"

struct vector {
    enum provider provider;
    const char *file, *secret, *header, *value;
    int64_t now_s;
};

#define STRIPE_OLD "f01c1d268c203503afafcca6e517d54e04664b5c132941a615a97141985b5e1e"
#define STRIPE_NEW "d755950b477d53fb1ee05d1fec6f155e3d367ffe4d73ec6ab4ecee5b3665702b"
#define STRIPE_V0 "6ffbb59b2300aae63f272406069a9788598b792a944a07aba816edb039989a39"

static const struct vector vectors[] = {
    {PROVIDER_STRIPE, "stripe.json", "whsec_test_secret", "Stripe-Signature", "t=1700000000,v1=" STRIPE_NEW,
     1700000000},
    {PROVIDER_STRIPE, "stripe_utf8.json", "whsec_test_secret", "Stripe-Signature",
     "t=1700000000,v1=47466a66fce4f111fc6d3084ff5faf7109f5f4231250c51d24c8dbd74333dae2", 1700000000},
    {PROVIDER_STRIPE, "stripe_refund.json", "whsec_test_secret", "Stripe-Signature",
     "t=1700000100,v1=6d9c34fe2a3bdba8786dc028681eb60b0b0881a7081e6d0407ce1c51b908de38", 1700000100},
    {PROVIDER_RAZORPAY, "razorpay.json", "rzp_webhook_secret", "X-Razorpay-Signature",
     "31dabe251a5bcb051a40af6c48b746e247a9e845d350bb80a9c2973ae4688359", 1700000000},
    {PROVIDER_BTCPAY, "btcpay.json", "HelloWorld", "BTCPay-Sig",
     "sha256=711b08600c80c690dc8a50acf6f91296d2ebfa6caaeb19e05ec5eeec2446cfb0", 1700000000},
};
#define VECTORS (sizeof vectors / sizeof *vectors)

static enum verdict verify(const struct gateway_config *config, const char *name, Str value, Str raw, int64_t now_s)
{
    struct http_header header = {str_from(name), value};
    struct webhook hook = {.headers = &header, .header_count = 1, .raw = raw};
    struct arena a = {0};
    enum verdict v = gateway_of(config->provider)->verify(config, &hook, NULL, &a, (Time){now_s * TIME_SECOND});
    arena_done(&a);
    return v;
}

static void test_vectors_verify(void **state)
{
    (void)state;
    struct arena a = {0};
    for (size_t i = 0; i < VECTORS; i++) {
        const struct vector *v = &vectors[i];
        struct gateway_config config = test_config(v->provider, v->secret);
        Str raw = test_vector(&a, v->file);
        assert_int_equal(verify(&config, v->header, str_from(v->value), raw, v->now_s), VERDICT_OK);
        struct gateway_config other = test_config(v->provider, "another secret");
        assert_int_equal(verify(&other, v->header, str_from(v->value), raw, v->now_s), VERDICT_BAD);
    }
    arena_done(&a);
}

/* No bit of the body or of the signature can be turned without being noticed. */
static void test_every_bit_counts(void **state)
{
    (void)state;
    struct arena a = {0};
    for (size_t i = 0; i < VECTORS; i++) {
        const struct vector *v = &vectors[i];
        struct gateway_config config = test_config(v->provider, v->secret);
        Str raw = test_vector(&a, v->file);
        char *body = str_cstr(&a, raw), *value = str_cstr(&a, str_from(v->value));
        for (size_t bit = 0; bit < raw.len * 8; bit++) {
            body[bit / 8] ^= (char)(1 << (bit % 8));
            if (verify(&config, v->header, str_from(value), (Str){body, raw.len}, v->now_s) != VERDICT_BAD)
                fail_msg("%s: bit %zu of the body was turned and not noticed", v->file, bit);
            body[bit / 8] ^= (char)(1 << (bit % 8));
        }
        size_t value_len = strlen(v->value);
        for (size_t bit = 0; bit < value_len * 8; bit++) {
            value[bit / 8] ^= (char)(1 << (bit % 8));
            if (verify(&config, v->header, (Str){value, value_len}, raw, v->now_s) == VERDICT_OK)
                fail_msg("%s: bit %zu of the header was turned and not noticed", v->file, bit);
            value[bit / 8] ^= (char)(1 << (bit % 8));
        }
        for (size_t cut = 0; cut < value_len; cut++)
            assert_int_not_equal(verify(&config, v->header, (Str){value, cut}, raw, v->now_s), VERDICT_OK);
        for (size_t cut = 0; cut < raw.len; cut++)
            assert_int_equal(verify(&config, v->header, str_from(value), (Str){body, cut}, v->now_s), VERDICT_BAD);
    }
    arena_done(&a);
}

static void test_stale_and_future(void **state)
{
    (void)state;
    struct arena a = {0};
    struct gateway_config config = test_config(PROVIDER_STRIPE, "whsec_test_secret");
    Str raw = test_vector(&a, "stripe.json"), value = str_from(vectors[0].value);
    static const struct {
        int64_t off_ms;
        enum verdict want;
    } cases[] = {
        {0, VERDICT_OK},          {299000, VERDICT_OK},       {300000, VERDICT_OK},  {300999, VERDICT_OK},
        {301000, VERDICT_STALE},  {86400000, VERDICT_STALE},  {-300000, VERDICT_OK}, {-300001, VERDICT_STALE},
        {-301000, VERDICT_STALE}, {-86400000, VERDICT_STALE},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct http_header header = {STR("stripe-signature"), value};
        struct webhook hook = {.headers = &header, .header_count = 1, .raw = raw};
        Time now = {1700000000 * TIME_SECOND + cases[i].off_ms};
        assert_int_equal(gateway_stripe.verify(&config, &hook, NULL, &a, now), cases[i].want);
    }
    /* Who does not know the secret learns nothing about the clock. */
    config = test_config(PROVIDER_STRIPE, "wrong");
    assert_int_equal(verify(&config, "Stripe-Signature", value, raw, 1800000000), VERDICT_BAD);
    arena_done(&a);
}

static void test_rotation(void **state)
{
    (void)state;
    struct arena a = {0};
    Str raw = test_vector(&a, "stripe.json");
    Str both = STR("t=1700000000,v1=" STRIPE_OLD ",v1=" STRIPE_NEW ",v0=" STRIPE_V0);
    struct gateway_config config = test_config(PROVIDER_STRIPE, "whsec_old_secret");
    assert_int_equal(verify(&config, "Stripe-Signature", both, raw, 1700000000), VERDICT_OK);
    config = test_config(PROVIDER_STRIPE, "whsec_test_secret");
    assert_int_equal(verify(&config, "Stripe-Signature", both, raw, 1700000000), VERDICT_OK);

    /* One signature, any of four secrets, at any place. */
    Str one = str_from(vectors[0].value);
    for (size_t at = 0; at < GATEWAY_SECRETS_MAX; at++) {
        config = test_config(PROVIDER_STRIPE, NULL);
        for (size_t i = 0; i < GATEWAY_SECRETS_MAX; i++)
            config.secrets[config.secret_count++] = i == at ? STR("whsec_test_secret") : STR("whsec_else");
        assert_int_equal(verify(&config, "Stripe-Signature", one, raw, 1700000000), VERDICT_OK);
    }
    /* v0 never counts, also when it would be right. */
    config = test_config(PROVIDER_STRIPE, "whsec_test_secret");
    assert_int_equal(verify(&config, "Stripe-Signature", STR("t=1700000000,v0=" STRIPE_NEW), raw, 1700000000),
                     VERDICT_MALFORMED);
    arena_done(&a);
}

static void test_no_secret(void **state)
{
    (void)state;
    struct arena a = {0};
    Str raw = STR("{}");
    Str signed_with_nothing = stamped_sign(&a, STR(""), raw, (Time){1700000000 * TIME_SECOND});
    struct gateway_config config = test_config(PROVIDER_STRIPE, "");
    assert_int_equal(verify(&config, "Stripe-Signature", signed_with_nothing, raw, 1700000000), VERDICT_BAD);
    config = test_config(PROVIDER_STRIPE, NULL);
    assert_int_equal(verify(&config, "Stripe-Signature", signed_with_nothing, raw, 1700000000), VERDICT_BAD);
    for (enum provider p = 0; p < PROVIDER_COUNT; p++) {
        config = test_config(p, NULL);
        const char *field;
        assert_non_null(gateway_of(p)->problem(&config, &field));
    }
    arena_done(&a);
}

static void test_stamped_header(void **state)
{
    (void)state;
    static const char *const bad[] = {
        "",
        "t",
        "t=",
        "t=1",
        "v1=" STRIPE_NEW,
        "t=1700000000",
        "t=1700000000,",
        ",t=1700000000,v1=" STRIPE_NEW,
        "t=1700000000,v1=",
        "t=1700000000,v1=" STRIPE_NEW ",",
        "t=1,t=1700000000,v1=" STRIPE_NEW,
        "t=1700000000,t=1700000000,v1=" STRIPE_NEW,
        "t=-1700000000,v1=" STRIPE_NEW,
        "t=+1700000000,v1=" STRIPE_NEW,
        "t= 1700000000,v1=" STRIPE_NEW,
        "t=1700000000 ,v1=" STRIPE_NEW,
        "t=0x6553f100,v1=" STRIPE_NEW,
        "t=1700000000.0,v1=" STRIPE_NEW,
        "t=1234567890123,v1=" STRIPE_NEW,
        "t=1700000000, v1=" STRIPE_NEW,
        "t=1700000000;v1=" STRIPE_NEW,
        "t=1700000000,v1=" STRIPE_NEW "0",
        "t=1700000000,v1=zz" STRIPE_NEW,
        "t=1700000000,V1=" STRIPE_NEW,
        "T=1700000000,v1=" STRIPE_NEW,
        "t=1700000000,v1=D755950B477D53FB1EE05D1FEC6F155E3D367FFE4D73EC6AB4ECEE5B3665702B",
        "t=1700000000,v1=" STRIPE_NEW ",v1=short",
    };
    struct stamped s;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        if (stamped_parse(str_from(bad[i]), &s)) fail_msg("accepted: %s", bad[i]);

    assert_true(stamped_parse(STR("t=1700000000,v1=" STRIPE_OLD ",x=y=z,v1=" STRIPE_NEW ",v0=junk"), &s));
    assert_int_equal(s.mac_count, 2);
    assert_int_equal(s.t.ms, 1700000000 * TIME_SECOND);
    assert_true(stamped_parse(STR("v1=" STRIPE_OLD ",t=999999999999"), &s));

    struct arena a = {0};
    struct buf many;
    buf_init(&many, &a, 65536);
    buf_lit(&many, "t=1");
    for (int i = 0; i < STAMPED_MACS_MAX; i++) buf_lit(&many, ",v1=" STRIPE_NEW);
    assert_true(stamped_parse(buf_str(&many), &s));
    buf_lit(&many, ",v1=" STRIPE_NEW);
    assert_false(stamped_parse(buf_str(&many), &s));
    arena_done(&a);
}

/* Two of them may mean that somebody put one in front of the other: neither counts. */
static void test_header_sent_twice(void **state)
{
    (void)state;
    struct arena a = {0};
    struct gateway_config config = test_config(PROVIDER_RAZORPAY, "rzp_webhook_secret");
    Str raw = test_vector(&a, "razorpay.json"), good = str_from(vectors[3].value);
    struct http_header headers[] = {
        {STR("x-razorpay-signature"), good}, {STR("Host"), STR("x")}, {STR("X-Razorpay-Signature"), good}};
    struct webhook hook = {.headers = headers, .header_count = 3, .raw = raw};
    assert_int_equal(gateway_razorpay.verify(&config, &hook, NULL, &a, (Time){0}), VERDICT_MALFORMED);
    hook.header_count = 2;
    assert_int_equal(gateway_razorpay.verify(&config, &hook, NULL, &a, (Time){0}), VERDICT_OK);
    hook.header_count = 0;
    assert_int_equal(gateway_razorpay.verify(&config, &hook, NULL, &a, (Time){0}), VERDICT_MALFORMED);
    arena_done(&a);
}

/* RFC 4231, cases 1, 2, 6 (a key longer than a block), and the vector signed with SHA-512. */
static void test_hmac_by_the_book(void **state)
{
    (void)state;
    char key1[20], key6[131];
    memset(key1, 0x0b, sizeof key1);
    memset(key6, 0xaa, sizeof key6);
    const struct {
        enum mac_kind kind;
        Str key, text;
        const char *want;
    } cases[] = {
        {MAC_SHA256,
         {key1, sizeof key1},
         STR("Hi There"),
         "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7"},
        {MAC_SHA256, STR("Jefe"), STR("what do ya want for nothing?"),
         "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843"},
        {MAC_SHA256,
         {key6, sizeof key6},
         STR("Test Using Larger Than Block-Size Key - Hash Key First"),
         "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54"},
        {MAC_SHA512, STR("Jefe"), STR("what do ya want for nothing?"),
         "164b7a7bfcf819e2e395fbe73b56e0a387bd64222e831fd610270cd7ea2505549758bf75c05a994a6d034f65f8f0e6fdcaeab1a34d4a6"
         "b4b63"
         "6e070a38bce737"},
    };
    struct arena a = {0};
    uint8_t mac[MAC_BYTES_MAX];
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct mac_key *key = mac_key_new(cases[i].kind, cases[i].key);
        /* In pieces, and twice with the same key. */
        for (size_t cut = 0; cut <= cases[i].text.len; cut++) {
            Str parts[] = {{cases[i].text.ptr, cut}, {cases[i].text.ptr + cut, cases[i].text.len - cut}};
            mac_sum(key, parts, 2, mac);
            assert_str(hex_encode(&a, mac, mac_bytes(cases[i].kind)), str_from(cases[i].want));
        }
        mac_key_free(key);
    }
    mac_key_free(NULL);
    struct gateway_config config = test_config(PROVIDER_STRIPE, "sk_test_paystack");
    assert_int_equal(
        plain_verify(
            MAC_SHA512, &config,
            STR("0f876174a9a2d55f06151b08940a032a20920a9054012770c1294ca00a2f30d2981a9a85083419d8a26cde4cefade3951c6f"
                "5676a3d86084de98bcfe1b5ccc2b"),
            test_vector(&a, "paystack.json")),
        VERDICT_OK);
    arena_done(&a);
}

static void test_sandbox_signs_what_it_verifies(void **state)
{
    (void)state;
    struct arena a = {0};
    struct sandbox_message m = {.event_id = STR("sbx_1"),
                                .kind = EVENT_SUCCEEDED,
                                .payment_ref = STR("sbx_pay_1"),
                                .order_ref = STR("7"),
                                .amount = {1999},
                                .currency = STR("EUR"),
                                .at = {1700000000 * TIME_SECOND}};
    Str body = sandbox_body(&a, &m);
    Str value = stamped_sign(&a, STR("shh"), body, m.at);
    struct gateway_config config = test_config(PROVIDER_SANDBOX, "shh");
    assert_int_equal(verify(&config, SANDBOX_SIGNATURE, value, body, 1700000000), VERDICT_OK);
    assert_int_equal(verify(&config, SANDBOX_SIGNATURE, value, body, 1700000400), VERDICT_STALE);
    assert_int_equal(verify(&config, "Stripe-Signature", value, body, 1700000000), VERDICT_MALFORMED);

    struct payment_event e = test_parse(&a, PROVIDER_SANDBOX, body);
    assert_int_equal(e.kind, EVENT_SUCCEEDED);
    assert_str(e.order_ref, STR("7"));
    assert_true(e.has_amount);
    assert_int_equal(e.amount.minor, 1999);
    assert_str(e.currency, STR("EUR"));
    assert_int_equal(e.mode, EVENT_MODE_TEST);
    arena_done(&a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_vectors_verify),
        cmocka_unit_test(test_every_bit_counts),
        cmocka_unit_test(test_stale_and_future),
        cmocka_unit_test(test_rotation),
        cmocka_unit_test(test_no_secret),
        cmocka_unit_test(test_stamped_header),
        cmocka_unit_test(test_header_sent_twice),
        cmocka_unit_test(test_hmac_by_the_book),
        cmocka_unit_test(test_sandbox_signs_what_it_verifies),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
