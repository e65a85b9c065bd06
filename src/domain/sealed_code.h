/* domain/sealed_code.h - licence keys and serial codes at rest.
 *
 * What is worth money to whoever copies the database is stored sealed with the master key, and found by a keyed hash
 * beside it. The seal is bound to the hash: sealed codes cannot be swapped between rows. Verifying a licence opens
 * nothing. */
#pragma once

#include "base/arena.h"
#include "base/err.h"
#include "base/str.h"

#define CODE_HASH_BYTES 16

/* What a serial code is found by, and unique by, within its product. (A licence key's hash: domain/license_key.h.) */
void serial_code_hash(Str code, uint8_t ret[CODE_HASH_BYTES]);

Str code_seal(struct arena *a, Str hash, Str code);
/* ERR_INTERNAL, and a record in the log, when it was sealed with another key or for another row. */
enum err code_unseal(struct arena *a, Str hash, Str sealed, Str *ret);

/* For lists that staff see: the end of a long code, and nothing of a short one. */
Str code_mask(struct arena *a, Str code);
