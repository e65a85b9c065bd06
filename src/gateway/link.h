/* gateway/link.h - runs an adapter's operation against its provider: access token, call, answer. Blocks; never inside a
 * transaction and never on an event loop. Safe from any thread. */
#pragma once

#include "gateway/gateway.h"
#include "outbound/outbound.h"

struct gateway_link;

struct gateway_link *link_new(struct outbound *outbound);
void link_free(struct gateway_link *link);
/* Gateways that are not called for now because they did not answer (gateway/lane.h). */
int link_left_alone(struct gateway_link *link);
/* The address of the sandbox, which lives in this server; known once the server listens. The text must stay valid. */
void link_set_self(struct gateway_link *link, Str url);

enum op_kind { OP_CREATE, OP_CAPTURE, OP_REFUND, OP_CONFIRM, OP_ASK, OP_CLOSE, OP_BOOK };

struct gateway_op {
    enum op_kind kind;
    /* The request. */
    struct pay_request pay; /* create */
    Str stored;             /* create: the body to send, from link_create_body; empty: a new one */
    struct refund_request refund;
    bool may_exist;             /* create, refund: an earlier attempt may have succeeded, so look first */
    Str group_ref;              /* capture, ask, close */
    Str reference;              /* capture, close */
    struct payment_event claim; /* confirm */
    struct book_request book;
    int64_t timeout_ms; /* of each call; 0: the default */
    bool in_background; /* nobody waits for the result: see lane.h */
    /* The result, on REPLY_OK: */
    struct pay_page page;
    struct refund_page refunded;
    struct payment_event event; /* capture, confirm, ask */
    struct book_lines lines;    /* book */
    Str body;                   /* of the last answer */
    /* Otherwise: */
    const char *failure; /* a text for logs and staff */
    int64_t retry_after_s;
    int64_t wait_ms; /* not 0: the lane (lane.h) let nothing through; try again after this many ms. REPLY_RETRY */
};

/* Memory of the results is the arena's. REPLY_REFUSED also when the call cannot be made at all. */
enum reply link_run(struct gateway_link *link, const struct gateway_config *config, struct gateway_op *op,
                    struct arena *a);

/* The body of the call that makes a payment. Kept before it is sent, because a repeated call must be the same: some
 * providers refuse it otherwise. Empty when the call cannot be made. */
Str link_create_body(struct arena *a, const struct gateway_config *config, const struct pay_request *pay);

/* For providers whose events alone are not enough: asks the API and puts its answer in *event. An event that can never
 * be confirmed is marked for review. ERR_UNAVAILABLE: try again later. */
enum err link_confirm(struct gateway_link *link, const struct gateway_config *config, struct payment_event *event,
                      struct arena *a);

/* PayPal's certificates, as verify wants them, for a message from this network. */
struct certificates link_certificates(struct gateway_link *link, Str network);
