/* json/field.h - reads one value as one field's type; shape.c does so for each row of a table. */
#pragma once

#include "json/shape.h"

/* v is not null. On OK the value is stored at `slot`, which has the type that shape.h names; otherwise nothing is
 * stored. */
enum err field_read(const struct field *f, const struct json *v, int exponent, struct arena *a, void *slot);

/* The value that a query's text stands for: a number, boolean or comma-separated list where the field's type asks for
 * one, else a string. A text that does not fit its type stays a string, for field_read to refuse. */
const struct json *field_from_text(const struct field *f, Str text, struct arena *a);
