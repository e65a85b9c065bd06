/* db/table.h - whole tables: every row out, every row in, in one encoding for both engines.
 *
 * A row is its columns by name (db/schema.h), each as its kind (0: NULL, else enum bind_kind) and its value
 * (base/pack.h). The sum of a table is the count of its rows and the sum of their hashes, so that it does not depend on
 * the order in which an engine sorts texts. It finds every difference that happens by itself; it is no proof against
 * somebody who can choose rows. */
#pragma once

#include "db/schema.h"

#define TABLE_DIGEST_BYTES 32

struct table_sum {
    int64_t rows;
    uint64_t lanes[TABLE_DIGEST_BYTES / 8];
};

void table_sum_add(struct table_sum *s, Str row);
bool table_sum_equal(const struct table_sum *a, const struct table_sum *b);

/* At the start of a TX_READ that reads whole tables: it may take as long as its reader does, also between two pages. */
enum err table_read_long(struct db *db);
/* Gives every row to `row` (which may be NULL), a page at a time: memory does not grow with the table. All pages are
 * of the snapshot that the transaction sees. Forgets what is in db_arena() after each page; `row` must not use it. An
 * error of `row` ends the reading. */
typedef enum err table_row(void *ctx, Str row);
enum err table_read(struct db *db, const struct schema_table *t, table_row *row, void *ctx, struct table_sum *ret);

/* Rows one behind the other, each as pack_bytes writes it. ERR_INVALID_STATE: they are not rows of this table. */
enum err table_insert(struct db *db, const struct schema_table *t, Str rows);
enum err table_empty(struct db *db, const struct schema_table *t);

/* PostgreSQL knows nothing about a table that was just filled, and would plan for a small one. Nothing on SQLite. */
enum err table_analyze(struct db *db, const struct schema_table *t);

/* The highest id that was ever given, as far as the engine knows; 0 where it gives none. */
enum err table_last_id(struct db *db, const struct schema_table *t, int64_t *ret);
/* Ids that are given from now on are higher. */
enum err table_set_last_id(struct db *db, const struct schema_table *t, int64_t last);
