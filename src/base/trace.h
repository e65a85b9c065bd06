/* base/trace.h - W3C Trace Context: the trace that a caller says its request belongs to. Taken from requests, written
 * to the log, and passed on to calls that the request's thread makes. souk records no traces itself. */
#pragma once

#include "base/str.h"

#define TRACE_ID_LEN 32
#define TRACEPARENT_LEN 55

struct trace {
    char id[TRACE_ID_LEN + 1]; /* hex; "": none */
    char flags[3];
};

/* A `traceparent` header. False for one that is not valid: such a header counts as none. */
bool trace_read(Str header, struct trace *ret);
/* Calls of this thread belong to `t` from now on; NULL: to none. */
void trace_enter(const struct trace *t);
/* The header for a call of this thread, with a parent id of its own, NUL-terminated; false: no trace. */
bool trace_header(char ret[TRACEPARENT_LEN + 1]);
