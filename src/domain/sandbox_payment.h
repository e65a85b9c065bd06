/* domain/sandbox_payment.h - the books of the sandbox: a gateway that lives in this program, for demos and tests. No
 * money. */
#pragma once

#include "db/db.h"

enum sandbox_status { SANDBOX_OPEN, SANDBOX_PAID, SANDBOX_FAILED };
extern const char *const sandbox_status_names[];

struct sandbox_payment {
    Id id;
    Str ref;       /* its name: "sbx_" and 24 characters that nobody can guess */
    Str reference; /* the merchant's */
    Str order_ref, description;
    Money amount, refunded;
    Str currency;
    enum sandbox_status status;
    Str success_url, cancel_url;
};

/* Makes one, or finds the one that was made with the same reference. TX_WRITE. */
enum err sandbox_create(struct db *db, const struct sandbox_payment *want, Time now, struct sandbox_payment *ret);
/* ERR_NOT_FOUND. */
enum err sandbox_find(struct db *db, Str ref, struct sandbox_payment *ret);

/* What somebody does on its page. Each queues the webhook that tells of it; how often and how late is part of the
 * experiment. ERR_INVALID_STATE: not possible any more. TX_WRITE. */
struct sandbox_sending {
    bool twice;
    int64_t late_ms;
};
enum err sandbox_pay(struct db *db, Str ref, const struct sandbox_sending *how, Time now);
enum err sandbox_fail(struct db *db, Str ref, const struct sandbox_sending *how, Time now);
/* `amount` more, at most what is left. `key` makes repeating harmless; empty: every call counts. */
enum err sandbox_give_back(struct db *db, Str ref, Money amount, Str key, const struct sandbox_sending *how, Time now,
                           Str *ret_refund);
enum err sandbox_dispute(struct db *db, Str ref, const struct sandbox_sending *how, Time now);
