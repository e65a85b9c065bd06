/* tests/unit/database.h - what the tests of db/ share: a scratch folder, a database of each engine, a port.
 *
 * SQLite always; PostgreSQL when SOUK_TEST_PG has the address of a server that we may make databases in
 * (tests/lib/pg.mjs starts one). Each test_database is empty and gone after test_database_close. */
#pragma once

#include <ftw.h>
#include <libpq-fe.h>
#include <poll.h>
#include <setjmp.h>
#include <sqlite3.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/log.h"
#include "db/engine.h"
#include "db/tx.h"

/* For code that runs on a thread of the database's: cmocka's own asserts jump, and must not leave their thread. */
#define check(x)                                                                                                       \
    do {                                                                                                               \
        if (!(x)) {                                                                                                    \
            fprintf(stderr, "%s:%d: not true: %s\n", __FILE__, __LINE__, #x);                                          \
            abort();                                                                                                   \
        }                                                                                                              \
    } while (0)

struct test_database {
    struct database *d;
    char url[512];
    char name[64];    /* PostgreSQL: the database to be dropped */
    char folder[128]; /* SQLite */
};

/* What another program commits in a SQLite database beside ours. */
static inline void test_commit_elsewhere(const struct test_database *t, const char *sql)
{
    sqlite3 *other;
    assert_int_equal(sqlite3_open_v2(t->url, &other, SQLITE_OPEN_READWRITE, NULL), SQLITE_OK);
    sqlite3_busy_timeout(other, 60000);
    sqlite3_db_config(other, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, NULL);
    assert_int_equal(sqlite3_exec(other, sql, NULL, NULL, NULL), SQLITE_OK);
    assert_int_equal(sqlite3_close(other), SQLITE_OK);
}

static inline const char *test_postgres(void)
{
    const char *url = getenv("SOUK_TEST_PG");
    return url && *url ? url : NULL;
}

static enum err run_text(void *arg, struct db *db)
{
    struct stmt *st = db_prepare(db, arg);
    return db_run(st);
}

/* One statement in a transaction of its own. `sql` must live for ever. */
static inline enum err test_write(struct database *d, const char *sql)
{
    return tx_call(d, TX_WRITE, run_text, (void *)(uintptr_t)sql, NULL);
}

struct test_number {
    const char *sql;
    int64_t v;
};

static enum err read_number(void *arg, struct db *db)
{
    struct test_number *n = arg;
    struct stmt *st = db_prepare(db, n->sql);
    n->v = db_step(st) ? col_int(st) : -1;
    return db_done(st);
}

/* The first column of the first row, as others see it. */
static inline int64_t test_number(struct database *d, const char *sql)
{
    struct test_number n = {.sql = sql};
    assert_int_equal(tx_call(d, TX_READ, read_number, &n, NULL), OK);
    return n.v;
}

static enum err run_script(void *arg, struct db *db)
{
    return db_script(db, arg);
}

static inline enum err test_script(struct database *d, const char *text)
{
    return tx_call(d, TX_WRITE, run_script, (void *)(uintptr_t)text, NULL);
}

static inline void test_folder(char ret[128])
{
    const char *tmp = getenv("TMPDIR");
    snprintf(ret, 128, "%s/souk-test-XXXXXX", tmp && strlen(tmp) < 90 ? tmp : "/tmp");
    assert_non_null(mkdtemp(ret));
}

static int remove_one(const char *path, const struct stat *info, int kind, struct FTW *at)
{
    (void)info, (void)kind, (void)at;
    return remove(path);
}

static inline void test_folder_remove(const char *folder)
{
    assert_int_equal(nftw(folder, remove_one, 8, FTW_DEPTH | FTW_PHYS), 0);
}

/* The same address with another database name. */
static inline void test_postgres_url(const char *name, char *ret, size_t bytes)
{
    const char *url = test_postgres();
    const char *slash = strchr(strstr(url, "://") + 3, '/');
    const char *query = strchr(slash, '?');
    snprintf(ret, bytes, "%.*s/%s%s", (int)(slash - url), url, name, query ? query : "");
}

/* On a connection of its own, which no part of db/ knows of. */
static inline void test_psql(const char *url, const char *sql)
{
    PGconn *c = PQconnectdb(url);
    PGresult *r = PQexec(c, sql);
    ExecStatusType status = PQresultStatus(r);
    if (status != PGRES_COMMAND_OK && status != PGRES_TUPLES_OK) fail_msg("%s: %s", sql, PQerrorMessage(c));
    PQclear(r);
    PQfinish(c);
}

static inline void test_copy_file(const char *from, const char *to)
{
    char bytes[65536];
    FILE *in = fopen(from, "rb"), *out = fopen(to, "wb");
    assert_true(in && out);
    for (size_t n; (n = fread(bytes, 1, sizeof bytes, in)) > 0;) assert_int_equal(fwrite(bytes, 1, n, out), n);
    assert_false(ferror(in));
    fclose(in);
    assert_int_equal(fclose(out), 0);
}

/* A database with everything that is in `source`: a file on SQLite, a database's name on PostgreSQL; NULL: empty. */
static inline void test_database_open_copy(struct test_database *t, bool sqlite, struct database_options o,
                                           const char *source)
{
    *t = (struct test_database){0};
    char why[512] = "";
    if (sqlite) {
        test_folder(t->folder);
        snprintf(t->url, sizeof t->url, "%s/souk.db", t->folder);
        if (source) test_copy_file(source, t->url);
    } else {
        static int counter;
        char sql[256];
        snprintf(t->name, sizeof t->name, "unit_%ld_%d", (long)getpid(), counter++);
        snprintf(sql, sizeof sql, "CREATE DATABASE %s TEMPLATE %s ENCODING 'UTF8' LOCALE 'C' STRATEGY file_copy",
                 t->name, source ? source : "template0");
        test_psql(test_postgres(), sql);
        test_postgres_url(t->name, t->url, sizeof t->url);
    }
    o.url = t->url;
    o.may_create = true;
    if (database_open(&o, &t->d, why, sizeof why) != OK) fail_msg("%s", why);
}

static inline void test_database_open(struct test_database *t, bool sqlite, struct database_options o)
{
    test_database_open_copy(t, sqlite, o, NULL);
}

static inline void test_database_close(struct test_database *t)
{
    database_close(t->d);
    if (t->folder[0]) {
        test_folder_remove(t->folder);
    } else {
        char sql[128];
        snprintf(sql, sizeof sql, "DROP DATABASE %s WITH (FORCE)", t->name);
        test_psql(test_postgres(), sql);
    }
}

/* A port whose wake-ups are counted by an eventfd, as an event loop would have it. */
struct test_port {
    struct tx_port *port;
    int fd;
    _Atomic int wakes;
};

static void test_wake(void *ctx)
{
    struct test_port *p = ctx;
    uint64_t one = 1;
    atomic_fetch_add(&p->wakes, 1);
    check(write(p->fd, &one, sizeof one) == sizeof one);
}

static inline void test_port_open(struct test_port *p, struct database *d)
{
    *p = (struct test_port){.fd = eventfd(0, EFD_CLOEXEC)};
    p->port = tx_port_new(d, test_wake, p);
    assert_non_null(p->port);
}

static inline void test_port_close(struct test_port *p)
{
    tx_port_free(p->port);
    close(p->fd);
}

/* One turn of the loop: waits for finished jobs (at most 20 s) and tells them. */
static inline void test_port_turn(struct test_port *p)
{
    struct pollfd f = {.fd = p->fd, .events = POLLIN};
    uint64_t n;
    assert_int_equal(poll(&f, 1, 20000), 1);
    assert_int_equal(read(p->fd, &n, sizeof n), sizeof n);
    tx_port_drain(p->port);
}

/* PostgreSQL alone: a database with these tables, and a port. Nothing is opened without a server. */
static inline void test_postgres_open(struct test_database *t, struct test_port *p, struct database_options o,
                                      const char *tables)
{
    if (!test_postgres()) return;
    test_database_open(t, false, o);
    test_psql(t->url, tables);
    test_port_open(p, t->d);
}

static inline void test_postgres_close(struct test_database *t, struct test_port *p)
{
    if (!test_postgres()) return;
    test_port_close(p);
    test_database_close(t);
}
