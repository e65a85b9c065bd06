/* outbox/errand.h - one row of the outbox, carried out: the call, and what its answer changes.
 *
 * Every errand has four steps: read its subject, stop when there is nothing left to do, call, record. Calls carry
 * references of ours that make a repeated call harmless: a worker may have made the same call before it died. */
#pragma once

#include "domain/mail.h"
#include "domain/outbox.h"
#include "domain/reconciliation.h"
#include "domain/refund.h"
#include "domain/settings.h"
#include "outbox/dispatch.h"

struct errand {
    const struct dispatch_options *options;
    const struct outbox_item *item;
    struct arena *arena;
    Time now;
    struct payment payment;
    struct refund refund;
    struct gateway_config gateway;
    struct settings settings;
    Str email;               /* of the payment's customer, or of the mail's receiver */
    struct mail_parts *mail; /* NULL: it cannot be read */
    struct gateway_op op;
    struct books books;
    /* How it went. */
    enum reply reply;
    const char *error;
    int64_t delay_ms; /* delay of the next attempt; 0: the table's */
    bool is_settled;  /* nothing left to do */
};

/* What a kind of errand does. read: TX_READ, carry_out: outside any transaction, record: TX_WRITE. */
struct errand_kind {
    enum err (*read)(struct errand *x, struct db *db);
    void (*carry_out)(struct errand *x); /* NULL: nothing to call */
    enum err (*record)(struct errand *x, struct db *db);
};
extern const struct errand_kind errand_create, errand_capture, errand_refund, errand_ask,
    errand_close;                                          /* payment_errand.c */
extern const struct errand_kind errand_mail, errand_reset; /* mail_errand.c */
extern const struct errand_kind errand_reconcile;          /* book_errand.c */
extern const struct errand_kind errand_sandbox;            /* sandbox_errand.c */

/* Blocks. Records the outcome itself; when even recording fails, the row is due again after its lease. */
void errand_run(const struct dispatch_options *options, const struct outbox_item *item, struct arena *a);

/* For the kinds. */
enum err errand_read_settings(struct errand *x, struct db *db);
/* Failed for good, and counted. */
enum err errand_fail(struct errand *x, struct db *db);
/* Try again later; false when all attempts are used up. */
bool errand_again(struct errand *x, struct db *db, enum err *ret);
/* Done, again later, or given up: for errands whose failure changes nothing else. */
enum err errand_record_sending(struct errand *x, struct db *db);
