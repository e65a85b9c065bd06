/* serve/seen.h - when licences were last verified, collected in memory and written in batches.
 *
 * A verification must not wait for a write, so it only notes the licence here; a periodic job writes what came
 * together. What a crash takes away is the last second of these counts, nothing else. Bounded: past SEEN_MAX licences
 * between two writes further ones are not noted. Safe from any thread, except that flushing is one job at a time. */
#pragma once

#include "db/db.h"

#define SEEN_MAX 49152
#define SEEN_BATCH 4096 /* rows of one transaction */

struct app;
struct seen;

struct seen *seen_new(void);
void seen_free(struct seen *s);
void seen_note(struct seen *s, Id license, Time now);

/* Rows of serve/periodic.c: writes one batch; and, told how that ended, forgets or keeps it. */
enum err seen_flush(struct app *app, struct db *db);
void seen_flushed(struct app *app, enum err e);
