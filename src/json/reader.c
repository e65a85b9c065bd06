/* json/reader.c - see reader.h. One pass over the bytes and one frame per open array or object: no recursion.
 *
 * Nodes are taken from the arena a handful at a time. A string is first scanned to its closing quote, which checks its
 * UTF-8 and finds out whether it has escapes; only then is it copied. */
#include "json/reader.h"

#include <stdarg.h>

#include "json/keys.h"
#include "json/scan.h"

#define NODES_AT_ONCE 256

struct frame {
    struct json *node; /* the open array or object */
    struct json *last; /* its newest child */
    struct keys keys;
};

struct reader {
    struct arena *arena;
    const char *p, *end;
    const char *why;
    struct json *free_node, *free_end; /* taken from the arena, not used yet */
    size_t values_left;
    struct keys_secret secret;
};

static bool refuse(struct reader *r, const char *why)
{
    r->why = why;
    return false;
}

static inline void skip_space(struct reader *r)
{
    const char *p = r->p, *end = r->end;
    while (p < end && (*p == ' ' || *p == '\n' || *p == '\r' || *p == '\t')) p++;
    r->p = p;
}

/* The next byte that is not white space, or -1: no byte of valid JSON outside strings is negative or 0. */
static inline int peek(struct reader *r)
{
    if (r->p < r->end && (unsigned char)*r->p > ' ') return (unsigned char)*r->p;
    skip_space(r);
    return r->p < r->end ? (unsigned char)*r->p : -1;
}

static bool more_nodes(struct reader *r)
{
    if (!r->values_left) return refuse(r, "too many values");
    size_t n = (size_t)(r->end - r->p) / 16 + 2; /* a guess: a value and its name take about 16 bytes of text */
    if (n > NODES_AT_ONCE) n = NODES_AT_ONCE;
    if (n > r->values_left) n = r->values_left;
    r->free_node = arena_take(r->arena, n * sizeof(struct json));
    r->free_end = r->free_node + n;
    r->values_left -= n;
    return true;
}

static inline struct json *new_node(struct reader *r)
{
    if (r->free_node == r->free_end && !more_nodes(r)) return NULL;
    return r->free_node++;
}

static int hex4(const char *p)
{
    int v = 0;
    for (int i = 0; i < 4; i++) {
        int c = (unsigned char)p[i];
        int digit = c >= '0' && c <= '9' ? c - '0' : (c | 32) >= 'a' && (c | 32) <= 'f' ? (c | 32) - 'a' + 10 : -1;
        if (digit < 0) return -1;
        v = v << 4 | digit;
    }
    return v;
}

static char *put_utf8(char *out, int c)
{
    if (c < 0x80) {
        *out++ = (char)c;
    } else if (c < 0x800) {
        *out++ = (char)(0xc0 | c >> 6);
        *out++ = (char)(0x80 | (c & 0x3f));
    } else if (c < 0x10000) {
        *out++ = (char)(0xe0 | c >> 12);
        *out++ = (char)(0x80 | (c >> 6 & 0x3f));
        *out++ = (char)(0x80 | (c & 0x3f));
    } else {
        *out++ = (char)(0xf0 | c >> 18);
        *out++ = (char)(0x80 | (c >> 12 & 0x3f));
        *out++ = (char)(0x80 | (c >> 6 & 0x3f));
        *out++ = (char)(0x80 | (c & 0x3f));
    }
    return out;
}

/* One \uXXXX, or a pair of them, at p (behind the 'u'). Returns where it ends, or NULL. */
static const char *unescape_unicode(struct reader *r, const char *p, const char *end, char **out)
{
    int c = end - p >= 4 ? hex4(p) : -1;
    if (c < 0) return refuse(r, "\\u needs four hex digits"), NULL;
    p += 4;
    if (c == 0) return refuse(r, "NUL in a string"), NULL;
    if (c >= 0xdc00 && c <= 0xdfff) return refuse(r, "a low surrogate alone"), NULL;
    if (c >= 0xd800 && c <= 0xdbff) {
        int low = end - p >= 6 && p[0] == '\\' && p[1] == 'u' ? hex4(p + 2) : -1;
        if (low < 0xdc00 || low > 0xdfff) return refuse(r, "a high surrogate alone"), NULL;
        c = 0x10000 + ((c - 0xd800) << 10) + (low - 0xdc00);
        p += 6;
    }
    *out = put_utf8(*out, c);
    return p;
}

/* raw is what stands between the quotes. It never grows: the shortest escape is two bytes for one, \uXXXX six for at
 * most three, a pair of them twelve for four. */
static bool unescape(struct reader *r, Str raw, Str *ret)
{
    char *text = arena_take(r->arena, raw.len), *out = text;
    const char *p = raw.ptr, *end = raw.ptr + raw.len;
    while (p < end) {
        const char *slash = memchr(p, '\\', (size_t)(end - p));
        size_t plain = (size_t)((slash ? slash : end) - p);
        memcpy(out, p, plain);
        out += plain;
        p += plain;
        if (!slash) break;
        char c = p[1]; /* safe to read: the closing quote was found further on */
        p += 2;
        switch (c) {
        case '"':
        case '\\':
        case '/': *out++ = c; break;
        case 'b': *out++ = '\b'; break;
        case 'f': *out++ = '\f'; break;
        case 'n': *out++ = '\n'; break;
        case 'r': *out++ = '\r'; break;
        case 't': *out++ = '\t'; break;
        case 'u':
            p = unescape_unicode(r, p, end, &out);
            if (!p) return false;
            break;
        default: return refuse(r, "an escape that JSON does not have");
        }
    }
    *ret = (Str){text, (size_t)(out - text)};
    return true;
}

/* A string, from its opening quote. */
static inline bool read_string(struct reader *r, Str *ret)
{
    const char *start = r->p + 1, *end = r->end, *p = start;
    bool escaped = false;
    for (;;) {
        p = scan_read(p, end);
        if (p == end) return refuse(r, "a string without end");
        if (*p == '"') break;
        if (*p == '\\') {
            if (end - p < 2) return refuse(r, "a string without end");
            escaped = true;
            p += 2; /* the escaped byte is decoded later; it cannot be the closing quote */
            continue;
        }
        if ((unsigned char)*p < 0x20) return refuse(r, "a control character in a string");
        size_t n = utf8_step(p, (size_t)(end - p));
        if (!n) return refuse(r, "invalid UTF-8");
        p += n;
    }
    r->p = p + 1;
    *ret = (Str){start, (size_t)(p - start)};
    return !escaped || unescape(r, *ret, ret);
}

static inline const char *digits(const char *p, const char *end)
{
    while (p < end && *p >= '0' && *p <= '9') p++;
    return p;
}

static inline bool read_number(struct reader *r, Str *ret)
{
    const char *start = r->p, *p = start, *end = r->end, *from;
    if (*p == '-') p++;
    if (p < end && *p == '0') {
        p++;
    } else {
        from = p;
        p = digits(p, end);
        if (p == from) return refuse(r, "a number without digits");
    }
    if (p < end && *p == '.') {
        from = ++p;
        p = digits(p, end);
        if (p == from) return refuse(r, "a decimal point without digits");
    }
    if (p < end && (*p == 'e' || *p == 'E')) {
        p++;
        if (p < end && (*p == '+' || *p == '-')) p++;
        from = p;
        p = digits(p, end);
        if (p == from) return refuse(r, "an exponent without digits");
    }
    r->p = p;
    *ret = (Str){start, (size_t)(p - start)};
    return true;
}

static inline bool read_word(struct reader *r, struct json *node, const char *word, size_t len, enum json_type type)
{
    if ((size_t)(r->end - r->p) < len || memcmp(r->p, word, len) != 0) return refuse(r, "an unknown word");
    r->p += len;
    node->type = type;
    return true;
}

/* The name of the member and its colon. */
static inline bool read_key(struct reader *r, Str *ret)
{
    if (peek(r) != '"') return refuse(r, "a member without a name");
    if (!read_string(r, ret)) return false;
    if (peek(r) != ':') return refuse(r, "a member without a colon");
    r->p++;
    return true;
}

/* One value that has nothing inside. */
static inline bool read_scalar(struct reader *r, int c, struct json *node)
{
    switch (c) {
    case '"': node->type = JSON_STRING; return read_string(r, &node->text);
    case 't': return read_word(r, node, "true", 4, JSON_TRUE);
    case 'f': return read_word(r, node, "false", 5, JSON_FALSE);
    case 'n': return read_word(r, node, "null", 4, JSON_NULL);
    case '-':
    case '0':
    case '1':
    case '2':
    case '3':
    case '4':
    case '5':
    case '6':
    case '7':
    case '8':
    case '9': node->type = JSON_NUMBER; return read_number(r, &node->text);
    case -1: return refuse(r, "the text ends too early");
    default: return refuse(r, "not a value");
    }
}

static inline bool link_child(struct reader *r, struct frame *f, struct json *node)
{
    if (f->last)
        f->last->next = node;
    else
        f->node->first = node;
    f->last = node;
    f->node->count++;
    if (f->node->type == JSON_OBJECT && !keys_add(&f->keys, &r->secret, r->arena, f->node, node))
        return refuse(r, "a name given twice in one object");
    return true;
}

static struct json *read_document(struct reader *r)
{
    struct frame frames[JSON_DEPTH_MAX], *f = NULL; /* f: the innermost open one */
    size_t depth = 0;
    struct json *root = NULL;
    Str key = {0};

    for (;;) {
        int c = peek(r);
        struct json *node = new_node(r);
        if (!node) return NULL;
        *node = (struct json){.key = key};
        if (!root) root = node;
        if (f && !link_child(r, f, node)) return NULL;

        if (c == '{' || c == '[') {
            if (depth == JSON_DEPTH_MAX) return refuse(r, "nested too deeply"), NULL;
            node->type = c == '{' ? JSON_OBJECT : JSON_ARRAY;
            f = &frames[depth++];
            *f = (struct frame){.node = node};
            r->p++;
            if (peek(r) != c + 2) goto next; /* '}' is '{' + 2, ']' is '[' + 2 */
            /* Empty: closed below. */
        } else if (!read_scalar(r, c, node)) {
            return NULL;
        }

        for (;;) { /* a value has ended: close the arrays and objects that end with it */
            c = peek(r);
            if (!f) return c == -1 ? root : (refuse(r, "bytes behind the value"), NULL);
            if (c == ',') break;
            if (c != (f->node->type == JSON_OBJECT ? '}' : ']')) return refuse(r, "a comma or an end is missing"), NULL;
            r->p++;
            f = --depth ? f - 1 : NULL;
        }
        r->p++;
    next:
        if (f->node->type == JSON_OBJECT) {
            if (!read_key(r, &key)) return NULL;
        } else {
            key = (Str){0};
        }
    }
}

enum err json_read(struct arena *a, Str input, const struct json **ret, const char **why)
{
    size_t at;
    return json_read_at(a, input, ret, why, &at);
}

enum err json_read_at(struct arena *a, Str input, const struct json **ret, const char **why, size_t *ret_at)
{
    struct reader r = {.arena = a, .values_left = JSON_VALUES_MAX};
    r.p = input.len ? input.ptr : "";
    r.end = r.p + input.len;
    struct json *root = read_document(&r);
    if (!root) {
        if (why) *why = r.why;
        *ret_at = input.len - (size_t)(r.end - r.p);
        return ERR_MALFORMED_JSON;
    }
    *ret = root;
    return OK;
}

const struct json *json_get(const struct json *obj, const char *key)
{
    if (!obj || obj->type != JSON_OBJECT) return NULL;
    Str name = str_from(key);
    for (const struct json *m = obj->first; m; m = m->next)
        if (str_eq(m->key, name)) return m;
    return NULL;
}

const struct json *json_path(const struct json *root, ...)
{
    va_list names;
    va_start(names, root);
    for (const char *name; root && (name = va_arg(names, const char *));) root = json_get(root, name);
    va_end(names);
    return root;
}

Str json_text(const struct json *obj, const char *key)
{
    const struct json *v = json_get(obj, key);
    return v && v->type == JSON_STRING ? v->text : (Str){0};
}

bool json_int64(const struct json *v, int64_t *ret)
{
    if (!v || v->type != JSON_NUMBER) return false;
    Str digits_only = v->text;
    if (digits_only.len && digits_only.ptr[0] == '-') digits_only.ptr++, digits_only.len--;
    if (digits_only.len && digits_only.ptr[0] == '0' && v->text.len > 1) return false; /* -0, and 007 of a query */
    return str_to_int64(v->text, ret);
}
