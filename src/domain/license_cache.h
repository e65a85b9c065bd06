/* domain/license_cache.h - what verification reads of a licence, kept in memory.
 *
 * What is kept is the row, not the verdict: the caller applies the rules again. A row counts only as long as the
 * database says that nobody has changed it (db_row_holds), not even another program; so an answer out of memory is the
 * answer that the database would have given. Unknown keys are not kept. The table has a fixed size, and a row that
 * finds no room takes that of another. Safe from any thread. */
#pragma once

#include "db/db.h"
#include "domain/vault.h"

/* To be watched: database_options. */
#define LICENSE_TABLE "license"
extern const char license_look[], license_look_back[];
#define LICENSE_CACHE_ROWS 28672
#define LICENSE_CACHE_HARDWARE_MAX 64 /* a licence that is bound to a longer id is not kept */

struct license_facts {
    Id id, product_id, account_id;
    bool is_good; /* active, and not on hold */
    Time expires_at;
    Str hardware_id; /* in db_arena(db) */
};

/* `name`: vault_name of the key as it was sent. */
bool license_cache_find(struct db *db, const uint8_t name[VAULT_NAME_BYTES], struct license_facts *ret);
/* `f` was read in this transaction. */
void license_cache_keep(struct db *db, const uint8_t name[VAULT_NAME_BYTES], const struct license_facts *f);

/* PostgreSQL: forgets changes of licences, those that were there the last time, but no more than this number at once.
 * ERR_NEEDS_WRITE in a read when there are any. One thread at a time. */
#define LICENSE_CHANGES_FORGOTTEN 50000
enum err license_changes_forget(struct db *db, int64_t *last);
