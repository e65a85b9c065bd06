/* db/migrate.h - brings the schema up to date.
 *
 * Migrations are the files sql/NNNN_name.sql, embedded at build time, applied in order, each in a transaction of its
 * own, recorded with a hash of its text in schema_migration. Forward only. A step whose first line is "-- expand" only
 * adds what an older program does not notice: a program also serves a database that is newer by one such step, so that
 * nodes can be replaced one after the other. Refused, in plain words: a database that is newer otherwise, and a
 * recorded migration whose text has changed. On PostgreSQL a step waits for locks only briefly, and is tried again.
 * Words expanded per engine: @id (identity primary key), @id_kept (the same; an id is never reused, even after a
 * delete), @int (64-bit integer), @bytes, @strict (behind the closing bracket), @norowid (behind the closing bracket of
 * a table whose primary key is what it is looked up by; includes @strict), @checked(table) (REFERENCES table (id) on
 * SQLite; on PostgreSQL nothing: `souk check` looks), @postgres … @end and @sqlite … @end (what the other one
 * does not have). */
#pragma once

#include "db/tx.h"

enum migrate_state {
    MIGRATE_CURRENT,
    MIGRATE_BEHIND,
    MIGRATE_AHEAD, /* by one step that this program does not notice */
    MIGRATE_NEWER,
    MIGRATE_CHANGED,
    MIGRATE_EMPTY,
    MIGRATE_FOREIGN,    /* has tables, and none of them is ours */
    MIGRATE_UNFINISHED, /* is being filled, or that was interrupted: db/load.h */
};

/* Applies what is missing; *ret_applied counts it. ret_why has a sentence for the user on failure. */
enum err migrate_up(struct database *d, int *ret_applied, char *ret_why, size_t why_bytes);
/* Only looks. */
enum err migrate_look(struct database *d, enum migrate_state *ret, int *ret_version);
/* Inside a transaction: the version, and whether this program can serve it. */
enum err migrate_present(struct db *db, int *ret_version, bool *ret_serves);
/* The version this program needs. */
int migrate_version(void);
/* For what is made by one program and read by another. The hash covers the texts of the first `version` migrations; it
 * is "" for a version that this program does not know. */
#define MIGRATE_HASH_CHARS 64
void migrate_hash(int version, char ret[MIGRATE_HASH_CHARS + 1]);
/* The same as migrate_up for a database that is being filled (db/load.h); stops at that version. */
enum err migrate_up_to(struct database *d, int version, char *ret_why, size_t why_bytes);
