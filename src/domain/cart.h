/* domain/cart.h - one cart per token.
 *
 * One line per (product, variant), in the order they were added; a line has the unit price at which it was last added,
 * and today's after a week. At most CART_LINES_MAX lines of CART_QUANTITY_MAX units; every change leaves a cart whose
 * sums fit, so reading cannot overflow. Every change locks the cart's row first: concurrent callers on one token each
 * see what the one before left.
 *
 * A product that is switched off stays in the carts that have it, and checkout refuses it by name (through
 * catalog_offer): a line that silently disappeared would change the total behind the customer's back. */
#pragma once

#include "db/db.h"
#include "domain/coupon.h"

#define CART_LINES_MAX 100
#define CART_QUANTITY_MAX 1000

struct cart_line {
    Id product_id;
    Id variant_id; /* 0: the product has no variants */
    Str name, slug, variant_name;
    int64_t quantity;
    Money unit_price, subtotal;
};

struct cart {
    struct cart_line *lines;
    size_t count;
    bool has_coupon;
    struct coupon coupon; /* when has_coupon */
    Money subtotal, discount, total;
    bool has_old_price; /* a line has not been touched for a week: cart_read renews its price */
};

/* The cart as it is now. A coupon that can no longer be used is dropped: inside TX_READ that is ERR_NEEDS_WRITE, so
 * that what was shown without the coupon is also bought without it. */
enum err cart_read(struct db *db, Id token, Id account, Time now, struct cart *ret);

/* For checkout: locks the cart and gives it. ERR_CART_EMPTY. A coupon that can no longer be used is coupon_evaluate's
 * error: never a silently higher price. TX_WRITE. */
enum err cart_lock(struct db *db, Id token, Id account, Time now, struct cart *ret);
/* Drops the lines and the coupon. TX_WRITE. */
enum err cart_clear(struct db *db, Id token, Time now);
/* Puts back what an order took that could not be paid for, if the cart is still empty and the token still exists. */
enum err cart_refill(struct db *db, Id token, Id order, Time now);

/* Moves one cart's lines into another, as far as they fit, and empties it. For visitors who log in. TX_WRITE. */
enum err cart_move(struct db *db, Id from, Id to, Time now);

/* The changes; each gives the resulting cart. TX_WRITE; on any error the transaction must be rolled back.
 *
 * Adds units to the line or makes it. catalog_offer's errors (of the variant: ERR_FIELD_…), ERR_LINE_LIMIT past
 * CART_QUANTITY_MAX, ERR_CART_FULL past CART_LINES_MAX, ERR_FIELD_RANGE when the sum would not fit. */
enum err cart_add(struct db *db, Id token, Id account, Id product, Id variant, int64_t quantity, Time now,
                  struct cart *ret);
/* Sets a line's quantity; 0 removes it, and removing a missing line is not an error. catalog_offer's errors when no
 * cart can hold such a line, ERR_NOT_FOUND when this one does not, ERR_FIELD_RANGE. */
enum err cart_set(struct db *db, Id token, Id account, Id product, Id variant, int64_t quantity, Time now,
                  struct cart *ret);
/* Sets the coupon, replacing any other. ERR_COUPON_…: as coupon_evaluate says; the previous coupon stays. */
enum err cart_apply_coupon(struct db *db, Id token, Id account, Str code, Time now, struct cart *ret);
enum err cart_drop_coupon(struct db *db, Id token, Id account, Time now, struct cart *ret);
