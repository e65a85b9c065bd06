/* domain/serial.h - pools of serial codes.
 *
 * A code belongs to a product, or to one of its variants (variant 0: fits all of them). It is in the pool until an
 * order item takes it, once and for ever: a refund marks it, it never goes back. */
#pragma once

#include "db/db.h"

#define SERIAL_CODE_MAX 255 /* code points */

struct serial {
    Id id;
    Str code;
};

/* One code of the variant's own pool, else of the shared one, oldest first. ERR_OUT_OF_STOCK, with nothing taken, only
 * when there is truly none: codes that unfinished transactions hold are waited for. TX_WRITE. */
enum err serial_take(struct db *db, Id product, Id variant, Id order_item, Time now, Id *ret_id, Str *ret_code);
/* `count` codes at once, for one order item of several units: all of them or ERR_OUT_OF_STOCK, and then the transaction
 * is to be rolled back. ret has room for count. */
enum err serial_take_many(struct db *db, Id product, Id variant, Id order_item, size_t count, Time now,
                          struct serial *ret);
/* The order was refunded: its codes say so. */
enum err serial_mark_refunded(struct db *db, Id order_item);

/* Valid UTF-8, 1 to SERIAL_CODE_MAX code points, no control characters. */
bool serial_code_is_valid(Str code);
/* Adds codes (valid ones) to a pool. Those that the product has or had already, and repetitions within the list, count
 * as duplicates and are skipped: importing a file twice changes nothing. ERR_NOT_FOUND: no such product or variant of
 * it; ERR_INVALID_STATE: the product delivers something else. TX_WRITE. */
enum err serial_import(struct db *db, Id product, Id variant, const Str *codes, size_t count, int64_t *ret_added,
                       int64_t *ret_duplicates);

/* Pools of one product, or all pools with at most `free_max` codes left (low stock); by product and variant. Only pools
 * that something is sold from: variant 0 counts where there are no variants or where codes are in it. TX_READ. */
struct serial_pool {
    Id product_id, variant_id; /* variant 0: the shared pool */
    Str product_name, variant_name;
    int64_t free, taken, refunded; /* refunded ones are among the taken */
};
enum err serial_pools(struct db *db, Id product, struct serial_pool **ret, size_t *ret_count);
enum err serial_low_stock(struct db *db, int64_t free_max, struct serial_pool **ret, size_t *ret_count);

/* The codes of a product for staff, newest first, with id below `before` (0: all). TX_READ. */
struct serial_row {
    Id id, variant_id, order_item; /* order_item 0: in the pool */
    Str code;
    Time taken_at;
    bool is_refunded;
};
enum err serial_list(struct db *db, Id product, Id before, int64_t limit, struct serial_row **ret, size_t *ret_count);
/* All but the last 4 characters hidden; short codes entirely. */
Str serial_mask(struct arena *a, Str code);
