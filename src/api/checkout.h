/* api/checkout.h - from a cart to an order, for programs and for people alike.
 *
 * The cart is emptied, the coupon redeemed and the order made in one transaction. An order paid by wallet (or free) is
 * confirmed and delivered at once; one paid through a gateway waits for the payment. */
#pragma once

#include "api/pay.h"
#include "domain/order.h"

#define GIFTS_A_DAY 10 /* free orders whose mail goes to an address that the buyer has not proved */

struct checkout {
    struct pay pay; /* first: pay_finish's steps get this */
    struct order order;
};

struct checkout_wish {
    Str pay_with;                /* "wallet" or a gateway's label */
    Str success_url, cancel_url; /* where the gateway sends the buyer; */
    bool returns_to_page;        /* or both are the order's own page */
    bool is_guest; /* the buyer has not proved who they are: the account's wallet is not theirs to spend */
};

static inline struct checkout *checkout_of(struct pay *pay)
{
    return (struct checkout *)pay;
}

/* Buys what is in the cart req->token_id for req->account. TX_WRITE; bad fields are noted in req->errors. Then, if
 * there is something to pay at a gateway, pay_finish with checkout_undo. */
enum err checkout_begin(struct request *req, const struct checkout_wish *wish, struct checkout *ret);
/* Cancels the order, which gives the coupon back: the customer can choose another way to pay. */
enum err checkout_undo(struct request *req, struct pay *pay);
