/* tests/fuzz/fuzz_json.c - the reader against a second one that was written for shortness, not speed.
 *
 * Both must take and refuse the same texts. What is taken must survive being written and read again. */
#include "fuzz.h"

#include "json/reader.h"
#include "json/writer.h"

/* The oracle: RFC 8259 by recursive descent, plus our own rules but the one on doubles, which walk() checks. */
struct cursor {
    const unsigned char *p, *end;
};

static void blanks(struct cursor *c)
{
    while (c->p < c->end && (*c->p == ' ' || *c->p == '\t' || *c->p == '\n' || *c->p == '\r')) c->p++;
}

static bool eat(struct cursor *c, const char *word)
{
    size_t n = strlen(word);
    if ((size_t)(c->end - c->p) < n || memcmp(c->p, word, n) != 0) return false;
    c->p += n;
    return true;
}

static size_t oracle_digits(struct cursor *c)
{
    size_t n = 0;
    for (; c->p < c->end && *c->p >= '0' && *c->p <= '9'; n++) c->p++;
    return n;
}

static bool oracle_number(struct cursor *c)
{
    eat(c, "-");
    if (!eat(c, "0") && !oracle_digits(c)) return false;
    if (eat(c, ".") && !oracle_digits(c)) return false;
    if (!eat(c, "e") && !eat(c, "E")) return true;
    if (!eat(c, "+")) eat(c, "-");
    return oracle_digits(c) > 0;
}

static int oracle_hex(struct cursor *c)
{
    int v = 0;
    for (int i = 0; i < 4; i++) {
        static const char digits[] = "0123456789abcdefABCDEF";
        const char *at = c->p < c->end && *c->p ? strchr(digits, *c->p) : NULL;
        if (!at) return -1;
        int n = (int)(at - digits);
        v = v * 16 + (n > 15 ? n - 6 : n);
        c->p++;
    }
    return v;
}

static bool oracle_string(struct cursor *c)
{
    if (!eat(c, "\"")) return false;
    while (!eat(c, "\"")) {
        if (c->p == c->end || *c->p < 0x20) return false;
        if (!eat(c, "\\")) {
            size_t n = utf8_step((const char *)c->p, (size_t)(c->end - c->p));
            if (!n) return false;
            c->p += n;
        } else if (eat(c, "u")) {
            int v = oracle_hex(c);
            if (v <= 0 || (v >= 0xdc00 && v <= 0xdfff)) return false;
            if (v >= 0xd800 && v <= 0xdbff) {
                int low = eat(c, "\\u") ? oracle_hex(c) : -1;
                if (low < 0xdc00 || low > 0xdfff) return false;
            }
        } else if (c->p == c->end || !*c->p || !strchr("\"\\/bfnrt", *c->p++)) {
            return false;
        }
    }
    return true;
}

static bool oracle_value(struct cursor *c, int depth)
{
    bool ok = false;
    blanks(c);
    if (c->p < c->end && (*c->p == '{' || *c->p == '[')) {
        bool object = *c->p == '{';
        const char *close = object ? "}" : "]";
        c->p++;
        if (depth == JSON_DEPTH_MAX) return false;
        blanks(c);
        if (eat(c, close)) {
            ok = true;
        } else {
            do {
                blanks(c);
                if (object && !oracle_string(c)) return false;
                blanks(c);
                if (object && !eat(c, ":")) return false;
                if (!oracle_value(c, depth + 1)) return false;
            } while (eat(c, ","));
            ok = eat(c, close);
        }
    } else {
        ok = (c->p < c->end && *c->p == '"' ? oracle_string(c)
                                            : eat(c, "true") || eat(c, "false") || eat(c, "null") || oracle_number(c));
    }
    blanks(c);
    return ok;
}

static bool oracle_takes(Str text)
{
    const unsigned char *p = (const unsigned char *)text.ptr;
    struct cursor c = {p, p + text.len};
    return oracle_value(&c, 0) && c.p == c.end;
}

/* Checks the tree and writes it again. Depth is bounded by the reader. */
static void walk(struct json_writer *w, const struct json *v)
{
    size_t n = 0;
    MUST(utf8_valid(v->text) && utf8_valid(v->key) && str_find(v->text, '\0') < 0 && str_find(v->key, '\0') < 0);
    switch (v->type) {
    case JSON_NULL: json_null(w); break;
    case JSON_FALSE: json_bool(w, false); break;
    case JSON_TRUE: json_bool(w, true); break;
    case JSON_NUMBER: json_raw(w, v->text); break;
    case JSON_STRING: json_str(w, v->text); break;
    case JSON_ARRAY:
        json_begin_array(w);
        for (const struct json *i = v->first; i; i = i->next, n++) walk(w, i);
        json_end_array(w);
        break;
    case JSON_OBJECT: /* as an array of names and values: the writer takes only our own names for keys */
        json_begin_array(w);
        for (const struct json *i = v->first; i; i = i->next, n++) {
            json_str(w, i->key);
            walk(w, i);
            if (n < 50)
                for (const struct json *k = v->first; k != i; k = k->next) MUST(!str_eq(k->key, i->key));
        }
        json_end_array(w);
        break;
    }
    MUST(n == v->count);
}

static bool same(const struct json *a, const struct json *b)
{
    bool as_array = a->type == JSON_OBJECT;
    if ((as_array ? JSON_ARRAY : a->type) != b->type || !str_eq(a->text, b->text)) return false;
    const struct json *y = b->first;
    for (const struct json *x = a->first; x; x = x->next) {
        if (as_array) {
            if (!y || !str_eq(x->key, y->text)) return false;
            y = y->next;
        }
        if (!y || !same(x, y)) return false;
        y = y->next;
    }
    return !y;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct arena a = {0};
    const Str text = {(const char *)data, size};
    const struct json *root = NULL;
    const char *why = NULL;
    enum err e = json_read(&a, text, &root, &why);
    if (e) {
        MUST(e == ERR_MALFORMED_JSON && why && !root);
        MUST(!oracle_takes(text) || strcmp(why, "a name given twice in one object") == 0);
    } else {
        MUST(oracle_takes(text));
        struct buf out;
        struct json_writer w;
        buf_init(&out, &a, SIZE_MAX / 4);
        json_writer_init(&w, &out, 2);
        walk(&w, root);
        const struct json *again = NULL;
        MUST(json_read(&a, buf_str(&out), &again, NULL) == OK);
        MUST(same(root, again));
        int64_t n;
        if (json_int64(root, &n)) MUST(str_eq(root->text, str_printf(&a, "%lld", (long long)n)));
    }
    arena_done(&a);
    return 0;
}
