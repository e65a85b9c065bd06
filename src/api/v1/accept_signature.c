/* api/v1/accept_signature.c - see accept_signature.h. Reads, strictly, only as much of RFC 8941 as the field can hold.
 */
#include "api/v1/accept_signature.h"

#define LABEL_MAX 64
#define TEXT_MAX 512 /* of a nonce or tag */

enum item_kind { ITEM_OTHER, ITEM_STRING, ITEM_TRUE };

struct item {
    enum item_kind kind;
    Str text; /* of a string, unescaped */
};

struct input {
    struct arena *arena;
    const char *p, *end;
};

static bool is_lower(char c)
{
    return c >= 'a' && c <= 'z';
}
static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}
static bool is_alpha(char c)
{
    return is_lower(c) || (c >= 'A' && c <= 'Z');
}

static char peek(const struct input *in)
{
    return in->p < in->end ? *in->p : 0;
}

static bool take(struct input *in, char c)
{
    if (peek(in) != c || c == 0) return false;
    in->p++;
    return true;
}

static void skip_spaces(struct input *in)
{
    while (peek(in) == ' ') in->p++;
}

static void skip_white(struct input *in)
{
    while (peek(in) == ' ' || peek(in) == '\t') in->p++;
}

static bool read_key(struct input *in, Str *ret)
{
    const char *start = in->p;
    if (!is_lower(peek(in)) && peek(in) != '*') return false;
    for (char c = peek(in); is_lower(c) || is_digit(c) || c == '_' || c == '-' || c == '.' || c == '*'; c = peek(in))
        in->p++;
    *ret = (Str){start, (size_t)(in->p - start)};
    return true;
}

static bool read_string(struct input *in, Str *ret)
{
    in->p++;
    char *text = arena_alloc(in->arena, (size_t)(in->end - in->p) + 1);
    size_t n = 0;
    while (in->p < in->end) {
        char c = *in->p++;
        if (c == '"') {
            *ret = (Str){text, n};
            return true;
        }
        if (c == '\\') {
            c = peek(in);
            if (c != '"' && c != '\\') return false;
            in->p++;
        } else if (c < 0x20 || c > 0x7e) {
            return false;
        }
        text[n++] = c;
    }
    return false;
}

/* Numbers: 15 digits of an integer, or 12 before and 3 behind the point. */
static bool read_number(struct input *in)
{
    take(in, '-');
    const char *start = in->p;
    while (is_digit(peek(in))) in->p++;
    size_t whole = (size_t)(in->p - start);
    if (whole < 1 || whole > 15) return false;
    if (!take(in, '.')) return true;
    start = in->p;
    while (is_digit(peek(in))) in->p++;
    size_t decimals = (size_t)(in->p - start);
    return whole <= 12 && decimals >= 1 && decimals <= 3;
}

static bool read_token(struct input *in)
{
    for (char c = peek(in); c && (is_alpha(c) || is_digit(c) || strchr("!#$%&'*+-.^_`|~:/", c)); c = peek(in)) in->p++;
    return true;
}

static bool read_bytes(struct input *in)
{
    in->p++;
    for (char c = peek(in); c && (is_alpha(c) || is_digit(c) || strchr("+/=", c)); c = peek(in)) in->p++;
    return take(in, ':');
}

static bool read_bare_item(struct input *in, struct item *ret)
{
    char c = peek(in);
    *ret = (struct item){ITEM_OTHER, {0}};
    if (c == '"') {
        ret->kind = ITEM_STRING;
        return read_string(in, &ret->text);
    }
    if (c == '-' || is_digit(c)) return read_number(in);
    if (is_alpha(c) || c == '*') return read_token(in);
    if (c == ':') return read_bytes(in);
    if (!take(in, '?')) return false;
    if (take(in, '1')) {
        ret->kind = ITEM_TRUE;
        return true;
    }
    return take(in, '0');
}

/* ;key or ;key=value. *ret_more is false when no parameter follows. */
static bool read_parameter(struct input *in, bool *ret_more, Str *ret_key, struct item *ret)
{
    *ret_more = take(in, ';');
    if (!*ret_more) return true;
    skip_spaces(in);
    if (!read_key(in, ret_key)) return false;
    *ret = (struct item){ITEM_TRUE, {0}};
    return take(in, '=') ? read_bare_item(in, ret) : true;
}

/* Whether every component can be covered: the answer's @status and content-digest, the request's content-digest. Other
 * parameters of a component (;sf, ;bs …) ask for what we do not offer. */
static bool read_components(struct input *in, bool *ret_possible)
{
    for (;;) {
        skip_spaces(in);
        if (take(in, ')')) return true;
        struct item name, value;
        if (!read_bare_item(in, &name)) return false;
        bool is_digest = name.kind == ITEM_STRING && str_eq(name.text, STR("content-digest"));
        bool known = is_digest || (name.kind == ITEM_STRING && str_eq(name.text, STR("@status")));
        bool more = true;
        while (more) {
            Str key;
            if (!read_parameter(in, &more, &key, &value)) return false;
            if (more && !(is_digest && str_eq(key, STR("req")) && value.kind == ITEM_TRUE)) known = false;
        }
        if (!known) *ret_possible = false;
        if (peek(in) != ' ' && peek(in) != ')') return false;
    }
}

/* Whether the parameter can be fulfilled; a value of the wrong type cannot. */
static bool want(struct wanted_signature *w, Str key, const struct item *value, Str keyid)
{
    bool is_text = value->kind == ITEM_STRING;
    if (str_eq(key, STR("created"))) return value->kind == ITEM_TRUE;
    if (str_eq(key, STR("expires"))) {
        w->expires = true;
        return value->kind == ITEM_TRUE;
    }
    if (str_eq(key, STR("keyid"))) return is_text && str_eq(value->text, keyid);
    if (str_eq(key, STR("alg"))) return is_text && str_eq(value->text, STR("ed25519"));
    if (str_eq(key, STR("nonce"))) {
        w->nonce = value->text;
        return is_text && value->text.len <= TEXT_MAX;
    }
    if (str_eq(key, STR("tag"))) {
        w->tag = value->text;
        return is_text && value->text.len <= TEXT_MAX;
    }
    return false;
}

/* One member: label=(components);parameters. Members that are not inner lists parse, but cannot be fulfilled. */
static bool read_member(struct input *in, Str keyid, bool *ret_possible, struct wanted_signature *ret)
{
    struct wanted_signature w = {0};
    if (!read_key(in, &w.label)) return false;
    bool possible = w.label.len <= LABEL_MAX;
    if (!take(in, '=')) {
        possible = false;
    } else if (take(in, '(')) {
        if (!read_components(in, &possible)) return false;
    } else {
        struct item value;
        if (!read_bare_item(in, &value)) return false;
        possible = false;
    }
    for (bool more = true; more;) {
        Str key;
        struct item value;
        if (!read_parameter(in, &more, &key, &value)) return false;
        if (more && !want(&w, key, &value, keyid)) possible = false;
    }
    *ret_possible = possible;
    *ret = w;
    return true;
}

bool accept_signature_read(struct arena *a, Str field, Str keyid, struct wanted_signature *ret)
{
    if (!field.len) field = STR(""); /* there may be no address to count from */
    struct input in = {a, field.ptr, field.ptr + field.len};
    struct wanted_signature first = {0};
    bool found = false;
    skip_spaces(&in);
    while (in.p < in.end) {
        bool possible;
        struct wanted_signature w;
        if (!read_member(&in, keyid, &possible, &w)) return false;
        if (possible && !found) {
            first = w;
            found = true;
        }
        skip_white(&in);
        if (in.p == in.end) break;
        if (!take(&in, ',')) return false;
        skip_white(&in);
        if (in.p == in.end) return false; /* a comma at the end */
    }
    if (found) *ret = first;
    return found;
}
