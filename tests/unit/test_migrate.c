/* Migrations: applied once, in order, each whole; what does not fit is refused. On both engines. */
#include "database.h"

#include "db/migration.h"

static struct test_database t;

static int open_sqlite(void **state)
{
    (void)state;
    test_database_open(&t, true, (struct database_options){0});
    return 0;
}

static int open_postgres(void **state)
{
    (void)state;
    test_database_open(&t, false, (struct database_options){0});
    return 0;
}

static int close_it(void **state)
{
    (void)state;
    test_database_close(&t);
    return 0;
}

static const struct migration list[] = {
    {1, "first", "hash-1",
     "-- What's here: it's @id and 'one' thing.\n"
     "CREATE TABLE first (id @id_kept, n @int NOT NULL, b @bytes) @strict;\n"
     "CREATE TABLE keyed (name TEXT PRIMARY KEY, note TEXT NOT NULL DEFAULT 'a @int; of -- it') @norowid;\n"
     "INSERT INTO first (n) VALUES (1), (2);\n"
     "INSERT INTO keyed (name) VALUES ('x'); -- the end"},
    {2, "second", "hash-2", "CREATE TABLE second (id @id, first_id @int REFERENCES first (id)) @strict;"},
    {3, "third", "hash-3", "UPDATE first SET n = n * 10;"},
};
static const struct migration broken[] = {
    {1, "first", "hash-1", "CREATE TABLE first (id @id) @strict;"},
    {2, "second", "hash-2", "CREATE TABLE half (id @id) @strict; INSERT INTO nowhere VALUES (1);"},
};

static char why[512];

static int up(const struct migration *l, int n, enum err expected)
{
    int applied = -1;
    enum err e = migrate_up_list(t.d, l, n, &applied, why, sizeof why);
    if (e != expected) fail_msg("%d: %s", e, why);
    return applied;
}

static enum migrate_state look(const struct migration *l, int n, int version)
{
    enum migrate_state state = MIGRATE_CURRENT;
    int found = -1;
    assert_int_equal(migrate_look_list(t.d, l, n, &state, &found), OK);
    assert_int_equal(found, version);
    return state;
}

static void test_ahead(void **state)
{
    (void)state;
    static const struct migration next[] = {
        {1, "first", "hash-1", "CREATE TABLE first (id @id) @strict;"},
        {2, "second", "hash-2", "CREATE TABLE second (id @id) @strict;", .is_expand = true},
        {3, "third", "hash-3", "CREATE TABLE third (id @id) @strict;", .is_expand = true},
        {4, "fourth", "hash-4", "DROP TABLE third;"},
    };
    assert_int_equal(up(next, 2, OK), 2);
    assert_int_equal(look(next, 1, 2), MIGRATE_AHEAD);
    assert_int_equal(up(next, 1, OK), 0); /* nothing to do, and nothing wrong */
    assert_int_equal(up(next, 3, OK), 1);
    assert_int_equal(look(next, 1, 3), MIGRATE_NEWER); /* by two steps */
    assert_int_equal(look(next, 2, 3), MIGRATE_AHEAD);
    assert_int_equal(up(next, 4, OK), 1);
    assert_int_equal(look(next, 3, 4), MIGRATE_NEWER); /* by one that takes away */
    assert_int_equal(look(next, 2, 4), MIGRATE_NEWER);
    up(next, 3, ERR_CONFLICT);
}

static void test_apply(void **state)
{
    (void)state;
    assert_int_equal(look(list, 3, 0), MIGRATE_EMPTY);
    assert_int_equal(look(list, 3, 0), MIGRATE_EMPTY); /* looking makes nothing */
    assert_int_equal(up(list, 2, OK), 2);
    assert_int_equal(look(list, 2, 2), MIGRATE_CURRENT);
    assert_int_equal(look(list, 3, 2), MIGRATE_BEHIND);
    assert_int_equal(up(list, 2, OK), 0);
    assert_int_equal(up(list, 3, OK), 1);
    assert_int_equal(up(list, 3, OK), 0);
    static const char sum[] = "SELECT CAST(SUM(n) AS BIGINT) FROM first";
    static const char notes[] = "SELECT COUNT(*) FROM keyed WHERE note = 'a @int; of -- it'";
    static const char rows[] = "SELECT COUNT(*) FROM schema_migration WHERE applied_at > 1600000000000";
    assert_int_equal(test_number(t.d, sum), 30);
    assert_int_equal(test_number(t.d, notes), 1);
    assert_int_equal(test_number(t.d, rows), 3);
}

static void test_newer(void **state)
{
    (void)state;
    assert_int_equal(up(list, 3, OK), 3);
    assert_int_equal(look(list, 2, 3), MIGRATE_NEWER);
    assert_int_equal(up(list, 2, ERR_CONFLICT), -1);
    assert_non_null(strstr(why, "newer souk"));
    assert_non_null(strstr(why, "version 3"));
}

static void test_changed(void **state)
{
    (void)state;
    struct migration other[3];
    memcpy(other, list, sizeof other);
    other[0].hash = "another";
    assert_int_equal(up(list, 2, OK), 2);
    assert_int_equal(look(other, 3, 2), MIGRATE_CHANGED);
    assert_int_equal(up(other, 3, ERR_CONFLICT), -1);
    assert_non_null(strstr(why, "0001_first"));
    static const char rows[] = "SELECT COUNT(*) FROM schema_migration";
    assert_int_equal(test_number(t.d, rows), 2);
}

/* One that fails leaves nothing of itself; what stood before it stays. */
static void test_broken(void **state)
{
    (void)state;
    up(broken, 2, ERR_INTERNAL);
    assert_non_null(strstr(why, "0002_second"));
    assert_int_equal(look(broken, 2, 1), MIGRATE_BEHIND);
    assert_int_equal(test_script(t.d, "CREATE TABLE half (id INTEGER)"), OK);
}

/* Several nodes start at once on one empty database. */
static void *start_node(void *arg)
{
    int *applied = arg;
    struct database *d;
    char reason[512];
    check(database_open(&(struct database_options){.url = t.url, .workers = 1}, &d, reason, sizeof reason) == OK);
    enum err e = migrate_up(d, applied, reason, sizeof reason);
    if (e) fprintf(stderr, "%s\n", reason);
    check(e == OK);
    database_close(d);
    return NULL;
}

static void test_race(void **state)
{
    (void)state;
    enum { NODES = 4 };
    pthread_t nodes[NODES];
    int applied[NODES], sum = 0;
    for (int i = 0; i < NODES; i++) check(pthread_create(&nodes[i], NULL, start_node, &applied[i]) == 0);
    for (int i = 0; i < NODES; i++) {
        pthread_join(nodes[i], NULL);
        sum += applied[i];
    }
    assert_int_equal(sum, migrate_version());
    static const char rows[] = "SELECT COUNT(*) FROM schema_migration";
    assert_int_equal(test_number(t.d, rows), migrate_version());
}

static void test_expand(void **state)
{
    (void)state;
    struct arena a = {0};
    static const char text[] = "(id @id, x @int @checked(y), y @bytes) @norowid; '@int' -- @int\n@strict @id_kept";
    assert_string_equal(
        migration_expand(&a, text, true).ptr,
        "(id INTEGER PRIMARY KEY, x INTEGER REFERENCES y (id), y BLOB) WITHOUT ROWID, STRICT; '@int' -- @int\n"
        "STRICT INTEGER PRIMARY KEY AUTOINCREMENT");
    assert_string_equal(
        migration_expand(&a, text, false).ptr,
        "(id BIGINT GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY, x BIGINT , y BYTEA) ; '@int' -- @int\n"
        " BIGINT GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY");
    assert_string_equal(migration_expand(&a, "'open", true).ptr, "'open");
    static const char part[] = "a;@postgres b '@int' @int;@end c";
    assert_string_equal(migration_expand(&a, part, true).ptr, "a; c");
    assert_string_equal(migration_expand(&a, part, false).ptr, "a; b '@int' BIGINT; c");
    arena_done(&a);
}

/* The ones that are built in. */
static void test_own(void **state)
{
    (void)state;
    int applied = -1;
    if (migrate_up(t.d, &applied, why, sizeof why) != OK) fail_msg("%s", why);
    assert_int_equal(applied, migrate_version());
    assert_true(applied > 0);
    enum migrate_state s;
    int version;
    assert_int_equal(migrate_look(t.d, &s, &version), OK);
    assert_int_equal(s, MIGRATE_CURRENT);
    assert_int_equal(version, migrate_version());
    for (int i = 0; i < migrations_count; i++) {
        assert_int_equal(migrations[i].version, i + 1);
        assert_int_equal(strlen(migrations[i].hash), 64);
    }
}

#define ON_BOTH(f)                                                                                                     \
    {"sqlite " #f, f, open_sqlite, close_it, NULL},                                                                    \
    {                                                                                                                  \
        "postgres " #f, f, open_postgres, close_it, NULL                                                               \
    }

int main(void)
{
    log_setup(LOG_ERROR + 1, LOG_LOGFMT); /* the failures here are wanted */
    const struct CMUnitTest tests[] = {
        ON_BOTH(test_apply),  ON_BOTH(test_ahead),
        ON_BOTH(test_newer),  ON_BOTH(test_changed),
        ON_BOTH(test_broken), ON_BOTH(test_expand),
        ON_BOTH(test_own),    {"postgres test_race", test_race, open_postgres, close_it, NULL},
    };
    if (!test_postgres()) cmocka_set_test_filter("sqlite *");
    return cmocka_run_group_tests(tests, NULL, NULL);
}
