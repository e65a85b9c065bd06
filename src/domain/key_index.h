/* domain/key_index.h - which row an Idempotency-Key has, on SQLite.
 *
 * On disk this would be an index with a scattered page for every key. One process writes to a SQLite file (db/lock.h),
 * so it keeps the hashes in memory: 64 bits of each, with the number of the row. They only say where to look, and the
 * row has the whole hash. So the table may know too much: rows of transactions that were undone, rows that were
 * forgotten. It never knows too little: it is read from the database when a server starts, and read again when anybody
 * else has committed (db_epoch). A key takes 21 to 43 bytes for the 30 days that it is kept.
 *
 * Safe from any thread; one database at a time. */
#pragma once

#include "db/db.h"

#define KEY_HASH_BYTES 16

/* Reads the table unless it has been read: when a server starts, so that no request waits for it. TX_WRITE. */
enum err key_index_open(struct db *db);
/* Rows that may have this key, in db_arena(db). TX_READ is enough once the table has been read: ERR_NEEDS_WRITE. */
enum err key_index_find(struct db *db, const uint8_t hash[KEY_HASH_BYTES], Id **ret, size_t *ret_count);
/* A row that was just added. TX_WRITE, after key_index_find in the same transaction. */
enum err key_index_add(const uint8_t hash[KEY_HASH_BYTES], Id row);
/* Rows are about to be deleted from the front, of which `oldest` is the first. What is before it may be left out, what
 * this transaction deletes may not: it may be undone. TX_WRITE. */
enum err key_index_expire(struct db *db, Id oldest);
