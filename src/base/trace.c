/* base/trace.c - see trace.h. */
#include "base/trace.h"

#include <stdio.h>
#include <string.h>

#include "base/random.h"

static _Thread_local struct trace current;

/* Lower case only, as the standard demands. */
static bool is_hex(Str s)
{
    for (size_t i = 0; i < s.len; i++)
        if (!(s.ptr[i] >= '0' && s.ptr[i] <= '9') && !(s.ptr[i] >= 'a' && s.ptr[i] <= 'f')) return false;
    return true;
}

static bool is_zero(Str s)
{
    for (size_t i = 0; i < s.len; i++)
        if (s.ptr[i] != '0') return false;
    return true;
}

/* version-traceid-parentid-flags: 2, 32, 16 and 2 digits. Later versions may go on behind another dash. */
bool trace_read(Str h, struct trace *ret)
{
    if (h.len < TRACEPARENT_LEN || h.len > 256) return false;
    Str version = {h.ptr, 2}, id = {h.ptr + 3, TRACE_ID_LEN}, parent = {h.ptr + 36, 16}, flags = {h.ptr + 53, 2};
    if (h.ptr[2] != '-' || h.ptr[35] != '-' || h.ptr[52] != '-') return false;
    if (!is_hex(version) || !is_hex(id) || !is_hex(parent) || !is_hex(flags)) return false;
    if (is_zero(id) || is_zero(parent) || str_eq(version, STR("ff"))) return false;
    if (h.len > TRACEPARENT_LEN && (is_zero(version) || h.ptr[TRACEPARENT_LEN] != '-')) return false;
    *ret = (struct trace){0};
    memcpy(ret->id, id.ptr, id.len);
    memcpy(ret->flags, flags.ptr, flags.len);
    return true;
}

void trace_enter(const struct trace *t)
{
    current = t ? *t : (struct trace){0};
}

bool trace_header(char ret[TRACEPARENT_LEN + 1])
{
    if (!current.id[0]) return false;
    unsigned long long parent = random_u64();
    snprintf(ret, TRACEPARENT_LEN + 1, "00-%s-%016llx-%s", current.id, parent ? parent : 1, current.flags);
    return true;
}
