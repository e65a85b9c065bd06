/* tests/unit/faulty_store.h - steps that fail first: at their first statement, then at their second … until they get
 * through. What a failed one has left behind would be seen by the test. SQLite alone. */
#pragma once

#include "store.h"

#include <dlfcn.h>
#include <sqlite3.h>

static _Atomic int statements_left; /* until one fails; 0: none does */
static _Atomic int statements_failed;

static int is_counted(sqlite3_stmt *st)
{
    const char *sql = sqlite3_sql(st);
    return sql && !sqlite3_stmt_busy(st) && strchr("SIUDW", sql[0]) && strncmp(sql, "SAVEPOINT", 9) != 0;
}

static int (*real_step)(sqlite3_stmt *);

__attribute__((constructor)) static void find_real_step(void)
{
    real_step = (int (*)(sqlite3_stmt *))dlsym(RTLD_NEXT, "sqlite3_step");
}

/* In the place of SQLite's own, for everything in this program. */
int sqlite3_step(sqlite3_stmt *st)
{
    if (statements_left <= 0 || !is_counted(st) || --statements_left != 0) return real_step(st);
    statements_failed++;
    return SQLITE_IOERR;
}

/* Runs the step in transactions of its own until it gets through, and gives how it ended then. */
static inline enum err store_swept(store_body step)
{
    for (int n = 1;; n++) {
        statements_failed = 0;
        statements_left = n;
        enum err e = store_tx(TX_WRITE, step);
        statements_left = 0;
        if (!statements_failed) return e;
        assert_int_equal(e, ERR_UNAVAILABLE);
    }
}
