/* db/sqlite_writer.h - SQLite's one writer thread: group commit. For db/ only. */
#pragma once

#include "db/job_queue.h"

struct writer;

/* Takes over `db`, a writer connection. *healthy turns false when a commit's outcome is not known or the disk fails.
 * log_pages: see database_options. */
struct writer *writer_new(struct db *db, int batch_max, int log_pages, struct database_stats *stats,
                          _Atomic bool *healthy);
/* False: its queue is full. */
bool writer_submit(struct writer *w, struct tx_job *job);
/* Whether it would take the job just now. */
bool writer_has_room(struct writer *w, const struct tx_job *job);
/* Runs what was submitted, empties the log into the file, closes the connection. */
void writer_free(struct writer *w);
/* A job that waits for another job of the same writer would wait for ever. */
bool writer_is_me(const struct writer *w);
