/* domain/import_row.h - one row of an import: products, variants, customers, licences, serial codes, balances of
 * wallets.
 *
 * A row that is there already changes nothing, so that an import can be repeated: products are known by their reference
 * or slug, variants by product and name, customers by address, licences by key, codes by product, balances by
 * reference. A reference is the row's name in the system that it comes from; what it became is kept. */
#pragma once

#include "db/db.h"

enum import_kind {
    IMPORT_PRODUCTS,
    IMPORT_VARIANTS,
    IMPORT_CUSTOMERS,
    IMPORT_LICENSES,
    IMPORT_SERIALS,
    IMPORT_WALLETS,
    IMPORT_KIND_COUNT
};
extern const char *const import_kind_names[];

enum import_column {
    COLUMN_REF,
    COLUMN_SLUG,
    COLUMN_NAME,
    COLUMN_DESCRIPTION,
    COLUMN_PRICE,
    COLUMN_DELIVERY_TYPE,
    COLUMN_ACTIVE,
    COLUMN_POSITION,
    COLUMN_LICENSE_DAYS,
    COLUMN_KEY_PREFIX,
    COLUMN_DOWNLOAD_URL,
    COLUMN_DOWNLOAD_LIMIT,
    COLUMN_DOWNLOAD_DAYS,
    COLUMN_PRODUCT,     /* its slug */
    COLUMN_PRODUCT_REF, /* instead of its slug */
    COLUMN_VARIANT,     /* its name */
    COLUMN_DEFAULT,
    COLUMN_EMAIL,
    COLUMN_CUSTOMER_REF, /* instead of the address */
    COLUMN_LANGUAGE,
    COLUMN_VERIFIED,
    COLUMN_KEY,
    COLUMN_STATUS,
    COLUMN_REASON,
    COLUMN_EXPIRES_AT,
    COLUMN_HARDWARE_ID,
    COLUMN_CODE,
    COLUMN_BALANCE,
    COLUMN_CREATED_AT,
    IMPORT_COLUMN_COUNT
};
extern const char *const import_column_names[];

/* Columns of a kind, in the order in which they are exported. */
const enum import_column *import_columns(enum import_kind kind, size_t *ret_count);
bool import_has_column(enum import_kind kind, enum import_column column);

struct import_row {
    Str of[IMPORT_COLUMN_COUNT]; /* trimmed; empty: not given */
};

enum import_end { IMPORT_ADDED, IMPORT_PRESENT };

/* Checks the row; with `is_real` puts it in (TX_WRITE; TX_READ is enough to check). ERR_FIELD_VALUE: *ret_why says in
 * words what is wrong with it. */
enum err import_put(struct db *db, enum import_kind kind, const struct import_row *row, int exponent, bool is_real,
                    Time now, enum import_end *ret, Str *ret_why);
