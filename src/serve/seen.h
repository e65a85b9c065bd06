/* serve/seen.h - when licences were last verified and sessions last used, collected in memory and written in batches.
 *
 * A request must not wait for such a write, so it only notes the row here; a periodic job writes the notes. A crash
 * loses the last second of notes and nothing else. Bounded: between two writes, rows beyond SEEN_MAX are not noted.
 * Safe from any thread; only one job at a time may flush. */
#pragma once

#include "domain/license.h"

#define SEEN_MAX 49152
#define SEEN_BATCH 4096 /* rows of one transaction */

struct app;
struct seen;

/* `write` puts one note into the database; `write_all`, on PostgreSQL, many by one statement; or NULL. */
struct seen *seen_new(enum err (*write)(struct db *db, Id id, int64_t count, Time at),
                      enum err (*write_all)(struct db *db, const struct license_use *uses, size_t count));
void seen_free(struct seen *s);
void seen_note(struct seen *s, Id id, Time now);

/* For a row of serve/jobs.c: the first writes one batch; the second, told how the transaction ended, forgets or keeps
 * it. */
enum err seen_flush_licenses(struct app *app, struct db *db);
void seen_flushed_licenses(struct app *app, enum err e);
enum err seen_flush_sessions(struct app *app, struct db *db);
void seen_flushed_sessions(struct app *app, enum err e);
