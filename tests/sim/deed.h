/* tests/sim/deed.h - a single deed of a client. For client.c and deed.c. */
#pragma once

#include "client.h"

/* The deed whose answer it needs; NULL: none. */
const struct deed *deed_needed(const struct world *w, const struct deed *d);
bool deed_has_succeeded(const struct deed *d);
/* Whether it can be done: 1, 0 never, -1 not yet. */
int deed_is_possible(struct world *w, const struct deed *d);
size_t deed_write(const struct world *w, int client, int i, char *ret, size_t bytes);
/* A whole request; `key` may be empty. */
size_t write_request(char *ret, size_t bytes, const char *token, const char *method, const char *target,
                     const char *key, const char *body);
