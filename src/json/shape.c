/* json/shape.c - see shape.h. First every given value finds its field, then every field reads its value, so errors come
 * in the table's order and the cost is members times fields, never members squared. */
#include "json/shape.h"

#include "base/text.h"
#include "json/field.h"

#define ERRORS_MAX 100
#define UNKNOWN_NAME_MAX 64 /* code points of an unknown name that an answer repeats */

void field_errors_init(struct field_errors *errors, struct arena *a)
{
    *errors = (struct field_errors){.arena = a};
    errors->last = &errors->first;
}

static void add(struct field_errors *errors, Str field, enum err e, const struct field *rule)
{
    if (errors->count == ERRORS_MAX) return;
    struct field_error *fe = arena_new(errors->arena, struct field_error);
    *fe = (struct field_error){.field = field, .err = e, .rule = rule};
    *errors->last = fe;
    errors->last = &fe->next;
    errors->count++;
}

void field_errors_add(struct field_errors *errors, Str field, enum err e)
{
    add(errors, field, e, NULL);
}

void field_errors_add_about(struct field_errors *errors, Str field, enum err e, Str about)
{
    struct field_error **place = errors->last;
    add(errors, field, e, NULL);
    if (*place) (*place)->about = about;
}

bool field_error_min(const struct field_error *e, int64_t *ret)
{
    const struct field *f = e->rule;
    bool tells = f && (e->err == ERR_FIELD_TOO_SHORT || e->err == ERR_FIELD_TOO_FEW ||
                       (e->err == ERR_FIELD_RANGE && f->type == FIELD_INT));
    if (tells) *ret = f->min;
    return tells;
}

bool field_error_max(const struct field_error *e, int64_t *ret)
{
    const struct field *f = e->rule;
    if (!f || f->max < f->min || !f->max) return false;
    bool tells = e->err == ERR_FIELD_TOO_LONG || e->err == ERR_FIELD_TOO_MANY ||
                 (e->err == ERR_FIELD_RANGE && f->type == FIELD_INT);
    if (tells) *ret = e->err == ERR_FIELD_TOO_LONG && f->type == FIELD_LINES ? f->item_max : f->max;
    return tells;
}

/* What was given for one field. */
struct given {
    Str name;
    const struct json *value;
    enum err err; /* known before the value is looked at */
};

/* One reading of one table. */
struct reading {
    const struct field *fields;
    struct given *given; /* one for each field */
    size_t count;
    struct field_errors unknown; /* named by no field; reported last */
    bool bad;
};

static void begin(struct reading *r, const struct shape *shape, struct arena *a)
{
    *r = (struct reading){.fields = shape->fields};
    while (r->fields[r->count].name) r->count++;
    r->given = arena_array(a, struct given, r->count);
    for (size_t i = 0; i < r->count; i++) r->given[i].name = str_from(r->fields[i].name);
    field_errors_init(&r->unknown, a);
}

/* The field's number, or -1. Members mostly come in the table's order: the search starts behind the last one found. */
static ptrdiff_t find(const struct reading *r, Str name, size_t *hint)
{
    for (size_t n = 0, i = *hint; n < r->count; n++, i++) {
        if (i >= r->count) i = 0;
        if (!str_eq(r->given[i].name, name)) continue;
        *hint = i + 1;
        return (ptrdiff_t)i;
    }
    return -1;
}

static Str shortened(Str name)
{
    size_t i = 0;
    for (size_t n = 0; i < name.len; i++)
        if (((unsigned char)name.ptr[i] & 0xc0) != 0x80 && n++ == UNKNOWN_NAME_MAX) break;
    return (Str){name.ptr, i};
}

static void add_unknown(struct reading *r, Str name)
{
    r->bad = true;
    field_errors_add(&r->unknown, shortened(name), ERR_FIELD_UNKNOWN);
}

static void set_flag(char *body, size_t offset)
{
    if (offset) *(bool *)(body + offset) = true;
}

static enum err read_one(const struct field *f, const struct json *v, int exponent, struct arena *a, char *body)
{
    bool null = v && v->type == JSON_NULL;
    if (!v || (null && !(f->flags & NULLABLE))) return f->flags & REQUIRED ? ERR_FIELD_REQUIRED : OK;
    if (null) {
        set_flag(body, f->is_null);
    } else {
        enum err e = field_read(f, v, exponent, a, body + f->offset);
        if (e) return e;
    }
    set_flag(body, f->has);
    return OK;
}

static enum err finish(struct reading *r, const struct shape *shape, int exponent, struct arena *a, const void **ret,
                       struct field_errors *errors)
{
    char *body = arena_alloc(a, shape->bytes);
    for (size_t i = 0; i < r->count; i++) {
        const struct field *f = &r->fields[i];
        enum err e = r->given[i].err;
        if (!e) e = read_one(f, r->given[i].value, exponent, a, body);
        if (!e) continue;
        add(errors, r->given[i].name, e, f);
        r->bad = true;
    }
    for (const struct field_error *u = r->unknown.first; u; u = u->next) field_errors_add(errors, u->field, u->err);
    *ret = body;
    return r->bad ? ERR_VALIDATION : OK;
}

enum err shape_read(const struct shape *shape, const struct json *root, int exponent, struct arena *a, const void **ret,
                    struct field_errors *errors)
{
    if (!root || root->type != JSON_OBJECT) {
        field_errors_add(errors, STR(""), ERR_FIELD_TYPE);
        return ERR_VALIDATION;
    }
    struct reading r;
    begin(&r, shape, a);
    size_t hint = 0;
    for (const struct json *m = root->first; m; m = m->next) {
        ptrdiff_t i = find(&r, m->key, &hint);
        if (i >= 0)
            r.given[i].value = m;
        else
            add_unknown(&r, m->key);
    }
    return finish(&r, shape, exponent, a, ret, errors);
}

static void take_pair(struct reading *r, Str pair, enum unknown_names unknown, size_t *hint, struct arena *a)
{
    Str raw = pair, name, value = {0};
    str_cut(pair, '=', &raw, &value);
    ptrdiff_t i = percent_decode(a, raw, true, &name) ? find(r, name, hint) : (name = raw, -1);
    if (i < 0) {
        if (unknown == UNKNOWN_REFUSED) add_unknown(r, name);
    } else if (r->given[i].value || r->given[i].err) {
        r->given[i].err = ERR_FIELD_CONFLICT;
    } else if (!percent_decode(a, value, true, &value)) {
        r->given[i].err = ERR_FIELD_FORMAT;
    } else {
        r->given[i].value = field_from_text(&r->fields[i], value, a);
    }
}

enum err shape_read_query(const struct shape *shape, Str query, enum unknown_names unknown, int exponent,
                          struct arena *a, const void **ret, struct field_errors *errors)
{
    struct reading r;
    begin(&r, shape, a);
    size_t hint = 0;
    for (bool more = query.len > 0; more;) {
        Str pair = query;
        more = str_cut(query, '&', &pair, &query);
        if (pair.len) take_pair(&r, pair, unknown, &hint, a);
    }
    return finish(&r, shape, exponent, a, ret, errors);
}
