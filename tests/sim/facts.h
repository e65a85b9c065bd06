/* tests/sim/facts.h - what clients were told, as the checker sees it. Shared by the clients and the checker; neither
 * knows more of the other, and the checker knows nothing of the server but its schema. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum fact_kind {
    FACT_ORDER,      /* the order `id` over `amount` was made and delivered: `quantity` units */
    FACT_WITHDRAWAL, /* `amount` is held for the withdrawal `id` */
    FACT_APPROVED,   /* the withdrawal `id` was approved */
    FACT_REJECTED,   /* or rejected: the amount is back */
    FACT_REFUNDED,   /* `amount` of the order `id` was given back */
    FACT_GIVES_BACK, /* the gateway is asked to give the order's money back */
    FACT_BOUND,      /* a licence of `account` is bound to the machine `text` */
    FACT_PENDING,    /* the order `id` over `amount` waits for its payment, or was paid meanwhile */
    FACT_TOPUP,      /* a payment `text` into the wallet was begun */
    FACT_CART,       /* something was put into a cart */
    FACT_CHARGED,    /* the provider has `amount` for the payment `text`, and has given `quantity` back; sure: the store
                        has    acknowledged it */
    FACT_EVENT,      /* the provider's event `text` was acknowledged */
    FACT_KINDS
};

struct fact {
    enum fact_kind kind;
    bool is_sure;                          /* acknowledged; else: asked for, and nobody knows */
    int64_t account, id, amount, quantity; /* quantity 0: not known */
    char text[80];
};

struct facts {
    const struct fact *list;
    size_t count;
};
