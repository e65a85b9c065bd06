/* api/admin/audit_trail.h - writing the audit trail: who changed what, from what to what. */
#pragma once

#include "serve/request.h"

/* Every admin change writes a row, in its own transaction: the router refuses to commit a change that did not. before
 * and after are JSON (empty: nothing); label is what a person would call the thing. */
enum err admin_audit(struct request *req, const char *action, Id resource, Str label, Str before, Str after);

/* A view as text, for before and after: admin_json(req, view, &thing). */
Str admin_json(struct request *req, void (*view)(struct json_writer *w, const void *thing), const void *thing);
