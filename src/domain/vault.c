/* domain/vault.c - see vault.h. Keys are derived with libsodium's KDF, one number per use. */
#include "domain/vault.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/random.h"

#define NONCE_BYTES crypto_aead_xchacha20poly1305_ietf_NPUBBYTES
#define TAG_BYTES crypto_aead_xchacha20poly1305_ietf_ABYTES
#define REST_BYTES crypto_aead_chacha20poly1305_ietf_NPUBBYTES
#define NONCES 256
#define PART_WHOLE 64 /* longer parts of a list are hashed first */
#define PART_BYTES (8 + PART_WHOLE)

static uint8_t use_keys[VAULT_USES][VAULT_KEY_BYTES];
static uint8_t name_keys[VAULT_USES][crypto_shorthash_siphashx24_KEYBYTES]; /* of this process alone */
static int opened;                                                          /* how often */

static void derive(const uint8_t master[VAULT_KEY_BYTES])
{
    for (int use = 0; use < VAULT_USES; use++)
        crypto_kdf_derive_from_key(use_keys[use], VAULT_KEY_BYTES, (uint64_t)use + 1, "souk key", master);
    random_bytes(name_keys, sizeof name_keys);
    opened++;
}

/* Writes a new key under another name and links it to its final one: of several processes starting at once one wins,
 * and none ever sees half a key. */
static bool make_file(const char *path, const uint8_t key[VAULT_KEY_BYTES], char *ret_why, size_t why_bytes)
{
    char temporary[4096];
    int n = snprintf(temporary, sizeof temporary, "%s.%d.new", path, (int)getpid());
    if (n < 0 || (size_t)n >= sizeof temporary) {
        snprintf(ret_why, why_bytes, "the path of the key file is too long");
        return false;
    }
    int fd = open(temporary, O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0600);
    if (fd < 0) {
        snprintf(ret_why, why_bytes, "cannot make the key file %s: %s", path, strerror(errno));
        return false;
    }
    char text[2 * VAULT_KEY_BYTES + 2];
    sodium_bin2hex(text, sizeof text, key, VAULT_KEY_BYTES);
    text[2 * VAULT_KEY_BYTES] = '\n';
    bool ok = write(fd, text, 2 * VAULT_KEY_BYTES + 1) == 2 * VAULT_KEY_BYTES + 1 && fsync(fd) == 0;
    close(fd);
    sodium_memzero(text, sizeof text);
    if (ok && link(temporary, path) != 0 && errno != EEXIST) ok = false;
    if (!ok) snprintf(ret_why, why_bytes, "cannot write the key file %s: %s", path, strerror(errno));
    unlink(temporary);
    return ok;
}

static bool read_file(const char *path, bool may_create, char ret[2 * VAULT_KEY_BYTES + 1], char *ret_why,
                      size_t why_bytes)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0 && errno == ENOENT && !may_create) {
        snprintf(
            ret_why, why_bytes,
            "the master key of this database is missing: %s. Put it back from its backup, or name it with --key-file"
            " or SOUK_KEY",
            path);
        return false;
    }
    if (fd < 0 && errno == ENOENT) {
        uint8_t key[VAULT_KEY_BYTES];
        random_bytes(key, sizeof key);
        bool made = make_file(path, key, ret_why, why_bytes);
        sodium_memzero(key, sizeof key);
        if (!made) return false;
        fd = open(path, O_RDONLY | O_CLOEXEC);
    }
    if (fd < 0) {
        snprintf(ret_why, why_bytes, "cannot read the key file %s: %s", path, strerror(errno));
        return false;
    }
    ssize_t n = read(fd, ret, 2 * VAULT_KEY_BYTES + 1);
    close(fd);
    if (n < 2 * VAULT_KEY_BYTES) {
        snprintf(ret_why, why_bytes, "the key file %s is not a souk key (64 hex digits)", path);
        return false;
    }
    return true;
}

static enum err read_key(const char *path, const char *hex, bool may_create, uint8_t ret[VAULT_KEY_BYTES],
                         char *ret_why, size_t why_bytes)
{
    if (sodium_init() < 0) {
        snprintf(ret_why, why_bytes, "libsodium cannot be started");
        return ERR_INTERNAL;
    }
    char text[2 * VAULT_KEY_BYTES + 1] = {0};
    Str digits = str_from(hex);
    if (!digits.len) {
        if (!read_file(path, may_create, text, ret_why, why_bytes)) return ERR_INTERNAL;
        digits = (Str){text, 2 * VAULT_KEY_BYTES};
    }
    bool ok = hex_decode(digits, ret, VAULT_KEY_BYTES);
    sodium_memzero(text, sizeof text);
    if (!ok) {
        snprintf(ret_why, why_bytes, "the master key must be 64 hex digits");
        return ERR_INTERNAL;
    }
    return OK;
}

enum err vault_open(const char *path, const char *hex, bool may_create, char *ret_why, size_t why_bytes)
{
    uint8_t master[VAULT_KEY_BYTES];
    enum err e = read_key(path, hex, may_create, master, ret_why, why_bytes);
    if (!e) derive(master);
    sodium_memzero(master, sizeof master);
    return e;
}

enum err vault_read(const char *path, const char *hex, uint8_t ret[VAULT_KEY_BYTES], char *ret_why, size_t why_bytes)
{
    return read_key(path, hex, false, ret, ret_why, why_bytes);
}

enum err vault_write(const char *path, const uint8_t key[VAULT_KEY_BYTES], char *ret_why, size_t why_bytes)
{
    uint8_t there[VAULT_KEY_BYTES];
    if (!make_file(path, key, ret_why, why_bytes)) return ERR_INTERNAL;
    enum err e = read_key(path, "", false, there, ret_why, why_bytes);
    if (!e && sodium_memcmp(there, key, sizeof there) != 0) {
        snprintf(ret_why, why_bytes, "%s holds another key", path);
        e = ERR_CONFLICT;
    }
    sodium_memzero(there, sizeof there);
    return e;
}

bool vault_is_open(void)
{
    return opened > 0;
}

void vault_hash(enum vault_use use, Str text, uint8_t ret[VAULT_HASH_BYTES])
{
    crypto_generichash(ret, VAULT_HASH_BYTES, (const unsigned char *)text.ptr, text.len, use_keys[use],
                       VAULT_KEY_BYTES);
}

static_assert(VAULT_SHORT_BYTES == crypto_shorthash_siphashx24_BYTES, "a short hash is a SipHash");
static_assert(VAULT_KEY_BYTES == 2 * crypto_shorthash_siphashx24_KEYBYTES,
              "a key for parts, and one for lists of them");

/* A part as it goes into the list: its length and, as that says, the part itself or its hash. */
static size_t frame_part(const uint8_t *key, Str part, uint8_t ret[PART_BYTES])
{
    for (size_t n = 0; n < 8; n++) ret[n] = (uint8_t)(part.len >> (8 * n));
    if (part.len > PART_WHOLE) {
        crypto_shorthash_siphashx24(ret + 8, (const unsigned char *)part.ptr, part.len, key);
        return 8 + VAULT_SHORT_BYTES;
    }
    if (part.len) memcpy(ret + 8, part.ptr, part.len);
    return 8 + part.len;
}

void vault_short_hash(enum vault_use use, const Str *parts, size_t count, uint8_t ret[VAULT_SHORT_BYTES])
{
    uint8_t list[VAULT_PARTS * PART_BYTES];
    size_t len = 0;
    assert(count <= VAULT_PARTS);
    for (size_t i = 0; i < count; i++) len += frame_part(use_keys[use], parts[i], list + len);
    crypto_shorthash_siphashx24(ret, list, len, use_keys[use] + crypto_shorthash_siphashx24_KEYBYTES);
}

static_assert(VAULT_NAME_BYTES == crypto_shorthash_siphashx24_BYTES, "a name is a SipHash");

void vault_name(enum vault_use use, Str text, uint8_t ret[VAULT_NAME_BYTES])
{
    crypto_shorthash_siphashx24(ret, (const unsigned char *)text.ptr, text.len, name_keys[use]);
}

bool vault_equal(const void *a, const void *b, size_t n)
{
    return sodium_memcmp(a, b, n) == 0;
}

/* A nonce is no secret, only never the same twice: 24 random bytes, of which the last 8 count on for the next texts of
 * this thread. The first 16 make the key of a text out of ours: it is the same for all these texts, and made once. New
 * bytes are drawn soon, for the sake of a machine whose memory is copied while it runs. A process that forks would go
 * on with the same in both; this one only ever starts other programs. */
struct sealer {
    unsigned char nonce[NONCE_BYTES], key[crypto_core_hchacha20_OUTPUTBYTES];
    int opened; /* the vault's number; 0: nothing drawn yet */
    int left;
};

static void sealer_next(struct sealer *s)
{
    if (s->left && s->opened == opened) {
        sodium_increment(s->nonce + crypto_core_hchacha20_INPUTBYTES, NONCE_BYTES - crypto_core_hchacha20_INPUTBYTES);
        s->left--;
        return;
    }
    random_bytes(s->nonce, sizeof s->nonce);
    crypto_core_hchacha20(s->key, s->nonce, use_keys[VAULT_SEAL], NULL);
    s->opened = opened;
    s->left = NONCES - 1;
}

/* crypto_aead_xchacha20poly1305_ietf_encrypt with the key already made: the nonce of what is left has 8 bytes behind
 * zeros. */
Str vault_seal(struct arena *a, Str context, Str plain)
{
    static _Thread_local struct sealer s;
    unsigned char *out = arena_take(a, NONCE_BYTES + plain.len + TAG_BYTES), rest[REST_BYTES] = {0};
    unsigned long long n = 0;
    sealer_next(&s);
    memcpy(out, s.nonce, NONCE_BYTES);
    memcpy(rest + 4, s.nonce + crypto_core_hchacha20_INPUTBYTES, 8);
    crypto_aead_chacha20poly1305_ietf_encrypt(out + NONCE_BYTES, &n, (const unsigned char *)plain.ptr, plain.len,
                                              (const unsigned char *)context.ptr, context.len, NULL, rest, s.key);
    return (Str){(char *)out, NONCE_BYTES + (size_t)n};
}

bool vault_unseal(struct arena *a, Str context, Str sealed, Str *ret)
{
    if (sealed.len < NONCE_BYTES + TAG_BYTES) return false;
    const unsigned char *in = (const unsigned char *)sealed.ptr;
    unsigned char *out = arena_take(a, sealed.len);
    unsigned long long n = 0;
    if (crypto_aead_xchacha20poly1305_ietf_decrypt(out, &n, NULL, in + NONCE_BYTES, sealed.len - NONCE_BYTES,
                                                   (const unsigned char *)context.ptr, context.len, in,
                                                   use_keys[VAULT_SEAL]) != 0)
        return false;
    *ret = (Str){(char *)out, (size_t)n};
    return true;
}
