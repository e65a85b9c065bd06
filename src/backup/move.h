/* backup/move.h - a store moves to another database, of either engine.
 *
 * All rows are read from one snapshot of the source, which nobody may be serving, and written as a backup's are. A move
 * that was interrupted goes on behind the last table that was complete. At its end every table is read on both sides,
 * and counts and digests must be equal; then the books are compared and every check is run. The source is not changed.
 */
#pragma once

#include "backup/manifest.h"
#include "db/tx.h"

struct move_plan {
    const char *from_url;  /* for the journal */
    struct database *from; /* read-only */
    const char *to;        /* an empty or missing database, or one that this move was interrupted in */
    void (*tell)(void *ctx, Str table, int64_t rows); /* may be NULL; twice a second at most */
    void *ctx;
};

struct moved {
    struct schema_table *tables; /* in the arena */
    struct table_sum *sums;      /* of each */
    size_t table_count;
    int64_t rows;
    int64_t transfers, transferred; /* of the ledger: how many, and their sum */
    size_t checks;                  /* that passed */
    bool was_resumed;
};

/* ret_why has ARCHIVE_WHY_BYTES. ERR_CONFLICT: the target is not empty, a server uses the source, or both sides are not
 * the same. */
enum err move_run(const struct move_plan *plan, struct arena *a, struct moved *ret, char *ret_why);
