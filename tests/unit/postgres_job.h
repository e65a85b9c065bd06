/* tests/unit/postgres_job.h - a job on a PostgreSQL behind the proxy, and what became of it. */
#pragma once

#include "postgres_proxy.h"

static struct test_database direct; /* not through the proxy */
static struct database *d;          /* through it */
static const char count[] = "SELECT COUNT(*) FROM thing";
static char why[512];

static enum err open_through(int workers, int busy_ms)
{
    char url[512];
    snprintf(url, sizeof url, "postgres://souk@/%s?host=%s", direct.name, proxy.folder);
    struct database_options o = {.url = url, .workers = workers, .busy_ms = busy_ms};
    return database_open(&o, &d, why, sizeof why);
}

static int open_it(void **state)
{
    (void)state;
    if (!test_postgres() || !proxy_start()) return 0;
    test_database_open(&direct, false, (struct database_options){.workers = 2});
    test_psql(direct.url, "CREATE TABLE thing (n BIGINT PRIMARY KEY, text TEXT NOT NULL DEFAULT '')");
    test_psql(direct.url, "INSERT INTO thing VALUES (1), (2)");
    return 0;
}

static int close_it(void **state)
{
    (void)state;
    if (!test_postgres()) return 0;
    database_close(d);
    d = NULL;
    proxy_stop();
    test_database_close(&direct);
    return 0;
}

/* Reads, then writes; `when_read` may do harm in between, in the first run. */
struct job {
    int64_t n;
    int runs;
    bool no_read;
    int64_t pid;
    void (*when_read)(struct job *j);
};

static enum err job_run(void *arg, struct db *db)
{
    static const char ask[] = "SELECT pg_backend_pid() /* asked */";
    static const char insert[] = "INSERT INTO thing (n) VALUES ($1)";
    struct job *j = arg;
    struct stmt *st;
    j->runs++;
    if (!j->no_read) {
        st = db_prepare(db, ask);
        if (db_step(st)) j->pid = col_int(st);
        db_done(st);
        if (j->when_read && j->runs == 1) j->when_read(j);
    }
    st = db_prepare(db, insert);
    bind_int(st, j->n);
    return db_run(st);
}

static enum err write_job(struct job *j)
{
    return tx_call(d, TX_WRITE, job_run, j, NULL);
}
static int64_t rows(void)
{
    return test_number(direct.d, count);
}

#define ON(f) cmocka_unit_test_setup_teardown(f, open_it, close_it)
