/* api/admin/csv.h - rows for spreadsheets (RFC 4180, CRLF).
 *
 * Text that a spreadsheet would run as a formula (it starts with = + - @, tab or CR) gets an apostrophe in front. */
#pragma once

#include "base/id.h"
#include "base/money.h"
#include "base/timestamp.h"

struct csv {
    struct buf *out;
    int exponent;
    bool comma;
};

void csv_init(struct csv *c, struct buf *out, int exponent);
/* A line of column names, separated by commas. */
void csv_head(struct csv *c, const char *names);
void csv_text(struct csv *c, Str s);
void csv_int(struct csv *c, int64_t v);
void csv_money(struct csv *c, Money m);
void csv_time(struct csv *c, Time t); /* empty for none */
void csv_end(struct csv *c);
