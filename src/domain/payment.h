/* domain/payment.h - money on its way in through a gateway: for an order, or into a wallet (a top-up).
 *
 *     pending ──▶ succeeded ──▶ refunded
 *        │           ▲
 *        ▼           │ (the money came after all)
 *      failed ───────┘
 *
 * A payment is committed before its gateway is called; what the gateway calls it is stored afterwards. What happens to
 * it is decided by domain/payment_apply.h alone. Locks on PostgreSQL: the payment first, then as order.h says. */
#pragma once

#include "db/db.h"

enum payment_status { PAYMENT_PENDING, PAYMENT_FAILED, PAYMENT_SUCCEEDED, PAYMENT_REFUNDED };
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
    Money refunded_total, refunded_booked;
    bool is_disputed;
    Time created_at, expires_at, succeeded_at;
};

/* Of `want` gateway_id, account_id, order_id, amount, currency, urls and expires_at are read. TX_WRITE. */
enum err payment_create(struct db *db, const struct payment *want, Time now, struct payment *ret);

/* ERR_NOT_FOUND. TX_READ is enough. */
enum err payment_find(struct db *db, Id id, struct payment *ret);
/* Only this account's. */
enum err payment_find_reference(struct db *db, Id account, Str reference, struct payment *ret);
enum err payment_find_order(struct db *db, Id order, struct payment *ret);
/* Reads it and keeps others from changing it until the transaction ends. TX_WRITE. */
enum err payment_lock(struct db *db, Id id, struct payment *ret);
/* Stores refunded_total, refunded_booked and status. TX_WRITE. */
enum err payment_set_refunded(struct db *db, const struct payment *p);

/* What comes back in events as our own reference: the order's number, or "topup-" and the payment's. */
Str payment_order_ref(struct arena *a, const struct payment *p);
/* Which payment an event's own reference means. False: none of ours. */
bool payment_order_ref_parse(Str ref, bool *ret_is_topup, Id *ret);
/* One line for the gateway's page. */
Str payment_description(struct arena *a, const struct payment *p, const char *store_name);
