/* tests/unit/test_gateway_paypal.c - PayPal's signature: certificates made here, and recorded deliveries where there
 * are.
 *
 * SOUK_PAYPAL_RECORDINGS names a folder of recordings (X.body, X.msg, X.sig.b64, CERT*.pem); without it that test is
 * skipped. */
#include "amounts.h"
#include "base/base64.h"
#include "gateway.h"

#include <glob.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/rsa.h>
#include <openssl/x509v3.h>

#include "gateway/paypal_signature.h"

#define NOW_S INT64_C(1722627215) /* 2024-08-02 */
#define NAME "messageverificationcerts.paypal.com"
#define SANDBOX_NAME "messageverificationcerts.sandbox.paypal.com"

struct identity {
    EVP_PKEY *key;
    X509 *cert;
};

static void add_extension(X509 *cert, X509 *issuer, int nid, const char *value)
{
    X509V3_CTX ctx;
    X509V3_set_ctx(&ctx, issuer, cert, NULL, NULL, 0);
    X509_EXTENSION *e = X509V3_EXT_conf_nid(NULL, &ctx, nid, value);
    assert_non_null(e);
    assert_int_equal(X509_add_ext(cert, e, -1), 1);
    X509_EXTENSION_free(e);
}

struct make {
    const char *name;
    int bits;
    bool is_ec;
    int64_t from_s, to_s;
    const struct identity *issuer; /* NULL: itself, and it is an authority */
    const char *usage;             /* extended; NULL: serverAuth */
    bool no_alternative_name;
};

static struct identity make(struct make m)
{
    struct identity id = {.cert = X509_new()};
    static EVP_PKEY *keys[5]; /* making one takes long: those of one size and kind of holder share it */
    EVP_PKEY **kept = &keys[m.is_ec ? 4 : (m.issuer ? 2 : 0) + (m.bits == 2048)];
    if (!*kept) *kept = m.is_ec ? EVP_EC_gen("P-256") : EVP_RSA_gen((unsigned)m.bits);
    EVP_PKEY_up_ref(*kept);
    id.key = *kept;
    static long serial;
    X509 *issuer = m.issuer ? m.issuer->cert : id.cert;
    X509_set_version(id.cert, X509_VERSION_3);
    ASN1_INTEGER_set(X509_get_serialNumber(id.cert), ++serial);
    ASN1_TIME_set(X509_getm_notBefore(id.cert), (time_t)m.from_s);
    ASN1_TIME_set(X509_getm_notAfter(id.cert), (time_t)m.to_s);
    X509_set_pubkey(id.cert, id.key);
    X509_NAME *name = X509_get_subject_name(id.cert);
    X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_ASC, (const unsigned char *)m.name, -1, -1, 0);
    X509_set_issuer_name(id.cert, X509_get_subject_name(issuer));
    add_extension(id.cert, issuer, NID_basic_constraints, m.issuer ? "critical,CA:FALSE" : "critical,CA:TRUE");
    add_extension(id.cert, issuer, NID_key_usage, m.issuer ? "critical,digitalSignature" : "critical,keyCertSign");
    add_extension(id.cert, issuer, NID_subject_key_identifier, "hash");
    if (m.issuer) {
        char names[128];
        add_extension(id.cert, issuer, NID_authority_key_identifier, "keyid:always");
        add_extension(id.cert, issuer, NID_ext_key_usage, m.usage ? m.usage : "serverAuth,clientAuth");
        snprintf(names, sizeof names, "DNS:%s", m.name);
        if (!m.no_alternative_name) add_extension(id.cert, issuer, NID_subject_alt_name, names);
    }
    assert_true(X509_sign(id.cert, m.issuer ? m.issuer->key : id.key, EVP_sha256()) > 0);
    return id;
}

static void drop(struct identity *id)
{
    EVP_PKEY_free(id->key);
    X509_free(id->cert);
}

static Str pem_of(struct arena *a, X509 *cert)
{
    BIO *out = BIO_new(BIO_s_mem());
    PEM_write_bio_X509(out, cert);
    char *bytes;
    long n = BIO_get_mem_data(out, &bytes);
    Str copy = str_dup(a, (Str){bytes, (size_t)n});
    BIO_free(out);
    return copy;
}

static Str sign(struct arena *a, EVP_PKEY *key, Str message)
{
    EVP_MD_CTX *ctx = EVP_MD_CTX_new();
    size_t n = 1024;
    char *bytes = arena_alloc(a, n);
    assert_int_equal(EVP_DigestSignInit(ctx, NULL, EVP_sha256(), NULL, key), 1);
    assert_int_equal(EVP_DigestSign(ctx, (unsigned char *)bytes, &n, (const unsigned char *)message.ptr, message.len),
                     1);
    EVP_MD_CTX_free(ctx);
    return base64_encode(a, BASE64_PADDED, (Str){bytes, n});
}

static const Str body = S("{\"id\":\"WH-1\",\"event_type\":\"PAYMENT.CAPTURE.COMPLETED\"}");

static struct paypal_headers headers_of(struct arena *a, EVP_PKEY *key, const char *webhook_id)
{
    struct paypal_headers h = {
        .id = STR("1c6772d0-5106-11ef"), .time = STR("2024-08-02T19:33:35Z"), .algo = STR("SHA256withRSA")};
    h.sig = sign(a, key, str_printf(a, "%.*s|%.*s|%s|%u", STR_FMT(h.id), STR_FMT(h.time), webhook_id, crc32_of(body)));
    return h;
}

#define DAYS (INT64_C(86400))
static struct identity authority, other_authority, leaf;

static int make_identities(void **state)
{
    (void)state;
    authority = make(
        (struct make){.name = "Test EV CA", .bits = 2048, .from_s = NOW_S - 900 * DAYS, .to_s = NOW_S + 900 * DAYS});
    other_authority =
        make((struct make){.name = "Other CA", .bits = 2048, .from_s = NOW_S - 900 * DAYS, .to_s = NOW_S + 900 * DAYS});
    leaf = make(
        (struct make){.name = NAME, .bits = 2048, .from_s = NOW_S - DAYS, .to_s = NOW_S + DAYS, .issuer = &authority});
    return 0;
}

static int drop_identities(void **state)
{
    (void)state;
    drop(&authority);
    drop(&other_authority);
    drop(&leaf);
    return 0;
}

static void test_crc32(void **state)
{
    (void)state;
    assert_int_equal(crc32_of(STR("")), 0);
    assert_int_equal(crc32_of(STR("123456789")), 0xcbf43926u);
    assert_int_equal(crc32_of(STR("The quick brown fox jumps over the lazy dog")), 0x414fa339u);
}

static void test_certificate_address(void **state)
{
    (void)state;
    static const struct {
        const char *url;
        bool live, test;
    } cases[] = {
        {"https://api.paypal.com/v1/notifications/certs/CERT-360caa42-fca2a594-1a5f47cb", true, false},
        {"https://api-m.paypal.com/v1/notifications/certs/CERT-1", true, false},
        {"https://api.sandbox.paypal.com/v1/notifications/certs/CERT-1", false, true},
        {"https://api-m.sandbox.paypal.com/v1/notifications/certs/CERT-1", false, true},
        {"http://api.paypal.com/v1/notifications/certs/CERT-1", false, false},
        {"HTTPS://api.paypal.com/v1/notifications/certs/CERT-1", false, false},
        {"https://api.paypal.com:443/v1/notifications/certs/CERT-1", false, false},
        {"https://api.paypal.com@evil.example/v1/notifications/certs/CERT-1", false, false},
        {"https://user@api.paypal.com/v1/notifications/certs/CERT-1", false, false},
        {"https://api.paypal.com.evil.example/v1/notifications/certs/CERT-1", false, false},
        {"https://evil.example/https://api.paypal.com/v1/notifications/certs/CERT-1", false, false},
        {"https://api.paypal.com/v1/notifications/certs/CERT-1?x=1", false, false},
        {"https://api.paypal.com/v1/notifications/certs/CERT-1#x", false, false},
        {"https://api.paypal.com/v1/notifications/certs/../../evil", false, false},
        {"https://api.paypal.com/v1/notifications/certs/%2e%2e%2fx", false, false},
        {"https://api.paypal.com/v1/notifications/certs/", false, false},
        {"https://api.paypal.com/v1/notifications/certs/a/b", false, false},
        {"https://api.paypal.com/v1/payments/CERT-1", false, false},
        {"https://api.paypal.com", false, false},
        {"", false, false},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        Str path = {0};
        if (paypal_cert_path(str_from(cases[i].url), true, &path) != cases[i].live) fail_msg("live: %s", cases[i].url);
        if (cases[i].live) assert_true(str_starts(path, STR("/v1/notifications/certs/CERT-")));
        if (paypal_cert_path(str_from(cases[i].url), false, &path) != cases[i].test) fail_msg("test: %s", cases[i].url);
    }
}

static enum verdict check_leaf(struct arena *a, const struct identity *id, Str anchors, const char *name)
{
    struct paypal_headers h = headers_of(a, id->key, "5WH");
    return paypal_signature_check(a, &h, STR("5WH"), body, pem_of(a, id->cert), anchors, name,
                                  (Time){NOW_S * TIME_SECOND});
}

static void test_certificates(void **state)
{
    (void)state;
    struct arena a = {0};
    Str anchors = pem_of(&a, authority.cert);
    assert_int_equal(check_leaf(&a, &leaf, anchors, NAME), VERDICT_OK);
    assert_int_equal(check_leaf(&a, &leaf, anchors, SANDBOX_NAME), VERDICT_BAD);
    /* An issuer that we do not know: the bundle is too old, which is not the sender's fault. */
    assert_int_equal(check_leaf(&a, &leaf, pem_of(&a, other_authority.cert), NAME), VERDICT_UNAVAILABLE);
    assert_int_equal(check_leaf(&a, &leaf, (Str){0}, NAME), VERDICT_UNAVAILABLE);
    assert_int_equal(check_leaf(&a, &leaf, STR("no certificate"), NAME), VERDICT_UNAVAILABLE);
    /* A bundle of several. */
    Str both = str_printf(&a, "%.*s%.*s", STR_FMT(pem_of(&a, other_authority.cert)), STR_FMT(anchors));
    assert_int_equal(check_leaf(&a, &leaf, both, NAME), VERDICT_OK);

    /* Certificates beyond the sixteenth are not looked at, nor any in a file of this size. */
    Str many = STR("");
    for (int i = 0; i < 16; i++)
        many = str_printf(&a, "%.*s%.*s", STR_FMT(many), STR_FMT(pem_of(&a, other_authority.cert)));
    assert_int_equal(check_leaf(&a, &leaf, str_printf(&a, "%.*s%.*s", STR_FMT(many), STR_FMT(anchors)), NAME),
                     VERDICT_UNAVAILABLE);
    Str big = str_printf(&a, "%.*s%*s", STR_FMT(anchors), 256 * 1024, "");
    assert_int_equal(check_leaf(&a, &leaf, big, NAME), VERDICT_UNAVAILABLE);

    const struct make makes[] = {
        {.name = NAME, .is_ec = true, .bits = 256, .from_s = NOW_S - DAYS, .to_s = NOW_S + DAYS, .issuer = &authority},
        {.name = NAME, .bits = 2048, .from_s = NOW_S - 9 * DAYS, .to_s = NOW_S - DAYS, .issuer = &authority},
        {.name = NAME, .bits = 2048, .from_s = NOW_S + DAYS, .to_s = NOW_S + 9 * DAYS, .issuer = &authority},
        {.name = "evil.example", .bits = 2048, .from_s = NOW_S - DAYS, .to_s = NOW_S + DAYS, .issuer = &authority},
        {.name = "*.paypal.com", .bits = 2048, .from_s = NOW_S - DAYS, .to_s = NOW_S + DAYS, .issuer = &authority},
        {.name = NAME,
         .bits = 2048,
         .from_s = NOW_S - DAYS,
         .to_s = NOW_S + DAYS,
         .issuer = &authority,
         .usage = "codeSigning"},
        {.name = NAME, .bits = 1024, .from_s = NOW_S - DAYS, .to_s = NOW_S + DAYS, .issuer = &authority},
    };
    for (size_t i = 0; i < sizeof makes / sizeof *makes; i++) {
        struct identity id = make(makes[i]);
        if (check_leaf(&a, &id, anchors, NAME) != VERDICT_BAD) fail_msg("certificate %zu was accepted", i);
        drop(&id);
    }
    arena_done(&a);
}

static void test_every_bit_counts(void **state)
{
    (void)state;
    struct arena a = {0};
    Str anchors = pem_of(&a, authority.cert), pem = pem_of(&a, leaf.cert);
    struct paypal_headers good = headers_of(&a, leaf.key, "5WH");
    Time now = {NOW_S * TIME_SECOND};
    assert_int_equal(paypal_signature_check(&a, &good, STR("5WH"), body, pem, anchors, NAME, now), VERDICT_OK);
    assert_int_not_equal(paypal_signature_check(&a, &good, STR("6WH"), body, pem, anchors, NAME, now), VERDICT_OK);
    assert_int_equal(paypal_signature_check(&a, &good, (Str){0}, body, pem, anchors, NAME, now), VERDICT_MALFORMED);
    assert_int_equal(paypal_signature_check(&a, &good, STR("5WH"), body, (Str){0}, anchors, NAME, now),
                     VERDICT_UNAVAILABLE);
    struct paypal_headers nameless = good, timeless = good;
    nameless.id = timeless.time = (Str){0};
    assert_int_equal(paypal_signature_check(&a, &nameless, STR("5WH"), body, pem, anchors, NAME, now),
                     VERDICT_MALFORMED);
    assert_int_equal(paypal_signature_check(&a, &timeless, STR("5WH"), body, pem, anchors, NAME, now),
                     VERDICT_MALFORMED);

    Str *const fields[] = {&good.id, &good.time, &good.sig, &good.algo};
    for (size_t f = 0; f < sizeof fields / sizeof *fields; f++) {
        Str kept = *fields[f];
        char *turned = str_cstr(&a, kept);
        for (size_t bit = 0; bit < kept.len * 8; bit += UNIT_STRIDE) {
            struct arena scratch = {0};
            turned[bit / 8] ^= (char)(1 << (bit % 8));
            *fields[f] = (Str){turned, kept.len};
            if (paypal_signature_check(&scratch, &good, STR("5WH"), body, pem, anchors, NAME, now) == VERDICT_OK)
                fail_msg("bit %zu of field %zu was turned and not noticed", bit, f);
            turned[bit / 8] ^= (char)(1 << (bit % 8));
            arena_done(&scratch);
        }
        *fields[f] = kept;
    }
    char *turned = str_cstr(&a, body);
    for (size_t bit = 0; bit < body.len * 8; bit += UNIT_STRIDE) {
        turned[bit / 8] ^= (char)(1 << (bit % 8));
        assert_int_equal(
            paypal_signature_check(&a, &good, STR("5WH"), (Str){turned, body.len}, pem, anchors, NAME, now),
            VERDICT_BAD);
        turned[bit / 8] ^= (char)(1 << (bit % 8));
    }
    arena_done(&a);
}

struct cabinet {
    Str pem;
    enum verdict verdict;
    int asked;
};

static enum verdict find_certificate(void *ctx, Str network, const struct gateway_config *config, Str path,
                                     struct arena *a, Str *ret)
{
    (void)network, (void)config, (void)path, (void)a;
    struct cabinet *c = ctx;
    c->asked++;
    *ret = c->pem;
    return c->verdict;
}

static void test_whole_delivery(void **state)
{
    (void)state;
    struct arena a = {0};
    struct gateway_config config = test_config(PROVIDER_PAYPAL, NULL);
    config.is_live = true;
    config.webhook_id = STR("5WH");
    config.ca_bundle = pem_of(&a, authority.cert);
    struct cabinet cabinet = {pem_of(&a, leaf.cert), VERDICT_OK, 0};
    struct certificates certs = {&cabinet, {0}, find_certificate};
    struct paypal_headers h = headers_of(&a, leaf.key, "5WH");
    struct http_header headers[] = {
        {STR("PAYPAL-TRANSMISSION-ID"), h.id},
        {STR("PAYPAL-TRANSMISSION-TIME"), h.time},
        {STR("PAYPAL-TRANSMISSION-SIG"), h.sig},
        {STR("PAYPAL-CERT-URL"), STR("https://api.paypal.com/v1/notifications/certs/CERT-1")},
        {STR("PAYPAL-AUTH-ALGO"), h.algo},
    };
    struct webhook hook = {.headers = headers, .header_count = 5, .raw = body};
    Time now = {NOW_S * TIME_SECOND};
    assert_int_equal(gateway_paypal.verify(&config, &hook, &certs, &a, now), VERDICT_OK);
    assert_int_equal(cabinet.asked, 1);
    struct payment_event e;
    assert_true(gateway_paypal.parse(&a, &config, &hook, &e));
    assert_str(e.delivery_id, h.id);

    for (size_t missing = 0; missing < 5; missing++) {
        struct http_header kept = headers[missing];
        headers[missing].name = STR("X-Else");
        assert_int_equal(gateway_paypal.verify(&config, &hook, &certs, &a, now), VERDICT_MALFORMED);
        headers[missing] = kept;
    }
    headers[0].value = str_printf(&a, "%0256d", 1); /* longer than what can be kept of a delivery's name */
    assert_int_equal(gateway_paypal.verify(&config, &hook, &certs, &a, now), VERDICT_MALFORMED);
    headers[0].value = h.id;
    cabinet.asked = 0;
    headers[3].value = STR("https://evil.example/v1/notifications/certs/CERT-1");
    assert_int_equal(gateway_paypal.verify(&config, &hook, &certs, &a, now), VERDICT_MALFORMED);
    assert_int_equal(cabinet.asked, 0); /* nothing is fetched for an address that is not PayPal's */
    headers[3].value = STR("https://api.sandbox.paypal.com/v1/notifications/certs/CERT-1");
    assert_int_equal(gateway_paypal.verify(&config, &hook, &certs, &a, now), VERDICT_MALFORMED);
    headers[3].value = STR("https://api.paypal.com/v1/notifications/certs/CERT-1");

    cabinet.verdict = VERDICT_UNAVAILABLE;
    assert_int_equal(gateway_paypal.verify(&config, &hook, &certs, &a, now), VERDICT_UNAVAILABLE);
    cabinet.verdict = VERDICT_BAD;
    assert_int_equal(gateway_paypal.verify(&config, &hook, &certs, &a, now), VERDICT_BAD);
    cabinet.verdict = VERDICT_OK;

    /* The simulator signs for this id whatever anybody wants. */
    config.webhook_id = STR("WEBHOOK_ID");
    const char *field;
    assert_non_null(gateway_paypal.problem(&config, &field));
    assert_string_equal(field, "webhook_id");
    assert_int_not_equal(gateway_paypal.verify(&config, &hook, &certs, &a, now), VERDICT_OK);
    arena_done(&a);
}

static Str recording(struct arena *a, const char *stem, const char *suffix)
{
    char path[1024];
    snprintf(path, sizeof path, "%s%s", stem, suffix);
    return test_file(a, path);
}

static struct paypal_headers recorded_headers(struct arena *a, const char *stem)
{
    struct paypal_headers h = {.algo = STR("SHA256withRSA"), .sig = str_trim(recording(a, stem, ".sig.b64"))};
    Str message = recording(a, stem, ".msg"), rest;
    assert_true(str_cut(message, '|', &h.id, &rest));
    assert_true(str_cut(rest, '|', &h.time, &rest));
    return h;
}

static void test_recordings(void **state)
{
    (void)state;
    const char *folder = getenv("SOUK_PAYPAL_RECORDINGS");
    if (!folder || !*folder) skip();
    struct arena a = {0};
    char pattern[1024];
    glob_t certs, bodies;
    snprintf(pattern, sizeof pattern, "%s/CERT*.pem", folder);
    assert_int_equal(glob(pattern, 0, NULL, &certs), 0);
    Str pem = test_file(&a, certs.gl_pathv[0]);
    globfree(&certs);
    snprintf(pattern, sizeof pattern, "%s/HOOK*.body", folder);
    assert_int_equal(glob(pattern, 0, NULL, &bodies), 0);
    Time now = {NOW_S * TIME_SECOND};
    Str id = STR("WEBHOOK_ID");
    for (size_t i = 0; i < bodies.gl_pathc; i++) {
        char *stem = bodies.gl_pathv[i];
        stem[strlen(stem) - strlen(".body")] = '\0';
        Str raw = recording(&a, stem, ".body");
        struct paypal_headers h = recorded_headers(&a, stem);
        assert_int_equal(paypal_signature_check(&a, &h, id, raw, pem, pem, NAME, now), VERDICT_OK);
        assert_int_equal(paypal_signature_check(&a, &h, id, raw, pem, pem, SANDBOX_NAME, now), VERDICT_BAD);
        Time later = {(NOW_S + 365 * DAYS) * TIME_SECOND};
        assert_int_equal(paypal_signature_check(&a, &h, id, raw, pem, pem, NAME, later), VERDICT_BAD);
        struct payment_event e = test_parse(&a, PROVIDER_PAYPAL, raw);
        assert_int_not_equal(e.kind, EVENT_IGNORED);
        assert_true(e.payment_ref.len > 0);
        Str less = {raw.ptr, raw.len - 1};
        assert_int_equal(paypal_signature_check(&a, &h, id, less, pem, pem, NAME, now), VERDICT_BAD);
    }
    globfree(&bodies);

    /* The reason for confirm: another amount, another order, the same checksum, a genuine signature. */
    char stem[1024], path[1024];
    snprintf(stem, sizeof stem, "%s/HOOK_PAYMENT_CAPTURE_COMPLETED_V2", folder);
    snprintf(path, sizeof path, "%s/forged.body", folder);
    Str forged = test_file(&a, path);
    struct paypal_headers h = recorded_headers(&a, stem);
    assert_int_equal(paypal_signature_check(&a, &h, id, forged, pem, pem, NAME, now), VERDICT_OK);
    struct payment_event claim = test_parse(&a, PROVIDER_PAYPAL, forged), truth;
    assert_int_equal(claim.amount.minor, 999900);
    assert_true(gateway_paypal.confirms);
    struct gateway_config config = test_config(PROVIDER_PAYPAL, NULL);
    struct http_reply reply = {
        200, STR("{\"id\":\"12A34567BC123456S\",\"status\":\"COMPLETED\",\"amount\":{\"currency_code\":\"USD\","
                 "\"value\":\"30.00\"},\"invoice_id\":\"5840243-146\"}")};
    assert_int_equal(gateway_paypal.confirm_read(&a, &config, &claim, &reply, &truth), REPLY_OK);
    assert_int_equal(truth.amount.minor, 3000);
    assert_str(truth.order_ref, STR(""));
    arena_done(&a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_crc32),          cmocka_unit_test(test_certificate_address),
        cmocka_unit_test(test_certificates),   cmocka_unit_test(test_every_bit_counts),
        cmocka_unit_test(test_whole_delivery), cmocka_unit_test(test_recordings),
    };
    return cmocka_run_group_tests(tests, make_identities, drop_identities);
}
