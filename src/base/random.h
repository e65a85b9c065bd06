/* base/random.h - unpredictable bytes and the texts made of them. Never fails: no entropy ends the process. */
#pragma once

#include "base/str.h"

void random_bytes(void *ret, size_t n);
uint64_t random_u64(void);
/* Uniform in [0, n). */
uint32_t random_below(uint32_t n);
/* n characters of [0-9A-Za-z], uniform. Not NUL-terminated. */
void random_base62(char *ret, size_t n);
/* How long to wait after so many attempts (1 or more) that failed: as the table says, a fifth more or less, so that
 * those who failed together do not come back together. 0: behind its end, give up. */
int64_t random_delay_ms(const int64_t *delays_ms, size_t count, int64_t attempts);
