/* api/admin/audit_trail.c - see audit_trail.h. */
#include "api/admin/audit_trail.h"

#include "domain/audit.h"
#include "domain/settings.h"

enum err admin_audit(struct request *req, const char *action, Id resource, Str label, Str before, Str after)
{
    struct audit_entry entry = {
        .actor = req->account,
        .action = str_from(action),
        .resource = resource,
        .label = label,
        .before = before,
        .after = after,
        .request_id = req->id,
        .address = req->exchange->peer,
        .created_at = req->now,
    };
    req->is_audited = true;
    return audit_add(req->db, &entry);
}

Str admin_json(struct request *req, void (*view)(struct json_writer *w, const void *thing), const void *thing)
{
    struct buf out;
    struct json_writer w;
    buf_init(&out, req->arena, (size_t)1024 * 1024);
    json_writer_init(&w, &out, req->settings->exponent);
    view(&w, thing);
    return buf_str(&out);
}
