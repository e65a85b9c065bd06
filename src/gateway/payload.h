/* gateway/payload.h - reads members of providers' JSON, where anything may be missing or have another type. */
#pragma once

#include "base/timestamp.h"
#include "json/reader.h"

#define REF_BYTES_MAX 255

/* A name or number that identifies something: a string, or an integer as its digits. Empty when it is neither, or too
 * long to keep. */
Str payload_ref(const struct json *obj, const char *key);
/* The same for a member that is a reference or, expanded, the object itself. */
Str payload_id(const struct json *obj, const char *key);
bool payload_flag(const struct json *obj, const char *key);
/* Seconds since 1970; 0 when it is not there. */
Time payload_seconds(const struct json *obj, const char *key);
/* RFC 3339; 0 when it is not there. */
Time payload_time(const struct json *obj, const char *key);
/* The first item of an array, or NULL. */
const struct json *payload_first(const struct json *array);
/* Follows names: payload_at(root, "data", "object"). NULL where one leads nowhere. */
#define payload_at(root, ...) json_path((root), __VA_ARGS__, (const char *)NULL)
