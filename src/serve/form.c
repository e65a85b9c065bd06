/* serve/form.c - see form.h. */
#include "serve/form.h"

#include "base/text.h"
#include "domain/settings.h"

#define PAIRS_MAX 100

struct pair {
    Str name, value; /* as sent: still encoded */
};

static size_t pairs_of(Str body, struct pair *ret)
{
    size_t n = 0;
    for (bool more = body.len > 0; more && n < PAIRS_MAX;) {
        Str pair = body;
        more = str_cut(body, '&', &pair, &body);
        if (!str_cut(pair, '=', &ret[n].name, &ret[n].value)) ret[n] = (struct pair){pair, (Str){0}};
        n++;
    }
    return n;
}

Str form_field(struct request *req, const char *name)
{
    struct pair *pairs = arena_array(req->arena, struct pair, PAIRS_MAX);
    size_t n = pairs_of(req->exchange->body, pairs);
    for (size_t i = 0; i < n; i++) {
        Str value;
        if (str_eq(pairs[i].name, str_from(name)) && percent_decode(req->arena, pairs[i].value, true, &value))
            return value;
    }
    return (Str){0};
}

/* Amounts as people write them: one comma may be the decimal point. */
static Str amount_text(struct request *req, Str value)
{
    struct buf b;
    Str plain;
    if (!percent_decode(req->arena, value, true, &plain)) return value;
    plain = str_trim(plain);
    if (str_find(plain, '.') >= 0) return value;
    buf_init(&b, req->arena, SIZE_MAX);
    for (size_t i = 0; i < plain.len; i++) {
        char c = plain.ptr[i] == ',' ? '.' : plain.ptr[i];
        bool is_plain = (c >= '0' && c <= '9') || c == '.' || c == '-';
        if (!is_plain) return value;
        buf_char(&b, c);
    }
    return buf_str(&b);
}

static bool is_money(const struct shape *shape, Str name)
{
    for (const struct field *f = shape->fields; f->name; f++)
        if (f->type == FIELD_MONEY && str_eq(name, str_from(f->name))) return true;
    return false;
}

static bool is_routers(Str name)
{
    return str_eq(name, STR("csrf")) || str_eq(name, STR("once"));
}

/* Joins the values of a repeated name with commas. */
static void gather(struct buf *b, struct pair *pairs, size_t n, size_t first)
{
    if (b->len) buf_char(b, '&');
    buf_append(b, pairs[first].name);
    buf_char(b, '=');
    buf_append(b, pairs[first].value);
    for (size_t i = first + 1; i < n; i++) {
        if (!pairs[i].value.len || !str_eq(pairs[i].name, pairs[first].name)) continue;
        buf_lit(b, "%2C");
        buf_append(b, pairs[i].value);
        pairs[i].value = (Str){0};
    }
}

enum err form_read(struct request *req, const struct shape *shape, void **ret)
{
    struct pair *pairs = arena_array(req->arena, struct pair, PAIRS_MAX);
    size_t n = pairs_of(req->exchange->body, pairs);
    struct buf b;
    buf_init(&b, req->arena, SIZE_MAX);
    for (size_t i = 0; i < n; i++) {
        if (is_money(shape, pairs[i].name)) pairs[i].value = amount_text(req, pairs[i].value);
        if (pairs[i].value.len && !is_routers(pairs[i].name)) gather(&b, pairs, n, i);
    }
    const void *read;
    enum err e =
        shape_read_query(shape, buf_str(&b), UNKNOWN_REFUSED, req->settings->exponent, req->arena, &read, &req->errors);
    if (!e) *ret = (void *)read; /* the body belongs to the caller, in the request's arena */
    return e;
}
