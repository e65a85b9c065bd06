/* domain/key_pages.h - the Idempotency-Keys of SQLite, written down a page at a time, so that a server that starts can
 * read them without reading all answers.
 *
 * A page has what memory needs of some thousand rows (domain/key_index.h): the beginning of the hash and the row's
 * number. It covers the rows from its first to its last; rows that no page covers are read themselves. As memory, a
 * page may know too much: rows that were undone or forgotten. A page never reaches beyond the last row of the table (a
 * trigger sees to that), or a number that is given again would count as covered.
 *
 * The writer's alone. */
#pragma once

#include "db/db.h"

struct key_place {
    uint64_t hash;
    int64_t row;
};

/* Tells of all rows, from the first to the last, some of them twice. */
typedef enum err key_taker(void *arg, struct key_place place);
enum err key_pages_read(struct db *db, key_taker *take, void *arg);
/* A row was just added, the last one of the table. Now and then this writes a page. */
enum err key_pages_note(struct db *db, struct key_place place);
/* Rows before `oldest` are gone. */
enum err key_pages_expire(struct db *db, Id oldest);
