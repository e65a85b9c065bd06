/* json/writer.c - see writer.h. Each value reserves its room once; runs of plain text are copied whole. */
#include "json/writer.h"

#include <assert.h>

#include "json/scan.h"

void json_writer_init(struct json_writer *w, struct buf *out, int exponent)
{
    *w = (struct json_writer){.out = out, .exponent = exponent};
}

static inline bool in_object(const struct json_writer *w)
{
    return w->depth && (w->objects >> (w->depth - 1) & 1);
}

/* Room for a value of n bytes, its comma written. NULL when the buffer is full: the value is dropped. */
static inline char *begin_value(struct json_writer *w, size_t n)
{
    assert(w->keyed == in_object(w)); /* in an object each value has its key, elsewhere none has */
    assert(w->depth || !w->comma);    /* one value at the top */
    bool comma = w->comma && !w->keyed;
    w->comma = true;
    w->keyed = false;
    char *p = buf_reserve(w->out, n + comma);
    if (p && comma) *p++ = ',';
    return p;
}

static inline void end_value(struct json_writer *w, const char *end)
{
    w->out->len = (size_t)(end - w->out->ptr);
}

static void open_container(struct json_writer *w, char c)
{
    char *p = begin_value(w, 1);
    assert(w->depth < JSON_WRITER_DEPTH_MAX);
    uint64_t bit = UINT64_C(1) << w->depth++;
    w->objects = c == '{' ? w->objects | bit : w->objects & ~bit;
    w->comma = false;
    if (!p) return;
    *p++ = c;
    end_value(w, p);
}

static void close_container(struct json_writer *w, char c)
{
    assert(w->depth > 0 && in_object(w) == (c == '}') && !w->keyed);
    w->depth--;
    w->comma = true;
    buf_char(w->out, c);
}

void json_begin_object(struct json_writer *w)
{
    open_container(w, '{');
}
void json_end_object(struct json_writer *w)
{
    close_container(w, '}');
}
void json_begin_array(struct json_writer *w)
{
    open_container(w, '[');
}
void json_end_array(struct json_writer *w)
{
    close_container(w, ']');
}

static inline void write_key(struct json_writer *w, const char *key)
{
    assert(in_object(w) && !w->keyed);
    size_t len = strlen(key);
    char *p = buf_reserve(w->out, len + 4);
    if (p) {
        if (w->comma) *p++ = ',';
        *p++ = '"';
        memcpy(p, key, len);
        p += len;
        *p++ = '"';
        *p++ = ':';
        end_value(w, p);
    }
    w->keyed = true;
}

void json_key(struct json_writer *w, const char *key)
{
    write_key(w, key);
}

/* The escape for the character at p, which is not plain; *ret_bytes of the text are dealt with. An empty Str: the
 * character stands for itself. */
static Str escape(const char *p, size_t left, char hex[6], size_t *ret_bytes)
{
    static const char digits[] = "0123456789abcdef";
    unsigned char c = (unsigned char)*p;
    *ret_bytes = 1;
    switch (c) {
    case '"': return STR("\\\"");
    case '\\': return STR("\\\\");
    case '\b': return STR("\\b");
    case '\f': return STR("\\f");
    case '\n': return STR("\\n");
    case '\r': return STR("\\r");
    case '\t': return STR("\\t");
    default: break;
    }
    if (c < 0x80) {
        memcpy(hex, "\\u00", 4);
        hex[4] = digits[c >> 4];
        hex[5] = digits[c & 15];
        return (Str){hex, 6};
    }
    size_t n = utf8_step(p, left);
    if (!n) return STR("\xef\xbf\xbd");
    *ret_bytes = n;
    if (n == 3 && memcmp(p, "\xe2\x80\xa8", 3) == 0) return STR("\\u2028");
    if (n == 3 && memcmp(p, "\xe2\x80\xa9", 3) == 0) return STR("\\u2029");
    return (Str){0};
}

/* The text, starting at its first character that is not plain. */
static void write_escaped(struct buf *out, const char *p, const char *end)
{
    const char *run = p; /* not written yet */
    while (p < end) {
        char hex[6];
        size_t n;
        Str text = escape(p, (size_t)(end - p), hex, &n);
        if (text.len) {
            buf_append(out, (Str){run, (size_t)(p - run)});
            buf_append(out, text);
            run = p + n;
        }
        p = scan_write(p + n, end);
    }
    buf_append(out, (Str){run, (size_t)(end - run)});
}

void json_str(struct json_writer *w, Str s)
{
    char *p = begin_value(w, s.len + 2);
    if (!p) return;
    const char *text = s.len ? s.ptr : "", *end = text + s.len, *plain = scan_write(text, end);
    size_t n = (size_t)(plain - text);
    *p++ = '"';
    memcpy(p, text, n);
    p += n;
    if (plain < end) {
        end_value(w, p);
        write_escaped(w->out, plain, end);
        buf_char(w->out, '"');
        return;
    }
    *p++ = '"';
    end_value(w, p);
}

static inline void write_raw(struct json_writer *w, Str json)
{
    assert(json.len);
    char *p = begin_value(w, json.len);
    if (!p) return;
    memcpy(p, json.ptr, json.len);
    end_value(w, p + json.len);
}

void json_raw(struct json_writer *w, Str json)
{
    write_raw(w, json);
}

void json_int(struct json_writer *w, int64_t v)
{
    char digits[20], *end = digits + sizeof digits, *first = end;
    uint64_t u = v < 0 ? 0 - (uint64_t)v : (uint64_t)v;
    do *--first = (char)('0' + u % 10);
    while (u /= 10);
    if (v < 0) *--first = '-';
    write_raw(w, (Str){first, (size_t)(end - first)});
}

void json_bool(struct json_writer *w, bool v)
{
    write_raw(w, v ? STR("true") : STR("false"));
}
void json_null(struct json_writer *w)
{
    write_raw(w, STR("null"));
}
void json_id(struct json_writer *w, Id id)
{
    json_int(w, id.v);
}

void json_money(struct json_writer *w, Money m)
{
    char text[MONEY_TEXT_MAX];
    size_t n = money_format(m, w->exponent, text);
    write_raw(w, (Str){text, n});
}

void json_time(struct json_writer *w, Time t)
{
    if (!time_is(t)) {
        json_null(w);
        return;
    }
    char text[TIME_TEXT_LEN + 3];
    text[0] = '"';
    time_format(t, text + 1);
    text[TIME_TEXT_LEN + 1] = '"';
    write_raw(w, (Str){text, TIME_TEXT_LEN + 2});
}

void json_kv_str(struct json_writer *w, const char *key, Str s)
{
    write_key(w, key);
    json_str(w, s);
}

void json_kv_opt_str(struct json_writer *w, const char *key, Str s)
{
    write_key(w, key);
    if (s.len)
        json_str(w, s);
    else
        json_null(w);
}

void json_kv_cstr(struct json_writer *w, const char *key, const char *s)
{
    json_kv_str(w, key, str_from(s));
}

void json_kv_int(struct json_writer *w, const char *key, int64_t v)
{
    write_key(w, key);
    json_int(w, v);
}

void json_kv_bool(struct json_writer *w, const char *key, bool v)
{
    write_key(w, key);
    json_bool(w, v);
}

void json_kv_null(struct json_writer *w, const char *key)
{
    write_key(w, key);
    json_null(w);
}

void json_kv_id(struct json_writer *w, const char *key, Id id)
{
    json_kv_int(w, key, id.v);
}

void json_kv_opt_id(struct json_writer *w, const char *key, Id id)
{
    if (id_is(id))
        json_kv_id(w, key, id);
    else
        json_kv_null(w, key);
}

void json_kv_money(struct json_writer *w, const char *key, Money m)
{
    write_key(w, key);
    json_money(w, m);
}

void json_kv_time(struct json_writer *w, const char *key, Time t)
{
    write_key(w, key);
    json_time(w, t);
}
