/* api/open/byte_range.c - see byte_range.h. */
#include "api/open/byte_range.h"

/* Digits only; a number beyond int64 counts as the largest. False when there are none, or anything else. */
static bool read_position(Str s, int64_t *ret)
{
    int64_t v = 0;
    if (s.len == 0) return false;
    for (size_t i = 0; i < s.len; i++) {
        if (s.ptr[i] < '0' || s.ptr[i] > '9') return false;
        if (__builtin_mul_overflow(v, 10, &v) || __builtin_add_overflow(v, s.ptr[i] - '0', &v)) v = INT64_MAX;
    }
    *ret = v;
    return true;
}

enum range_result byte_range_read(Str value, int64_t size, struct byte_range *ret)
{
    Str unit, set, first_text, last_text;
    if (!str_cut(value, '=', &unit, &set) || !str_eq_nocase(unit, STR("bytes"))) return RANGE_WHOLE;
    if (!str_cut(str_trim(set), '-', &first_text, &last_text)) return RANGE_WHOLE;

    int64_t first = 0, last = INT64_MAX;
    if (first_text.len == 0) {
        int64_t suffix;
        if (!read_position(last_text, &suffix)) return RANGE_WHOLE;
        if (suffix == 0 || size == 0) return RANGE_OUTSIDE;
        *ret = suffix >= size ? (struct byte_range){0, size} : (struct byte_range){size - suffix, suffix};
        return RANGE_PART;
    }
    if (!read_position(first_text, &first)) return RANGE_WHOLE;
    if (last_text.len && !read_position(last_text, &last)) return RANGE_WHOLE;
    if (last < first) return RANGE_WHOLE;
    if (first >= size) return RANGE_OUTSIDE;
    if (last >= size) last = size - 1;
    *ret = (struct byte_range){first, last - first + 1};
    return RANGE_PART;
}
