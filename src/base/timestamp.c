/* base/timestamp.c - see timestamp.h. Dates are computed with the proleptic Gregorian calendar, no libc, no zones. */
#include "base/timestamp.h"

#include <stdatomic.h>
#include <stdio.h>
#include <time.h>

#define YEAR_MAX_MS INT64_C(253402300799999) /* 9999-12-31T23:59:59.999Z */

static _Atomic int64_t latest_ms;

Time time_now(void)
{
    struct timespec ts;
    clock_gettime(CLOCK_REALTIME, &ts);
    Time now = {ts.tv_sec * TIME_SECOND + ts.tv_nsec / 1000000};
    if (now.ms > atomic_load_explicit(&latest_ms, memory_order_relaxed) + TIME_SECOND)
        atomic_store_explicit(&latest_ms, now.ms, memory_order_relaxed);
    return now;
}

Time time_latest(void)
{
    return (Time){atomic_load_explicit(&latest_ms, memory_order_relaxed)};
}

void time_forget_latest(Time now)
{
    atomic_store_explicit(&latest_ms, now.ms, memory_order_relaxed);
}

static int64_t ns_of(clockid_t clock)
{
    struct timespec ts;
    clock_gettime(clock, &ts);
    return ts.tv_sec * INT64_C(1000000000) + ts.tv_nsec;
}

int64_t time_monotonic_ns(void)
{
    return ns_of(CLOCK_MONOTONIC);
}

int64_t time_tick_ns(void)
{
    return ns_of(CLOCK_MONOTONIC_COARSE);
}

/* Howard Hinnant's algorithm: days since 1970-01-01 from a civil date, and back. */
static int64_t days_from_civil(int64_t y, int64_t m, int64_t d)
{
    y -= m <= 2;
    int64_t era = (y >= 0 ? y : y - 399) / 400, yoe = y - era * 400;
    int64_t doy = (153 * (m + (m > 2 ? -3 : 9)) + 2) / 5 + d - 1;
    return era * 146097 + yoe * 365 + yoe / 4 - yoe / 100 + doy - 719468;
}

struct civil {
    int year, month, day, hour, minute, second, weekday;
};

static struct civil civil_from(Time t)
{
    int64_t ms = t.ms < 0 ? 0 : t.ms > YEAR_MAX_MS ? YEAR_MAX_MS : t.ms;
    int64_t days = ms / TIME_DAY, rest = ms % TIME_DAY / TIME_SECOND;
    int64_t z = days + 719468, era = z / 146097, doe = z - era * 146097;
    int64_t yoe = (doe - doe / 1460 + doe / 36524 - doe / 146096) / 365;
    int64_t doy = doe - (365 * yoe + yoe / 4 - yoe / 100), mp = (5 * doy + 2) / 153;
    int64_t month = mp + (mp < 10 ? 3 : -9);
    return (struct civil){
        .year = (int)(yoe + era * 400 + (month <= 2)),
        .month = (int)month,
        .day = (int)(doy - (153 * mp + 2) / 5 + 1),
        .hour = (int)(rest / 3600),
        .minute = (int)(rest / 60 % 60),
        .second = (int)(rest % 60),
        .weekday = (int)((days + 4) % 7),
    };
}

static void digits(char *p, int value, int width)
{
    for (int i = width; i-- > 0; value /= 10) p[i] = (char)('0' + value % 10);
}

void time_format(Time t, char ret[TIME_TEXT_LEN + 1])
{
    struct civil c = civil_from(t);
    memcpy(ret, "0000-00-00T00:00:00Z", TIME_TEXT_LEN + 1);
    digits(ret, c.year, 4);
    digits(ret + 5, c.month, 2);
    digits(ret + 8, c.day, 2);
    digits(ret + 11, c.hour, 2);
    digits(ret + 14, c.minute, 2);
    digits(ret + 17, c.second, 2);
}

void buf_time(struct buf *b, Time t)
{
    char text[TIME_TEXT_LEN + 1];
    time_format(t, text);
    buf_append(b, (Str){text, TIME_TEXT_LEN});
}

void time_format_http(Time t, char ret[30])
{
    static const char days[7][4] = {"Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"};
    static const char months[12][4] = {"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                       "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
    struct civil c = civil_from(t);
    memcpy(ret, "Sun, 00 Jan 0000 00:00:00 GMT", 30);
    memcpy(ret, days[c.weekday], 3);
    digits(ret + 5, c.day, 2);
    memcpy(ret + 8, months[c.month - 1], 3);
    digits(ret + 12, c.year, 4);
    digits(ret + 17, c.hour, 2);
    digits(ret + 20, c.minute, 2);
    digits(ret + 23, c.second, 2);
}

/* Reads `width` digits at *s. */
static bool number(Str *s, size_t width, int64_t *ret)
{
    if (s->len < width) return false;
    int64_t v = 0;
    for (size_t i = 0; i < width; i++) {
        char c = s->ptr[i];
        if (c < '0' || c > '9') return false;
        v = v * 10 + (c - '0');
    }
    s->ptr += width;
    s->len -= width;
    *ret = v;
    return true;
}

static bool literal(Str *s, char c)
{
    if (!s->len || s->ptr[0] != c) return false;
    s->ptr++;
    s->len--;
    return true;
}

static int64_t days_in(int64_t year, int64_t month)
{
    static const int days[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    bool leap = (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
    return days[month - 1] + (month == 2 && leap);
}

bool time_parse(Str s, Time *ret)
{
    int64_t y, mo, d, h, mi, sec, ms = 0, offset = 0;
    if (!number(&s, 4, &y) || !literal(&s, '-') || !number(&s, 2, &mo) || !literal(&s, '-') || !number(&s, 2, &d))
        return false;
    if (!literal(&s, 'T') && !literal(&s, 't')) return false;
    if (!number(&s, 2, &h) || !literal(&s, ':') || !number(&s, 2, &mi) || !literal(&s, ':') || !number(&s, 2, &sec))
        return false;
    if (y < 1970 || mo < 1 || mo > 12 || d < 1 || d > days_in(y, mo) || h > 23 || mi > 59 || sec > 59) return false;
    if (literal(&s, '.')) {
        int64_t digit, scale = 100;
        size_t n = 0;
        for (; number(&s, 1, &digit); n++, scale /= 10) ms += digit * scale;
        if (n < 1 || n > 9) return false;
    }
    if (!literal(&s, 'Z') && !literal(&s, 'z')) {
        int64_t oh, om, sign = literal(&s, '+') ? 1 : literal(&s, '-') ? -1 : 0;
        if (!sign || !number(&s, 2, &oh) || !literal(&s, ':') || !number(&s, 2, &om) || oh > 23 || om > 59)
            return false;
        offset = sign * (oh * TIME_HOUR + om * TIME_MINUTE);
    }
    if (s.len) return false;
    int64_t t =
        days_from_civil(y, mo, d) * TIME_DAY + h * TIME_HOUR + mi * TIME_MINUTE + sec * TIME_SECOND + ms - offset;
    if (t <= 0 || t > YEAR_MAX_MS) return false;
    ret->ms = t;
    return true;
}
