/* api/order_pay.h - finishing an order that waits: pay it again, pay it another way, or give it up. For the API and the
 * shop.
 *
 * The old payment stays open until the new one has a page, so that a refusal leaves the customer with the old way to
 * pay. */
#pragma once

#include "api/pay.h"
#include "domain/order.h"

struct paying {
    struct pay pay; /* first: pay_finish's steps get this */
    struct order order;
};

struct pay_wish {
    Str pay_with; /* "wallet" or a gateway's label */
    Str success_url, cancel_url;
};

/* Of an order of req->account. TX_WRITE; ERR_NOT_FOUND, ERR_INVALID_STATE, ERR_INSUFFICIENT_BALANCE, bad fields. Then
 * pay_finish with order_pay_undo. */
enum err order_pay_begin(struct request *req, Id order, const struct pay_wish *wish, struct paying *ret);
enum err order_pay_undo(struct request *req, struct pay *pay);
/* TX_WRITE; ERR_NOT_FOUND, ERR_INVALID_STATE. */
enum err order_give_up(struct request *req, Id order, struct order *ret);
