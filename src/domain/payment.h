/* domain/payment.h - money on its way in through a gateway: for an order, or into a wallet (a top-up).
 *
 *     open ──▶ succeeded
 *      │ ▲         ▲
 *      ▼ │         │ (the money came after all)
 *     failed ──▶ expired, closed
 *
 * open: it can be paid. failed: an attempt failed; the customer may try again on the same page. expired: its time is
 * over. closed: the customer pays another way, or gave up. An expired or closed payment can still succeed until
 * `ended_at` is set: the page may be open at the gateway.
 *
 * A payment is committed before its gateway is called; the gateway's names for it are stored afterwards. An order may
 * have several, one after the other. domain/payment_apply.h decides what happens to a payment; domain/payment_money.h
 * books its money. Locks on PostgreSQL: the names in events first (payment_lock_names), then the payments of an order
 * by id, then as order.h says. */
#pragma once

#include "db/db.h"

enum payment_status { PAYMENT_OPEN, PAYMENT_FAILED, PAYMENT_SUCCEEDED, PAYMENT_EXPIRED, PAYMENT_CLOSED };
extern const char *const payment_status_names[];

struct payment {
    Id id, gateway_id, account_id;
    Id order_id; /* 0: a top-up */
    Str gateway_label;
    Str reference;
    enum payment_status status;
    Money amount;
    Str currency;
    Str group_ref, payment_ref; /* empty: not known */
    Str url;                    /* empty: not known */
    Str success_url, cancel_url;
    Money received;       /* has arrived, as the gateway says */
    Money waiting;        /* of that, not yet sold, credited or given back */
    Money credited;       /* of that, put into the wallet */
    Money refunded_total; /* given back, as the gateway says */
    Money lost_total;     /* lost in disputes */
    Money returned;       /* of the last two, in the ledger: never more than arrived */
    bool paid_order;      /* its order was confirmed with it */
    bool is_disputed;
    Time created_at;
    Time expires_at; /* of the page; 0: not known */
    Time ends_at;    /* when the gateway is asked for the last time and the payment closed; 0: never */
    Time ended_at;   /* when it succeeded or could no longer succeed; 0: it still can */
    Time succeeded_at;
};

/* How long a payment without a page of its own (no API key) waits for its money. */
#define PAYMENT_WAITS_DAYS 3

/* Of `want` gateway_id, account_id, order_id, amount, currency, urls, expires_at, ends_at and payment_ref are read.
 * Also queues the first question to the gateway about what became of it. TX_WRITE. */
enum err payment_create(struct db *db, const struct payment *want, Time now, struct payment *ret);

/* ERR_NOT_FOUND. TX_READ is enough. */
enum err payment_find(struct db *db, Id id, struct payment *ret);
/* Only this account's. */
enum err payment_find_reference(struct db *db, Id account, Str reference, struct payment *ret);
/* The payment of an order that matters: the one that paid for it, else one with money that waits, else the latest. */
enum err payment_find_order(struct db *db, Id order, struct payment *ret);
/* The payment that paid for an order. */
enum err payment_find_paying(struct db *db, Id order, struct payment *ret);
/* All of an order, oldest first. */
enum err payment_list_order(struct db *db, Id order, struct payment **ret, size_t *ret_count);
/* Newest first, ids below `before` (0: all). */
struct payment_filter {
    bool has_status;
    enum payment_status status;
    Str gateway_label; /* empty: any */
    Id order_id;       /* 0: any */
};
enum err payment_list(struct db *db, const struct payment_filter *filter, Id before, int64_t limit,
                      struct payment **ret, size_t *ret_count);

/* Reads a payment and locks it, with all payments of its order, until the transaction ends. TX_WRITE. */
enum err payment_lock(struct db *db, Id id, struct payment *ret);
/* Keeps two transactions from using the same names of a gateway at once: when one event names a payment and another
 * brings the name, the second sees what the first did. Names may be empty. TX_WRITE. */
enum err payment_lock_names(struct db *db, Id gateway, Str first, Str second);
/* Stores status, the references, the amounts, paid_order, is_disputed, ended_at and succeeded_at. TX_WRITE. */
enum err payment_save(struct db *db, const struct payment *p);

/* Our own reference, which comes back in events: the order's number, or "topup-" and the payment's. */
Str payment_order_ref(struct arena *a, const struct payment *p);
/* Which payment our reference in an event stands for. False: none. */
bool payment_order_ref_parse(Str ref, bool *ret_is_topup, Id *ret);
/* One line for the gateway's page. */
Str payment_description(struct arena *a, const struct payment *p, const char *store_name);
