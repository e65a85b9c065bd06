/* domain/key_pages.h - the Idempotency-Keys of SQLite, written down a page at a time, so that a server that starts can
 * read them without reading all rows: those that have a row of their own, and those of orders (domain/key_index.h).
 *
 * A page has what memory needs of some thousand rows: the beginning of the hash and the row's number. It covers the
 * rows from its first to its last; rows that no page covers are read themselves. As memory, a page may know too much:
 * rows that were undone or forgotten. A page never reaches beyond the last row of the table, or a number that is given
 * again would count as covered: keys' rows are deleted, and a trigger sees to that; orders are not.
 *
 * The writer's alone. */
#pragma once

#include "db/db.h"

struct key_place {
    uint64_t hash;
    int64_t row;
};

enum key_pages { PAGES_OF_REQUESTS, PAGES_OF_ORDERS, PAGED_LISTS };

/* Tells of all rows with a key, from the first to the last, some of them twice. */
typedef enum err key_taker(void *arg, struct key_place place);
enum err key_pages_read(struct db *db, enum key_pages which, key_taker *take, void *arg);
/* A row was just added, the last one of the table. Now and then this writes a page. */
enum err key_pages_note(struct db *db, enum key_pages which, struct key_place place);
/* The same of an order without a key: a page also says where none are. */
enum err key_pages_pass(struct db *db, Id order);
/* Rows of requests before `oldest` are gone. */
enum err key_pages_expire(struct db *db, Id oldest);
/* The last order of the first page that was written before `until`, and is not empty yet; 0: there is none. TX_READ. */
enum err key_pages_oldest(struct db *db, Time until, Id *ret);
/* Keys of the orders up to that one are not wanted any more. */
enum err key_pages_empty(struct db *db, Id last);
