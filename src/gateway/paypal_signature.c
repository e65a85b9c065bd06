/* gateway/paypal_signature.c - see paypal_signature.h. */
#include "gateway/paypal_signature.h"

#include "base/base64.h"
#include "base/log.h"

#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509_vfy.h>
#include <openssl/x509v3.h>

#define RSA_BITS_MIN 2048
#define PEM_CERTIFICATES_MAX 16

/* CRC-32 (ISO-HDLC), the one of zip and Ethernet: reflected, polynomial 0x04C11DB7. */
uint32_t crc32_of(Str bytes)
{
    uint32_t crc = 0xFFFFFFFFu;
    for (size_t i = 0; i < bytes.len; i++) {
        crc ^= (uint8_t)bytes.ptr[i];
        for (int bit = 0; bit < 8; bit++) crc = (crc >> 1) ^ (0xEDB88320u & (0u - (crc & 1u)));
    }
    return ~crc;
}

bool paypal_cert_path(Str url, bool is_live, Str *ret_path)
{
    static const Str live[] = {S("https://api.paypal.com"), S("https://api-m.paypal.com")};
    static const Str test[] = {S("https://api.sandbox.paypal.com"), S("https://api-m.sandbox.paypal.com")};
    const Str *origins = is_live ? live : test;
    Str folder = STR("/v1/notifications/certs/");
    for (size_t i = 0; i < 2; i++) {
        if (!str_starts(url, origins[i])) continue;
        Str path = {url.ptr + origins[i].len, url.len - origins[i].len};
        if (!str_starts(path, folder)) return false;
        if (!ref_is_safe((Str){path.ptr + folder.len, path.len - folder.len})) return false;
        *ret_path = path;
        return true;
    }
    return false;
}

/* All certificates of a PEM text; NULL when it has none, or one cannot be read. */
static STACK_OF(X509) * read_certificates(Str pem)
{
    STACK_OF(X509) *all = sk_X509_new_null();
    BIO *in = pem.len && pem.len <= 256 * 1024 ? BIO_new_mem_buf(pem.ptr, (int)pem.len) : NULL;
    X509 *one;
    while (all && in && sk_X509_num(all) < PEM_CERTIFICATES_MAX && (one = PEM_read_bio_X509(in, NULL, NULL, NULL)))
        if (!sk_X509_push(all, one)) X509_free(one);
    BIO_free(in);
    ERR_clear_error(); /* the end of the text is an error to OpenSSL */
    if (all && sk_X509_num(all) > 0) return all;
    sk_X509_pop_free(all, X509_free);
    return NULL;
}

static X509_STORE *store_of(STACK_OF(X509) * anchors)
{
    X509_STORE *store = X509_STORE_new();
    if (!store) return NULL;
    for (int i = 0; i < sk_X509_num(anchors); i++)
        if (X509_STORE_add_cert(store, sk_X509_value(anchors, i)) != 1) {
            X509_STORE_free(store);
            return NULL;
        }
    return store;
}

/* The chain from the certificate to an anchor, its dates, its purpose and the name it was issued to. An unknown issuer
 * is a gap of ours (the bundle is too old): unavailable, so that PayPal tries again once the bundle is renewed. */
static enum verdict check_chain(STACK_OF(X509) * sent, STACK_OF(X509) * anchors, const char *name, Time now)
{
    enum verdict v = VERDICT_UNAVAILABLE;
    X509_STORE *store = store_of(anchors);
    X509_STORE_CTX *ctx = X509_STORE_CTX_new();
    if (store && ctx && X509_STORE_CTX_init(ctx, store, sk_X509_value(sent, 0), sent) == 1) {
        X509_VERIFY_PARAM *param = X509_STORE_CTX_get0_param(ctx);
        X509_VERIFY_PARAM_set_flags(param, X509_V_FLAG_PARTIAL_CHAIN | X509_V_FLAG_X509_STRICT);
        X509_VERIFY_PARAM_set_hostflags(param, X509_CHECK_FLAG_NO_WILDCARDS);
        X509_VERIFY_PARAM_set_purpose(param, X509_PURPOSE_SSL_SERVER);
        X509_VERIFY_PARAM_set_time(param, (time_t)(now.ms / TIME_SECOND));
        X509_VERIFY_PARAM_set1_host(param, name, 0);
        int ok = X509_verify_cert(ctx), why = X509_STORE_CTX_get_error(ctx);
        if (ok == 1)
            v = VERDICT_OK;
        else if (why == X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT_LOCALLY || why == X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT)
            log_event(LOG_WARN, "paypal_certificate_issuer_unknown");
        else
            v = VERDICT_BAD;
    }
    X509_STORE_CTX_free(ctx);
    X509_STORE_free(store);
    ERR_clear_error();
    return v;
}

static enum verdict check_rsa(X509 *cert, Str message, Str signature)
{
    EVP_PKEY *key = X509_get0_pubkey(cert);
    if (!key || EVP_PKEY_get_base_id(key) != EVP_PKEY_RSA || EVP_PKEY_get_bits(key) < RSA_BITS_MIN) return VERDICT_BAD;
    EVP_MD_CTX *ctx = EVP_MD_CTX_new();
    if (!ctx) return VERDICT_UNAVAILABLE;
    /* PKCS#1 v1.5 is OpenSSL's default padding for RSA. */
    bool ok = EVP_DigestVerifyInit(ctx, NULL, EVP_sha256(), NULL, key) == 1 &&
              EVP_DigestVerify(ctx, (const unsigned char *)signature.ptr, signature.len,
                               (const unsigned char *)message.ptr, message.len) == 1;
    EVP_MD_CTX_free(ctx);
    ERR_clear_error();
    return ok ? VERDICT_OK : VERDICT_BAD;
}

enum verdict paypal_signature_check(struct arena *a, const struct paypal_headers *h, Str webhook_id, Str raw, Str pem,
                                    Str anchors, const char *name, Time now)
{
    Str signature;
    if (!h->id.len || !h->time.len || !webhook_id.len) return VERDICT_MALFORMED;
    if (!str_eq(h->algo, STR("SHA256withRSA"))) return VERDICT_MALFORMED;
    if (!base64_decode(a, BASE64_PADDED, h->sig, &signature)) return VERDICT_MALFORMED;
    Str message =
        str_printf(a, "%.*s|%.*s|%.*s|%u", STR_FMT(h->id), STR_FMT(h->time), STR_FMT(webhook_id), crc32_of(raw));

    STACK_OF(X509) *sent = read_certificates(pem), *trusted = read_certificates(anchors);
    enum verdict v = VERDICT_UNAVAILABLE;
    if (sent && trusted) v = check_chain(sent, trusted, name, now);
    if (v == VERDICT_OK) v = check_rsa(sk_X509_value(sent, 0), message, signature);
    sk_X509_pop_free(sent, X509_free);
    sk_X509_pop_free(trusted, X509_free);
    return v;
}
