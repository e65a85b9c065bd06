/* tests/unit/field_case.h - one value read as one field: what the tests of field types share. */
#pragma once

#include "field_errors.h"

/* Room for a value of any type, between flags that nobody but their field may set. */
struct one {
    bool guard, has, is_null;
    union {
        bool truth;
        int64_t number;
        Id id;
        Money money;
        Str text;
        Time time;
        int choice;
        unsigned set;
        struct id_list ids;
        struct str_list lines;
    };
};

/* Reads `"v": literal` (or a body without v) as that one field. */
static inline enum err read_one(struct field f, const char *literal, const struct one **ret)
{
    f.name = "v";
    f.offset = offsetof(struct one, number);
    f.has = offsetof(struct one, has);
    f.is_null = offsetof(struct one, is_null);
    static struct field table[2]; /* an error points to its field */
    table[0] = f;
    const struct shape shape = {table, sizeof(struct one)};
    Str body = literal ? str_printf(&arena, "{\"v\":%s}", literal) : STR("{}");
    const struct json *root;
    const char *why = "";
    if (json_read(&arena, body, &root, &why)) fail_msg("%.*s: %s", STR_FMT(body), why);
    field_errors_init(&errors, &arena);
    const void *out = NULL;
    enum err e = shape_read(&shape, root, 2, &arena, &out, &errors);
    assert_non_null(out); /* with errors, too: what could be read */
    assert_int_equal(e == OK, errors.count == 0);
    if (e) {
        assert_err(e, ERR_VALIDATION);
        assert_int_equal(errors.count, 1);
        assert_str(errors.first->field, "v");
        return errors.first->err;
    }
    *ret = out;
    assert_false((*ret)->guard);
    return OK;
}

struct value_case {
    const char *literal; /* NULL ends the list */
    enum err want;
};

static inline void check(struct field f, const struct value_case *cases)
{
    for (const struct value_case *c = cases; c->literal; c++) {
        const struct one *one;
        enum err e = read_one(f, c->literal, &one);
        if (e != c->want)
            fail_msg("type %d: %s gave %s, want %s", f.type, c->literal, err_info(e)->code, err_info(c->want)->code);
    }
}
