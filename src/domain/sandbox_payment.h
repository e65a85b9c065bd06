/* domain/sandbox_payment.h - the books of the sandbox: a gateway that lives in this program, for demos and tests. No
 * money. */
#pragma once

#include "db/db.h"

enum sandbox_status { SANDBOX_OPEN, SANDBOX_PAID, SANDBOX_FAILED, SANDBOX_EXPIRED, SANDBOX_CLOSED };
extern const char *const sandbox_status_names[];

/* How the sandbox's API behaves towards the merchant. */
enum sandbox_mood { SANDBOX_WILLING, SANDBOX_REFUSES_REFUNDS, SANDBOX_LOSES_ANSWER, SANDBOX_LOSES_CREATE };
extern const char *const sandbox_mood_names[];

struct sandbox_payment {
    Id id;
    Str ref;       /* "sbx_" and 24 characters that nobody can guess */
    Str reference; /* the merchant's */
    Str order_ref, description;
    Money amount, refunded;
    Str currency;
    enum sandbox_status status;
    Str success_url, cancel_url;
    Money received;    /* what was really paid */
    Str paid_currency; /* and in what */
    Str dispute_ref;   /* of an open dispute; empty: none */
    enum sandbox_mood mood;
};

/* Makes a payment, or finds the one made with the same reference. TX_WRITE, here and below. */
enum err sandbox_create(struct db *db, const struct sandbox_payment *want, Time now, struct sandbox_payment *ret);
/* ERR_NOT_FOUND. TX_READ is enough. */
enum err sandbox_find(struct db *db, Str ref, struct sandbox_payment *ret);
/* Reads and locks it. */
enum err sandbox_lock(struct db *db, Str ref, struct sandbox_payment *ret);
/* Stores status, received, paid_currency, dispute_ref and mood. */
enum err sandbox_save(struct db *db, const struct sandbox_payment *p);
/* Whether the answer to the creation of a payment is to be lost: said of an earlier payment, once. */
enum err sandbox_loses_create(struct db *db, bool *ret);
/* A name that nobody can guess. */
Str sandbox_ref(struct arena *a, Str prefix);

/* How often and how late a webhook is sent. */
struct sandbox_sending {
    bool twice, silent;
    int64_t late_ms;
};
/* Queues the webhook; of `m` kind, amount, currency, refund_ref and outcome are read, the rest is the payment's. */
struct sandbox_message;
enum err sandbox_tell(struct db *db, const struct sandbox_payment *p, const struct sandbox_message *m,
                      const struct sandbox_sending *how, Time now);

/* Refunds `amount` more, at most what is left. `key` makes repeating harmless; empty: every call counts.
 * ERR_INVALID_STATE: not possible. */
enum err sandbox_give_back(struct db *db, Str ref, Money amount, Str key, const struct sandbox_sending *how, Time now,
                           Str *ret_refund);
/* The customer's bank sends the latest refund back: the money is here again. `p` is locked. ERR_INVALID_STATE: there is
 * none. */
enum err sandbox_return_refund(struct db *db, struct sandbox_payment *p, const struct sandbox_sending *how, Time now);
/* The merchant ends the page. ERR_INVALID_STATE: it was paid or has ended. */
enum err sandbox_close(struct db *db, Str ref, struct sandbox_payment *ret);
