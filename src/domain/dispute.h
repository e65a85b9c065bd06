/* domain/dispute.h - a customer's bank or the provider asks for a payment's money back. Known by its payment and the
 * provider's name for it; opened once, decided once. */
#pragma once

#include "db/db.h"
#include "domain/payment_event.h"

enum dispute_status { DISPUTE_IS_OPEN, DISPUTE_IS_WON, DISPUTE_IS_LOST, DISPUTE_IS_WITHDRAWN };
extern const char *const dispute_status_names[];

struct dispute {
    Id id, payment_id;
    Str ref; /* the provider's name */
    enum dispute_status status;
    Money amount; /* disputed */
    Money lost;   /* taken back for good */
    Money frozen; /* of the wallet, while a disputed top-up is open */
    Time due_at;  /* answer by this time; 0: not stated */
    Time opened_at, closed_at;
};

/* The dispute with this name. ERR_NOT_FOUND. */
enum err dispute_find(struct db *db, Id payment, Str ref, struct dispute *ret);
/* Of `want` payment_id, ref, amount, frozen and due_at are read. TX_WRITE. */
enum err dispute_add(struct db *db, const struct dispute *want, Time now, struct dispute *ret);
/* Updates an open dispute with what is known now. */
enum err dispute_set_due(struct db *db, Id id, Time due_at);
/* Decides an open dispute. */
enum err dispute_close(struct db *db, Id id, enum dispute_outcome outcome, Money lost, Time now);
/* How many disputes of a payment are open. */
enum err dispute_count_open(struct db *db, Id payment, int64_t *ret);
/* What a payment lost in disputes, and what its provider took back without naming one: the same money, told twice. */
enum err dispute_sums(struct db *db, Id payment, Money *ret_lost, Money *ret_reversed);
/* The provider took this back. *ret_is_new false: known. */
enum err dispute_add_reversal(struct db *db, Id payment, Str ref, Money amount, Time now, bool *ret_is_new);
/* Of one payment, oldest first; at most 20. */
enum err dispute_list(struct db *db, Id payment, struct dispute **ret, size_t *ret_count);
