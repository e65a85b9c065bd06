/* gateway/payload.c - see payload.h. */
#include "gateway/payload.h"

static Str ref_of(const struct json *v)
{
    int64_t number;
    if (!v || v->text.len > REF_BYTES_MAX) return (Str){0};
    if (v->type == JSON_STRING || (v->type == JSON_NUMBER && json_int64(v, &number))) return v->text;
    return (Str){0};
}

Str payload_ref(const struct json *obj, const char *key)
{
    return ref_of(json_get(obj, key));
}

Str payload_id(const struct json *obj, const char *key)
{
    const struct json *v = json_get(obj, key);
    return v && v->type == JSON_OBJECT ? payload_ref(v, "id") : ref_of(v);
}

bool payload_flag(const struct json *obj, const char *key)
{
    const struct json *v = json_get(obj, key);
    return v && v->type == JSON_TRUE;
}

Time payload_seconds(const struct json *obj, const char *key)
{
    int64_t seconds;
    if (!json_int64(json_get(obj, key), &seconds)) return (Time){0};
    if (seconds < 0 || seconds > INT64_C(253402300799)) return (Time){0}; /* the end of the year 9999 */
    return (Time){seconds * TIME_SECOND};
}

Time payload_time(const struct json *obj, const char *key)
{
    Time t = {0};
    time_parse(json_text(obj, key), &t);
    return t;
}

const struct json *payload_first(const struct json *array)
{
    return array && array->type == JSON_ARRAY ? array->first : NULL;
}
