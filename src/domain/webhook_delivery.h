/* domain/webhook_delivery.h - one event on its way to one endpoint: pending, then delivered or failed.
 *
 * Tried at once, and after 5 s, 1 m, 5 m, 30 m, 2 h, 5 h, 10 h, 14 h, 20 h and 24 h, each moved by up to a fifth in
 * either direction. TX_WRITE unless said otherwise. */
#pragma once

#include "domain/event.h"

#define WEBHOOK_ANSWER_MAX 4096 /* bytes of an answer that are kept */

enum hook_status { HOOK_PENDING, HOOK_DELIVERED, HOOK_FAILED };
extern const char *const hook_status_names[];

struct webhook_delivery {
    Id id, endpoint_id, event_id;
    enum event_type type;
    enum hook_status status;
    int64_t attempts, tries; /* since it was made or sent again; in all */
    Time due_at;             /* of the next try */
    Str answer;              /* the beginning of the last one */
    Time created_at, done_at;
};

/* A try and how it ended. */
struct webhook_try {
    int64_t number;
    Time at;
    int64_t took_ms;
    int64_t status; /* of the answer; 0: none */
    Str error;      /* why there was none */
    Str answer;     /* not read back: the delivery has the last one */
};
bool webhook_try_is_good(const struct webhook_try *t);

enum err webhook_delivery_add(struct db *db, Id endpoint, Id event, enum event_type type, Time now, Id *ret);

/* Those of an endpoint that are due, the longest waiting first, with their events. TX_READ is enough. */
struct webhook_due {
    struct webhook_delivery delivery;
    struct event event;
};
enum err webhook_delivery_due(struct db *db, Id endpoint, Time now, int64_t limit, struct webhook_due **ret,
                              size_t *ret_count);
/* Records a try. `for_good`: there is no use in another. */
enum err webhook_delivery_record(struct db *db, const struct webhook_delivery *d, const struct webhook_try *t,
                                 bool for_good, Time now);
/* All that wait for an endpoint have failed. */
enum err webhook_delivery_drop(struct db *db, Id endpoint, Time now);

struct hook_filter {
    Id endpoint; /* 0: any */
    bool has_status, has_type;
    enum hook_status status;
    enum event_type type;
};
/* Newest first, ids below `before` (0: all). TX_READ is enough, here and below. */
enum err webhook_delivery_list(struct db *db, const struct hook_filter *filter, Id before, int64_t limit,
                               struct webhook_delivery **ret, size_t *ret_count);
/* ERR_NOT_FOUND; also when its endpoint was deleted. */
enum err webhook_delivery_find(struct db *db, Id id, struct webhook_delivery *ret);
/* The latest 50, oldest first. */
enum err webhook_delivery_tries(struct db *db, Id id, struct webhook_try **ret, size_t *ret_count);

/* Again from the start, now. ERR_INVALID_STATE: it waits already. */
enum err webhook_delivery_resend(struct db *db, Id id, Time now);

/* When to try again after so many tries; 0: no more. */
int64_t webhook_delay_ms(int64_t attempts);
