/* tests/unit/key_rows.h - whether memory has the keys of rows (domain/key_index.h), and what `souk check` says of their
 * pages. */
#pragma once

#include "store.h"

#include "domain/invariant.h"
#include "domain/key_index.h"

/* Each row that the statement finds, by its id and key_hash; gives how many. */
static inline int64_t key_rows_are_known(struct db *db, struct stmt *st, enum key_index which)
{
    int64_t known = 0;
    while (db_step(st)) {
        uint8_t hash[KEY_HASH_BYTES];
        Id row = col_id(st), *rows;
        size_t count;
        bool found = false;
        assert_true(col_blob_exact(st, hash, sizeof hash));
        assert_int_equal(key_index_find(db, which, hash, &rows, &count), OK);
        for (size_t i = 0; i < count; i++) found |= id_eq(rows[i], row);
        assert_true(found);
        known++;
    }
    assert_int_equal(db_done(st), OK);
    return known;
}

static const char *key_rows_check;

static enum err key_rows_find_broken(struct db *db)
{
    struct check_result *results;
    size_t count, seen = 0;
    enum err found = OK;
    assert_int_equal(check_run(db, &results, &count), OK);
    for (size_t i = 0; i < count; i++) {
        if (strcmp(results[i].name, key_rows_check) != 0) continue;
        seen++;
        if (results[i].is_broken) found = ERR_CONFLICT;
    }
    assert_int_equal(seen, 1);
    return found;
}

/* Whether `souk check` finds this broken. */
static inline bool key_rows_are_broken(const char *check)
{
    key_rows_check = check;
    return store_tx(TX_READ, key_rows_find_broken) != OK;
}
