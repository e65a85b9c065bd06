/* backup/backup_keys.h - the keys that a backup is sealed with: a pair of which the store needs the public half only,
 * and a passphrase for the master key inside. */
#pragma once

#include "backup/archive.h"

/* Texts start with what they are, so that a secret key is never taken for a public one. */
#define BACKUP_PUBLIC_PREFIX "soukpub1"
#define BACKUP_SECRET_PREFIX "souksec1"
#define BACKUP_KEY_CHARS (8 + 2 * ARCHIVE_KEY_BYTES)

void backup_keygen(char ret_public[BACKUP_KEY_CHARS + 1], char ret_secret[BACKUP_KEY_CHARS + 1]);
/* Spaces around the text do not count. */
bool backup_public_key(Str text, uint8_t ret[ARCHIVE_KEY_BYTES]);
bool backup_secret_key(Str text, uint8_t ret[ARCHIVE_KEY_BYTES]);

#define MASTER_KEY_BYTES 32
/* argon2id and XSalsa20-Poly1305. Empty when there is not enough memory. */
Str passphrase_seal(struct arena *a, Str passphrase, const uint8_t key[MASTER_KEY_BYTES]);
/* ERR_INVALID_STATE: another passphrase. */
enum err passphrase_open(Str sealed, Str passphrase, uint8_t ret[MASTER_KEY_BYTES]);
