/* domain/license_index.h - which licence has a key.
 *
 * On PostgreSQL the table has a unique index by the hash of the key. On SQLite it has none: every new licence would
 * write a scattered page of it. Its hashes are filed later, many at once and sorted (domain/filing.h); those that are
 * not filed yet are in memory (domain/key_index.h). Both only say where to look, and the row has the whole hash. That
 * no two licences have the same key is this module's part there: one process writes, and looks before it adds a key
 * that it has not made itself. */
#pragma once

#include "db/db.h"
#include "domain/license_key.h"

/* The licence with this key, if there is one. */
enum err license_index_find(struct db *db, const uint8_t hash[LICENSE_HASH_BYTES], bool *ret_found, Id *ret);
/* A licence was just added. */
enum err license_index_add(struct db *db, const uint8_t hash[LICENSE_HASH_BYTES], Id license);
