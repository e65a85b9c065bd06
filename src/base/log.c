/* base/log.c - see log.h. A record is put together on the stack and cut at RECORD_MAX rather than split. */
#include "base/log.h"

#include <stdatomic.h>
#include <stdio.h>
#include <unistd.h>

#include "base/timestamp.h"

#define RECORD_MAX 4096

static _Atomic int level_least = LOG_INFO;
static _Atomic int record_format = LOG_LOGFMT;

static const char *const level_names[] = {"debug", "info", "warn", "error"};

struct record {
    char text[RECORD_MAX];
    size_t len;
};

void log_setup(enum log_level least, enum log_format format)
{
    atomic_store(&level_least, (int)least);
    atomic_store(&record_format, (int)format);
}

bool log_wants(enum log_level level) { return (int)level >= atomic_load_explicit(&level_least, memory_order_relaxed); }

static void put(struct record *r, Str s)
{
    size_t room = RECORD_MAX - 8 - r->len; /* what closes a record always fits */
    size_t n = s.len < room ? s.len : room;
    if (n) memcpy(r->text + r->len, s.ptr, n);
    r->len += n;
}

/* JSON string escapes; logfmt readers take them too. Bytes past 0x7f go as they are when the text is UTF-8, else as ?. */
static void put_quoted(struct record *r, Str s)
{
    bool utf8 = utf8_valid(s);
    put(r, STR("\""));
    for (size_t i = 0; i < s.len; i++) {
        unsigned char c = (unsigned char)s.ptr[i];
        if (c == '"' || c == '\\') {
            put(r, (Str){(char[]){'\\', (char)c}, 2});
        } else if (c < 0x20 || c == 0x7f) {
            char hex[8];
            snprintf(hex, sizeof hex, "\\u%04x", c);
            put(r, str_from(hex));
        } else if (c >= 0x80 && !utf8) {
            put(r, STR("?"));
        } else {
            put(r, (Str){s.ptr + i, 1});
        }
    }
    put(r, STR("\""));
}

static void put_field(struct record *r, bool json, const char *key, const struct log_field *f)
{
    if (r->len > 1) put(r, json ? STR(",") : STR(" "));
    if (json) put(r, STR("\""));
    put(r, str_from(key));
    put(r, json ? STR("\":") : STR("="));
    if (f->kind == LOG_INT) {
        char number[24];
        snprintf(number, sizeof number, "%lld", (long long)f->number);
        put(r, str_from(number));
    } else {
        put_quoted(r, f->text);
    }
}

void log_write(enum log_level level, const char *event, const struct log_field *fields)
{
    if (!log_wants(level)) return;
    bool json = atomic_load_explicit(&record_format, memory_order_relaxed) == LOG_JSON;
    struct record r;
    r.len = 0;
    char now[TIME_TEXT_LEN + 1];
    time_format(time_now(), now);
    if (json) put(&r, STR("{"));
    put_field(&r, json, "time", &LOGC("", now));
    put_field(&r, json, "level", &LOGC("", level_names[level]));
    put_field(&r, json, "event", &LOGC("", event));
    for (const struct log_field *f = fields; f->kind != LOG_END; f++) put_field(&r, json, f->key, f);
    if (json) r.text[r.len++] = '}';
    r.text[r.len++] = '\n';
    ssize_t n = write(STDERR_FILENO, r.text, r.len);
    (void)n; /* nowhere left to say it */
}
