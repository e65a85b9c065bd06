/* domain/review.h - what waits for a person: money that could not be matched, a refund that failed, a dispute.
 *
 * A review is opened in the transaction that made it necessary, once for each subject, and is settled once: by a member
 * of staff (domain/payment_desk.h), or by later events. Staff are told when one is opened. */
#pragma once

#include "db/db.h"

enum review_kind {
    REVIEW_UNMATCHED,      /* an event that fits no payment, or cannot be believed */
    REVIEW_AMOUNT,         /* too little, too much, another currency */
    REVIEW_LATE,           /* paid when the order had given its coupon back, or was no longer waiting */
    REVIEW_STOCK,          /* paid, but it cannot be delivered */
    REVIEW_REFUND_FAILED,  /* the gateway did not give the money back */
    REVIEW_DISPUTE,        /* open at the gateway */
    REVIEW_DUPLICATE,      /* the order was paid another way */
    REVIEW_RECONCILIATION, /* the gateway's books and ours differ */
};
extern const char *const review_kind_names[];
/* About money that waits: they have nothing to say once none does. A mask of 1 << kind. */
#define REVIEW_ABOUT_MONEY (1u << REVIEW_AMOUNT | 1u << REVIEW_LATE | 1u << REVIEW_STOCK | 1u << REVIEW_DUPLICATE)

enum review_status { REVIEW_OPEN, REVIEW_SETTLED };
extern const char *const review_status_names[];

/* The actions. `none`: later events settled it. */
enum review_action {
    REVIEW_CONFIRM,
    REVIEW_REFUND,
    REVIEW_CREDIT,
    REVIEW_CANCEL,
    REVIEW_SETTLE,
    REVIEW_ACTION_COUNT,
};
extern const char *const review_action_names[];

struct review {
    Id id;
    enum review_kind kind;
    enum review_status status;
    Id payment_id, order_id, event_id, refund_id, dispute_id, account_id; /* 0: none */
    Str email;                                                            /* of the customer; filled in by reading */
    Str gateway_label;
    Str currency; /* of the amount */
    Money amount; /* that it is about; 0: not known */
    Str reason;   /* what happened, for people */
    Time due_at;  /* 0: none */
    Time created_at, settled_at;
    Str action; /* what was done; empty while open */
    Str note;
    Id settled_by; /* 0: nobody, it settled itself */
};

/* Of `want` kind, the ids, amount, currency, reason and due_at are read. An open review of the same subject is updated
 * instead, and staff are not told again. TX_WRITE. */
enum err review_open(struct db *db, const struct review *want, Time now, Id *ret);

/* Settles an open review. ERR_INVALID_STATE: it is no longer open. */
enum err review_settle(struct db *db, Id id, Str action, Str note, Id by, Time now);
/* Later events have settled them: all open reviews of a payment of these kinds (a mask of 1 << kind). */
enum err review_settle_payment(struct db *db, Id payment, unsigned kinds, Str note, Time now);
enum err review_settle_event(struct db *db, Id event, Str note, Time now);
enum err review_settle_refund(struct db *db, Id refund, Str note, Time now);
enum err review_settle_dispute(struct db *db, Id dispute, Str note, Time now);

/* ERR_NOT_FOUND. TX_READ is enough. */
enum err review_find(struct db *db, Id id, struct review *ret);
struct review_filter {
    bool has_status, has_kind;
    enum review_status status;
    enum review_kind kind;
};
/* Newest first, ids below `before` (0: all). */
enum err review_list(struct db *db, const struct review_filter *filter, Id before, int64_t limit, struct review **ret,
                     size_t *ret_count);
