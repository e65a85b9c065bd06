/* json/shape.h - what a body may hold: a table of fields that fills a struct.
 *
 * shape_read goes through all members of the object and through all fields of the table, so that a caller learns about
 * every bad field at once. Members that no field names are refused. A struct starts zeroed; a field that was given sets
 * its `has` flag, where it has one. null means absent, unless the field says NULLABLE: then null counts as given,
 * `is_null` and `has` are both set, and the value stays zero. A REQUIRED text is never empty.
 *
 *     struct withdraw { Money amount; };
 *     static const struct field withdraw_fields[] = {
 *         {"amount", FIELD_MONEY, REQUIRED, offsetof(struct withdraw, amount), .min = 1},
 *         {0},
 *     };
 *     static const struct shape withdraw_body = {withdraw_fields, sizeof(struct withdraw)}; */
#pragma once

#include "base/id.h"
#include "base/money.h"
#include "base/timestamp.h"
#include "json/reader.h"

enum field_type {
    FIELD_BOOL,    /* bool */
    FIELD_INT,     /* int64_t; min..max; both 0: no bounds; max < min: no upper one; min 1: 0 is "not_positive" */
    FIELD_ID,      /* Id, 1..ID_MAX */
    FIELD_MONEY,   /* Money; bounds in minor units, as for FIELD_INT */
    FIELD_DECIMAL, /* int64_t, a number with `decimals` decimals as an integer (12.5 with 2 → 1250); bounds too */
    FIELD_NUMBER,  /* Str: a number's literal, for what only the handler can read */
    FIELD_LINE,    /* Str: one line, trimmed of spaces, no control characters; min..max code points, max 0: no limit */
    FIELD_TEXT,    /* Str: several lines allowed (tab, LF; CRLF becomes LF), trimmed; min..max code points */
    FIELD_SECRET,  /* Str: taken as it is, not trimmed, no control characters; min..max code points */
    FIELD_EMAIL,   /* Str: trimmed, lower-cased, plausible address, ≤ 254 bytes */
    FIELD_SLUG,    /* Str: [a-z0-9]+(-[a-z0-9]+)*, ≤ 100 */
    FIELD_URL,     /* Str: absolute http or https address, ≤ 2048, no userinfo, no control characters or spaces */
    FIELD_TIME,    /* Time */
    FIELD_CHOICE,  /* int: index into `choices` (NULL-terminated list of words) */
    FIELD_IDS,     /* struct id_list; min..max items, each once */
    FIELD_LINES,   /* struct str_list of FIELD_LINE items of 1..item_max code points; min..max items */
    FIELD_CHOICES, /* unsigned: bit set over `choices` (at most 32); min..max items, each once */
};

/* AS_SENT: a FIELD_LINE or FIELD_TEXT that is neither trimmed nor rewritten; white space alone counts as empty. */
enum field_flags { OPTIONAL = 0, REQUIRED = 1, NULLABLE = 2, AS_SENT = 4 };

struct id_list {
    const Id *items;
    size_t count;
};
struct str_list {
    const Str *items;
    size_t count;
};

struct field {
    const char *name;
    enum field_type type;
    unsigned flags;
    size_t offset;
    int64_t min, max; /* bounds of the number, length or item count */
    size_t has;       /* offset of a bool set when a value was given; 0: none (so never the first member) */
    size_t is_null;   /* with NULLABLE: offset of a bool set when null was given; 0: none */
    const char *const *choices;
    int decimals;     /* FIELD_DECIMAL */
    int64_t item_max; /* FIELD_LINES */
};

struct shape {
    const struct field *fields; /* ends with {0} */
    size_t bytes;               /* sizeof the struct */
};

struct field_error {
    Str field;
    enum err err;
    Str about;                /* a part of the value that it is about; empty: all of it */
    const struct field *rule; /* the row whose bounds or choices were broken; NULL: no row of the table */
    struct field_error *next;
};

struct field_errors {
    struct arena *arena;
    struct field_error *first, **last;
    size_t count;
};

void field_errors_init(struct field_errors *errors, struct arena *a);
void field_errors_add(struct field_errors *errors, Str field, enum err e);
void field_errors_add_about(struct field_errors *errors, Str field, enum err e, Str about);
/* How many characters or items, or which number, the rule behind an error asks for. False: nothing to tell. */
bool field_error_min(const struct field_error *e, int64_t *ret);
bool field_error_max(const struct field_error *e, int64_t *ret);

/* *ret is in the arena. OK, or ERR_VALIDATION with every bad field in `errors`, in the table's order, unknown ones last
 * (their names cut at 64 code points); *ret then has the good fields, and zeros for the bad ones. Root NULL or not an
 * object: ERR_VALIDATION with field "" and wrong_type, and *ret is untouched. At most 100 errors are kept. The body's
 * texts point into the tree, and so into the input, where nothing was changed. `exponent` is the decimals of the
 * store's currency. */
enum err shape_read(const struct shape *shape, const struct json *root, int exponent, struct arena *a, const void **ret,
                    struct field_errors *errors);

/* The same for a query string (application/x-www-form-urlencoded pairs): all values are text, read as the field's type:
 * numbers as JSON writes them, true and false, lists separated by commas. A name without '=' has the empty text. A
 * repeated name is refused (not_combinable), so is a value that cannot be decoded (bad_format). */
enum unknown_names { UNKNOWN_REFUSED, UNKNOWN_IGNORED };
enum err shape_read_query(const struct shape *shape, Str query, enum unknown_names unknown, int exponent,
                          struct arena *a, const void **ret, struct field_errors *errors);
