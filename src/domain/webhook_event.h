/* domain/webhook_event.h - events from gateways, each once, with what became of it.
 *
 *   handled    it took effect, or its effect was there already
 *   unmatched  it fits no payment of ours yet, or one that has not succeeded; it is tried again when that changes
 *   review     a person has to look: the amount differs, a second payment, a dispute, …
 *   ignored    genuine, but does not concern us */
#pragma once

#include "db/db.h"
#include "domain/payment_event.h"

enum webhook_status { WEBHOOK_HANDLED, WEBHOOK_UNMATCHED, WEBHOOK_REVIEW, WEBHOOK_IGNORED, WEBHOOK_STATUS_COUNT };
extern const char *const webhook_status_names[];

struct webhook_event {
    Id id, gateway_id;
    Str gateway_label;
    struct payment_event event; /* review is not kept: see reason */
    enum webhook_status status;
    Str reason;
    Id payment_id; /* 0: fits none */
    Id order_id;   /* the payment's; 0: none */
    Str body;      /* webhook_event_find only */
    Time received_at;
};

/* Adds the event, not handled yet. OK with *ret_id 0: it is already there. ERR_SIGNATURE_INVALID: its signed envelope
 * was seen with another body. TX_WRITE. */
enum err webhook_event_add(struct db *db, Id gateway, const struct payment_event *e, Str body, Time now, Id *ret_id);
/* Stores what became of the event, and what is known about it by now (it may have been confirmed since). */
enum err webhook_event_settle(struct db *db, Id id, const struct payment_event *e, enum webhook_status status,
                              Str reason, Id payment);

/* ERR_NOT_FOUND. TX_READ is enough. */
enum err webhook_event_find(struct db *db, Id id, struct webhook_event *ret);
struct webhook_filter {
    bool has_status;
    enum webhook_status status;
};
/* Newest first, ids below `before` (0: all). */
enum err webhook_event_list(struct db *db, const struct webhook_filter *filter, Id before, int64_t limit,
                            struct webhook_event **ret, size_t *ret_count);
/* Unmatched events of this gateway that use one of these names (empty names match none), oldest first; at most 20. Our
 * own reference counts only for events without other names. */
enum err webhook_event_unmatched(struct db *db, Id gateway, const struct payment_event *names,
                                 struct webhook_event **ret, size_t *ret_count);
