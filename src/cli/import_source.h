/* cli/import_source.h - files as other systems export them: which of their columns is which of ours. docs/import.md
 * says how sure each name is. */
#pragma once

#include "domain/import_row.h"

struct import_source;

/* NULL: this system has no such file, or is not known. "": our own columns. */
const struct import_source *import_source_find(Str from, enum import_kind kind);
/* Our column for one of theirs. False: it is passed over; our own files may have no such column. */
bool import_source_column(const struct import_source *s, enum import_kind kind, Str name, enum import_column *ret);
bool import_source_is_ours(const struct import_source *s);
/* Their values become ours. False: the line is not for us (sold, refunded, a line of totals, …). */
bool import_source_convert(const struct import_source *s, struct arena *a, struct import_row *row);
