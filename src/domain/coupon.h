/* domain/coupon.h - discounts.
 *
 * A coupon is checked against lines (a cart's or an order's), and redeemed in the transaction that makes the order.
 * Codes that are unknown, disabled, not yet valid or expired get the same answer, so that codes cannot be probed. */
#pragma once

#include "db/db.h"

#define COUPON_CODE_MAX 64
#define COUPON_PERCENT_MAX 10000 /* 100.00 % */

enum coupon_kind { COUPON_PERCENT, COUPON_FIXED };
extern const char *const coupon_kind_names[];

struct coupon {
    Id id;
    Str code; /* upper-case */
    enum coupon_kind kind;
    int64_t value; /* hundredths of a percent, or minor units */
    Money min_total;
    Time starts_at, expires_at;    /* 0: none */
    int64_t max_uses;              /* 0: no limit */
    int64_t max_uses_per_customer; /* 0: no limit */
    bool is_active;
    int64_t uses; /* read with a coupon by coupon_find_code only where there is a limit over all customers */
    Time created_at;
    int64_t version;
};

struct coupon_line {
    Id product_id;
    Money subtotal;
};

/* ASCII letters, digits, '-', '_', 1 to COUPON_CODE_MAX, surrounding spaces ignored; *ret is upper-case. False: no
 * coupon can have this code. */
bool coupon_code_normalise(struct arena *a, Str code, Str *ret);

/* ERR_COUPON_INVALID when no coupon has this code. */
enum err coupon_find_code(struct db *db, Str code, struct coupon *ret);
/* ERR_NOT_FOUND. */
enum err coupon_find(struct db *db, Id id, struct coupon *ret);
/* The products that the coupon is for, by id; none: all. */
enum err coupon_products(struct db *db, Id coupon, Id **ret, size_t *ret_count);

/* May this customer use the coupon now on these lines, and what is the discount? ERR_COUPON_INVALID, _EXHAUSTED, _USED,
 * _NOT_APPLICABLE, _MIN_TOTAL (all lines together), checked in this order; ERR_FIELD_RANGE when the lines' sum does not
 * fit. A coupon for all products may be used on no lines at all, with a discount of 0. The discount is computed on the
 * lines that the coupon applies to, rounded half up, and never exceeds their sum. TX_READ is enough. */
enum err coupon_evaluate(struct db *db, const struct coupon *c, Id account, const struct coupon_line *lines,
                         size_t count, Time now, Money *ret_discount);

/* The discount on lines that sum to `applicable`, ignoring conditions. False when it does not fit. */
bool coupon_discount(const struct coupon *c, Money applicable, Money *ret);

/* Whether all who redeem the coupon change one row: it has a limit over all customers. */
bool coupon_is_shared(const struct coupon *c);
/* Counts one use, guarded by both limits: of any number of concurrent callers no more succeed than the limits allow.
 * ERR_COUPON_EXHAUSTED or ERR_COUPON_USED: the transaction must be rolled back. TX_WRITE. */
enum err coupon_redeem(struct db *db, const struct coupon *c, Id account);
/* Records which order the use was for, in the same transaction. */
enum err coupon_record(struct db *db, const struct coupon *c, Id account, Id order, Time now);
/* The order was cancelled and can no longer be paid: gives the use back, once. */
enum err coupon_release(struct db *db, Id order, Time now);
/* Whether the order had a coupon and gave it back. TX_READ is enough. */
enum err coupon_is_released(struct db *db, Id order, bool *ret);
/* The order will be confirmed after all: takes the use again. ERR_COUPON_EXHAUSTED or ERR_COUPON_USED: others have used
 * it since; the transaction must be rolled back. */
enum err coupon_reclaim(struct db *db, Id order, Time now);

/* Changes by staff (coupon_admin.c); TX_WRITE. The code is already normalised. products NULL: an update keeps the list.
 * ERR_CODE_TAKEN; ERR_FIELD_NOT_FOUND: no product has such an id; ERR_FIELD_RANGE: max_uses is below the uses so far.
 */
enum err coupon_create(struct db *db, const struct coupon *c, const Id *products, size_t product_count, Time now,
                       struct coupon *ret);
/* c holds the new values and the version that was read. ERR_PRECONDITION_FAILED: the coupon has changed since then;
 * ERR_NOT_FOUND. */
enum err coupon_update(struct db *db, const struct coupon *c, const Id *products, size_t product_count,
                       struct coupon *ret);
/* A coupon that was ever used, or is in a cart, is switched off, any other deleted: a customer who has it in the cart
  is told at checkout, and never pays more without a word. ERR_NOT_FOUND. */
enum err coupon_delete(struct db *db, Id id, bool *ret_deleted);
/* Newest first, with id below `before` (0: all). TX_READ. */
enum err coupon_list(struct db *db, Id before, int64_t limit, struct coupon **ret, size_t *ret_count);
