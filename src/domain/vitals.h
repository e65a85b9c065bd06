/* domain/vitals.h - the figures by which an operator judges a store: what is open, what flows.
 *
 * Reading them costs the same in a large store as in a small one: counts are taken from indexes of what is open and
 * stop at VITALS_MAX, and what flows is followed row by row from where the last reading ended. TX_READ is enough. */
#pragma once

#include "db/db.h"

#define VITALS_MAX 10000
#define VITALS_KINDS_MAX 32 /* of any one enum */

struct vitals {
    int64_t orders_pending, orders_on_hold, payments_open, refunds_requested, refunds_failed, disputes_open;
    int64_t withdrawals_pending, tickets_open, webhooks_unmatched, webhooks_review;
    Money money_waiting;                      /* arrived, and not yet sold, credited or given back */
    Money money_refunding;                    /* refunds that are requested or have failed */
    Money money_withdrawing;                  /* withdrawals that wait for a decision */
    int64_t reviews_open[VITALS_KINDS_MAX];   /* by enum review_kind */
    int64_t outbox_waiting[VITALS_KINDS_MAX]; /* by enum outbox_kind */
    int64_t outbox_failed[VITALS_KINDS_MAX];
    Time outbox_due;                   /* of the row that is due for longest; 0: none waits */
    Time reconciled_at;                /* of the gateway that was compared longest ago; 0: none was */
    int64_t differences;               /* of all gateways, at their last comparison */
    int64_t unreconciled;              /* gateways whose books could not be read */
    Time backup_made, backup_verified; /* of the newest backup, and of the newest that was proven to be good; 0: none */
};
enum err vitals_read(struct db *db, struct vitals *ret);

/* What happened since following began. */
struct vitals_flow {
    bool has_begun;
    int64_t order, transfer; /* the last ones seen */
    int64_t orders_placed;
    int64_t transfers[VITALS_KINDS_MAX]; /* by enum ledger_kind */
    Money money[VITALS_KINDS_MAX];
};
/* Goes on for at most `limit` rows of each table; the first call only finds where to begin. `flow` is changed as far as
 * it got. Rows are counted a little late, because another connection may commit a lower number after a higher one. */
enum err vitals_follow(struct db *db, Time now, int64_t limit, struct vitals_flow *flow);
