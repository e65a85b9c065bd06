/* domain/serial.h - pools of serial codes.
 *
 * A code belongs to a product, or to one of its variants (variant 0: fits all of them). It is in the pool until an
 * order item takes it, for good: a refund marks the code but never returns it to the pool. Before that a
 * code may be kept for an item for a while (domain/reservation.h). */
#pragma once

#include "db/tx.h"

#define SERIAL_CODE_MAX 255  /* code points */
#define SERIAL_TAKE_MAX 1000 /* codes at once */

struct serial {
    Id id;
    Str code;
};

/* One code of the variant's own pool, else of the shared one, oldest first; codes that a transaction released, or a
 * slow import added, may be passed over for seconds. ERR_OUT_OF_STOCK, with nothing taken, only when there is truly
 * none: waits for codes that unfinished transactions hold. TX_WRITE. */
enum err serial_take(struct db *db, Id product, Id variant, Id order_item, Time now, Id *ret_id, Str *ret_code);
/* `count` codes at once, for one order item of several units: all of them or ERR_OUT_OF_STOCK, and then the transaction
 * must be rolled back. count: at most SERIAL_TAKE_MAX; ret has room for as many. */
enum err serial_take_many(struct db *db, Id product, Id variant, Id order_item, size_t count, Time now,
                          struct serial *ret);
/* How many codes this one pool has (variant 0: the shared one); counts no further than `most`. TX_READ. */
enum err serial_free(struct db *db, Id product, Id variant, int64_t most, int64_t *ret);
/* Reserves the codes of one order item: out of the pools, not delivered. ERR_OUT_OF_STOCK as above. */
enum err serial_reserve(struct db *db, Id product, Id variant, Id order_item, size_t count, Time now);
/* Takes the codes reserved for an item, at most `most`, for good. */
enum err serial_claim(struct db *db, Id order_item, Time now, size_t most, struct serial *ret, size_t *ret_count);
/* Returns the codes reserved for an order to their pools. */
enum err serial_unreserve(struct db *db, Id order);
/* The buyer has got another code for this one, which stays out of the pool. TX_WRITE. */
enum err serial_mark_replaced(struct db *db, Id serial);
/* The order was refunded: its codes say so. */
enum err serial_mark_refunded(struct db *db, Id order_item);

/* Valid UTF-8, 1 to SERIAL_CODE_MAX code points, no control characters. */
bool serial_code_is_valid(Str code);
/* Adds codes (valid ones) to a pool. Codes that the product has or ever had, and repeated ones in the list, count as
 * duplicates and are skipped: importing a file twice changes nothing. ERR_NOT_FOUND: no such product or variant of it;
 * ERR_INVALID_STATE: the product delivers something else. TX_WRITE. */
enum err serial_import(struct db *db, Id product, Id variant, const Str *codes, size_t count, int64_t *ret_added,
                       int64_t *ret_duplicates);
/* The same for any number of codes, as transactions of SERIAL_SLICE codes each: blocks, as tx_call does. What was added
 * before an error stays, and is counted. */
#define SERIAL_SLICE 1000
enum err serial_import_slices(struct database *d, Id product, Id variant, const Str *codes, size_t count,
                              int64_t *added, int64_t *duplicates);

/* The pools of one product: the shared one (variant 0) first, then one per variant. TX_READ. */
struct serial_pool {
    Id variant_id;
    Str variant_name;
    int64_t free, reserved, taken, refunded; /* refunded ones are among the taken */
};
enum err serial_pools(struct db *db, Id product, struct serial_pool **ret, size_t *ret_count);

/* Products and variants on sale with at most `free_max` codes left, own and shared together; the scarcest first. */
struct serial_shortage {
    Id product_id, variant_id;
    Str product_name, variant_name;
    int64_t free;
};
enum err serial_shortages(struct db *db, int64_t free_max, struct serial_shortage **ret, size_t *ret_count);

/* The codes of a product for staff, newest first, with id below `before` (0: all). TX_READ. */
struct serial_row {
    Id id, variant_id, order_item; /* order_item 0: in the pool */
    Str code;
    Time taken_at;
    bool is_reserved, is_refunded;
};
enum err serial_list(struct db *db, Id product, Id before, int64_t limit, struct serial_row **ret, size_t *ret_count);
