/* The writer's log: how often it is written, who sees what is held back, and what a disk does to it that fails. The VFS
 * that souk's lies on is the system's own, with counted writes to the log that can be made to fail. */
#include <sqlite3.h>
#include <stdlib.h>
#include <unistd.h>

#include "db/sqlite_log.h"
#include "unit.h"

static struct {
    sqlite3_vfs vfs, *below;
    sqlite3_io_methods methods;
    const sqlite3_io_methods *below_methods;
    int writes, syncs;
    int fails; /* with this, when not 0 */
} counted;

static int count_write(sqlite3_file *f, const void *data, int amount, sqlite3_int64 at)
{
    counted.writes++;
    return counted.fails ? counted.fails : counted.below_methods->xWrite(f, data, amount, at);
}

static int count_sync(sqlite3_file *f, int flags)
{
    counted.syncs++;
    return counted.below_methods->xSync(f, flags);
}

static int count_open(sqlite3_vfs *vfs, const char *path, sqlite3_file *f, int flags, int *ret_flags)
{
    (void)vfs;
    int rc = counted.below->xOpen(counted.below, path, f, flags, ret_flags);
    if (rc != SQLITE_OK || !(flags & SQLITE_OPEN_WAL)) return rc;
    if (!counted.below_methods) {
        counted.below_methods = f->pMethods;
        counted.methods = *f->pMethods;
        counted.methods.xWrite = count_write;
        counted.methods.xSync = count_sync;
    }
    f->pMethods = &counted.methods;
    return rc;
}

static struct {
    char folder[64], path[96];
    sqlite3 *writer, *reader;
} t;

static void run(sqlite3 *h, const char *sql)
{
    assert_int_equal(sqlite3_exec(h, sql, NULL, NULL, NULL), SQLITE_OK);
}

static int64_t ask(sqlite3 *h, const char *sql)
{
    sqlite3_stmt *st = NULL;
    assert_int_equal(sqlite3_prepare_v2(h, sql, -1, &st, NULL), SQLITE_OK);
    assert_int_equal(sqlite3_step(st), SQLITE_ROW);
    int64_t n = sqlite3_column_int64(st, 0);
    sqlite3_finalize(st);
    return n;
}

static int open_both(void **state)
{
    (void)state;
    if (!counted.below) {
        sqlite3_initialize();
        counted.below = sqlite3_vfs_find(NULL);
        counted.vfs = *counted.below;
        counted.vfs.zName = "counted";
        counted.vfs.xOpen = count_open;
        sqlite3_vfs_register(&counted.vfs, 1);
    }
    snprintf(t.folder, sizeof t.folder, "/tmp/souk-log-XXXXXX");
    assert_true(mkdtemp(t.folder));
    snprintf(t.path, sizeof t.path, "%s/log.db", t.folder);
    int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE;
    assert_int_equal(sqlite3_open_v2(t.path, &t.writer, flags, sqlite_log_vfs()), SQLITE_OK);
    run(t.writer, "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA wal_autocheckpoint = 0;"
                  " CREATE TABLE thing (id INTEGER PRIMARY KEY, text TEXT)");
    assert_int_equal(sqlite3_open_v2(t.path, &t.reader, SQLITE_OPEN_READONLY, NULL), SQLITE_OK);
    return 0;
}

static int close_both(void **state)
{
    (void)state;
    static const char *const ends[] = {"", "-wal", "-shm"};
    sqlite3_close(t.reader);
    sqlite3_close(t.writer);
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
        char name[128];
        snprintf(name, sizeof name, "%s%s", t.path, ends[i]);
        unlink(name);
    }
    rmdir(t.folder);
    return 0;
}

#define ADD_ROWS(n)                                                                                                    \
    "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < " #n ")"                                 \
    " INSERT INTO thing (text) SELECT hex(randomblob(1500)) FROM n"

/* Twenty rows are some twenty pages, which are 40 writes to SQLite. */
static void writes_a_commit_at_once(void **state)
{
    (void)state;
    counted.writes = counted.syncs = 0;
    run(t.writer, ADD_ROWS(20));
    assert_int_equal(counted.syncs, 1);
    assert_int_equal(counted.writes, 1);
    assert_int_equal(ask(t.reader, "SELECT count(*) FROM thing"), 20);
}

/* Longer than what is held at once. */
static void writes_a_long_commit_in_parts(void **state)
{
    (void)state;
    counted.writes = 0;
    run(t.writer, ADD_ROWS(200));
    assert_true(counted.writes > 1);
    assert_true(counted.writes < 20);
    assert_int_equal(ask(t.reader, "SELECT count(*) FROM thing"), 200);
    assert_int_equal(ask(t.reader, "SELECT count(*) FROM pragma_integrity_check WHERE integrity_check = 'ok'"), 1);
}

/* Pages that left the cache before the commit are read again out of the log, and are nobody else's business. */
static void shows_nobody_what_left_the_cache(void **state)
{
    (void)state;
    run(t.writer, "PRAGMA cache_size = 10; BEGIN IMMEDIATE");
    run(t.writer, ADD_ROWS(300));
    run(t.writer, "UPDATE thing SET text = text || 'x'");
    assert_int_equal(ask(t.writer, "SELECT count(*) FROM thing WHERE text LIKE '%x'"), 300);
    assert_int_equal(ask(t.reader, "SELECT count(*) FROM thing"), 0);
    run(t.writer, "COMMIT");
    assert_int_equal(ask(t.reader, "SELECT sum(length(text)) FROM thing"), 300 * 3001);
    run(t.writer, "BEGIN IMMEDIATE; DELETE FROM thing");
    run(t.writer, "ROLLBACK");
    run(t.writer, ADD_ROWS(1));
    assert_int_equal(ask(t.reader, "SELECT count(*) FROM thing"), 301);
}

/* A commit that could not be written did not happen; the next one finds its place. */
static void forgets_a_commit_that_was_not_written(void **state)
{
    (void)state;
    run(t.writer, ADD_ROWS(3));
    static const int failures[] = {SQLITE_IOERR_WRITE, SQLITE_FULL};
    for (size_t i = 0; i < sizeof failures / sizeof *failures; i++) {
        counted.fails = failures[i];
        assert_int_equal((sqlite3_exec(t.writer, ADD_ROWS(20), NULL, NULL, NULL) & 0xff), (failures[i] & 0xff));
        assert_int_equal((sqlite3_exec(t.writer, ADD_ROWS(200), NULL, NULL, NULL) & 0xff), (failures[i] & 0xff));
        counted.fails = 0;
        assert_int_equal(ask(t.reader, "SELECT count(*) FROM thing"), 3 + (int64_t)i);
        run(t.writer, ADD_ROWS(1));
        assert_int_equal(ask(t.reader, "SELECT count(*) FROM thing"), 4 + (int64_t)i);
    }
}

/* The log is emptied, and begun again from its first page. */
static void starts_the_log_over(void **state)
{
    (void)state;
    for (int i = 0; i < 3; i++) {
        run(t.writer, ADD_ROWS(5));
        assert_int_equal(sqlite3_wal_checkpoint_v2(t.writer, NULL, SQLITE_CHECKPOINT_TRUNCATE, NULL, NULL), SQLITE_OK);
        assert_int_equal(ask(t.reader, "SELECT count(*) FROM thing"), 5 * (i + 1));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(writes_a_commit_at_once, open_both, close_both),
        cmocka_unit_test_setup_teardown(writes_a_long_commit_in_parts, open_both, close_both),
        cmocka_unit_test_setup_teardown(shows_nobody_what_left_the_cache, open_both, close_both),
        cmocka_unit_test_setup_teardown(forgets_a_commit_that_was_not_written, open_both, close_both),
        cmocka_unit_test_setup_teardown(starts_the_log_over, open_both, close_both),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
