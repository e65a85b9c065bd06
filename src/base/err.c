/* base/err.c - the list of errors as a table. */
#include "base/err.h"

#include <assert.h>

static const struct err_info infos[ERR_COUNT] = {
    [OK] = {200, "ok", "OK"},
#define E(name, status, code, message) [name] = {status, code, message},
#include "base/errors.def"
#undef E
};

const struct err_info *err_info(enum err e)
{
    assert(e >= OK && e < ERR_COUNT);
    return &infos[e];
}
