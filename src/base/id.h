/* base/id.h - the number of a row. One-field struct, so that it cannot be mixed with money or time. 0 is "none". */
#pragma once

#include <stdbool.h>
#include <stdint.h>

typedef struct Id {
    int64_t v;
} Id;

/* Ids travel as JSON numbers: every client can hold them exactly below 2^53. */
#define ID_MAX ((INT64_C(1) << 53) - 1)

static inline bool id_eq(Id a, Id b)
{
    return a.v == b.v;
}
static inline bool id_is(Id a)
{
    return a.v != 0;
}
