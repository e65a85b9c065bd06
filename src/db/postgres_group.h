/* db/postgres_group.h - PostgreSQL: several jobs in one transaction, their statements in common. For db/ only.
 *
 * Each job runs as a fiber, in straight lines, as it would run alone. Where it waits for a result the next job goes on;
 * when all of them wait, what they asked goes out in one flight (postgres_flight.h), equal texts as one statement. One
 * COMMIT makes all of them durable.
 *
 * There are no savepoints: a job of a group decides before it writes. One that is refused after it has written spoils
 * the group, which is rolled back. A group waits for nobody: its connection gives up a lock after GROUP_LOCK_MS. Who
 * cannot decide without waiting says so by ERR_RUN_ALONE, and is run by itself elsewhere. */
#pragma once

#include "db/job_queue.h"

#define GROUP_MAX 64
#define GROUP_LOCK_MS 50

struct pg_group;

enum group_end {
    GROUP_DONE,    /* each job->result is the job's last word */
    GROUP_SPOILED, /* rolled back: those with is_alone set were refused after they had written */
    GROUP_FAILED,  /* rolled back: something was wrong with one of them, or with the connection */
    GROUP_UNKNOWN, /* COMMIT was sent, and no answer came */
};

/* NULL: no memory. */
struct pg_group *group_new(void);
void group_free(struct pg_group *g);
/* `db`: opened with is_group. */
enum group_end group_run(struct pg_group *g, struct db *db, enum tx_mode mode, struct tx_job **jobs, int n);
/* Rows that reads find may be kept; the connection was opened then. */
void group_watch(struct pg_group *g, struct pg_watch *watch, int64_t opened_ns);
/* The connection is closed. */
void group_disconnect(struct pg_group *g);
