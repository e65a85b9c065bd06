/* db/rows.h - the result of a statement as structs: one row, or a list of them.
 *
 * A noun says how its row is read, once; the compiler checks that the reader and the result are of one type:
 *
 *     static void read_row(struct stmt *st, struct dispute *d) { d->id = col_id(st); … }
 *     DB_READER(read_row);
 *     … return db_row(st, read_row, ret);
 */
#pragma once

#include "db/db.h"

#define DB_READER(read)                                                                                                \
    static void read##_untyped(struct stmt *st, void *row)                                                             \
    {                                                                                                                  \
        read(st, row);                                                                                                 \
    }                                                                                                                  \
    struct stmt /* the semicolon ends a declaration */
typedef void db_reader(struct stmt *st, void *row);

/* Reads the first row into *ret, zeroed before, and ends the statement. ERR_NOT_FOUND without a row; *ret is untouched
 * unless OK is returned. */
#define db_row(st, read, ret)                                                                                          \
    ((void)sizeof((read((st), (ret)), 0)), db_row_untyped((st), read##_untyped, sizeof *(ret), (ret)))
#define ROWS_ALL (-1)
/* Reads the rows, at most `limit` or ROWS_ALL, into an array in db_arena(), and ends the statement. */
#define db_rows(st, read, limit, ret, ret_count)                                                                       \
    ((void)sizeof((read((st), *(ret)), 0)),                                                                            \
     db_rows_untyped((st), read##_untyped, sizeof **(ret), (limit), (ret), (ret_count)))

enum err db_row_untyped(struct stmt *st, db_reader *read, size_t bytes, void *ret);
/* `ret` is where the pointer to the array goes. */
enum err db_rows_untyped(struct stmt *st, db_reader *read, size_t bytes, int64_t limit, void *ret, size_t *ret_count);
