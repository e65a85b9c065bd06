/* backup/make.h - makes a backup of a store, beside a server that goes on selling.
 *
 * The rows are those of one snapshot: on SQLite a read transaction on a connection of its own, which neither waits for
 * the writer nor holds it up (the write-ahead log grows until it ends); on PostgreSQL REPEATABLE READ. Product files
 * are copied before it, because they are long and never change under their names; those that are new in the snapshot
 * are copied at its start. Memory does not grow with the store. */
#pragma once

#include <stdatomic.h>

#include "backup/manifest.h"
#include "db/tx.h"

struct backup_state {
    Str doing;     /* a table, or "files" */
    int64_t rows;  /* so far */
    int64_t bytes; /* of the backup, so far */
};

struct backup_plan {
    struct database *database;                             /* read-only is enough */
    const char *data_dir;                                  /* of the product files */
    const char *to;                                        /* must not be there */
    const uint8_t *recipient;                              /* public key; NULL: not sealed */
    Str sealed_key;                                        /* passphrase_seal of the master key; empty: not inside */
    const char *program;                                   /* version */
    const _Atomic bool *stop;                              /* NULL, or set by another thread to give up */
    void (*tell)(void *ctx, const struct backup_state *s); /* may be NULL; twice a second at most */
    void *ctx;
};

struct backup_made {
    struct backup_totals totals;
    int64_t bytes; /* of the file */
    Time made_at;
    uint8_t stream_key[ARCHIVE_KEY_BYTES]; /* of a sealed one: see archive_create */
};

/* ret_why has ARCHIVE_WHY_BYTES. Unless OK, there is no file. */
enum err backup_make(const struct backup_plan *plan, struct backup_made *ret, char *ret_why);
