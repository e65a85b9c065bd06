/* Backups of other programs: an older schema is made first and then brought up to date; one that is not known is
 * refused. */
#include "database.h"

#include "backup/restore.h"
#include "db/migrate.h"
#include "domain/vault.h"

static char folder[128], archive[160], target[160];

static int set_up(void **state)
{
    (void)state;
    test_folder(folder);
    snprintf(archive, sizeof archive, "%s/a.souk", folder);
    snprintf(target, sizeof target, "%s/new.db", folder);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    test_folder_remove(folder);
    return 0;
}

struct copying {
    struct archive_writer *w;
    struct arena memory;
    struct backup_totals totals;
};

static enum err put_row(void *ctx, Str row)
{
    struct copying *c = ctx;
    c->totals.rows++;
    return archive_put(c->w, FRAME_ROW, row) ? OK : ERR_UNAVAILABLE;
}

static enum err put_tables(void *arg, struct db *db)
{
    struct copying *c = arg;
    struct schema_table *tables;
    size_t count;
    enum err e = schema_read(db, &c->memory, &tables, &count);
    for (size_t i = 0; !e && i < count; i++) {
        struct table_sum sum;
        int64_t last = 0;
        archive_put(c->w, FRAME_TABLE, table_pack(&c->memory, &tables[i]));
        e = table_read(db, &tables[i], put_row, c, &sum);
        if (!e) e = table_last_id(db, &tables[i], &last);
        archive_put(c->w, FRAME_TABLE_END, table_end_pack(&c->memory, &sum, last));
        c->totals.tables++;
    }
    return e;
}

/* A backup as a program with the first `version` migrations would have made it. */
static void make_old(int version, const char *hash)
{
    struct test_database t;
    struct copying c = {0};
    char why[ARCHIVE_WHY_BYTES], known[MIGRATE_HASH_CHARS + 1];
    int64_t bytes;
    struct arena scratch = {0};
    test_database_open(&t, true, (struct database_options){0});
    assert_int_equal(migrate_up_to(t.d, version, why, sizeof why), OK);
    assert_int_equal(test_write(t.d, "INSERT INTO account (id, email, created_at) VALUES (77, 'a@example.com', 1)"),
                     OK);
    migrate_hash(version, known);
    struct backup_head head = {.program = STR("0.0.1"),
                               .engine = STR("sqlite"),
                               .schema = version,
                               .schema_hash = str_from(hash ? hash : known),
                               .made_at = {1}};
    c.w = archive_create(archive, NULL, NULL, why);
    assert_non_null(c.w);
    archive_put(c.w, FRAME_HEAD, head_pack(&c.memory, &head));
    assert_int_equal(tx_call(t.d, TX_READ, put_tables, &c, &scratch), OK);
    archive_put(c.w, FRAME_END, totals_pack(&c.memory, &c.totals));
    assert_int_equal(archive_keep(c.w, &bytes, why), OK);
    arena_done(&c.memory);
    arena_done(&scratch);
    test_database_close(&t);
}

static enum err restore(char *ret_why)
{
    struct arena a = {0};
    struct restored r;
    struct restore_plan plan = {.from = archive, .url = target};
    enum err e = backup_restore(&plan, &a, &r, ret_why);
    arena_done(&a);
    return e;
}

static void an_older_schema_is_brought_up_to_date(void **state)
{
    (void)state;
    char why[ARCHIVE_WHY_BYTES] = "";
    make_old(migrate_version() - 1, NULL);
    if (restore(why) != OK) fail_msg("%s", why);
    struct database_options o = {.url = target, .read_only = true};
    struct database *d;
    enum migrate_state found;
    int version;
    assert_int_equal(database_open(&o, &d, why, sizeof why), OK);
    assert_int_equal(migrate_look(d, &found, &version), OK);
    assert_int_equal(found, MIGRATE_CURRENT);
    assert_int_equal(version, migrate_version());
    assert_int_equal(test_number(d, "SELECT count(*) FROM account WHERE id = 77"), 1);
    database_close(d);
    assert_int_equal(restore(why), ERR_CONFLICT);
}

static void an_unknown_schema_is_refused(void **state)
{
    (void)state;
    char why[ARCHIVE_WHY_BYTES] = "";
    make_old(1, "another text");
    assert_int_equal(restore(why), ERR_CONFLICT);
    assert_non_null(strstr(why, "schema"));
    assert_int_not_equal(access(target, F_OK), 0);
}

/* The key that comes out of a backup is never put over another one, nor said to be kept where it is not. */
static void a_key_is_written_once(void **state)
{
    (void)state;
    char path[160], nowhere[160], why[ARCHIVE_WHY_BYTES] = "";
    uint8_t key[VAULT_KEY_BYTES] = {1}, other[VAULT_KEY_BYTES] = {2}, read[VAULT_KEY_BYTES];
    snprintf(path, sizeof path, "%s/souk.key", folder);
    snprintf(nowhere, sizeof nowhere, "%s/none/souk.key", folder);
    assert_int_equal(vault_write(path, key, why, sizeof why), OK);
    assert_int_equal(vault_write(path, key, why, sizeof why), OK);
    assert_int_equal(vault_write(path, other, why, sizeof why), ERR_CONFLICT);
    assert_non_null(strstr(why, "another key"));
    assert_int_equal(vault_read(path, "", read, why, sizeof why), OK);
    assert_memory_equal(read, key, sizeof key);
    assert_int_equal(vault_write(nowhere, key, why, sizeof why), ERR_INTERNAL);
    assert_non_null(strstr(why, "cannot make the key file"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(an_older_schema_is_brought_up_to_date, set_up, tear_down),
        cmocka_unit_test_setup_teardown(an_unknown_schema_is_refused, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_key_is_written_once, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
