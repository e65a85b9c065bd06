/* tests/unit/test_license_index.c - which licence has a key: whatever is filed, added, undone or changed by others, it
 * is the one that the table has. */
#include "store.h"

#include <pthread.h>

#include "base/sanitized.h"
#include "domain/filing.h"
#include "domain/invariant.h"
#include "domain/license_index.h"

#define HASHES_MOST 4096

static uint32_t seed, begun_with;
static int looks;                                       /* at once: each reads the whole table to compare */
static uint8_t hashes[HASHES_MOST][LICENSE_HASH_BYTES]; /* all that were ever used, also in vain */
static size_t hash_count;

static int draw(int below)
{
    seed = seed * 1664525 + 1013904223;
    return (int)((seed >> 8) % (uint32_t)below);
}

static void start(uint32_t with)
{
    seed = begun_with = with;
    hash_count = 0;
    looks = 20;
}

static uint64_t mixed(uint64_t n)
{
    n = (n ^ n >> 30) * 0xbf58476d1ce4e5b9 + 0x9e3779b97f4a7c15;
    n = (n ^ n >> 27) * 0x94d049bb133111eb;
    return n ^ n >> 31;
}

static const uint8_t *new_hash(void)
{
    assert_true(hash_count < HASHES_MOST);
    uint8_t *hash = hashes[hash_count++];
    uint64_t n = (uint64_t)begun_with << 32 | hash_count;
    for (int i = 0; i < LICENSE_HASH_BYTES; i++) {
        if (i % 8 == 0) n = mixed(n);
        hash[i] = (uint8_t)(n >> (i % 8 * 8));
    }
    return hash;
}

static Str hash_text(const uint8_t *hash)
{
    return (Str){(const char *)hash, LICENSE_HASH_BYTES};
}

static void add_hash(struct db *db, const uint8_t *hash)
{
    static const char add[] = "INSERT INTO license (sealed_key, key_hash, product_id, account_id, created_at)"
                              " VALUES ($1, $1, 1, $2, 1) RETURNING id";
    Id id = {0};
    struct stmt *st = db_prepare(db, add);
    bind_blob(st, hash_text(hash));
    bind_id(st, ada);
    assert_int_equal(db_insert(st, &id), OK);
    assert_int_equal(license_index_add(db, hash, id), OK);
}

static void add_one(struct db *db)
{
    add_hash(db, new_hash());
}

/* Whether the licence with this hash is the one that the table has, or there is none. */
static bool is_right(struct db *db, const uint8_t *hash)
{
    static const char plain[] = "SELECT id FROM license WHERE key_hash = $1";
    bool found;
    Id id;
    if (license_index_find(db, hash, &found, &id) != OK) return false;
    struct stmt *st = db_prepare(db, plain);
    bind_blob(st, hash_text(hash));
    bool same = db_step(st) == found && (!found || id_eq(col_id(st), id));
    return db_done(st) == OK && same;
}

static enum err some_are_right(struct db *db)
{
    uint8_t never[LICENSE_HASH_BYTES] = {0};
    for (int i = 0; i < looks && hash_count; i++) {
        size_t newest = hash_count > 30 ? 30 : hash_count;
        size_t at = draw(2) ? hash_count - 1 - (size_t)draw((int)newest) : (size_t)draw((int)hash_count);
        assert_true(is_right(db, hashes[at]));
    }
    assert_true(is_right(db, never));
    return OK;
}

static enum err add_plainly(struct db *db)
{
    for (int i = 0; i < 3; i++) add_one(db);
    return OK;
}

static enum err add_some(struct db *db)
{
    for (int left = 1 + draw(20); left > 0; left--) add_one(db);
    return draw(4) ? OK : some_are_right(db); /* a transaction sees its own */
}

static enum err add_some_and_fail(struct db *db)
{
    assert_int_equal(add_some(db), OK);
    assert_int_equal(some_are_right(db), OK);
    return ERR_CONFLICT;
}

static enum err file_and_fail(struct db *db)
{
    assert_int_equal(filing_open(db), OK);
    assert_int_equal(some_are_right(db), OK);
    return ERR_CONFLICT;
}

/* As somebody's key is replaced. */
static enum err replace_one(struct db *db)
{
    static const char replace[] = "UPDATE license SET key_hash = $2 WHERE id = $1";
    static const char last[] = "SELECT COALESCE(MAX(id), 1) FROM license";
    struct stmt *st = db_prepare(db, last);
    Id id = db_step(st) ? col_id(st) : (Id){0};
    assert_int_equal(db_done(st), OK);
    st = db_prepare(db, replace);
    bind_id(st, (Id){1 + draw((int)id.v)});
    bind_blob(st, hash_text(new_hash()));
    assert_int_equal(db_run(st), OK);
    return some_are_right(db);
}

static bool is_postgres(void)
{
    return strncmp(store.url, "postgres", 8) == 0;
}

static void elsewhere(const char *sql)
{
    test_commit_elsewhere(&store, sql);
}

/* Another program does what souk never does, to rows that are filed or not. A reader sees it at once. */
static void change_elsewhere(void)
{
    static const char *const what[] = {
        "DELETE FROM license WHERE id = (SELECT MAX(id) FROM license)",
        "DELETE FROM license WHERE id > (SELECT MAX(id) FROM license) - 15",
        "DELETE FROM license WHERE id % 11 = 5",
        "UPDATE license SET id = id + 1 WHERE id = (SELECT MAX(id) FROM license)",
        "UPDATE license SET id = -id WHERE id % 9 = 4 AND -id NOT IN (SELECT id FROM license)",
        "UPDATE license SET id = -id WHERE id = (SELECT MAX(id) FROM license) AND -id NOT IN (SELECT id FROM license)",
        "UPDATE license SET key_hash = randomblob(16) WHERE id % 7 = 3",
    };
    elsewhere(what[draw(7)]);
}

/* A row that another program adds at the end, whether ids were used in vain before or not. */
static void add_elsewhere(void)
{
    char sql[256], text[2 * LICENSE_HASH_BYTES + 1];
    const uint8_t *hash = new_hash();
    for (int i = 0; i < LICENSE_HASH_BYTES; i++) snprintf(text + 2 * i, 3, "%02x", hash[i]);
    snprintf(sql, sizeof sql,
             "INSERT INTO license (sealed_key, key_hash, product_id, account_id, created_at) VALUES"
             " (x'%s', x'%s', 1, 1, 1)",
             text, text);
    elsewhere(sql);
}

static enum err check_keys(struct db *db)
{
    struct check_result *results;
    size_t count, seen = 0;
    assert_int_equal(check_run(db, &results, &count), OK);
    for (size_t i = 0; i < count; i++) {
        if (!strstr(results[i].name, "license_key")) continue;
        seen++;
        assert_false(results[i].is_broken);
    }
    assert_int_equal(seen, db_is_postgres(db) ? 0 : 2);
    return OK;
}

static enum err nothing(struct db *db)
{
    (void)db;
    return OK;
}

static void happen(void)
{
    int what = draw(12);
    if (what < 4) assert_int_equal(store_tx(TX_WRITE, add_some), OK);
    if (what == 4) assert_int_equal(store_tx(TX_WRITE, add_some_and_fail), ERR_CONFLICT);
    if (what == 5 || what == 6) assert_int_equal(store_tx(TX_WRITE, filing_open), OK);
    if (what == 7) assert_int_equal(store_tx(TX_WRITE, file_and_fail), ERR_CONFLICT);
    if (what == 8) assert_int_equal(store_tx(TX_WRITE, replace_one), OK);
    if (what == 9 && draw(4) == 0) store_reopen();
    if (what == 10 && !is_postgres()) change_elsewhere();
    if (what == 11 && !is_postgres()) add_elsewhere();
    if (what >= 10 && draw(2)) assert_int_equal(store_tx(TX_WRITE, nothing), OK); /* which notices that */
}

static void test_a_key_has_the_licence_of_the_table(void **state)
{
    (void)state;
    for (uint32_t with = 1; with <= 3; with++) {
        start(with);
        for (int round = 0; round < 100; round++) {
            happen();
            assert_int_equal(store_tx(draw(3) ? TX_READ : TX_WRITE, some_are_right), OK);
            arena_done(&store_arena);
        }
        assert_int_equal(store_tx(TX_READ, check_keys), OK);
    }
}

/* In a program that has not read them: rows are looked through. */
static void test_a_program_that_only_reads(void **state)
{
    (void)state;
    start(5);
    assert_int_equal(store_tx(TX_WRITE, add_some), OK);
    assert_int_equal(store_tx(TX_WRITE, filing_open), OK);
    assert_int_equal(store_tx(TX_WRITE, add_some), OK);
    store_reopen();
    assert_int_equal(store_tx(TX_READ, some_are_right), OK);
}

/* The last number is given again: it must not count as filed. */
static void test_a_number_that_is_given_again(void **state)
{
    static const char *const ways[] = {
        "UPDATE license SET id = -id WHERE id = (SELECT MAX(id) FROM license)",
        "DELETE FROM license WHERE id = (SELECT MAX(id) FROM license)",
    };
    (void)state;
    start(7);
    assert_int_equal(store_tx(TX_WRITE, add_plainly), OK);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(store_tx(TX_WRITE, filing_open), OK);
        elsewhere(ways[i]);
        assert_int_equal(store_tx(TX_WRITE, add_plainly), OK);
        store_reopen();
        assert_int_equal(store_tx(TX_READ, some_are_right), OK);
        assert_int_equal(store_tx(TX_READ, check_keys), OK);
    }
}

#define MANY "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 26000)"
#define ADD_MANY                                                                                                       \
    MANY " INSERT INTO license (sealed_key, key_hash, product_id, account_id, created_at)"                             \
         " SELECT x'00', randomblob(16), 1, 1, 1 FROM n"

static enum err all_are_found(struct db *db)
{
    static const char rows[] = "SELECT id, key_hash FROM license WHERE id % 97 = $1";
    static int next;
    struct stmt *st = db_prepare(db, rows);
    bind_int(st, next++ % 97);
    while (db_step(st)) {
        uint8_t hash[LICENSE_HASH_BYTES];
        Id row = col_id(st), id;
        bool found;
        assert_true(col_blob_exact(st, hash, sizeof hash));
        assert_int_equal(license_index_find(db, hash, &found, &id), OK);
        assert_true(found && id_eq(id, row));
    }
    assert_int_equal(db_done(st), OK);
    return some_are_right(db);
}

static enum err file_if_worth_it(struct db *db)
{
    return filing_step(db, 1);
}

static int64_t mark(void)
{
    return test_number(store.d, "SELECT up_to FROM filing WHERE list = 'license_key'");
}

static bool is_in_slices(void)
{
    return test_number(store.d, "SELECT until > up_to FROM filing WHERE list = 'license_key'");
}

/* Few are left in memory, many are filed bit by bit. */
static void test_many_are_filed_in_slices(void **state)
{
    (void)state;
    start(6);
    looks = 3;
    assert_int_equal(store_tx(TX_WRITE, add_some), OK);
    for (int i = 0; i < 3; i++) assert_int_equal(store_tx(TX_READ, file_if_worth_it), OK);
    assert_int_equal(mark(), 0);
#ifdef WITH_TSAN
    enum { ROUNDS = 1 }; /* no thread meets another here */
#else
    enum { ROUNDS = 2 };
#endif
    for (int round = 1; round <= ROUNDS; round++) {
        int slices = 0;
        elsewhere(ADD_MANY);
        for (int step = 0; mark() < (int64_t)round * 26000; step++) {
            assert_true(step < 60);
            assert_int_equal(store_tx(TX_READ, file_if_worth_it), OK);
            slices += is_in_slices();
            assert_int_equal(store_tx(TX_WRITE, add_some), OK); /* memory is read, or reading would take long */
            assert_int_equal(store_tx(step % 2 ? TX_READ : TX_WRITE, all_are_found), OK);
            arena_done(&store_arena);
        }
        assert_true(slices > 0);
    }
    assert_int_equal(store_tx(TX_READ, check_keys), OK);
}

/* What happens while a reader stays in its snapshot: twice as much is filed as memory keeps of what is. */
static void *go_on(void *arg)
{
    static const store_body steps[] = {filing_open, add_some, some_are_right};
    for (size_t i = 0; i < 6; i++) {
        store_body body = steps[i % 3];
        if (i % 3 == 0) elsewhere(ADD_MANY);
        if (tx_call(store.d, TX_WRITE, store_run, &body, arg) != OK) return arg;
    }
    return NULL;
}

/* By this process, so that memory has them all. */
static enum err add_unnoted(struct db *db)
{
    for (int i = 0; i < 26000; i++) {
        new_hash();
        add_hash(db, hashes[--hash_count]);
        begun_with += 16; /* another one */
    }
    return OK;
}

/* The first of the rows that a reader sees are filed, and memory forgets them to have room for others. */
static void *file_and_add(void *arg)
{
    static const store_body steps[] = {filing_open, add_unnoted};
    for (size_t i = 0; i < 2; i++) {
        store_body body = steps[i];
        if (tx_call(store.d, TX_WRITE, store_run, &body, arg) != OK) return arg;
    }
    return NULL;
}

static enum err read_beside(struct db *db, void *(*what)(void *arena))
{
    struct arena a = {0};
    pthread_t thread;
    void *failed;
    assert_int_equal(some_are_right(db), OK);
    assert_int_equal(pthread_create(&thread, NULL, what, &a), 0);
    assert_int_equal(pthread_join(thread, &failed), 0);
    arena_done(&a);
    assert_null(failed);
    return some_are_right(db);
}

static enum err read_while_others_add(struct db *db)
{
    return read_beside(db, go_on);
}

static enum err read_while_all_is_filed(struct db *db)
{
    return read_beside(db, file_and_add);
}

static void test_a_snapshot_that_is_older_than_memory(void **state)
{
    (void)state;
    start(8);
    looks = 3;
    assert_int_equal(store_tx(TX_WRITE, add_some), OK);
    assert_int_equal(store_tx(TX_WRITE, filing_open), OK);
    assert_int_equal(store_tx(TX_WRITE, add_some), OK);
    assert_int_equal(store_tx(TX_READ, read_while_others_add), OK);
    assert_int_equal(store_tx(TX_READ, some_are_right), OK);
}

static void test_a_snapshot_that_memory_has_in_part(void **state)
{
    (void)state;
    start(11);
    looks = 3;
    assert_int_equal(store_tx(TX_WRITE, add_some), OK);
    assert_int_equal(store_tx(TX_WRITE, add_unnoted), OK);
    assert_int_equal(store_tx(TX_READ, read_while_all_is_filed), OK);
    assert_int_equal(store_tx(TX_READ, some_are_right), OK);
}

/* Threads that look while rows are added, undone and filed, and another program commits. */
#define LOOKERS 3

static _Atomic bool is_over;
static uint8_t known[64][LICENSE_HASH_BYTES];

struct looker {
    pthread_t thread;
    struct arena arena;
    size_t n, wrong;
};

static enum err look_for_one(void *arg, struct db *db)
{
    struct looker *l = arg;
    if (!is_right(db, known[l->n % 64])) l->wrong++;
    return OK;
}

static void *look_all_the_time(void *arg)
{
    struct looker *l = arg;
    for (; !atomic_load(&is_over); l->n++) {
        if (tx_call(store.d, TX_READ, look_for_one, l, &l->arena) != OK) l->wrong++;
        arena_done(&l->arena);
    }
    return NULL;
}

static void test_looks_beside_the_writer(void **state)
{
    (void)state;
    struct looker lookers[LOOKERS] = {0};
    start(10);
    for (int i = 0; i < 64; i++) memcpy(known[i], new_hash(), LICENSE_HASH_BYTES);
    start(10); /* the first that are added */
    atomic_store(&is_over, false);
    for (int i = 0; i < LOOKERS; i++)
        assert_int_equal(pthread_create(&lookers[i].thread, NULL, look_all_the_time, &lookers[i]), 0);
    for (int round = 0; round < 60; round++) {
        assert_int_equal(store_tx(TX_WRITE, add_plainly), OK);
        if (round % 5 == 4) assert_int_equal(store_tx(TX_WRITE, add_some_and_fail), ERR_CONFLICT);
        if (round % 9 == 0) assert_int_equal(store_tx(TX_WRITE, filing_open), OK);
        if (round % 20 == 0) elsewhere("UPDATE revision SET number = number");
        arena_done(&store_arena);
    }
    atomic_store(&is_over, true);
    for (int i = 0; i < LOOKERS; i++) {
        pthread_join(lookers[i].thread, NULL);
        assert_true(lookers[i].n > 0);
        assert_int_equal(lookers[i].wrong, 0);
    }
    assert_int_equal(store_tx(TX_READ, all_are_found), OK);
}

#define ON_SQLITE(f)                                                                                                   \
    {                                                                                                                  \
        "sqlite " #f, f, store_open_sqlite, store_close, NULL                                                          \
    }

int main(void)
{
    static const struct CMUnitTest tests[] = {
        ON_BOTH(test_a_key_has_the_licence_of_the_table),
        ON_SQLITE(test_a_program_that_only_reads),
        ON_SQLITE(test_a_number_that_is_given_again),
        ON_SQLITE(test_many_are_filed_in_slices),
        ON_SQLITE(test_a_snapshot_that_is_older_than_memory),
        ON_SQLITE(test_a_snapshot_that_memory_has_in_part),
        ON_SQLITE(test_looks_beside_the_writer),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
