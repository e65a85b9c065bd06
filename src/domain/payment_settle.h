/* domain/payment_settle.h - what becomes of money that has arrived.
 *
 * Money pays for its order, or goes into the wallet. When it is late, too little or too much, the gateway's settings
 * decide: accepted, credited to the wallet, given back, or left to a person. `p` is locked; the order is locked after
 * it. TX_WRITE. */
#pragma once

#include "domain/gateway_config.h"
#include "domain/payment.h"
#include "domain/review.h"

struct settlement {
    bool needs_review;
    enum review_kind kind;
    const char *reason; /* what was done, or why a person has to look */
};

/* has_news: more has arrived than we knew of. */
enum err payment_settle(struct db *db, const struct gateway_config *gateway, struct payment *p, bool has_news, Time now,
                        struct settlement *ret);

/* Confirms the order with whatever waits: a shortfall is the store's loss, a surplus is credited to the wallet. Errors
 * as order_confirm; ERR_COUPON_… when the order's coupon was given back and others have used it since. */
enum err payment_sell(struct db *db, struct payment *p, Time now, bool *ret_changed);

/* The payment has brought all its money. */
enum err payment_mark_succeeded(struct db *db, struct payment *p, Time now);
