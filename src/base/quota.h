/* base/quota.h - how much of something each caller holds right now: connections, bytes, running jobs.
 *
 * A caller is a text: an address, an account. Its count stands in a fixed table under a keyed hash, so memory never
 * grows with the number of callers; two of them share a count only when their hashes meet in one of 65,536 places,
 * which nobody outside can aim for. Thread-safe, without locks. */
#pragma once

#include "base/str.h"

struct quota;

struct quota *quota_new(void);
void quota_free(struct quota *q);
/* Where the caller's count stands. */
size_t quota_place(const struct quota *q, Str caller);
/* n more, unless that is more than max in all. What was taken is given back once. */
bool quota_take(struct quota *q, size_t place, int64_t n, int64_t max);
void quota_give(struct quota *q, size_t place, int64_t n);
