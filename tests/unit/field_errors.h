/* tests/unit/field_errors.h - what the tests of fields, shapes and queries share: an arena, and errors as a text. */
#pragma once

#include "unit.h"

#include "base/buf.h"
#include "json/shape.h"

static struct arena arena;
static struct field_errors errors;

static int empty_arena(void **state)
{
    (void)state;
    arena_done(&arena);
    return 0;
}

/* "field:code field:code …" */
static inline Str told(void)
{
    struct buf b;
    buf_init(&b, &arena, 1 << 20);
    size_t n = 0;
    for (const struct field_error *e = errors.first; e; e = e->next, n++)
        buf_printf(&b, "%s%.*s:%s", n ? " " : "", STR_FMT(e->field), err_info(e->err)->code);
    assert_int_equal(n, errors.count);
    return buf_str(&b);
}
