/* gateway/signature.c - see signature.h. OpenSSL's failures here are failures to allocate or a broken installation:
 * they end the process, as the arena's do. */
#include "gateway/signature.h"
#include "base/memory.h"

#include <openssl/core_names.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

struct mac_key {
    enum mac_kind kind;
    EVP_MAC_CTX *keyed;
};

static EVP_MAC *hmac;

static void must(bool ok)
{
    if (ok) return;
    fputs("souk: OpenSSL cannot compute an HMAC\n", stderr);
    abort();
}

static void fetch_hmac(void)
{
    hmac = EVP_MAC_fetch(NULL, OSSL_MAC_NAME_HMAC, NULL);
    must(hmac != NULL);
}

size_t mac_bytes(enum mac_kind kind)
{
    return kind == MAC_SHA256 ? 32 : 64;
}

struct mac_key *mac_key_new(enum mac_kind kind, Str secret)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, fetch_hmac);

    char digest[8];
    snprintf(digest, sizeof digest, "%s", kind == MAC_SHA256 ? "SHA256" : "SHA512");
    OSSL_PARAM params[] = {OSSL_PARAM_construct_utf8_string(OSSL_MAC_PARAM_DIGEST, digest, 0),
                           OSSL_PARAM_construct_end()};
    struct mac_key *key = memory_take(sizeof *key);
    *key = (struct mac_key){.kind = kind, .keyed = EVP_MAC_CTX_new(hmac)};
    /* A NULL key would mean "keep the old one": an empty secret is passed as a pointer to nothing. */
    const char *bytes = secret.len ? secret.ptr : "";
    must(key->keyed && EVP_MAC_init(key->keyed, (const unsigned char *)bytes, secret.len, params) == 1);
    return key;
}

void mac_key_free(struct mac_key *key)
{
    if (!key) return;
    EVP_MAC_CTX_free(key->keyed);
    free(key);
}

void mac_sum(const struct mac_key *key, const Str *parts, size_t count, uint8_t *ret)
{
    EVP_MAC_CTX *ctx = EVP_MAC_CTX_dup(key->keyed);
    must(ctx != NULL);
    for (size_t i = 0; i < count; i++)
        if (parts[i].len) must(EVP_MAC_update(ctx, (const unsigned char *)parts[i].ptr, parts[i].len) == 1);
    size_t n = 0;
    must(EVP_MAC_final(ctx, ret, &n, mac_bytes(key->kind)) == 1 && n == mac_bytes(key->kind));
    EVP_MAC_CTX_free(ctx);
}

bool mac_from_hex(Str text, uint8_t *ret, size_t n)
{
    if (text.len != 2 * n) return false;
    for (size_t i = 0; i < text.len; i++)
        if (text.ptr[i] >= 'A' && text.ptr[i] <= 'F') return false;
    return hex_decode(text, ret, n);
}

/* Bit i of the result: macs[i] is right under some secret. Every MAC is compared under every secret. */
static unsigned matches(enum mac_kind kind, const struct gateway_config *config, const Str *parts, size_t count,
                        const uint8_t *macs, size_t mac_count)
{
    unsigned found = 0;
    uint8_t ours[MAC_BYTES_MAX];
    size_t n = mac_bytes(kind);
    for (size_t i = 0; i < config->secret_count; i++) {
        struct mac_key *key = mac_key_new(kind, config->secrets[i]);
        mac_sum(key, parts, count, ours);
        mac_key_free(key);
        unsigned usable = config->secrets[i].len != 0;
        for (size_t m = 0; m < mac_count; m++) {
            unsigned same = CRYPTO_memcmp(ours, macs + m * n, n) == 0;
            found |= (same & usable) << m;
        }
    }
    OPENSSL_cleanse(ours, sizeof ours);
    return found;
}

bool mac_is_any(enum mac_kind kind, const struct gateway_config *config, const Str *parts, size_t count,
                const uint8_t *given)
{
    return matches(kind, config, parts, count, given, 1) != 0;
}

bool stamped_parse(Str header, struct stamped *ret)
{
    struct stamped s = {0};
    bool more = true;
    while (more) {
        Str item = header, name, value;
        more = str_cut(header, ',', &item, &header);
        if (!str_cut(item, '=', &name, &value)) return false;
        if (str_eq(name, STR("t"))) {
            int64_t seconds;
            if (s.t_text.len || value.len < 1 || value.len > 12) return false;
            if (value.ptr[0] == '-' || !str_to_int64(value, &seconds)) return false;
            s.t_text = value;
            s.t = (Time){seconds * TIME_SECOND};
        } else if (str_eq(name, STR("v1"))) {
            if (s.mac_count == STAMPED_MACS_MAX || !mac_from_hex(value, s.macs[s.mac_count], 32)) return false;
            s.mac_count++;
        }
    }
    if (!s.t_text.len || !s.mac_count) return false;
    *ret = s;
    return true;
}

enum verdict stamped_verify(const struct gateway_config *config, Str header, Str raw, Time now)
{
    struct stamped s;
    if (!stamped_parse(header, &s)) return VERDICT_MALFORMED;
    Str parts[] = {s.t_text, STR("."), raw};
    if (!matches(MAC_SHA256, config, parts, 3, s.macs[0], s.mac_count)) return VERDICT_BAD;
    int64_t off = now.ms / TIME_SECOND - s.t.ms / TIME_SECOND; /* whole seconds: the header has no others */
    if (off > STAMPED_TOLERANCE_S || off < -STAMPED_TOLERANCE_S) return VERDICT_STALE;
    return VERDICT_OK;
}

Str stamped_sign(struct arena *a, Str secret, Str raw, Time now)
{
    uint8_t mac[32];
    Str t = str_printf(a, "%lld", (long long)(now.ms / TIME_SECOND));
    Str parts[] = {t, STR("."), raw};
    struct mac_key *key = mac_key_new(MAC_SHA256, secret);
    mac_sum(key, parts, 3, mac);
    mac_key_free(key);
    Str hex = hex_encode(a, mac, sizeof mac);
    return str_printf(a, "t=%.*s,v1=%.*s", STR_FMT(t), STR_FMT(hex));
}

enum verdict plain_verify(enum mac_kind kind, const struct gateway_config *config, Str hex, Str raw)
{
    uint8_t given[MAC_BYTES_MAX];
    if (!mac_from_hex(hex, given, mac_bytes(kind))) return VERDICT_MALFORMED;
    return mac_is_any(kind, config, &raw, 1, given) ? VERDICT_OK : VERDICT_BAD;
}
