/* db/schema.h - the tables as the database itself describes them, for what has to work on all of them: a table that is
 * added to sql/ tomorrow is backed up and moved without a line of code.
 *
 * The order is fixed: a table stands behind those that it references, otherwise by name; columns by name. So both
 * engines give a row the same bytes (db/table.h). Not listed are the tables of db/ itself, schema_migration and
 * load_journal, and license_change, whose numbers belong to one PostgreSQL server. */
#pragma once

#include "db/engine.h"

#define SCHEMA_COLUMNS_MAX 64
#define SCHEMA_KEYS_MAX 4

struct schema_column {
    Str name;
    enum bind_kind kind;
};

struct schema_table {
    Str name;
    struct schema_column columns[SCHEMA_COLUMNS_MAX]; /* by name */
    size_t column_count;
    size_t keys[SCHEMA_KEYS_MAX]; /* columns of the primary key, in its order */
    size_t key_count;
    bool has_id;    /* the database gives a new row its id */
    bool keeps_ids; /* SQLite: and never gives the id of a deleted one again. On PostgreSQL that holds for all */
};

/* Into the arena, which is not db_arena(). ERR_INTERNAL for a schema that rows cannot be copied from: a table without a
 * primary key, a column of another type. */
enum err schema_read(struct db *db, struct arena *a, struct schema_table **ret, size_t *ret_count);
const struct schema_table *schema_find(const struct schema_table *tables, size_t count, Str name);

/* A statement's text that lives for ever, as db_prepare wants it: equal texts are kept once. */
const char *schema_text(Str text);
