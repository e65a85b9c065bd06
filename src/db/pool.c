/* db/pool.c - see pool.h. */
#include "db/pool.h"

#include <stdio.h>

enum err pg_pool_new(const struct database_options *options, struct database_stats *stats, struct pg_pool **ret,
                     char *ret_why, size_t why_bytes)
{
    (void)options, (void)stats, (void)ret;
    snprintf(ret_why, why_bytes, "PostgreSQL is not built in yet");
    return ERR_UNAVAILABLE;
}
void pg_pool_submit(struct pg_pool *p, struct tx_job *job)
{
    (void)p, (void)job;
}
void pg_pool_free(struct pg_pool *p)
{
    (void)p;
}
