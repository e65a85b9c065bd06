/* domain/reconciliation.h - compares a gateway's books of the last few days with ours. A person looks at each
 * difference, once. */
#pragma once

#include "domain/gateway_config.h"

#define RECONCILED_DAYS 7

/* What a line of a gateway's books can be about. */
enum book { BOOK_CHARGES, BOOK_REFUNDS, BOOK_DISPUTES, BOOK_COUNT };

struct book_entry {
    Str ref;         /* the gateway's name of this line */
    Str payment_ref; /* and of the payment that it is about */
    Str order_ref;   /* our own reference, where the gateway states it; empty: the money need not be this store's */
    Str reference;   /* our name of that payment, where it is told instead; empty: it is not */
    Money amount;
    Str currency;
    bool is_decided; /* of a dispute: it has ended there */
    bool is_pending; /* of a refund: it was asked for, and may still fail */
    struct book_entry *next;
};

struct books {
    struct book_entry *entries[BOOK_COUNT];
    Time since, until;
    bool names_refunds; /* by the names that we were given; false: perhaps by others, and sums are compared */
    bool has_disputes;
};

/* The last comparison. */
struct reconciliation {
    Id gateway_id;
    Str gateway_label;
    Time asked_at, ran_at; /* 0: never */
    int64_t counts[BOOK_COUNT];
    int64_t differences;
    Str error; /* why the books could not be read; empty: they could */
};

/* Gateways that can be asked, by id; at most GATEWAYS_MAX. TX_READ is enough. */
enum err reconciliation_list(struct db *db, struct reconciliation **ret, size_t *ret_count);
/* Asks for the books of a gateway: they are fetched and compared by the outbox. TX_WRITE, here and below. */
enum err reconciliation_ask(struct db *db, Id gateway, Time now);
/* The same for each gateway whose books were last asked for a day ago, or never. TX_READ is enough when there is none;
 * ERR_NEEDS_WRITE otherwise. */
enum err reconciliation_ask_due(struct db *db, Time now);
/* Compares, opens a review for each difference that is new, and keeps the outcome. */
enum err reconciliation_compare(struct db *db, const struct gateway_config *gateway, const struct books *books,
                                Time now);
/* The books could not be read. */
enum err reconciliation_failed(struct db *db, Id gateway, Str why, Time now);
