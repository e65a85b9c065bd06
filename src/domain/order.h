/* domain/order.h - orders: what is bought, paid for and delivered.
 *
 *     pending ──confirm──▶ confirmed ──refund──▶ refunded
 *        │                     ▲
 *      cancel               confirm (the money came after all)
 *        ▼                     │
 *     cancelled ───────────────┘
 *
 * The money, the stock and the delivery of an order move in the transaction that confirms it, or not at all; a
 * confirmed order is delivered, each unit once. An order keeps the names and prices of its time. All functions that
 * change something need TX_WRITE, and after any error the transaction must be rolled back, unless said otherwise.
 *
 * Lock order on PostgreSQL, for everything that touches more than one of them: order, coupon, wallet, serials,
 * licences. */
#pragma once

#include "domain/catalog.h"
#include "domain/coupon.h"
#include "domain/delivery.h"
#include "domain/idempotency.h"

#define ORDER_QUANTITY_MAX 1000 /* units of one line */
#define ORDER_UNITS_MAX 1000    /* units of one order, unless the settings say otherwise */

enum order_status { ORDER_PENDING, ORDER_CONFIRMED, ORDER_CANCELLED, ORDER_REFUNDED };
extern const char *const order_status_names[];

enum order_channel { CHANNEL_API, CHANNEL_CART };
extern const char *const order_channel_names[];

/* Values of paid_with beside the labels of gateways. */
#define PAID_WITH_WALLET "wallet"
#define PAID_WITH_NOTHING "free"
#define PAID_BY_HAND "manual"

struct order_item {
    Id id, order_id, product_id, variant_id;
    Str name, variant_name;
    enum delivery_type delivery_type;
    int64_t quantity;
    Money unit_price, subtotal;
    struct delivery *deliveries; /* confirmed and later; order_list leaves them out */
    size_t delivery_count;
};

struct order {
    Id id, account_id;
    Str email; /* filled in by the functions that read */
    enum order_status status;
    enum order_channel channel;
    Str paid_with; /* empty while pending */
    Money subtotal, discount, total, refunded_amount;
    Str coupon_code;
    bool on_hold;
    Time created_at, confirmed_at, closed_at;
    Time reserved_until; /* until when serial codes are reserved for it; 0: they are not */
    struct order_item *items;
    size_t item_count;
};

/* What the customer buys. */
struct order_line {
    struct offer offer;
    Money unit_price; /* the offer's price, or the one kept in a cart */
    int64_t quantity; /* 1 … ORDER_QUANTITY_MAX */
};

struct order_draft {
    Id account;
    enum order_channel channel;
    const struct order_line *lines;
    size_t line_count;
    const struct coupon *coupon;   /* NULL: none */
    int64_t units_max;             /* of all lines together; 0: ORDER_UNITS_MAX */
    const struct idempotency *key; /* order_place on SQLite: kept in the order's row. NULL: it is kept elsewhere */
    /* Serial codes are reserved while the order waits: how long (0: not at all), and how many for one customer. */
    int64_t reserve_minutes, reserve_max;
};

/* Set with ERR_INSUFFICIENT_BALANCE, for the answer to the customer. */
struct order_shortfall {
    Money required, available;
};

/* The whole order, from price to delivery, paid from the wallet. An order of CHANNEL_API may use the account's post-pay
 * credit. A total of 0 needs no wallet. ERR_FIELD_RANGE: the sum does not fit; ERR_TOO_MANY_UNITS; ERR_COUPON_…;
 * ERR_INSUFFICIENT_BALANCE, with *ret_short set; ERR_OUT_OF_STOCK. */
enum err order_place(struct db *db, const struct order_draft *draft, Time now, struct order *ret,
                     struct order_shortfall *ret_short);

/* An order that waits for its payment: coupon redeemed, nothing delivered. An order that could not be delivered now is
 * refused (ERR_OUT_OF_STOCK); serial codes are kept as the draft says. ERR_FIELD_RANGE, ERR_COUPON_…. */
enum err order_create(struct db *db, const struct order_draft *draft, Time now, struct order *ret);

/* The payment has arrived: moves it to sales and delivers. `paid_with` is a gateway's label, PAID_BY_HAND or
 * PAID_WITH_WALLET (then ERR_INSUFFICIENT_BALANCE, and the transaction must be rolled back). A second call finds it
 * done: OK with *ret_changed false. A cancelled order is confirmed too. ERR_NOT_FOUND. Nothing is changed by
 * ERR_INVALID_STATE (it was refunded) and ERR_OUT_OF_STOCK (it cannot be delivered now; confirm it again when it can).
 * ERR_UNAVAILABLE: another order took the last unit in the meantime; run the whole transaction again. */
enum err order_confirm(struct db *db, Id order, Str paid_with, Time now, bool *ret_changed);

/* The payment failed or the buyer gave up; gives the coupon back as order_release_coupon does. `by`: who cancelled it;
 * 0: it follows from its payment. Cancelling twice: *ret_changed false. Nothing is changed by ERR_NOT_FOUND and
 * ERR_INVALID_STATE (confirmed or refunded: a failure never undoes a confirmation). */
enum err order_cancel(struct db *db, Id order, Id by, Time now, bool *ret_changed);
/* Gives the coupon of a cancelled order back, once the order can no longer be paid. */
enum err order_release_coupon(struct db *db, Id order, Time now);
/* Reads an order, without items, and locks it until the transaction ends. ERR_NOT_FOUND. */
enum err order_lock(struct db *db, Id order, struct order *ret);

/* Gives money back where it came from (wallet; else the account that the payment came through), until `refunded_total`
 * has been given back in all; never more than was paid. When everything has gone back, the order is refunded and its
 * deliveries are closed. *ret_refunded is what this call gave; 0: it had already been given. Nothing is changed by
 * ERR_NOT_FOUND and ERR_INVALID_STATE (it was never confirmed). */
enum err order_refund(struct db *db, Id order, Money refunded_total, Time now, Money *ret_refunded);

/* A dispute at the gateway: licences count as revoked and downloads are closed until it ends. ERR_NOT_FOUND. */
enum err order_set_hold(struct db *db, Id order, bool on_hold, Time now);

/* With items and deliveries. Only this account's orders; account 0: any. ERR_NOT_FOUND. */
enum err order_find(struct db *db, Id account, Id order, struct order *ret);
/* With items, without deliveries; newest first, ids below `before` (0: all). */
enum err order_list(struct db *db, Id account, Id before, int64_t limit, struct order **ret, size_t *ret_count);
