/* domain/outbox_desk.h - the outbox as staff see it: what waits, what failed and why, and what they can do about it. */
#pragma once

#include "domain/outbox.h"

/* The kinds that staff distinguish. */
enum outbox_group { OUTBOX_GROUP_MAIL, OUTBOX_GROUP_GATEWAY, OUTBOX_GROUP_EVENT };
extern const char *const outbox_group_names[];
enum outbox_status { OUTBOX_WAITING, OUTBOX_FAILED };
extern const char *const outbox_status_names[];

struct outbox_view {
    struct outbox_item item; /* without its payload */
    enum outbox_status status;
    Id order_id; /* 0: none */
    Str what;    /* one line for people */
    Time due_at;
    Str last_error;
};

struct outbox_filter {
    bool has_status, has_group;
    enum outbox_status status;
    enum outbox_group group;
};

enum outbox_group outbox_group_of(enum outbox_kind kind);
/* Newest first, below `before` (0: from the top). TX_READ is enough. */
enum err outbox_list(struct db *db, const struct outbox_filter *filter, Id before, int64_t limit,
                     struct outbox_view **ret, size_t *ret_count);
/* ERR_NOT_FOUND, also for rows that are done. TX_READ is enough. */
enum err outbox_view(struct db *db, Id id, struct outbox_view *ret);

/* Makes the row due now, with all its attempts again. ERR_INVALID_STATE: it is under way, or it is a call to a gateway
 * that was given up, which has changed a payment or a refund: continue there. TX_WRITE. */
enum err outbox_try_now(struct db *db, Id id, Time now);
/* Deletes the row. ERR_INVALID_STATE: it is under way, or a call to a gateway that still waits: money depends on it.
 * TX_WRITE. */
enum err outbox_drop(struct db *db, Id id);
