/* api/admin/admin_audit.c - reading the audit trail. */
#include "api/tables.h"
#include "domain/audit.h"
#include "serve/request.h"

struct audit_query {
    struct list_query list;
    Str action, q;
    Id actor_id, resource_id;
};

static const struct field audit_query_fields[] = {
    LIST_FIELDS,
    {"action", FIELD_LINE, OPTIONAL, offsetof(struct audit_query, action), .min = 1, .max = 60},
    {"actor_id", FIELD_ID, OPTIONAL, offsetof(struct audit_query, actor_id)},
    {"q", FIELD_LINE, OPTIONAL, offsetof(struct audit_query, q), .max = 100},
    {"resource_id", FIELD_ID, OPTIONAL, offsetof(struct audit_query, resource_id)},
    {0},
};
static const struct shape audit_query = {audit_query_fields, sizeof(struct audit_query)};

static void kv_json(struct json_writer *w, const char *key, Str json)
{
    json_key(w, key);
    if (json.len)
        json_raw(w, json);
    else
        json_null(w);
}

static void view_entry(struct json_writer *w, const void *row)
{
    const struct audit_entry *e = row;
    json_begin_object(w);
    json_kv_id(w, "id", e->id);
    json_kv_opt_id(w, "actor_id", e->actor);
    json_kv_opt_str(w, "actor_email", e->actor_email);
    json_kv_str(w, "action", e->action);
    json_kv_opt_id(w, "resource_id", e->resource);
    json_kv_str(w, "label", e->label);
    kv_json(w, "before", e->before);
    kv_json(w, "after", e->after);
    json_kv_str(w, "request_id", e->request_id);
    json_kv_str(w, "address", e->address);
    json_kv_time(w, "created_at", e->created_at);
    json_end_object(w);
}

static const struct list entry_rows = {LIST_ROWS(struct audit_entry, id), .view = view_entry};

static enum err get_audit(struct request *req)
{
    const struct audit_query *q = req->query;
    const struct audit_filter filter = {
        .action = q->action, .actor = q->actor_id, .resource = q->resource_id, .q = q->q};
    struct list_page page;
    struct audit_entry *entries;
    enum err e = request_page(req, &page);
    if (!e) e = audit_list(req->db, &filter, page.after_id, page.ask, &entries, &page.found);
    return e ? e : request_list(req, &page, &entry_rows, entries);
}

const struct route admin_audit_routes[] = {
    {"GET", "/api/admin/audit", SCOPE_ADMIN, TX_READ, NULL, get_audit, .query = &audit_query},
    {0},
};
