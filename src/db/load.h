/* db/load.h - filling an empty database with the rows of another one.
 *
 * The table load_journal says that this is under way: while it is there no server opens the database
 * (MIGRATE_UNFINISHED), however the load ended. It has a row for the source and one for each table
 * that is complete, written in the transaction of the table's last rows; so a load that was interrupted can go on
 * behind the last complete table. */
#pragma once

#include "db/table.h"

#define LOAD_SOURCE_CHARS_MAX 200

/* Makes the journal, before anything else is there. TX_WRITE. */
enum err load_begin(struct db *db, Str source);
/* Empties the tables that are not complete, once the schema is there: of the rows that it brings along, and of those of
 * an interrupted load. TX_WRITE. */
enum err load_clear(struct db *db, const struct schema_table *tables, size_t count);
/* Whose rows they are; ERR_NOT_FOUND when no load is under way. */
enum err load_source(struct db *db, Str *ret);
/* Whether the table is complete. */
enum err load_is_complete(struct db *db, Str table, bool *ret);
/* Behind the table's last rows, in their transaction. */
enum err load_complete(struct db *db, const struct schema_table *t, int64_t last_id);
/* Every reference must lead to a row: SQLite did not look while rows came in. ERR_INVALID_STATE, and the table. */
enum err load_check_references(struct db *db, Str *ret_table);
/* The database is a store now. */
enum err load_end(struct db *db, const struct schema_table *tables, size_t count);
