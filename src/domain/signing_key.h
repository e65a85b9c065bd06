/* domain/signing_key.h - the store's own Ed25519 key, which signs verdicts on licences.
 *
 * Made once per store, kept in the database sealed with the master key, the same for all of its servers. Opened at
 * start, before any thread that signs; afterwards everything here is safe from any thread. */
#pragma once

#include "db/db.h"

#define SIGNING_KEY_BYTES 32
#define SIGNATURE_BYTES 64

/* Reads the key, or makes one. ERR_CONFLICT: it was sealed with another master key. TX_WRITE. */
enum err signing_key_open(struct db *db);
bool signing_key_is_open(void);

const uint8_t *signing_key_public(void); /* SIGNING_KEY_BYTES */
/* How signatures name the key: its JWK thumbprint (RFC 7638). */
Str signing_key_id(void);
void signing_key_sign(Str message, uint8_t ret[SIGNATURE_BYTES]);
