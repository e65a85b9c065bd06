/* domain/sealed_code.h - licence keys and serial codes at rest.
 *
 * Codes, which are worth money to anybody who copies the database, are stored sealed with the master key and found by a
 * keyed hash beside them. The seal is bound to the hash: sealed codes cannot be swapped between rows. Verifying a
 * licence opens nothing. */
#pragma once

#include "base/arena.h"
#include "base/err.h"
#include "base/str.h"

#define CODE_HASH_BYTES 16

/* The hash by which a serial code is found, unique within its product. (A licence key's hash: domain/license_key.h.) */
void serial_code_hash(Str code, uint8_t ret[CODE_HASH_BYTES]);

Str code_seal(struct arena *a, Str hash, Str code);
/* ERR_INTERNAL, and a record in the log, when it was sealed with another key or for another row. */
enum err code_unseal(struct arena *a, Str hash, Str sealed, Str *ret);

/* For lists that staff see: the end of a long code, and nothing of a short one. */
Str code_mask(struct arena *a, Str code);
