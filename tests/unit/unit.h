/* tests/unit/unit.h - cmocka with what it wants included before it, and a few asserts in our own words. */
#pragma once

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "amounts.h"

#include "base/arena.h"
#include "base/err.h"
#include "base/str.h"

/* Shows both texts when they differ. */
#define assert_str(got, want) unit_assert_str((got), (want), __FILE__, __LINE__)
static inline void unit_assert_str(Str got, const char *want, const char *file, int line)
{
    if (str_eq(got, str_from(want))) return;
    print_error("got  \"%.*s\"\nwant \"%s\"\n", STR_FMT(got), want);
    _fail(file, line);
}

/* Shows the errors' codes when they differ. */
#define assert_err(got, want) unit_assert_err((got), (want), __FILE__, __LINE__)
static inline void unit_assert_err(enum err got, enum err want, const char *file, int line)
{
    if (got == want) return;
    print_error("got %s, want %s\n", err_info(got)->code, err_info(want)->code);
    _fail(file, line);
}

/* Reproducible pseudo-random numbers (splitmix64): a failing property names its seed. */
static inline uint64_t unit_random(uint64_t *state)
{
    uint64_t z = (*state += UINT64_C(0x9e3779b97f4a7c15));
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}
