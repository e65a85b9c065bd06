/* serve/form.h - bodies of forms: application/x-www-form-urlencoded pairs. */
#pragma once

#include "serve/request.h"

/* One field as it was typed; empty when it is not there or cannot be decoded. */
Str form_field(struct request *req, const char *name);
/* The body into a struct, by the rules of shape_read_query. Fields left empty are absent, repeated ones (checkboxes) a
 * list; csrf and once are the router's and left out. ERR_VALIDATION: the bad fields are in req->errors. */
enum err form_read(struct request *req, const struct shape *shape, void **ret);
