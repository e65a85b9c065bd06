/* serve/seen.h - when licences were last verified and sessions last used, collected in memory and written in batches.
 *
 * A request must not wait for such a write, so it only notes the row here; a periodic job writes the notes, every
 * SEEN_PAUSE_MS while there are any. A crash loses the notes of that time and nothing else. Bounded: between two
 * writes, rows beyond SEEN_MAX are not noted. Safe from any thread; only one job at a time may flush. */
#pragma once

#include "domain/license.h"

#define SEEN_MAX 49152
#define SEEN_ENOUGH 32768 /* rows that are written without waiting any longer */
#define SEEN_PAUSE_MS 10000
#define SEEN_BATCH 4096 /* rows of one transaction */

struct app;
struct seen;

/* `write` puts one note into the database; `write_all`, on PostgreSQL, many by one statement; or NULL. */
struct seen *seen_new(enum err (*write)(struct db *db, Id id, int64_t count, Time at),
                      enum err (*write_all)(struct db *db, const struct license_use *uses, size_t count));
void seen_free(struct seen *s);
void seen_note(struct seen *s, Id id, Time now);

/* For a row of serve/jobs.c: the first writes one batch; the second, told how the transaction ended, forgets or keeps
 * it; the third says whether anything is left to write, however new. */
enum err seen_flush_licenses(struct app *app, struct db *db);
void seen_flushed_licenses(struct app *app, enum err e);
bool seen_has_licenses(struct app *app);
enum err seen_flush_sessions(struct app *app, struct db *db);
void seen_flushed_sessions(struct app *app, enum err e);
bool seen_has_sessions(struct app *app);
