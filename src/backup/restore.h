/* backup/restore.h - a backup becomes a store again, on either engine; or proves that it could.
 *
 * The whole file is read and found right before anything is written. */
#pragma once

#include <stdatomic.h>

#include "backup/walk.h"
#include "db/tx.h"

struct restore_plan {
    const char *from;
    const struct archive_key *key;                             /* NULL: the backup is not sealed */
    const char *url;                                           /* an empty or missing database */
    const char *data_dir;                                      /* product files go there; NULL: they are checked only */
    Str passphrase;                                            /* of the master key inside; empty: it stays there */
    const char *key_path;                                      /* where the master key goes */
    const _Atomic bool *stop;                                  /* NULL, or set by another thread to give up */
    void (*tell)(void *ctx, const char *doing, int64_t bytes); /* may be NULL; twice a second at most */
    void *ctx;
};

struct restored {
    struct backup_totals totals;
    Str program; /* in the arena */
    Str engine;
    Time made_at;
    bool has_key; /* the master key is inside */
};

/* ret_why has ARCHIVE_WHY_BYTES. Unless OK, a SQLite file that was not there before is not there; a PostgreSQL database
 * may be left unfinished, and no server opens it. */
enum err backup_restore(const struct restore_plan *plan, struct arena *a, struct restored *ret, char *ret_why);

struct verified {
    struct restored restored;
    size_t checks; /* that passed */
};
/* Restores into a scratch database and runs every check of domain/invariant.h. scratch: a folder, in which a database
 * is made and removed again; or the address of an empty PostgreSQL database, which is left for a look.
 * ERR_INVALID_STATE: the backup is damaged, or what is in it breaks a rule. */
enum err backup_verify(const char *from, const struct archive_key *key, const char *scratch, const _Atomic bool *stop,
                       struct arena *a, struct verified *ret, char *ret_why);
