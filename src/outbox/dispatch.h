/* outbox/dispatch.h - carries the outbox (domain/outbox.h) out: calls to gateways, e-mail, webhooks of the sandbox.
 *
 * One thread looks for rows that are due and hands them to a few workers. A worker does its row's work outside any
 * transaction, then records the outcome and what it changes in one. The row of a worker that dies goes to another. */
#pragma once

#include <stdatomic.h>

#include "db/tx.h"
#include "domain/outbox.h"
#include "domain/payment.h"
#include "gateway/link.h"

struct mail_options {
    const char *url; /* smtp://… or smtps://…; "": no mail */
    const char *user, *password;
    const char *from; /* address */
    bool is_plain;    /* without encryption, inside the private network */
};

/* Since the start. */
struct outbox_stats {
    _Atomic int64_t mail_failed;                                        /* attempts */
    _Atomic int64_t given_up;                                           /* rows, of any kind */
    _Atomic int64_t done[OUTBOX_KINDS_MAX], failures[OUTBOX_KINDS_MAX]; /* attempts, by enum outbox_kind */
};

struct dispatch_options {
    struct database *database;
    struct outbound *outbound;
    struct gateway_link *link;
    struct mail_options mail;
    Str self_url;               /* where this server's own webhooks are reached: the sandbox sends to it */
    const char *shop_url;       /* what customers come back to; never empty */
    struct outbox_stats *stats; /* the dispatcher's own */
};

struct dispatcher;
struct dispatcher *dispatcher_start(const struct dispatch_options *options);
/* A row may be due now. From any thread; only a hint: nothing is lost without it. */
void dispatcher_wake(struct dispatcher *d);
const struct outbox_stats *dispatcher_stats(const struct dispatcher *d);
/* Lets the workers finish. */
void dispatcher_stop(struct dispatcher *d);

/* The request with which a gateway is asked to make a payment. `email` may be empty. */
struct pay_request pay_request_of(struct arena *a, const struct payment *p, const char *store_name, Str email,
                                  const char *base_url, Time now);
