/* backup/backup_keys.c - see keys.h. */
#include "backup/backup_keys.h"

#include <sodium.h>
#include <stdio.h>

#include "base/pack.h"
#include "base/sanitized.h"

static void text_of(const char *prefix, const uint8_t *key, char ret[BACKUP_KEY_CHARS + 1])
{
    memcpy(ret, prefix, 8);
    sodium_bin2hex(ret + 8, 2 * ARCHIVE_KEY_BYTES + 1, key, ARCHIVE_KEY_BYTES);
}

void backup_keygen(char ret_public[BACKUP_KEY_CHARS + 1], char ret_secret[BACKUP_KEY_CHARS + 1])
{
    uint8_t public_key[ARCHIVE_KEY_BYTES], secret_key[ARCHIVE_KEY_BYTES];
    crypto_box_keypair(public_key, secret_key);
    text_of(BACKUP_PUBLIC_PREFIX, public_key, ret_public);
    text_of(BACKUP_SECRET_PREFIX, secret_key, ret_secret);
    sodium_memzero(secret_key, sizeof secret_key);
}

static bool key_of(Str prefix, Str text, uint8_t ret[ARCHIVE_KEY_BYTES])
{
    text = str_trim(text);
    if (!str_starts(text, prefix)) return false;
    return hex_decode((Str){text.ptr + prefix.len, text.len - prefix.len}, ret, ARCHIVE_KEY_BYTES);
}

bool backup_public_key(Str text, uint8_t ret[ARCHIVE_KEY_BYTES])
{
    return key_of(STR(BACKUP_PUBLIC_PREFIX), text, ret);
}

bool backup_secret_key(Str text, uint8_t ret[ARCHIVE_KEY_BYTES])
{
    return key_of(STR(BACKUP_SECRET_PREFIX), text, ret);
}

/* What the passphrase costs is in the frame, so that it can be raised later; more than this is not believed. */
#define MEMORY_MAX (INT64_C(1) << 30)
#define ROUNDS_MAX 16

static bool derive(uint8_t ret[crypto_secretbox_KEYBYTES], Str passphrase, Str salt, int64_t rounds, int64_t memory)
{
    sanitized_reads(passphrase.ptr, passphrase.len);
    sanitized_reads(salt.ptr, salt.len);
    sanitized_writes(ret, crypto_secretbox_KEYBYTES);
    sanitized_look_away();
    bool made =
        crypto_pwhash(ret, crypto_secretbox_KEYBYTES, passphrase.ptr, passphrase.len, (const unsigned char *)salt.ptr,
                      (unsigned long long)rounds, (size_t)memory, crypto_pwhash_ALG_ARGON2ID13) == 0;
    sanitized_look_again();
    return made;
}

Str passphrase_seal(struct arena *a, Str passphrase, const uint8_t key[MASTER_KEY_BYTES])
{
    uint8_t salt[crypto_pwhash_SALTBYTES], nonce[crypto_secretbox_NONCEBYTES];
    uint8_t box[MASTER_KEY_BYTES + crypto_secretbox_MACBYTES], with[crypto_secretbox_KEYBYTES];
    struct buf b;
    buf_init(&b, a, 1024);
    randombytes_buf(salt, sizeof salt);
    randombytes_buf(nonce, sizeof nonce);
    Str salt_text = {(char *)salt, sizeof salt};
    if (!derive(with, passphrase, salt_text, crypto_pwhash_OPSLIMIT_MODERATE, crypto_pwhash_MEMLIMIT_MODERATE))
        return (Str){0};
    crypto_secretbox_easy(box, key, MASTER_KEY_BYTES, nonce, with);
    sodium_memzero(with, sizeof with);
    pack_int(&b, crypto_pwhash_OPSLIMIT_MODERATE);
    pack_int(&b, crypto_pwhash_MEMLIMIT_MODERATE);
    pack_bytes(&b, salt_text);
    pack_bytes(&b, (Str){(char *)nonce, sizeof nonce});
    pack_bytes(&b, (Str){(char *)box, sizeof box});
    return buf_str(&b);
}

enum err passphrase_open(Str sealed, Str passphrase, uint8_t ret[MASTER_KEY_BYTES])
{
    struct unpack u = {sealed, false};
    int64_t rounds = unpack_int(&u), memory = unpack_int(&u);
    Str salt = unpack_bytes(&u), nonce = unpack_bytes(&u), box = unpack_bytes(&u);
    uint8_t with[crypto_secretbox_KEYBYTES];
    if (!unpack_is_done(&u) || rounds < 1 || rounds > ROUNDS_MAX || memory < 8192 || memory > MEMORY_MAX ||
        salt.len != crypto_pwhash_SALTBYTES || nonce.len != crypto_secretbox_NONCEBYTES ||
        box.len != MASTER_KEY_BYTES + crypto_secretbox_MACBYTES)
        return ERR_INVALID_STATE;
    if (!derive(with, passphrase, salt, rounds, memory)) return ERR_UNAVAILABLE;
    bool opened = crypto_secretbox_open_easy(ret, (const unsigned char *)box.ptr, box.len,
                                             (const unsigned char *)nonce.ptr, with) == 0;
    sodium_memzero(with, sizeof with);
    return opened ? OK : ERR_INVALID_STATE;
}
