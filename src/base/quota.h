/* base/quota.h - how much of something each caller holds right now: connections, bytes, running jobs.
 *
 * A caller is a text: an address, an account. Its count is kept in a fixed table under a keyed hash, so memory never
 * grows with the number of callers; two callers share a count only when their hashes collide in one of 65,536 places,
 * which no outsider can arrange. Thread-safe, without locks. */
#pragma once

#include "base/str.h"

struct quota;

struct quota *quota_new(void);
void quota_free(struct quota *q);
/* The place of the caller's count. */
size_t quota_place(const struct quota *q, Str caller);
/* Takes n more, unless the caller would then hold more than max. The caller gives back what it took, once. */
bool quota_take(struct quota *q, size_t place, int64_t n, int64_t max);
void quota_give(struct quota *q, size_t place, int64_t n);
