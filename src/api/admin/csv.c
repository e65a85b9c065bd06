/* api/admin/csv.c - see csv.h. */
#include "api/admin/csv.h"

void csv_init(struct csv *c, struct buf *out, int exponent)
{
    *c = (struct csv){.out = out, .exponent = exponent};
}

void csv_head(struct csv *c, const char *names)
{
    buf_append(c->out, str_from(names));
    buf_lit(c->out, "\r\n");
}

static void cell(struct csv *c)
{
    if (c->comma) buf_char(c->out, ',');
    c->comma = true;
}

static bool is_in(const char *set, char c)
{
    return c && strchr(set, c);
}

/* A character that begins a formula gets an apostrophe: at the start of the cell, and after any character that a
 * spreadsheet with other settings takes for a separator. */
static bool needs_apostrophe(Str s, size_t i)
{
    if (!is_in("=+-@", s.ptr[i]) && !(i == 0 && is_in("\t\r", s.ptr[i]))) return false;
    while (i > 0 && is_in(" \"'", s.ptr[i - 1])) i--;
    return i == 0 || is_in(",;|\t\r\n", s.ptr[i - 1]);
}

void csv_text(struct csv *c, Str s)
{
    cell(c);
    bool quote = false;
    for (size_t i = 0; !quote && i < s.len; i++) quote = is_in(",;\"\r\n", s.ptr[i]) || needs_apostrophe(s, i);
    if (quote) buf_char(c->out, '"');
    for (size_t i = 0; i < s.len; i++) {
        if (needs_apostrophe(s, i)) buf_char(c->out, '\'');
        if (s.ptr[i] == '"') buf_char(c->out, '"');
        buf_char(c->out, s.ptr[i]);
    }
    if (quote) buf_char(c->out, '"');
}

void csv_int(struct csv *c, int64_t v)
{
    cell(c);
    buf_int(c->out, v);
}

void csv_money(struct csv *c, Money m)
{
    cell(c);
    buf_money(c->out, m, c->exponent);
}

void csv_time(struct csv *c, Time t)
{
    cell(c);
    if (time_is(t)) buf_time(c->out, t);
}

void csv_end(struct csv *c)
{
    buf_lit(c->out, "\r\n");
    c->comma = false;
}
