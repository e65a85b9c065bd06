/* domain/outbox.h - work that leaves this server, kept in a table so that nothing is lost by a crash.
 *
 * A row is added in the transaction that makes it necessary. A worker takes it by moving its due time forward (its
 * lease); when the worker dies, the row simply becomes due again. So everything here may be done twice, and must
 * tolerate it. */
#pragma once

#include "db/db.h"

enum outbox_kind {
    OUTBOX_CREATE,  /* make the payment at the gateway; the payload is the call's body, the same for every attempt */
    OUTBOX_CAPTURE, /* take the money that the customer agreed to */
    OUTBOX_REFUND,  /* give `amount` back: the refund `refund` */
    OUTBOX_ASK,     /* ask what became of a payment that we heard nothing about */
    OUTBOX_CLOSE,   /* the payment is no longer wanted: its page should take no money */
    OUTBOX_MAIL,
    OUTBOX_SANDBOX, /* a webhook of the sandbox */
    OUTBOX_RESET, /* somebody asked for a new password: the account is looked up later, so that asking takes as long for
                     every address */
    OUTBOX_RECONCILE, /* compare a gateway's books with ours; the payload is the gateway's id */
};
extern const char *const outbox_kind_names[];
#define OUTBOX_KINDS_MAX 32 /* more than there are */

struct outbox_item {
    Id id;
    enum outbox_kind kind;
    Id payment; /* 0: none */
    Id refund;  /* 0: none */
    Money amount;
    Str payload;      /* in the clear; sealed in the table */
    int64_t attempts; /* this one included */
    Time created_at;
};

/* Of `item` kind, payment, refund, amount and payload are read. TX_WRITE, all of them, unless said otherwise. */
enum err outbox_add(struct db *db, const struct outbox_item *item, Time due_at, Time now, Id *ret_id);

/* Takes up to `limit` rows that are due, for lease_ms. A row that cannot be read, or that was begun several times and
 * never finished, is set aside as failed: it must not stop the others. */
enum err outbox_claim(struct db *db, Time now, int64_t lease_ms, int64_t limit, struct outbox_item **ret,
                      size_t *ret_count);
/* Reads id, kind, payment, refund, amount, payload, attempts, created_at, in this order. False: the payload cannot be
 * opened.
 */
bool outbox_read_row(struct arena *a, struct stmt *st, struct outbox_item *ret);
/* When the next row is due; 0: there is none. TX_READ is enough. */
enum err outbox_next(struct db *db, Time *ret);

/* How an attempt ended. A row that is no longer waiting stays unchanged. */
enum err outbox_done(struct db *db, Id id, Time now);
enum err outbox_retry(struct db *db, Id id, Time now, int64_t wait_ms, Str error);
/* The row was not tried at all: this attempt does not count. */
enum err outbox_postpone(struct db *db, Id id, Time now, int64_t wait_ms, Str why);
enum err outbox_fail(struct db *db, Id id, Str error, Time now);
/* The waiting row of this kind for a payment: gives its id, or 0. TX_READ is enough. */
enum err outbox_find(struct db *db, enum outbox_kind kind, Id payment, Id *ret);

/* When to try again after `attempts` attempts: a table of delays, each moved by up to a fifth in either direction.
 * 0: no more attempts. */
int64_t outbox_delay_ms(int64_t attempts);
