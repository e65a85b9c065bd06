/* api/open/byte_range.h - the Range header (RFC 9110, section 14.2). */
#pragma once

#include "base/str.h"

struct byte_range {
    int64_t offset, length;
};

enum range_result {
    RANGE_WHOLE,   /* not one that we serve: not bytes, several, malformed; the answer is the whole file, as the RFC
                      allows */
    RANGE_PART,    /* *ret is inside the file, length at least 1 */
    RANGE_OUTSIDE, /* well-formed, but wholly outside the file: 416 */
};

/* *ret is set on RANGE_PART only. */
enum range_result byte_range_read(Str value, int64_t size, struct byte_range *ret);
