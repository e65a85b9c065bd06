/* serve/form.h - bodies of forms: application/x-www-form-urlencoded pairs. */
#pragma once

#include "serve/request.h"

/* One field as it was typed; empty when it is missing or cannot be decoded. */
Str form_field(struct request *req, const char *name);
/* The body into a struct, by the rules of shape_read_query. Empty fields count as absent, repeated ones (checkboxes) as
 * a list; csrf and once belong to the router and are left out. ERR_VALIDATION: the bad fields are in req->errors. */
enum err form_read(struct request *req, const struct shape *shape, void **ret);
