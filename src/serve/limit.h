/* serve/limit.h - how often a caller may call: GCRA, in memory, per node.
 *
 * A caller's state is one number, the theoretical arrival time. Bounded: entries whose time has passed are forgotten,
 * and a full shard drops its oldest. Thread-safe. */
#pragma once

#include "base/str.h"

struct limiter;

struct limit_result {
    bool allowed;
    int64_t remaining;     /* calls that would be allowed right now */
    int64_t reset_s;       /* until all of them are back */
    int64_t retry_after_s; /* when refused */
};

struct limiter *limiter_new(void);
void limiter_free(struct limiter *l);
/* `name` keeps the callers of different limits apart. per_minute > 0; a burst may be as large. */
struct limit_result limiter_charge(struct limiter *l, char name, Str caller, int64_t per_minute, int64_t now_ns);
struct limit_result limiter_charge_day(struct limiter *l, char name, Str caller, int64_t per_day, int64_t now_ns);
/* Several at once: all of them, or none. */
struct limit_result limiter_spend_day(struct limiter *l, char name, Str caller, int64_t amount, int64_t per_day,
                                      int64_t now_ns);
/* Looks without counting. */
struct limit_result limiter_look(struct limiter *l, char name, Str caller, int64_t per_minute, int64_t now_ns);
