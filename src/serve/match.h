/* serve/match.h - finds the row for a method and a path. */
#pragma once

#include "serve/request.h"

#define ALLOW_MAX 64

struct matcher;

/* Asserts that no two rows stand for the same method and path. */
struct matcher *matcher_new(const struct route *const tables[]);
void matcher_free(struct matcher *m);
/* All rows, in the order of the tables. */
size_t matcher_count(const struct matcher *m);
const struct route *matcher_route(const struct matcher *m, size_t index);

struct match {
    const struct route *route;          /* NULL: none */
    size_t index;                       /* of the row; matcher_count() for none */
    Str raw_params[REQUEST_PARAMS_MAX]; /* still percent-encoded */
    bool path_known;                    /* the path exists, with this method or with others */
    char allow[ALLOW_MAX];              /* without a route: the methods of the path */
};
/* HEAD finds the row of GET. */
void matcher_find(const struct matcher *m, Str method, Str path, struct match *ret);
