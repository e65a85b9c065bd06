/* serve/seen.h - when licences were last verified and sessions last used, collected in memory and written in batches.
 *
 * A request must not wait for such a write, so it only notes the row here; a periodic job writes what came together.
 * What a crash takes away is the last second of these notes, nothing else. Bounded: past SEEN_MAX rows between two
 * writes further ones are not noted. Safe from any thread, except that flushing is one job at a time. */
#pragma once

#include "db/db.h"

#define SEEN_MAX 49152
#define SEEN_BATCH 4096 /* rows of one transaction */

struct app;
struct seen;

/* `write` puts one note into the database. */
struct seen *seen_new(enum err (*write)(struct db *db, Id id, int64_t count, Time at));
void seen_free(struct seen *s);
void seen_note(struct seen *s, Id id, Time now);

/* Rows of serve/periodic.c: writes one batch; and, told how that ended, forgets or keeps it. */
enum err seen_flush_licenses(struct app *app, struct db *db);
void seen_flushed_licenses(struct app *app, enum err e);
enum err seen_flush_sessions(struct app *app, struct db *db);
void seen_flushed_sessions(struct app *app, enum err e);
