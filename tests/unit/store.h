/* tests/unit/store.h - a migrated store with a few people in it, for the tests of domain/, on both engines. */
#pragma once

#include "database.h"

#include "db/migrate.h"

static struct test_database store;
static struct arena store_arena;
static Id ada, bob, staff; /* two customers, the second without a name; a member of staff without a name */

typedef enum err (*store_body)(struct db *db);

static enum err store_run(void *arg, struct db *db)
{
    return (*(store_body *)arg)(db);
}

/* Runs `body` in a transaction of its own and gives how it ended. What it reads lives in store_arena. */
static inline enum err store_tx(enum tx_mode mode, store_body body)
{
    return tx_call(store.d, mode, store_run, &body, &store_arena);
}

static inline Id store_account(struct db *db, const char *email, const char *name, const char *role)
{
    static const char insert[] =
        "INSERT INTO account (email, name, role, created_at) VALUES ($1, $2, $3, 1) RETURNING id";
    struct stmt *st = db_prepare(db, insert);
    bind_text(st, str_from(email));
    bind_text(st, str_from(name));
    bind_text(st, str_from(role));
    Id id = db_step(st) ? col_id(st) : (Id){0};
    assert_int_equal(db_done(st), OK);
    return id;
}

static inline Id store_product(struct db *db, const char *slug, const char *type, int64_t price)
{
    static const char insert[] =
        "INSERT INTO product (slug, name, price, delivery_type, is_active, created_at, updated_at)"
        " VALUES ($1, $1, $2, $3, 1, 1, 1) RETURNING id";
    struct stmt *st = db_prepare(db, insert);
    bind_text(st, str_from(slug));
    bind_int(st, price);
    bind_text(st, str_from(type));
    Id id = db_step(st) ? col_id(st) : (Id){0};
    assert_int_equal(db_done(st), OK);
    return id;
}

static enum err store_people(struct db *db)
{
    ada = store_account(db, "ada@example.com", "Ada", "customer");
    bob = store_account(db, "bob@example.com", "", "customer");
    staff = store_account(db, "staff@example.com", "", "staff");
    return OK;
}

/* A schema takes ten times as long to make as to copy: SOUK_TEST_PG_STORE names a database that has it,
 * SOUK_TEST_SQLITE_STORE a file. */
static inline int store_open(bool sqlite)
{
    char why[512] = "";
    int applied;
    const char *made = getenv(sqlite ? "SOUK_TEST_SQLITE_STORE" : "SOUK_TEST_PG_STORE");
    struct database_options few = {.workers = 4};
    test_database_open_copy(&store, sqlite, few, made && *made ? made : NULL);
    if (migrate_up(store.d, &applied, why, sizeof why) != OK) fail_msg("%s", why);
    return store_tx(TX_WRITE, store_people) != OK;
}

static inline int store_open_sqlite(void **state)
{
    (void)state;
    return store_open(true);
}

static inline int store_open_postgres(void **state)
{
    (void)state;
    return store_open(false);
}

/* As if the program had been started again. */
static inline void store_reopen(void)
{
    char why[512] = "";
    struct database_options o = {.url = store.url, .workers = 4};
    database_close(store.d);
    if (database_open(&o, &store.d, why, sizeof why) != OK) fail_msg("%s", why);
}

static int store_close(void **state)
{
    (void)state;
    test_database_close(&store);
    arena_done(&store_arena);
    return 0;
}

/* SOUK_UNIT_STORES: the one engine on which the tests of ON_BOTH run, sqlite or postgres. */
__attribute__((constructor)) static void store_engine(void)
{
    const char *only = getenv("SOUK_UNIT_STORES");
    if (only && *only) cmocka_set_skip_filter(strcmp(only, "sqlite") == 0 ? "postgres *" : "sqlite *");
}

/* Two rows of a test table. */
#define ON_BOTH(f)                                                                                                     \
    {"sqlite " #f, f, store_open_sqlite, store_close, NULL},                                                           \
    {                                                                                                                  \
        "postgres " #f, f, store_open_postgres, store_close, NULL                                                      \
    }
