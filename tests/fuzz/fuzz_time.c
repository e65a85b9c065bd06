/* tests/fuzz/fuzz_time.c - times as text and as numbers: what is read is a real moment, what is shown reads back. */
#include "fuzz.h"

#include <time.h>

#include "base/timestamp.h"

#define LAST_MS INT64_C(253402300799999)

static void show(Time t)
{
    char text[TIME_TEXT_LEN + 1], http[30];
    time_format(t, text);
    time_format_http(t, http);
    MUST(strlen(text) == TIME_TEXT_LEN && strlen(http) == 29);

    time_t seconds = (time_t)((t.ms < 0 ? 0 : t.ms > LAST_MS ? LAST_MS : t.ms) / 1000);
    struct tm tm;
    char want[32];
    MUST(gmtime_r(&seconds, &tm));
    strftime(want, sizeof want, "%Y-%m-%dT%H:%M:%SZ", &tm);
    MUST(strcmp(text, want) == 0);

    Time back;
    MUST(time_parse(str_from(text), &back) == (seconds > 0));
    if (seconds > 0) MUST(back.ms == (int64_t)seconds * 1000);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    Time t = {-77};
    if (time_parse((Str){(const char *)data, size}, &t)) {
        MUST(t.ms > 0 && t.ms <= LAST_MS);
        show(t);
        char text[TIME_TEXT_LEN + 1];
        time_format(t, text);
        /* In UTC the same digits come back: no day was moved into the next month. */
        if ((data[size - 1] | 32) == 'z') MUST(!memcmp(text, data, 10) && !memcmp(text + 11, data + 11, 8));
    } else {
        MUST(t.ms == -77);
    }
    if (size >= 8) {
        memcpy(&t.ms, data, 8);
        show(t);
    }
    return 0;
}
