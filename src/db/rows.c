/* db/rows.c - see rows.h. */
#include "db/rows.h"

#include <assert.h>
#include <string.h>

#include "db/engine.h"

#define ROWS_FIRST 16 /* room for a list without a limit; doubled as it grows */

enum err db_row_untyped(struct stmt *st, db_reader *read, size_t bytes, void *ret)
{
    struct db *db = st->db;
    void *row = NULL;
    if (db_step(st)) {
        row = arena_alloc(db->arena, bytes);
        read(st, row);
    }
    enum err e = db_done(st);
    if (e) return e;
    if (!row) return ERR_NOT_FOUND;
    memcpy(ret, row, bytes);
    return OK;
}

enum err db_rows_untyped(struct stmt *st, db_reader *read, size_t bytes, int64_t limit, void *ret, size_t *ret_count)
{
    assert(limit >= 0 || limit == ROWS_ALL);
    struct arena *a = st->db->arena;
    bool all = limit == ROWS_ALL;
    size_t cap = all ? ROWS_FIRST : (size_t)limit, count = 0;
    char *rows = arena_calloc(a, cap, bytes);
    while ((all || count < cap) && db_step(st)) {
        if (count == cap) {
            rows = arena_grow(a, rows, cap * bytes, cap * 2 * bytes);
            memset(rows + cap * bytes, 0, cap * bytes);
            cap *= 2;
        }
        read(st, rows + count++ * bytes);
    }
    enum err e = db_done(st);
    if (e) return e;
    memcpy(ret, &rows, sizeof rows);
    *ret_count = count;
    return OK;
}
