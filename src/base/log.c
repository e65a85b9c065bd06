/* base/log.c - see log.h. A record is built on the stack. A record longer than RECORD_MAX is cut between two characters
 * and says so in its last field, so that it stays well-formed; RECORD_MAX is what a pipe takes in one piece, so that
 * records of several threads and processes never mix. */
#include "base/log.h"

#include <errno.h>
#include <stdatomic.h>
#include <unistd.h>

#include "base/timestamp.h"

#define RECORD_MAX 4096

static _Atomic int level_least = LOG_INFO;
static _Atomic int record_format = LOG_LOGFMT;

static const char *const level_names[] = {"debug", "info", "warn", "error"};

struct record {
    bool json;
    bool cut; /* something did not fit */
    size_t len;
    char text[RECORD_MAX];
};

/* What closes a record always fits: a quote, the note that it was cut, the brace and the line end. */
#define CLOSING_MAX sizeof("\",\"cut\":1}\n")

void log_setup(enum log_level least, enum log_format format)
{
    atomic_store(&level_least, (int)least);
    atomic_store(&record_format, (int)format);
}

bool log_wants(enum log_level level)
{
    return (int)level >= atomic_load_explicit(&level_least, memory_order_relaxed);
}

/* Appends all of s, or nothing. */
static bool put(struct record *r, Str s)
{
    if (s.len > RECORD_MAX || r->len + s.len > RECORD_MAX - CLOSING_MAX) return false;
    if (s.len) memcpy(r->text + r->len, s.ptr, s.len);
    r->len += s.len;
    return true;
}

static void close_with(struct record *r, Str s)
{
    memcpy(r->text + r->len, s.ptr, s.len);
    r->len += s.len;
}

/* The character at p as it appears in a record: escaped as in JSON, which logfmt readers accept too; control characters
 * (including C1, which some terminals obey) as \u00XX, invalid UTF-8 as U+FFFD. */
static bool put_character(struct record *r, const char *p, size_t left, size_t *ret_bytes)
{
    static const char digits[] = "0123456789abcdef";
    size_t n = utf8_step(p, left);
    *ret_bytes = n ? n : 1;
    if (!n) return put(r, STR("\xef\xbf\xbd"));
    unsigned char c = (unsigned char)p[n - 1];
    bool control = n == 1 ? c < 0x20 || c == 0x7f : n == 2 && (unsigned char)p[0] == 0xc2 && c < 0xa0;
    if (control) return put(r, (Str){(char[]){'\\', 'u', '0', '0', digits[c >> 4], digits[c & 15]}, 6});
    if (c == '"' || c == '\\') return put(r, (Str){(char[]){'\\', (char)c}, 2});
    return put(r, (Str){p, n});
}

static bool put_text(struct record *r, Str s)
{
    if (!put(r, STR("\""))) return false;
    for (size_t i = 0, n; i < s.len && !r->cut; i += n) r->cut = !put_character(r, s.ptr + i, s.len - i, &n);
    close_with(r, STR("\""));
    return true;
}

static bool put_number(struct record *r, int64_t v)
{
    char digits[20], *end = digits + sizeof digits, *p = end;
    uint64_t u = v < 0 ? 0 - (uint64_t)v : (uint64_t)v;
    do *--p = (char)('0' + u % 10);
    while (u /= 10);
    if (v < 0) *--p = '-';
    return put(r, (Str){p, (size_t)(end - p)});
}

/* A field whose name or number does not fit leaves nothing behind; a text is cut. */
static void put_field(struct record *r, const char *key, const struct log_field *f)
{
    if (r->cut) return;
    size_t before = r->len;
    Str space = r->json ? STR(",\"") : STR(" ");
    if (before == 0) space = r->json ? STR("{\"") : STR("");
    if (put(r, space) && put(r, str_from(key)) && put(r, r->json ? STR("\":") : STR("=")) &&
        (f->kind == LOG_INT ? put_number(r, f->number) : put_text(r, f->text)))
        return;
    r->len = before;
    r->cut = true;
}

void log_write(enum log_level level, const char *event, const struct log_field *fields)
{
    if (!log_wants(level)) return;
    int saved = errno; /* a caller that logs an error may still need errno */
    struct record r;
    r.len = 0;
    r.cut = false;
    r.json = atomic_load_explicit(&record_format, memory_order_relaxed) == LOG_JSON;

    char now[TIME_TEXT_LEN + 1];
    time_format(time_now(), now);
    put_field(&r, "time", &LOGC("", now));
    put_field(&r, "level", &LOGC("", level_names[level]));
    put_field(&r, "event", &LOGC("", event));
    for (const struct log_field *f = fields; f->kind != LOG_END; f++) put_field(&r, f->key, f);
    if (r.cut) close_with(&r, r.json ? STR(",\"cut\":1") : STR(" cut=1"));
    close_with(&r, r.json ? STR("}\n") : STR("\n"));

    while (write(STDERR_FILENO, r.text, r.len) < 0 && errno == EINTR)
        continue; /* there is nowhere left to report a failed write */
    errno = saved;
}

#define GATE_NS INT64_C(10000000000)

int64_t log_gate_pass(struct log_gate *gate, int64_t now_ns)
{
    gate->times++;
    if (now_ns < gate->next_ns) return 0;
    int64_t times = gate->times;
    *gate = (struct log_gate){.next_ns = now_ns + GATE_NS};
    return times;
}
