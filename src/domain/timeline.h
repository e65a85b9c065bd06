/* domain/timeline.h - what happened to an order, in order of time.
 *
 * Most entries are read from other tables: when the order was placed and delivered, its payments, refunds, disputes and
 * reviews, and what staff looked at. What those rows do not keep for good (a payment that failed and was paid after
 * all, a refund that was done and came back) is recorded here, in the transaction in which it happens.
 */
#pragma once

#include "domain/order.h"
#include "domain/payment.h"
#include "domain/refund.h"

enum timeline_kind {
    /* read from elsewhere */
    TIMELINE_PLACED,
    TIMELINE_PAYMENT_BEGUN,
    TIMELINE_DELIVERED,
    TIMELINE_REFUND_REQUESTED,
    TIMELINE_DISPUTE_OPENED,
    TIMELINE_DISPUTE_WON,
    TIMELINE_DISPUTE_LOST,
    TIMELINE_DISPUTE_WITHDRAWN,
    TIMELINE_PAYMENT_REVERSED, /* the provider took money back */
    TIMELINE_REVIEW_OPENED,
    TIMELINE_REVIEW_SETTLED,
    TIMELINE_REVEALED, /* staff looked at keys and codes */
    /* written here */
    TIMELINE_PAYMENT_FAILED,  /* an attempt was declined */
    TIMELINE_PAYMENT_REFUSED, /* the gateway would not make the payment */
    TIMELINE_PAYMENT_EXPIRED,
    TIMELINE_PAYMENT_CLOSED, /* no longer wanted */
    TIMELINE_PAYMENT_RECEIVED,
    TIMELINE_PAYMENT_CORRECTED, /* the gateway now reports less money than before */
    TIMELINE_LATE_ACCEPTED,
    TIMELINE_SHORT_ACCEPTED, /* amount: the shortfall */
    TIMELINE_CREDITED,       /* into the wallet */
    TIMELINE_CONFIRMED,      /* by staff */
    TIMELINE_CANCELLED,
    TIMELINE_REFUND_DONE,
    TIMELINE_REFUND_FAILED,
    TIMELINE_REFUND_RETRIED,
    TIMELINE_REFUND_SETTLED, /* outside */
    TIMELINE_NOTE,           /* of staff, for staff */
    TIMELINE_SENT_AGAIN,     /* the order's mail */
    TIMELINE_CODE_REPLACED,
    TIMELINE_KIND_COUNT,
};
extern const char *const timeline_kind_names[];

#define TIMELINE_MAX 300

struct timeline_entry {
    enum timeline_kind kind;
    bool has_amount;
    Money amount;
    Str gateway_label; /* empty: not about a payment */
    Id actor;          /* 0: nobody */
    Str actor_email;
    Str note; /* for staff */
    Time at;
};

/* All of it, oldest first; at most TIMELINE_MAX. TX_READ is enough. */
enum err timeline_list(struct db *db, Id order, struct timeline_entry **ret, size_t *ret_count);

/* What was paid for an order, what went back, and all that happened. */
struct order_history {
    struct payment *payments;
    struct refund *refunds;
    struct timeline_entry *timeline;
    size_t payment_count, refund_count, timeline_count;
};
/* TX_READ is enough. */
enum err order_history_find(struct db *db, Id order, struct order_history *ret);
/* Of an order that was delivered on the spot, as it was then; from what is in hand. */
void order_history_as_placed(struct arena *a, const struct order *o, struct order_history *ret);
/* Whether the customer sees this kind. Reviews are shown, without the staff's notes. */
bool timeline_concerns_customer(enum timeline_kind kind);

/* Writing; TX_WRITE. Nothing is written about top-ups. */
enum err timeline_payment(struct db *db, const struct payment *p, enum timeline_kind kind, Time now);
enum err timeline_money(struct db *db, const struct payment *p, enum timeline_kind kind, Money amount, Str note,
                        Time now);
enum err timeline_refund(struct db *db, const struct refund *r, enum timeline_kind kind, Id by, Str note, Time now);
enum err timeline_note(struct db *db, Id order, Id by, Str note, Time now);
enum err timeline_order(struct db *db, Id order, enum timeline_kind kind, Id by, Time now);
