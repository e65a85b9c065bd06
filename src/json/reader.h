/* json/reader.h - strict JSON (RFC 8259) into an arena.
 *
 * Numbers keep their text, so that money is read from what was written, not from a double. Strings are unescaped.
 * Refused: anything RFC 8259 refuses, duplicate keys in one object, invalid UTF-8, lone surrogates (raw or escaped),
 * NUL in a string (raw or \u0000), a byte order mark, nesting deeper than JSON_DEPTH_MAX, more than JSON_VALUES_MAX
 * values, trailing bytes. Everything else that is valid is read.
 * No recursion; time is linear in the input's bytes, whatever the input. */
#pragma once

#include "base/arena.h"
#include "base/err.h"
#include "base/str.h"

#define JSON_DEPTH_MAX 16
#define JSON_VALUES_MAX (1 << 20) /* 64 MiB of nodes: what "[0,0,0,…" can make us allocate */

enum json_type { JSON_NULL, JSON_FALSE, JSON_TRUE, JSON_NUMBER, JSON_STRING, JSON_ARRAY, JSON_OBJECT };

struct json {
    enum json_type type;
    Str text;           /* the number's literal, or the unescaped string */
    Str key;            /* inside an object: its name */
    struct json *first; /* first child of an array or object */
    struct json *next;  /* next sibling */
    size_t count;       /* children */
};

/* ERR_MALFORMED_JSON, or OK with the root. `why` (may be NULL) gets a static text for logs. Text slices point into
 * `input` where nothing was escaped, else into the arena: input must outlive the tree. */
enum err json_read(struct arena *a, Str input, const struct json **ret, const char **why);
/* The same, and where reading failed: the number of bytes before the first that could not be read. */
enum err json_read_at(struct arena *a, Str input, const struct json **ret, const char **why, size_t *ret_at);

/* The member called key, or NULL (also when obj is NULL or no object). */
const struct json *json_get(const struct json *obj, const char *key);
/* Follows names: json_path(root, "data", "object", "id", NULL). */
const struct json *json_path(const struct json *root, ...) __attribute__((sentinel));
/* The text of a string member, or an empty Str. */
Str json_text(const struct json *obj, const char *key);
/* A JSON integer literal (no fraction, no exponent, no "-0") that fits. False leaves *ret alone. */
bool json_int64(const struct json *v, int64_t *ret);
