/* domain/key_index.h - which row has a key, on SQLite: the Idempotency-Key of a request, in a row of its own or in that
 * of its order, or the key of a new licence.
 *
 * On disk this would be an index with a scattered page for every key. One process writes to a SQLite file (db/lock.h),
 * so it keeps the hashes in memory: 64 bits of each, with the number of the row. They only say where to look, and the
 * row has the whole hash. So a table may know too much: rows of transactions that were undone, rows that were
 * forgotten. It never knows too little: it is read from the database when a server starts (domain/key_pages.h), and
 * read again when anybody else has committed (db_epoch). A key takes 21 to 43 bytes: that of a request for the 30 days
 * that it is kept, that of a licence until it is filed (domain/license_index.h).
 *
 * Safe from any thread; one database at a time. */
#pragma once

#include "db/db.h"

#define KEY_HASH_BYTES 16

enum key_index { KEYS_OF_REQUESTS, KEYS_OF_ORDERS, KEYS_OF_LICENSES, KEY_INDEXES };

/* Reads the table unless it has been read: when a server starts, so that no request waits for it. TX_WRITE. */
enum err key_index_open(struct db *db, enum key_index which);
/* Rows that may have this key, in db_arena(db). TX_READ is enough once the table has been read: ERR_NEEDS_WRITE. */
enum err key_index_find(struct db *db, enum key_index which, const uint8_t hash[KEY_HASH_BYTES], Id **ret,
                        size_t *ret_count);
/* A row that was just added. TX_WRITE. */
enum err key_index_add(struct db *db, enum key_index which, const uint8_t hash[KEY_HASH_BYTES], Id row);
/* An order without a key was just added: nobody has to look for one in it again. */
enum err key_index_pass(struct db *db, Id order);
/* Whether all rows from `first` on are there that this transaction can see, of which `last` is the last. */
bool key_index_has_all(struct db *db, enum key_index which, Id first, const uint8_t hash[KEY_HASH_BYTES], Id last);
/* Requests: rows are about to be deleted from the front, of which `oldest` is the first. What is before it may be left
 * out, what this transaction deletes may not: it may be undone. TX_WRITE. */
enum err key_index_expire(struct db *db, Id oldest);
/* Orders: their keys may be left out that are older than `until`, some thousand of them. TX_READ is enough until there
 * are any: ERR_NEEDS_WRITE. */
enum err key_index_expire_orders(struct db *db, Time until);
