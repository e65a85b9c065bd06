/* base/csv_reader.c - see csv_reader.h. */
#include "base/csv_reader.h"

#include <string.h>

#include "base/buf.h"

void csv_reader_init(struct csv_reader *r, Str text)
{
    static const char mark[] = "\xef\xbb\xbf";
    if (text.len >= 3 && memcmp(text.ptr, mark, 3) == 0) text = (Str){text.ptr + 3, text.len - 3};
    *r = (struct csv_reader){.rest = text, .next_line = 1};
}

static char at(const struct csv_reader *r, size_t i)
{
    return i < r->rest.len ? r->rest.ptr[i] : '\0';
}

static void pass(struct csv_reader *r, size_t n)
{
    r->rest = (Str){r->rest.ptr + n, r->rest.len - n};
}

/* At a line's end: its length; else 0. */
static size_t end_of_line(const struct csv_reader *r)
{
    if (at(r, 0) == '\n') return 1;
    return at(r, 0) == '\r' && at(r, 1) == '\n' ? 2 : 0;
}

static const char *read_plain(struct csv_reader *r, Str *ret)
{
    size_t n = 0;
    while (n < r->rest.len && r->rest.ptr[n] != ',' && r->rest.ptr[n] != '\n') {
        if (r->rest.ptr[n] == '"') return "a quote inside a field that does not begin with one";
        n++;
    }
    size_t length = n;
    if (length && at(r, n) == '\n' && r->rest.ptr[length - 1] == '\r') n = --length;
    if (length > CSV_FIELD_BYTES_MAX) return "a field is too long";
    *ret = (Str){r->rest.ptr, length};
    pass(r, n);
    return NULL;
}

static const char *read_quoted(struct csv_reader *r, struct arena *a, Str *ret)
{
    struct buf text;
    buf_init(&text, a, CSV_FIELD_BYTES_MAX);
    pass(r, 1);
    for (;;) {
        if (!r->rest.len) return "a quote is never closed";
        char c = r->rest.ptr[0];
        if (c == '"' && at(r, 1) != '"') break;
        pass(r, c == '"' ? 2 : 1);
        if (c == '\n') r->next_line++;
        buf_char(&text, c);
        if (text.full) return "a field is too long";
    }
    pass(r, 1);
    if (r->rest.len && at(r, 0) != ',' && !end_of_line(r)) return "text behind a closing quote";
    *ret = buf_str(&text);
    return NULL;
}

enum csv_result csv_next(struct csv_reader *r, struct arena *a, const char **ret_why)
{
    for (size_t n; (n = end_of_line(r)); r->next_line++) pass(r, n);
    r->line = r->next_line;
    r->count = 0;
    if (!r->rest.len) return CSV_END;
    for (;;) {
        if (r->count == CSV_FIELDS_MAX) {
            *ret_why = "too many fields";
            return CSV_BAD;
        }
        Str *field = &r->fields[r->count++];
        const char *why = at(r, 0) == '"' ? read_quoted(r, a, field) : read_plain(r, field);
        if (why) {
            *ret_why = why;
            return CSV_BAD;
        }
        if (at(r, 0) != ',') break;
        pass(r, 1);
    }
    size_t end = end_of_line(r);
    pass(r, end);
    if (end) r->next_line++;
    return CSV_RECORD;
}
