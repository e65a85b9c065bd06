/* json/field.h - one value read as one field's type: what shape.c does for each row of a table. */
#pragma once

#include "json/shape.h"

/* v is not null. On OK the value is stored at `slot`, which has the type that shape.h names; else nothing is. */
enum err field_read(const struct field *f, const struct json *v, int exponent, struct arena *a, void *slot);

/* The value that a text of a query stands for: numbers, booleans and comma-separated lists as the field's type asks,
 * everything else as a string. What does not fit stays a string, for field_read to refuse. */
const struct json *field_from_text(const struct field *f, Str text, struct arena *a);
