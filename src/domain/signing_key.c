/* domain/signing_key.c - see signing_key.h. */
#include "domain/signing_key.h"

#include "base/base64.h"
#include "base/random.h"
#include "domain/settings.h"
#include "domain/vault.h"

#include <assert.h>
#include <sodium.h>

#define SETTING "license_key_seed"
#define THUMBPRINT_CHARS 43

static uint8_t public_key[crypto_sign_PUBLICKEYBYTES];
static uint8_t secret_key[crypto_sign_SECRETKEYBYTES];
static char key_id[THUMBPRINT_CHARS + 1];
static bool is_open;

static_assert(sizeof public_key == SIGNING_KEY_BYTES, "Ed25519");
static_assert(crypto_sign_BYTES == SIGNATURE_BYTES, "Ed25519");

/* SHA-256 of the members that RFC 7638 asks for, in its order. */
static void make_id(struct arena *a)
{
    char x[THUMBPRINT_CHARS + 1];
    base64_put(BASE64_URL, public_key, sizeof public_key, x, sizeof x);
    Str jwk = str_printf(a, "{\"crv\":\"Ed25519\",\"kty\":\"OKP\",\"x\":\"%s\"}", x);
    uint8_t hash[crypto_hash_sha256_BYTES];
    crypto_hash_sha256(hash, (const unsigned char *)jwk.ptr, jwk.len);
    base64_put(BASE64_URL, hash, sizeof hash, key_id, sizeof key_id);
}

static Str new_seed(struct arena *a)
{
    uint8_t seed[crypto_sign_SEEDBYTES];
    random_bytes(seed, sizeof seed);
    Str sealed = vault_seal(a, STR(SETTING), (Str){(const char *)seed, sizeof seed});
    sodium_memzero(seed, sizeof seed);
    return hex_encode(a, sealed.ptr, sealed.len);
}

enum err signing_key_open(struct db *db)
{
    struct arena *a = db_arena(db);
    Str text;
    enum err e = settings_get(db, SETTING, &text);
    if (e) return e;
    if (!text.len) {
        /* Of several servers that start at once one stores its seed; all of them read it. */
        e = settings_keep(db, SETTING, new_seed(a));
        if (e) return e;
        e = settings_get(db, SETTING, &text);
        if (e) return e;
    }
    char *sealed = arena_alloc(a, text.len / 2 + 1);
    Str seed;
    if (!hex_decode(text, sealed, text.len / 2)) return ERR_CONFLICT;
    if (!vault_unseal(a, STR(SETTING), (Str){sealed, text.len / 2}, &seed)) return ERR_CONFLICT;
    if (seed.len != crypto_sign_SEEDBYTES) return ERR_CONFLICT;
    crypto_sign_seed_keypair(public_key, secret_key, (const unsigned char *)seed.ptr);
    make_id(a);
    is_open = true;
    return OK;
}

bool signing_key_is_open(void)
{
    return is_open;
}

const uint8_t *signing_key_public(void)
{
    assert(is_open);
    return public_key;
}

Str signing_key_id(void)
{
    assert(is_open);
    return (Str){key_id, THUMBPRINT_CHARS};
}

void signing_key_sign(Str message, uint8_t ret[SIGNATURE_BYTES])
{
    assert(is_open);
    crypto_sign_detached(ret, NULL, (const unsigned char *)message.ptr, message.len, secret_key);
}
