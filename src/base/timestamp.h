/* base/timestamp.h - points in time, in milliseconds since 1970 UTC. One-field struct. 0 is "none". */
#pragma once

#include "base/buf.h"
#include "base/str.h"

typedef struct Time {
    int64_t ms;
} Time;

#define TIME_SECOND INT64_C(1000)
#define TIME_MINUTE (60 * TIME_SECOND)
#define TIME_HOUR (60 * TIME_MINUTE)
#define TIME_DAY (24 * TIME_HOUR)

/* The wall clock. Called once per request; everything below gets the time as a parameter. */
Time time_now(void);
/* The latest that time_now has given, to a second: it stays ahead when the clock is set back, until it is forgotten. */
Time time_latest(void);
void time_forget_latest(Time now);
/* For deadlines and latencies: never jumps. Nanoseconds. */
int64_t time_monotonic_ns(void);
/* The same, as of the system's last tick: some milliseconds late, for next to nothing. */
int64_t time_tick_ns(void);

static inline bool time_is(Time t)
{
    return t.ms != 0;
}
/* Clocks of a store's machines differ by less. */
#define TIME_SLACK (5 * TIME_MINUTE)
/* A time that was noted is not yet reached: the clock has been set back since. */
static inline bool time_is_ahead(Time noted, Time now)
{
    return noted.ms > now.ms + TIME_SLACK;
}
/* Milliseconds since a time that was noted; INT64_MAX when the clock has been set back since, so that nothing lasts as
 * long as the clock was wrong. */
static inline int64_t time_since(Time noted, Time now)
{
    return time_is_ahead(noted, now) ? INT64_MAX : now.ms - noted.ms;
}
static inline Time time_add(Time t, int64_t ms)
{
    return (Time){t.ms + ms};
}

/* "2026-11-15T01:23:45Z"; years 1970 to 9999. */
#define TIME_TEXT_LEN 20
void time_format(Time t, char ret[TIME_TEXT_LEN + 1]);
void buf_time(struct buf *b, Time t);
/* RFC 3339: 'T', seconds, optional fraction (kept to milliseconds), 'Z' or an offset. Real dates only. */
bool time_parse(Str s, Time *ret);
/* IMF-fixdate for HTTP's Date and Last-Modified: "Sun, 06 Nov 1994 08:49:37 GMT" (29 bytes + NUL). */
void time_format_http(Time t, char ret[30]);
