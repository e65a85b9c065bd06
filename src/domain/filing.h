/* domain/filing.h - whose rows are whose, on SQLite: orders and licences of an account, transfers out of a wallet, and
 * which licence has which key (domain/license_index.h).
 *
 * An index by owner has a scattered page for every row that is added, and an order adds one to each of these lists. So
 * they are filed later, many at once and sorted by owner: rows up to a mark are in tables of their own (orders_filed
 * …), those behind it are few. Who owns those is kept in memory, as far as it has been committed; it is read from the
 * database itself, so that nobody who adds a row has to know of this. A transaction that writes looks at the rows
 * instead, because it may have added some that will be undone.
 *
 * Safe from any thread; one database at a time. PostgreSQL has indexes. */
#pragma once

#include "db/db.h"

struct database;

enum filing { FILING_ORDERS, FILING_LICENSES, FILING_DEBITS, FILING_KEYS, FILINGS };

/* A key is filed under so many bytes of its hash. */
#define KEY_START_BYTES 8

/* So many rows behind a mark are worth filing at once. A list of a million has about 4,000 pages. */
#define FILING_WORTH 24576

/* The end of a SELECT for a page of somebody's rows, newest first, as DB_PAGE. On SQLite $2 are their ids. */
#define FILING_PAGE_SQLITE(owner, key)                                                                                 \
    " WHERE " owner " = $1 AND " key " IN (SELECT value FROM json_each($2)) ORDER BY " key " DESC"
#define FILING_PAGE(db, select, owner, key)                                                                            \
    db_sql((db), select FILING_PAGE_SQLITE(owner, key), select DB_PAGE_POSTGRES(owner, key))

/* The ids of the owner's newest rows below `before`, at most `limit`, newest first: a JSON array in db_arena(db).
 * On PostgreSQL it is empty, and nothing is asked. */
enum err filing_page(struct db *db, enum filing list, Id owner, Id before, int64_t limit, Str *ret_ids);
/* What follows $1 in FILING_PAGE. */
void filing_bind(struct stmt *st, struct db *db, Str ids, Id before, int64_t limit);

/* Files what is behind the mark of the longest list if that is `least` rows or more, a slice of it in each call: one
 * that was begun comes first. In TX_READ it reads into memory what was added, and answers ERR_NEEDS_WRITE when there is
 * such work. Keys wait until there are FILING_WORTH of them, whatever `least` is: fewer would have a page each. */
enum err filing_step(struct db *db, int64_t least);
/* Files what is behind the marks, however little, and at most a million rows of each list. TX_WRITE. */
enum err filing_open(struct db *db);
/* Files everything: before a server begins, so that no list is slow. */
enum err filing_all(struct database *d);
