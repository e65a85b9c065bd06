/* domain/coupon.h - discounts.
 *
 * A coupon is checked against lines (whatever is to be bought: a cart's or one order's), and redeemed in the
 * transaction that makes the order. One answer for unknown, disabled, not started and expired: codes can not be probed.
 */
#pragma once

#include "db/db.h"

enum coupon_kind { COUPON_PERCENT, COUPON_FIXED };

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
    int64_t uses;
    Time created_at;
    int64_t version;
};

struct coupon_line {
    Id product_id;
    Money subtotal;
};

/* ASCII letters, digits, '-', '_', 1 to 64; *ret is upper-case. False: no coupon can have this code. */
bool coupon_code_normalise(struct arena *a, Str code, Str *ret);

/* ERR_COUPON_INVALID when no coupon has this code. */
enum err coupon_find_code(struct db *db, Str code, struct coupon *ret);
enum err coupon_find(struct db *db, Id id, struct coupon *ret);

/* May this customer use it now on these lines, and what does it take off? ERR_COUPON_INVALID, _EXHAUSTED,
 * _NOT_APPLICABLE, _MIN_TOTAL, _USED. The discount is computed on the lines it applies to, rounded half up, never more
 * than they come to. TX_READ is enough. */
enum err coupon_evaluate(struct db *db, const struct coupon *c, Id account, const struct coupon_line *lines,
                         size_t count, Time now, Money *ret_discount);

/* Counts one use for this order, guarded by both limits: of any number of concurrent callers no more succeed than the
 * limits allow. ERR_COUPON_EXHAUSTED or ERR_COUPON_USED, with the transaction to be rolled back. TX_WRITE. */
enum err coupon_redeem(struct db *db, const struct coupon *c, Id account, Id order, Time now);
/* The order was cancelled: gives the use back, once. */
enum err coupon_release(struct db *db, Id order, Time now);
/* The order was confirmed after all: takes the use again if the limits allow it. */
enum err coupon_reclaim(struct db *db, Id order, Time now);
