/* db/pool.h - PostgreSQL: worker threads with one connection each. For db/ only. */
#pragma once

#include "db/port.h"

struct pool;

/* Connects once, to say at start what is wrong with the address; the other workers connect when they have work. */
enum err pool_new(const struct database_options *options, struct database_stats *stats, struct pool **ret,
                  char *ret_why, size_t why_bytes);
void pool_submit(struct pool *p, struct tx_job *job);
/* Runs what was submitted. */
void pool_free(struct pool *p);
