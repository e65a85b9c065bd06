/* Backups of a store with files, and restores of backups that are whole and yet not what a store can be made of.
 * SQLite, and a scratch database on PostgreSQL. */
#include "store.h"

#include <fcntl.h>
#include <sodium.h>
#include <sys/stat.h>

#include "backup/backup_keys.h"
#include "backup/make.h"
#include "backup/restore.h"
#include "base/pack.h"
#include "db/schema.h"
#include "db/table.h"

#define FILES 70 /* more than the lists of files have room for at first */

static char folder[128], archive[160], data[160], target[160], why[ARCHIVE_WHY_BYTES];

static enum err add_products(struct db *db)
{
    char slug[16];
    for (int i = 0; i < FILES; i++) {
        snprintf(slug, sizeof slug, "file-%d", i);
        store_product(db, slug, "download_url", 100);
    }
    return db_run(db_prepare(db, "UPDATE product SET file_key = slug, file_name = slug, file_bytes = 5"));
}

static int set_up(void **state)
{
    (void)state;
    char path[256];
    if (store_open(true)) return 1;
    test_folder(folder);
    snprintf(archive, sizeof archive, "%s/a.souk", folder);
    snprintf(data, sizeof data, "%s/data", folder);
    snprintf(target, sizeof target, "%s/new.db", folder);
    snprintf(path, sizeof path, "%s/back", folder);
    assert_int_equal(mkdir(path, 0700), 0);
    snprintf(path, sizeof path, "%s/files", data);
    assert_int_equal(mkdir(data, 0700), 0);
    assert_int_equal(mkdir(path, 0700), 0);
    assert_int_equal(store_tx(TX_WRITE, add_products), OK);
    for (int i = 0; i < FILES; i++) {
        snprintf(path, sizeof path, "%s/files/file-%d", data, i);
        int fd = open(path, O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
        assert_int_equal(write(fd, "hello", 5), 5);
        close(fd);
    }
    return 0;
}

static int tear_down(void **state)
{
    test_folder_remove(folder);
    return store_close(state);
}

static enum err make(const _Atomic bool *stop, struct backup_made *ret)
{
    struct backup_plan plan = {.database = store.d, .data_dir = data, .to = archive, .program = "1", .stop = stop};
    return backup_make(&plan, ret, why);
}

static enum err restore(const _Atomic bool *stop)
{
    struct arena a = {0};
    struct restored r;
    char back[200];
    snprintf(back, sizeof back, "%s/back", folder);
    struct restore_plan plan = {.from = archive, .url = target, .data_dir = back, .stop = stop};
    enum err e = backup_restore(&plan, &a, &r, why);
    arena_done(&a);
    return e;
}

static void many_files(void **state)
{
    (void)state;
    struct backup_made made;
    if (make(NULL, &made) != OK) fail_msg("%s", why);
    assert_int_equal(made.totals.files, FILES);
    if (restore(NULL) != OK) fail_msg("%s", why);
    char path[256];
    snprintf(path, sizeof path, "%s/back/files/file-69", folder);
    assert_int_equal(access(path, F_OK), 0);
}

/* The server ends while a backup is made, or proven. */
static void given_up(void **state)
{
    (void)state;
    struct backup_made made;
    _Atomic bool stop = true;
    assert_int_equal(make(&stop, &made), ERR_UNAVAILABLE);
    assert_non_null(strstr(why, "given up"));
    assert_int_not_equal(access(archive, F_OK), 0);
    assert_int_equal(test_write(store.d, "UPDATE product SET file_key = ''"), OK); /* in the rows, then */
    assert_int_equal(make(&stop, &made), ERR_UNAVAILABLE);
    assert_non_null(strstr(why, "given up"));
    stop = false;
    assert_int_equal(make(&stop, &made), OK);
    stop = true;
    assert_int_equal(restore(&stop), ERR_UNAVAILABLE);
    assert_non_null(strstr(why, "given up"));
    assert_int_not_equal(access(target, F_OK), 0);
}

/* A file that is shorter than the product says. */
static void a_file_is_not_what_it_was(void **state)
{
    (void)state;
    struct backup_made made;
    assert_int_equal(test_write(store.d, "UPDATE product SET file_bytes = 6 WHERE slug = 'file-1'"), OK);
    assert_int_equal(make(NULL, &made), OK);
    assert_int_equal(restore(NULL), ERR_INVALID_STATE);
    assert_non_null(strstr(why, "1 product files are not in the backup"));
    assert_int_not_equal(access(target, F_OK), 0);
}

/* A whole backup, written again with one kind of frame passed through `change`. */
typedef bool (*change_fn)(struct archive_writer *w, enum frame_kind kind, Str body, struct arena *a);

static void rewrite(change_fn change)
{
    char other[200];
    struct arena a = {0};
    enum frame_kind kind;
    Str body;
    int64_t bytes;
    snprintf(other, sizeof other, "%s/b.souk", folder);
    struct archive_reader *r = archive_open(archive, NULL, why);
    struct archive_writer *w = archive_create(other, NULL, NULL, why);
    assert_true(r && w);
    while (archive_next(r, &kind, &body))
        if (!change(w, kind, body, &a)) assert_true(archive_put(w, kind, body));
    archive_close(r);
    assert_int_equal(archive_keep(w, &bytes, why), OK);
    assert_int_equal(rename(other, archive), 0);
    arena_done(&a);
}

static bool with_an_evil_file(struct archive_writer *w, enum frame_kind kind, Str body, struct arena *a)
{
    (void)body;
    if (kind != FRAME_FILE) return false;
    return archive_put(w, FRAME_FILE, file_pack(a, STR("../../etc/x"), 5));
}

static bool with_another_table(struct archive_writer *w, enum frame_kind kind, Str body, struct arena *a)
{
    Str name;
    if (kind != FRAME_TABLE || !table_unpack_name(body, &name) || !str_eq(name, STR("product"))) return false;
    return archive_put(w, FRAME_TABLE, table_pack(a, &(struct schema_table){.name = STR("theirs")}));
}

static bool with_other_columns(struct archive_writer *w, enum frame_kind kind, Str body, struct arena *a)
{
    Str name;
    if (kind != FRAME_TABLE || !table_unpack_name(body, &name) || !str_eq(name, STR("product"))) return false;
    return archive_put(w, FRAME_TABLE, table_pack(a, &(struct schema_table){.name = STR("product")}));
}

static bool is_skipping;

/* setting comes before the tables that refer to nothing else: its rows are few. */
static bool without_a_table(struct archive_writer *w, enum frame_kind kind, Str body, struct arena *a)
{
    Str name;
    (void)w;
    if (kind == FRAME_TABLE) is_skipping = table_unpack_name(body, &name) && str_eq(name, STR("stock_notice"));
    bool skips = is_skipping && (kind == FRAME_TABLE || kind == FRAME_ROW || kind == FRAME_TABLE_END);
    if (kind != FRAME_END) return skips;
    int64_t rows = test_number(store.d, "SELECT count(*) FROM stock_notice");
    struct backup_totals totals;
    assert_true(totals_unpack(body, &totals));
    totals.tables--;
    totals.rows -= rows;
    return archive_put(w, FRAME_END, totals_pack(a, &totals));
}

static bool of_the_future(struct archive_writer *w, enum frame_kind kind, Str body, struct arena *a)
{
    struct backup_head h;
    if (kind != FRAME_HEAD || !head_unpack(body, &h)) return false;
    h.schema = 1000;
    return archive_put(w, FRAME_HEAD, head_pack(a, &h));
}

static bool of_no_schema(struct archive_writer *w, enum frame_kind kind, Str body, struct arena *a)
{
    struct backup_head h;
    if (kind != FRAME_HEAD || !head_unpack(body, &h)) return false;
    h.schema = 0;
    return archive_put(w, FRAME_HEAD, head_pack(a, &h));
}

static enum err insert(void *arg, struct db *db)
{
    struct schema_table *tables;
    size_t count;
    enum err e = schema_read(db, db_arena(db), &tables, &count);
    return e ? e : table_insert(db, schema_find(tables, count, STR("account")), *(const Str *)arg);
}

/* Bytes whose digests are right and that are no rows of the table. */
static void rows_of_something_else(void **state)
{
    (void)state;
    static const Str rows[] = {{"", 0}, {"?", 1}, {"\1", 1}, {"\1\0", 2}}; /* 1: BIND_INT */
    int64_t before = test_number(store.d, "SELECT count(*) FROM account");
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct arena a = {0};
        struct buf b;
        buf_init(&b, &a, 100);
        pack_bytes(&b, rows[i]);
        Str packed = buf_str(&b);
        assert_int_equal(tx_call(store.d, TX_WRITE, insert, &packed, NULL), ERR_INVALID_STATE);
        packed.len--; /* cut off */
        if (packed.len) assert_int_equal(tx_call(store.d, TX_WRITE, insert, &packed, NULL), ERR_INVALID_STATE);
        arena_done(&a);
    }
    assert_int_equal(test_number(store.d, "SELECT count(*) FROM account"), before);
}

static void what_a_store_cannot_be_made_of(void **state)
{
    (void)state;
    static const struct {
        change_fn change;
        const char *why;
    } changes[] = {
        {with_an_evil_file, "impossible name"}, {with_another_table, "other columns"},
        {with_other_columns, "other columns"},  {without_a_table, "not all tables"},
        {of_the_future, "does not know"},       {of_no_schema, "does not know"},
    };
    struct backup_made made;
    for (size_t i = 0; i < sizeof changes / sizeof *changes; i++) {
        unlink(archive);
        assert_int_equal(make(NULL, &made), OK);
        rewrite(changes[i].change);
        assert_int_not_equal(restore(NULL), OK);
        if (!strstr(why, changes[i].why)) fail_msg("\"%s\" does not say \"%s\"", why, changes[i].why);
        assert_int_not_equal(access(target, F_OK), 0);
    }
}

/* More rows, and more bytes, than are written in one transaction. */
static void many_rows(void **state)
{
    (void)state;
    struct backup_made made;
    assert_int_equal(test_write(store.d, "UPDATE product SET file_key = ''"), OK);
    assert_int_equal(test_write(store.d,
                                "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 20001)"
                                " INSERT INTO account (email, created_at) SELECT i || '@example.com', 1 FROM n"),
                     OK);
    assert_int_equal(test_write(store.d, "UPDATE product SET description = substr(hex(zeroblob(500000)), 1, 900000)"
                                         " WHERE slug IN ('file-1', 'file-2', 'file-3', 'file-4', 'file-5')"),
                     OK);
    if (make(NULL, &made) != OK) fail_msg("%s", why);
    if (restore(NULL) != OK) fail_msg("%s", why);
}

static void proven_on_postgres(void **state)
{
    (void)state;
    if (!test_postgres()) skip();
    struct arena a = {0};
    struct backup_made made;
    struct verified v;
    struct test_database scratch;
    char other[600];
    test_database_open(&scratch, false, (struct database_options){.workers = 1});
    assert_int_equal(make(NULL, &made), OK);
    const char *rest = strstr(scratch.url, "://");
    snprintf(other, sizeof other, "postgresql%s", rest);
    if (backup_verify(archive, NULL, other, NULL, &a, &v, why) != OK) fail_msg("%s", why);
    assert_true(v.checks > 0);
    assert_int_not_equal(backup_verify(archive, NULL, other, NULL, &a, &v, why), OK); /* it is no longer empty */
    test_database_close(&scratch);
    arena_done(&a);
}

#define TEST_OF(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST_OF(many_files),
        TEST_OF(given_up),
        TEST_OF(a_file_is_not_what_it_was),
        TEST_OF(rows_of_something_else),
        TEST_OF(what_a_store_cannot_be_made_of),
        TEST_OF(many_rows),
        TEST_OF(proven_on_postgres),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
