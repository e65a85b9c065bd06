/* domain/license_key.h - the text of a licence key.
 *
 *     PREFIX-7K3QM-0ZT5A-GC8WX-4N1EV-R9HJ2
 *
 * 25 characters of Crockford's base32 in five groups, behind the product's prefix if it has one. The first 24 are 120
 * random bits. The last is a check character: the 25 are a code word over GF(32), so that every single wrong character
 * and every swap of two characters is refused without asking the database.
 * A key is compared in its normal form: upper case, without hyphens and spaces, I and L read as 1, O as 0. A key is
 * looked up by a keyed hash of that form, cut to 128 bits: nobody can search for collisions without the hash's key. */
#pragma once

#include "domain/vault.h"

#define LICENSE_KEY_CHARS 25
#define LICENSE_KEY_PREFIX_MAX 32
#define LICENSE_KEY_NORMAL_MAX (LICENSE_KEY_PREFIX_MAX + LICENSE_KEY_CHARS)
#define LICENSE_HASH_BYTES 16

/* Letters, digits and hyphens, at most LICENSE_KEY_PREFIX_MAX; empty is fine. */
bool license_key_prefix_is_valid(Str prefix);

/* A new key, in the arena. Letters of the prefix become upper-case; an invalid prefix is left out. */
Str license_key_make(struct arena *a, Str prefix);

/* The keyed hash under which a key is stored. False when the text cannot be a key of ours: wrong characters, too
 * short, too long, or a check character that does not fit. */
bool license_key_hash(Str text, uint8_t ret[LICENSE_HASH_BYTES]);

/* Keys that another system made are taken as they are: 6 to 255 printable characters without a space, compared byte by
 * byte. */
bool license_key_is_importable(Str text);
/* The same hash for keys of both sorts: one that could be ours is read as ours. */
bool license_key_hash_any(Str text, uint8_t ret[LICENSE_HASH_BYTES]);
