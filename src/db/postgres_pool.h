/* db/postgres_pool.h - PostgreSQL: worker threads with one connection each. For db/ only. */
#pragma once

#include "db/job_queue.h"
#include "db/postgres_watch.h"

struct pg_pool;

/* Connects once, so that a wrong address is reported at start; the other workers connect when they have work. */
enum err pg_pool_new(const struct database_options *options, struct database_stats *stats, struct pg_pool **ret,
                     char *ret_why, size_t why_bytes);
/* False: its queue is full. */
bool pg_pool_submit(struct pg_pool *p, struct tx_job *job);
/* Whether it would take the job just now. */
bool pg_pool_has_room(struct pg_pool *p, const struct tx_job *job);
/* NULL: nothing is watched. */
struct pg_watch *pg_pool_watch(const struct pg_pool *p);
/* Workers that take writes. */
int pg_pool_writers(const struct pg_pool *p);
/* Runs what was submitted. */
void pg_pool_free(struct pg_pool *p);
