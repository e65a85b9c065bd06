/* domain/retention.h - how long things are kept that nobody needs for ever. The table in retention.c is the whole list.
 *
 * Money, orders, licences, tickets and accounts stay. Tokens, carts and Idempotency-Keys end by themselves, at times of
 * their own (domain/token.h, domain/idempotency.h). */
#pragma once

#include "domain/settings.h"

/* Of each kind at most this many at once. Asked every second, that is 86 million a day: far more than a store that
 * sells a million times a day leaves behind. */
#define RETENTION_STEP 1000

/* Removes what is older than the settings say. ERR_NEEDS_WRITE in a read when there is something to remove. */
enum err retention_step(struct db *db, const struct settings *s, Time now);
