/* domain/refund.h - money on its way back to a customer.
 *
 *     requested ──▶ done
 *         │  ▲
 *         ▼  │ (tried again)
 *       failed ──▶ done (settled outside)
 *
 * A refund through a gateway is booked when the gateway has agreed, never before: domain/payment_refund.h does that.
 * This is the table alone. All functions need TX_WRITE unless said otherwise. */
#pragma once

#include "db/db.h"

enum refund_status { REFUND_REQUESTED, REFUND_DONE, REFUND_FAILED };
extern const char *const refund_status_names[];

#define REFUNDS_LISTED_MAX 100

struct refund {
    Id id;
    Id payment_id; /* 0: the order was not paid through a gateway */
    Id order_id;   /* 0: of a top-up */
    Money amount;
    enum refund_status status;
    Str reason; /* why it is given back; may be empty */
    Str error;  /* why it failed */
    Str note;   /* of staff who settled it outside */
    Str refund_ref, claim_url;
    int64_t tries;   /* how often it was asked for again after a refusal: part of the call's key */
    bool is_outside; /* made at the gateway itself: we never asked for it */
    Id requested_by;
    Time requested_at, done_at;
};

/* Of `want` everything but id is read. */
enum err refund_add(struct db *db, const struct refund *want, Time now, struct refund *ret);
/* Stores status, error, note, refund_ref, claim_url, tries and done_at. */
enum err refund_save(struct db *db, const struct refund *r);

/* ERR_NOT_FOUND. TX_READ is enough for all that read. */
enum err refund_find(struct db *db, Id id, struct refund *ret);
enum err refund_find_ref(struct db *db, Id payment, Str refund_ref, struct refund *ret);
/* Oldest first. */
enum err refund_list_order(struct db *db, Id order, struct refund **ret, size_t *ret_count);
enum err refund_list_payment(struct db *db, Id payment, struct refund **ret, size_t *ret_count);
/* The sum that has been asked for and is not decided. */
enum err refund_sum_requested(struct db *db, Id payment, Money *ret);
