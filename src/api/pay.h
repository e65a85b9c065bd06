/* api/pay.h - starting a payment at a gateway, for checkout and top-up.
 *
 * Three steps: pay_begin in the transaction that makes the order, so that the payment exists before its gateway hears
 * of it; pay_call outside any transaction; and a second transaction that records the result. After a crash in between,
 * the outbox row from the first step takes over. */
#pragma once

#include "domain/payment.h"
#include "gateway/link.h"
#include "serve/request.h"

struct pay;
typedef enum err pay_step(struct request *req, struct pay *pay);

/* Lives in the request's arena. A step that needs more puts it first into a struct of its own. */
struct pay {
    struct gateway_config gateway;
    struct payment payment;
    Id errand; /* the outbox row; 0: no API key, nothing is called */
    enum reply reply;
    struct gateway_op op;
    pay_step *again, *undo;
};

/* An enabled gateway with this label. ERR_FIELD_VALUE: there is none. */
enum err pay_gateway(struct db *db, Str label, struct gateway_config *ret);
/* Of `want` account_id, order_id, amount and urls are read. */
enum err pay_begin(struct request *req, struct pay *pay, const struct payment *want);

/* Calls the gateway, where there is a call to make. `again` rewrites the answer from pay->payment. When the gateway
 * refuses the payment, `undo` gives back what the transaction of pay_begin took: ERR_GATEWAY_FAILED. */
enum err pay_finish(struct request *req, struct pay *pay, pay_step *again, pay_step *undo);
