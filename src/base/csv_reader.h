/* base/csv_reader.h - records of a CSV text (RFC 4180), one after the other. Lines end in CRLF or LF; a byte order mark
 * in front is passed over. A field in quotes may hold commas, line ends and doubled quotes. */
#pragma once

#include "base/arena.h"
#include "base/str.h"

#define CSV_FIELDS_MAX 128
#define CSV_FIELD_BYTES_MAX 65536

struct csv_reader {
    Str rest;
    size_t line; /* at which the record of the last csv_next began, from 1 */
    size_t next_line;
    Str fields[CSV_FIELDS_MAX];
    size_t count;
};

enum csv_result { CSV_RECORD, CSV_END, CSV_BAD };

void csv_reader_init(struct csv_reader *r, Str text);
/* Empty lines are passed over. Fields point into the text or the arena. CSV_BAD: *ret_why, and nothing more can be
 * read. */
enum csv_result csv_next(struct csv_reader *r, struct arena *a, const char **ret_why);
