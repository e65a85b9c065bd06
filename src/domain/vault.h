/* domain/vault.h - the store's master key and what is derived from it.
 *
 * The key is 32 random bytes, outside the database: in a file (mode 0600) or in the environment. Set up once, before
 * any thread starts, and never changed while the process lives; everything here is then safe from any thread. The
 * database holds a fingerprint of the key, so that a wrong key is refused in plain words instead of failing every
 * token. */
#pragma once

#include "base/arena.h"
#include "base/err.h"
#include "base/str.h"

#define VAULT_KEY_BYTES 32
#define VAULT_HASH_BYTES 32

/* One derived key per use: a value made for one is useless for another. */
enum vault_use {
    VAULT_TOKEN,
    VAULT_LICENSE,
    VAULT_SEAL,
    VAULT_DOWNLOAD,
    VAULT_CURSOR,
    VAULT_FINGERPRINT,
    VAULT_RESET,
    VAULT_SERIAL,
    VAULT_CSRF,
    VAULT_REF,
    VAULT_INSTANCE,
    VAULT_IDEMPOTENCY, /* the key of a request, */
    VAULT_REQUEST,     /* and what it asked for */
    VAULT_USES
};

/* Reads the key from `hex` (64 hex digits) when given, else from `path`. With `may_create` a missing file is made
 * (0600, random); without, that is an error: a new key cannot open what was sealed with a lost one. */
enum err vault_open(const char *path, const char *hex, bool may_create, char *ret_why, size_t why_bytes);
/* The key itself, for a backup that is to hold it. The caller wipes it. */
enum err vault_read(const char *path, const char *hex, uint8_t ret[VAULT_KEY_BYTES], char *ret_why, size_t why_bytes);
/* Writes a key that came out of a backup. A file that is there is left alone: ERR_CONFLICT, unless it has this key. */
enum err vault_write(const char *path, const uint8_t key[VAULT_KEY_BYTES], char *ret_why, size_t why_bytes);
bool vault_is_open(void);

/* Keyed BLAKE2b. */
void vault_hash(enum vault_use use, Str text, uint8_t ret[VAULT_HASH_BYTES]);
/* 128 bits of SipHash of several texts, each with its length: where one ends and the next begins makes a difference.
 * Much quicker than the hash, and as good where nobody has the key: to others the bits are random. No commitment: who
 * has the key could make two lists with the same bits. At most VAULT_PARTS texts. */
#define VAULT_SHORT_BYTES 16
#define VAULT_PARTS 6
void vault_short_hash(enum vault_use use, const Str *parts, size_t count, uint8_t ret[VAULT_SHORT_BYTES]);
/* A name for a text in tables of this process: 128 bits of SipHash under a key that only the process has and never
 * tells, so that no two texts are taken for each other. Much quicker than the hash; means nothing after the process. */
#define VAULT_NAME_BYTES 16
void vault_name(enum vault_use use, Str text, uint8_t ret[VAULT_NAME_BYTES]);
/* Constant-time equality. */
bool vault_equal(const void *a, const void *b, size_t n);

/* XChaCha20-Poly1305 with a random nonce; bound to `context`: unsealing under another context fails. */
Str vault_seal(struct arena *a, Str context, Str plain);
bool vault_unseal(struct arena *a, Str context, Str sealed, Str *ret);
