/* json/field.c - see field.h. One small reader per field type; each returns the error that names what is wrong. */
#include "json/field.h"

#include <assert.h>
#include <stdlib.h>

#include "base/text.h"

/* Both 0: no bounds. max below min: no upper bound. */
static enum err check_number(const struct field *f, int64_t v)
{
    if (!f->min && !f->max) return OK;
    if (v < f->min) return f->min == 1 ? ERR_FIELD_NOT_POSITIVE : ERR_FIELD_RANGE;
    return f->max >= f->min && v > f->max ? ERR_FIELD_RANGE : OK;
}

/* A whole number beyond int64 is out of range; its sign says on which side. */
static enum err check_huge(const struct field *f, Str text)
{
    return f->min == 1 && text.ptr[0] == '-' ? ERR_FIELD_NOT_POSITIVE : ERR_FIELD_RANGE;
}

static bool is_integer_literal(Str s)
{
    if (s.len && s.ptr[0] == '-') s.ptr++, s.len--;
    if (!s.len || s.ptr[0] == '0') return false; /* a number that starts with 0 is small and never gets here */
    for (size_t i = 0; i < s.len; i++)
        if (s.ptr[i] < '0' || s.ptr[i] > '9') return false;
    return true;
}

static enum err read_int(const struct field *f, const struct json *v, int64_t *ret)
{
    int64_t n;
    if (v->type != JSON_NUMBER) return ERR_FIELD_TYPE;
    if (!json_int64(v, &n)) return is_integer_literal(v->text) ? check_huge(f, v->text) : ERR_FIELD_TYPE;
    enum err e = check_number(f, n);
    if (!e) *ret = n;
    return e;
}

static enum err read_id(const struct json *v, Id *ret)
{
    static const struct field bounds = {.min = 1, .max = ID_MAX};
    return read_int(&bounds, v, &ret->v);
}

static enum err read_decimal(const struct field *f, const struct json *v, int decimals, int64_t *ret)
{
    Money m;
    if (v->type != JSON_NUMBER) return ERR_FIELD_TYPE;
    switch (money_parse(v->text, decimals, &m)) {
    case MONEY_OK: break;
    case MONEY_TOO_PRECISE: return ERR_FIELD_TOO_PRECISE;
    case MONEY_OUT_OF_RANGE: return check_huge(f, v->text);
    case MONEY_MALFORMED:
    default: return ERR_FIELD_TYPE;
    }
    enum err e = check_number(f, m.minor);
    if (!e) *ret = m.minor;
    return e;
}

static enum err read_literal(const struct json *v, Str *ret)
{
    Money m; /* a query's text need not be a number: only its form is checked */
    if (v->type != JSON_NUMBER || money_parse(v->text, 0, &m) == MONEY_MALFORMED) return ERR_FIELD_TYPE;
    *ret = v->text;
    return OK;
}

static enum err check_length(const struct field *f, Str s)
{
    size_t n = utf8_count(s);
    if (f->min > 0 && n < (size_t)f->min) return ERR_FIELD_TOO_SHORT;
    return f->max > 0 && n > (size_t)f->max ? ERR_FIELD_TOO_LONG : OK;
}

static Str without_cr(struct arena *a, Str s)
{
    if (str_find(s, '\r') < 0) return s;
    char *out = arena_take(a, s.len);
    size_t n = 0;
    for (size_t i = 0; i < s.len; i++)
        if (s.ptr[i] != '\r' || i + 1 == s.len || s.ptr[i + 1] != '\n') out[n++] = s.ptr[i];
    return (Str){out, n};
}

/* CR only in front of LF. */
static bool is_lines(struct arena *a, Str s)
{
    return text_is_lines(without_cr(a, s));
}

static enum err read_text(const struct field *f, const struct json *v, struct arena *a, Str *ret)
{
    if (v->type != JSON_STRING) return ERR_FIELD_TYPE;
    Str s = v->text, bare = f->type == FIELD_SECRET ? s : text_trim(s);
    if (!bare.len && f->flags & REQUIRED) return ERR_FIELD_REQUIRED;
    if (!(f->type == FIELD_TEXT ? is_lines(a, s) : text_is_line(s))) return ERR_FIELD_CHARACTERS;
    if (!(f->flags & AS_SENT)) s = f->type == FIELD_TEXT ? without_cr(a, bare) : bare;
    enum err e = check_length(f, s);
    if (!e) *ret = s;
    return e;
}

static enum err read_email(const struct field *f, const struct json *v, struct arena *a, Str *ret)
{
    if (v->type != JSON_STRING) return ERR_FIELD_TYPE;
    Str s = text_trim(v->text);
    if (!s.len && f->flags & REQUIRED) return ERR_FIELD_REQUIRED;
    if (!text_is_line(v->text)) return ERR_FIELD_CHARACTERS;
    if (s.len > EMAIL_BYTES_MAX) return ERR_FIELD_TOO_LONG;
    if (!email_is_plausible(s)) return ERR_FIELD_FORMAT;
    *ret = str_lower(a, s);
    return OK;
}

static enum err read_form(const struct field *f, const struct json *v, size_t bytes_max, bool (*valid)(Str), Str *ret)
{
    if (v->type != JSON_STRING) return ERR_FIELD_TYPE;
    if (!v->text.len && f->flags & REQUIRED) return ERR_FIELD_REQUIRED;
    if (v->text.len > bytes_max) return ERR_FIELD_TOO_LONG;
    if (!valid(v->text)) return ERR_FIELD_FORMAT;
    *ret = v->text;
    return OK;
}

static enum err read_time(const struct json *v, Time *ret)
{
    if (v->type != JSON_STRING) return ERR_FIELD_TYPE;
    return time_parse(v->text, ret) ? OK : ERR_FIELD_FORMAT;
}

static enum err read_choice(const struct field *f, const struct json *v, int *ret)
{
    if (v->type != JSON_STRING) return ERR_FIELD_TYPE;
    int i = str_choice(v->text, f->choices);
    if (i < 0) return ERR_FIELD_VALUE;
    *ret = i;
    return OK;
}

static enum err check_items(const struct field *f, const struct json *v)
{
    if (v->type != JSON_ARRAY) return ERR_FIELD_TYPE;
    if (f->min > 0 && v->count < (size_t)f->min) return ERR_FIELD_TOO_FEW;
    return f->max > 0 && v->count > (size_t)f->max ? ERR_FIELD_TOO_MANY : OK;
}

static int compare_ids(const void *a, const void *b)
{
    int64_t x = ((const Id *)a)->v, y = ((const Id *)b)->v;
    return (x > y) - (x < y);
}

static bool has_twice(const Id *ids, size_t n, struct arena *a)
{
    if (n < 2) return false;
    Id *sorted = arena_array(a, Id, n);
    memcpy(sorted, ids, n * sizeof *ids);
    qsort(sorted, n, sizeof *sorted, compare_ids);
    for (size_t i = 1; i < n; i++)
        if (id_eq(sorted[i - 1], sorted[i])) return true;
    return false;
}

static enum err read_ids(const struct field *f, const struct json *v, struct arena *a, struct id_list *ret)
{
    enum err e = check_items(f, v);
    if (e) return e;
    Id *ids = arena_array(a, Id, v->count);
    size_t n = 0;
    for (const struct json *item = v->first; item; item = item->next) {
        e = read_id(item, &ids[n++]);
        if (e) return e;
    }
    if (has_twice(ids, n, a)) return ERR_FIELD_DUPLICATE;
    *ret = (struct id_list){ids, n};
    return OK;
}

static enum err read_lines(const struct field *f, const struct json *v, struct arena *a, struct str_list *ret)
{
    const struct field line = {.type = FIELD_LINE, .min = 1, .max = f->item_max};
    enum err e = check_items(f, v);
    if (e) return e;
    Str *lines = arena_array(a, Str, v->count);
    size_t n = 0;
    for (const struct json *item = v->first; item; item = item->next) {
        e = read_text(&line, item, a, &lines[n++]);
        if (e) return e;
    }
    *ret = (struct str_list){lines, n};
    return OK;
}

static enum err read_choices(const struct field *f, const struct json *v, unsigned *ret)
{
    enum err e = check_items(f, v);
    if (e) return e;
    unsigned set = 0;
    for (const struct json *item = v->first; item; item = item->next) {
        int i;
        e = read_choice(f, item, &i);
        if (e) return e;
        assert(i < 32);
        if (set >> i & 1) return ERR_FIELD_DUPLICATE;
        set |= 1u << i;
    }
    *ret = set;
    return OK;
}

enum err field_read(const struct field *f, const struct json *v, int exponent, struct arena *a, void *slot)
{
    switch (f->type) {
    case FIELD_BOOL:
        if (v->type != JSON_TRUE && v->type != JSON_FALSE) return ERR_FIELD_TYPE;
        *(bool *)slot = v->type == JSON_TRUE;
        return OK;
    case FIELD_INT: return read_int(f, v, slot);
    case FIELD_ID: return read_id(v, slot);
    case FIELD_MONEY: return read_decimal(f, v, exponent, &((Money *)slot)->minor);
    case FIELD_DECIMAL: return read_decimal(f, v, f->decimals, slot);
    case FIELD_NUMBER: return read_literal(v, slot);
    case FIELD_LINE:
    case FIELD_TEXT:
    case FIELD_SECRET: return read_text(f, v, a, slot);
    case FIELD_EMAIL: return read_email(f, v, a, slot);
    case FIELD_SLUG: return read_form(f, v, SLUG_BYTES_MAX, slug_is_valid, slot);
    case FIELD_URL: return read_form(f, v, URL_BYTES_MAX, url_is_web, slot);
    case FIELD_TIME: return read_time(v, slot);
    case FIELD_CHOICE: return read_choice(f, v, slot);
    case FIELD_IDS: return read_ids(f, v, a, slot);
    case FIELD_LINES: return read_lines(f, v, a, slot);
    case FIELD_CHOICES: return read_choices(f, v, slot);
    }
    assert(false); /* not a type of field */
    return ERR_INTERNAL;
}

static bool is_list(enum field_type t)
{
    return t == FIELD_IDS || t == FIELD_LINES || t == FIELD_CHOICES;
}

static bool is_number(enum field_type t)
{
    return t == FIELD_INT || t == FIELD_ID || t == FIELD_MONEY || t == FIELD_DECIMAL || t == FIELD_NUMBER;
}

const struct json *field_from_text(const struct field *f, Str text, struct arena *a)
{
    struct json *v = arena_new(a, struct json);
    *v = (struct json){.type = is_number(f->type) ? JSON_NUMBER : JSON_STRING, .text = text};
    if (f->type == FIELD_BOOL && str_eq(text, STR("true"))) v->type = JSON_TRUE;
    if (f->type == FIELD_BOOL && str_eq(text, STR("false"))) v->type = JSON_FALSE;
    if (!is_list(f->type)) return v;

    *v = (struct json){.type = JSON_ARRAY};
    struct json **last = &v->first;
    for (bool more = text.len > 0; more; v->count++) {
        Str item = text;
        more = str_cut(text, ',', &item, &text);
        struct json *child = arena_new(a, struct json);
        *child = (struct json){.type = f->type == FIELD_IDS ? JSON_NUMBER : JSON_STRING, .text = item};
        *last = child;
        last = &child->next;
    }
    return v;
}
