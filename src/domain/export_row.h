/* domain/export_row.h - the store as rows that `souk import` takes (domain/import_row.h). Keys and codes are in the
 * clear: for the operator alone. TX_READ is enough. */
#pragma once

#include "domain/import_row.h"

/* Rows with an id above `after`, at most `limit`, by id; *ret_last is the id of the last. Memory is db_arena()'s. */
enum err export_page(struct db *db, enum import_kind kind, Id after, int64_t limit, int exponent,
                     struct import_row *ret, size_t *ret_count, Id *ret_last);
