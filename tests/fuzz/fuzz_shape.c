/* tests/fuzz/fuzz_shape.c - a table with every field type, fed with bodies and queries.
 *
 * The first byte picks body or query and the currency's decimals. What comes through must keep every promise of the
 * table; what does not must say why, and name only fields of the table but for unknown ones. */
#include "fuzz.h"

#include "base/text.h"
#include "json/shape.h"

static const char *const colours[] = {"red", "green", "blue", NULL};

struct all {
    bool truth, has_int, line_is_null;
    int64_t number, decimal;
    Id id;
    Money money;
    Str literal, line, text, secret, email, slug, url;
    Time time;
    int choice;
    unsigned set;
    struct id_list ids;
    struct str_list lines;
};

#define AT(member) offsetof(struct all, member)
static const struct field fields[] = {
    {"b", FIELD_BOOL, OPTIONAL, AT(truth)},
    {"i", FIELD_INT, OPTIONAL, AT(number), .min = 1, .max = 1000, .has = AT(has_int)},
    {"d", FIELD_DECIMAL, OPTIONAL, AT(decimal), .decimals = 2, .min = 1, .max = 10000},
    {"id", FIELD_ID, OPTIONAL, AT(id)},
    {"m", FIELD_MONEY, OPTIONAL, AT(money), .min = 1},
    {"n", FIELD_NUMBER, OPTIONAL, AT(literal)},
    {"l", FIELD_LINE, NULLABLE, AT(line), .min = 1, .max = 5, .is_null = AT(line_is_null)},
    {"t", FIELD_TEXT, OPTIONAL, AT(text), .max = 20},
    {"s", FIELD_SECRET, OPTIONAL, AT(secret), .min = 2, .max = 5},
    {"e", FIELD_EMAIL, OPTIONAL, AT(email)},
    {"g", FIELD_SLUG, OPTIONAL, AT(slug)},
    {"u", FIELD_URL, OPTIONAL, AT(url)},
    {"w", FIELD_TIME, OPTIONAL, AT(time)},
    {"c", FIELD_CHOICE, OPTIONAL, AT(choice), .choices = colours},
    {"cs", FIELD_CHOICES, OPTIONAL, AT(set), .choices = colours, .max = 2},
    {"is", FIELD_IDS, OPTIONAL, AT(ids), .max = 4},
    {"ls", FIELD_LINES, OPTIONAL, AT(lines), .max = 4, .item_max = 3},
    {0},
};
static const struct shape shape = {fields, sizeof(struct all)};

static void check(const struct all *v)
{
    MUST(v->has_int ? v->number >= 1 && v->number <= 1000 : v->number == 0);
    MUST(v->decimal >= 0 && v->decimal <= 10000);
    MUST(v->id.v >= 0 && v->id.v <= ID_MAX);
    MUST(v->money.minor >= 0);
    Money m;
    MUST(!v->literal.len || money_parse(v->literal, 2, &m) != MONEY_MALFORMED);
    MUST(utf8_valid(v->line) && text_is_line(v->line) && utf8_count(v->line) <= 5 &&
         text_trim(v->line).len == v->line.len);
    MUST(!v->line_is_null || !v->line.len);
    MUST(utf8_valid(v->text) && text_is_lines(v->text) && utf8_count(v->text) <= 20 &&
         text_trim(v->text).len == v->text.len);
    MUST(utf8_valid(v->secret) && text_is_line(v->secret) && utf8_count(v->secret) <= 5);
    MUST(!v->email.len || email_is_plausible(v->email));
    for (size_t i = 0; i < v->email.len; i++) MUST(v->email.ptr[i] < 'A' || v->email.ptr[i] > 'Z');
    MUST(!v->slug.len || slug_is_valid(v->slug));
    MUST(!v->url.len || url_is_web(v->url));
    MUST(v->time.ms >= 0);
    MUST(v->choice >= 0 && v->choice < 3);
    MUST(v->set < 8 && __builtin_popcount(v->set) <= 2);
    MUST(v->ids.count <= 4 && v->lines.count <= 4);
    for (size_t i = 0; i < v->ids.count; i++) {
        MUST(v->ids.items[i].v >= 1 && v->ids.items[i].v <= ID_MAX);
        for (size_t k = 0; k < i; k++) MUST(!id_eq(v->ids.items[i], v->ids.items[k]));
    }
    for (size_t i = 0; i < v->lines.count; i++) {
        size_t n = utf8_count(v->lines.items[i]);
        MUST(n >= 1 && n <= 3 && text_is_line(v->lines.items[i]));
    }
}

static bool is_field(Str name)
{
    for (const struct field *f = fields; f->name; f++)
        if (str_eq(str_from(f->name), name)) return true;
    return false;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (!size) return 0;
    struct arena a = {0};
    struct field_errors errors;
    field_errors_init(&errors, &a);
    const Str text = {(const char *)data + 1, size - 1};
    const int exponent = data[0] >> 1 & 3;
    const void *out = NULL;
    const struct json *root = NULL;
    enum err e = ERR_MALFORMED_JSON;
    if (data[0] & 1)
        e = shape_read_query(&shape, text, UNKNOWN_REFUSED, exponent, &a, &out, &errors);
    else if (json_read(&a, text, &root, NULL) == OK)
        e = shape_read(&shape, root, exponent, &a, &out, &errors);

    if (e == OK) {
        MUST(out && !errors.count);
        check(out);
    } else if (e == ERR_VALIDATION) {
        MUST(errors.count && errors.count <= 100);
        if (root) MUST(!out == (root->type != JSON_OBJECT)); /* the good fields of an object are given */
        size_t n = 0;
        for (const struct field_error *f = errors.first; f; f = f->next, n++) {
            MUST(err_info(f->err)->status == 422);
            MUST(is_field(f->field) == (f->err != ERR_FIELD_UNKNOWN) || (root && root->type != JSON_OBJECT));
            MUST(utf8_count(f->field) <= 64);
        }
        MUST(n == errors.count);
    } else {
        MUST(e == ERR_MALFORMED_JSON && !root && !out);
    }
    arena_done(&a);
    return 0;
}
