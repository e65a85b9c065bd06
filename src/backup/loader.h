/* backup/loader.h - rows on their way into an empty database, for a restore and for a move.
 *
 *     loader_open → for each table: loader_table, loader_row …, loader_table_end → loader_finish → loader_close
 *
 * Rows are committed in batches. loader_finish reads every table back and compares its sum with that of the rows which
 * came in; only then is the database a store that a server opens (db/load.h). All functions write ret_why, which has
 * ARCHIVE_WHY_BYTES, unless they return OK. */
#pragma once

#include "backup/manifest.h"
#include "db/tx.h"

struct loader {
    struct database *target;
    struct arena memory;
    struct schema_table *tables;
    size_t table_count;
    struct table_sum *sums; /* of each table, as it should be */
    bool was_resumed;       /* it goes on where a move was interrupted */
    const struct schema_table *table;
    struct arena batch_memory;
    struct buf batch;
    int64_t batch_rows;
    char *why;
};

struct loader_options {
    const char *url;
    int64_t schema; /* version that the rows have */
    Str schema_hash;
    Str source; /* what a move can be resumed by; empty: a load that cannot be resumed */
};

enum err loader_open(const struct loader_options *o, struct loader *ret, char *ret_why);
/* A move that was interrupted had this table complete. */
enum err loader_has(struct loader *l, const struct schema_table *t, bool *ret);
/* packed: as table_pack has it. */
enum err loader_table(struct loader *l, Str packed);
enum err loader_row(struct loader *l, Str row);
enum err loader_table_end(struct loader *l, const struct table_sum *sum, int64_t last_id);
/* For a table that loader_has: what its rows should be. */
void loader_expect(struct loader *l, const struct schema_table *t, const struct table_sum *sum);
enum err loader_finish(struct loader *l);
void loader_close(struct loader *l);
