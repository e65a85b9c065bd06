/* The cache of pages: what of SQLite's own it is spared, and that nothing is left in it that has to go. Below it is
 * SQLite's cache, with counted calls. */
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "db/sqlite_cache.h"
#include "unit.h"

#define ASIDE (0x40000000 / 4096 + 1)

static sqlite3_pcache_methods2 below, above;
static int truncated; /* how often SQLite's cache was asked to drop pages, but not all: a temporary table's */

static void count_truncate(sqlite3_pcache *p, unsigned from)
{
    truncated += from > 1;
    below.xTruncate(p, from);
}

static int install(void **state)
{
    (void)state;
    assert_int_equal(sqlite3_config(SQLITE_CONFIG_GETPCACHE2, &below), SQLITE_OK);
    sqlite3_pcache_methods2 counting = below;
    counting.xTruncate = count_truncate;
    assert_int_equal(sqlite3_config(SQLITE_CONFIG_PCACHE2, &counting), SQLITE_OK);
    sqlite_cache_install();
    assert_int_equal(sqlite3_config(SQLITE_CONFIG_GETPCACHE2, &above), SQLITE_OK);
    assert_int_equal(sqlite3_initialize(), SQLITE_OK);
    return 0;
}

static sqlite3_pcache *make(void)
{
    sqlite3_pcache *p = above.xCreate(4096, 136, 1);
    assert_non_null(p);
    above.xCachesize(p, 100);
    truncated = 0;
    return p;
}

static sqlite3_pcache_page *take(sqlite3_pcache *p, unsigned number)
{
    sqlite3_pcache_page *page = above.xFetch(p, number, 2);
    assert_non_null(page);
    return page;
}

static bool has(sqlite3_pcache *p, unsigned number)
{
    return above.xFetch(p, number, 0) != NULL;
}

static void test_nothing_behind(void **state)
{
    (void)state;
    sqlite3_pcache *p = make();
    for (unsigned n = 1; n <= 9; n++) take(p, n);
    above.xTruncate(p, 10);
    assert_int_equal(truncated, 0);
    above.xTruncate(p, 8);
    assert_int_equal(truncated, 1);
    assert_true(has(p, 7) && !has(p, 8) && !has(p, 9));
    assert_int_equal(above.xPagecount(p), 7);
    above.xTruncate(p, 8); /* it is known what is left */
    assert_int_equal(truncated, 1);
    take(p, 8);
    above.xTruncate(p, 8);
    assert_int_equal(truncated, 2);
    assert_false(has(p, 8));
    above.xDestroy(p);
}

static void test_exchange(void **state)
{
    (void)state;
    sqlite3_pcache *p = make();
    sqlite3_pcache_page *a = take(p, 2), *b = take(p, 3);
    above.xRekey(p, a, 2, ASIDE);
    above.xRekey(p, b, 3, 2);
    above.xRekey(p, a, ASIDE, 3);
    above.xTruncate(p, 4);
    assert_int_equal(truncated, 0);
    assert_ptr_equal(above.xFetch(p, 3, 0), a);
    assert_ptr_equal(above.xFetch(p, 2, 0), b);
    above.xTruncate(p, 3);
    assert_int_equal(truncated, 1);
    assert_true(has(p, 2) && !has(p, 3));
    above.xDestroy(p);
}

/* It may be left there when something fails halfway. */
static void test_left_aside(void **state)
{
    (void)state;
    sqlite3_pcache *p = make();
    sqlite3_pcache_page *a = take(p, 2);
    above.xRekey(p, a, 2, ASIDE);
    above.xTruncate(p, 3);
    assert_int_equal(truncated, 1);
    assert_false(has(p, ASIDE));
    above.xTruncate(p, 3);
    assert_int_equal(truncated, 1);
    a = take(p, 1);
    above.xRekey(p, a, 1, 12); /* a number behind all others */
    above.xTruncate(p, 12);
    assert_int_equal(truncated, 2);
    assert_false(has(p, 12));
    above.xShrink(p);
    above.xDestroy(p);
}

static void run(sqlite3 *h, const char *sql)
{
    assert_int_equal(sqlite3_exec(h, sql, NULL, NULL, NULL), SQLITE_OK);
}

static int is_ok(void *found, int columns, char **values, char **names)
{
    (void)columns, (void)names;
    *(bool *)found = strcmp(values[0], "ok") == 0;
    return 0;
}

/* Random keys split the pages of an index all the time; what is rolled back, or deleted and given back, is not in the
 * way of what comes after. */
static void test_database(void **state)
{
    (void)state;
    char path[] = "/tmp/souk-cache-XXXXXX";
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    close(fd);
    sqlite3 *h = NULL;
    assert_int_equal(sqlite3_open_v2(path, &h, SQLITE_OPEN_READWRITE, NULL), SQLITE_OK);
    run(h, "PRAGMA journal_mode = WAL; PRAGMA synchronous = OFF;"
           " CREATE TABLE key (id INTEGER PRIMARY KEY, hash BLOB UNIQUE, more BLOB);");
    static const char add[] = "WITH RECURSIVE s(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM s WHERE n < 200)"
                              " INSERT INTO key (hash, more) SELECT randomblob(100), randomblob(300) FROM s";
    truncated = 0;
    for (int i = 0; i < 50; i++) run(h, add);
    assert_int_equal(truncated, 0);
    for (int i = 0; i < 20; i++) {
        run(h, "BEGIN");
        run(h, add);
        run(h, i % 2 ? "ROLLBACK" : "COMMIT");
        run(h, i % 3 ? "DELETE FROM key WHERE id % 5 = 0" : add);
    }
    assert_true(truncated > 0);
    bool is_whole = false;
    assert_int_equal(sqlite3_exec(h, "PRAGMA integrity_check", is_ok, &is_whole, NULL), SQLITE_OK);
    assert_true(is_whole);
    assert_int_equal(sqlite3_close(h), SQLITE_OK);
    unlink(path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_nothing_behind),
        cmocka_unit_test(test_exchange),
        cmocka_unit_test(test_left_aside),
        cmocka_unit_test(test_database),
    };
    return cmocka_run_group_tests(tests, install, NULL);
}
