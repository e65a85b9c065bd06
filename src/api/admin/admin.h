/* api/admin/admin.h - what the admin surfaces share. */
#pragma once

#include "serve/request.h"

/* Every admin change says so, in its own transaction: the router refuses to commit one that did not. before and after
 * are JSON (empty: nothing there); label is what a person would call the thing. */
enum err admin_audit(struct request *req, const char *action, Id resource, Str label, Str before, Str after);

/* A view as text, for before and after: json_of(req, view, &thing). */
Str admin_json(struct request *req, void (*view)(struct json_writer *w, const void *thing), const void *thing);
