/* api/admin/admin_webhook_deliveries.c - events: the list for those who poll, what was sent where, and sending again.
 */
#include "api/admin/audit_trail.h"
#include "api/tables.h"
#include "outbox/courier_round.h"
#include "serve/app.h"
#include "view/view_event.h"

static void view_members(struct json_writer *w, const struct webhook_delivery *d)
{
    json_kv_id(w, "id", d->id);
    json_kv_id(w, "endpoint_id", d->endpoint_id);
    json_kv_id(w, "event_id", d->event_id);
    json_kv_cstr(w, "type", event_type_names[d->type]);
    json_kv_cstr(w, "status", hook_status_names[d->status]);
    json_kv_int(w, "tries", d->tries);
    json_kv_time(w, "next_try_at", d->status == HOOK_PENDING ? d->due_at : (Time){0});
    json_kv_time(w, "created_at", d->created_at);
    json_kv_time(w, "done_at", d->done_at);
}

static void view(struct json_writer *w, const void *row)
{
    json_begin_object(w);
    view_members(w, row);
    json_end_object(w);
}

struct delivery_query {
    struct list_query list;
    Id endpoint_id;
    int status, type;
    bool has_status, has_type;
};
#define QUERY(member) offsetof(struct delivery_query, member)
static const struct field delivery_fields[] = {
    LIST_FIELDS,
    {"endpoint_id", FIELD_ID, OPTIONAL, QUERY(endpoint_id)},
    {"status", FIELD_CHOICE, OPTIONAL, QUERY(status), .choices = hook_status_names, .has = QUERY(has_status)},
    {"type", FIELD_CHOICE, OPTIONAL, QUERY(type), .choices = event_type_names, .has = QUERY(has_type)},
    {0},
};
static const struct shape delivery_query = {delivery_fields, sizeof(struct delivery_query)};

static const struct list delivery_rows = {LIST_ROWS(struct webhook_delivery, id), .view = view};

static enum err get_deliveries(struct request *req)
{
    const struct delivery_query *q = req->query;
    const struct hook_filter filter = {.endpoint = q->endpoint_id,
                                       .has_status = q->has_status,
                                       .status = (enum hook_status)q->status,
                                       .has_type = q->has_type,
                                       .type = (enum event_type)q->type};
    struct list_page page;
    struct webhook_delivery *rows;
    enum err e = request_page(req, &page);
    if (!e) e = webhook_delivery_list(req->db, &filter, page.after_id, page.ask, &rows, &page.found);
    return e ? e : request_list(req, &page, &delivery_rows, rows);
}

/* As it is sent; each try has a timestamp and signature of its own. */
static void view_request(struct request *req, const struct webhook_endpoint *p, const struct event *e)
{
    struct json_writer *w = &req->out;
    json_key(w, "request");
    json_begin_object(w);
    json_kv_str(w, "url", p->url);
    json_key(w, "headers");
    json_begin_object(w);
    json_kv_cstr(w, "content-type", "application/json");
    json_kv_str(w, "webhook-id", courier_id(req->arena, e));
    json_end_object(w);
    json_kv_str(w, "body", courier_body(req->arena, e, p->include_keys));
    json_end_object(w);
}

static void view_tries(struct json_writer *w, const struct webhook_try *tries, size_t count)
{
    json_key(w, "attempts");
    json_begin_array(w);
    for (size_t i = 0; i < count; i++) {
        json_begin_object(w);
        json_kv_int(w, "number", tries[i].number);
        json_kv_time(w, "at", tries[i].at);
        json_kv_int(w, "took_ms", tries[i].took_ms);
        if (tries[i].status)
            json_kv_int(w, "status", tries[i].status);
        else
            json_kv_null(w, "status");
        json_kv_opt_str(w, "error", tries[i].error);
        json_end_object(w);
    }
    json_end_array(w);
}

static enum err show(struct request *req, struct webhook_delivery *ret)
{
    struct webhook_endpoint p;
    struct event event;
    struct webhook_try *tries;
    size_t count;
    enum err e = webhook_delivery_find(req->db, req->param_id, ret);
    if (!e) e = webhook_endpoint_find(req->db, ret->endpoint_id, &p);
    if (!e) e = event_find(req->db, ret->event_id, &event);
    if (!e) e = webhook_delivery_tries(req->db, ret->id, &tries, &count);
    if (e) return e;
    json_begin_object(&req->out);
    view_members(&req->out, ret);
    view_request(req, &p, &event);
    view_tries(&req->out, tries, count);
    json_kv_opt_str(&req->out, "answer", ret->answer);
    json_end_object(&req->out);
    return OK;
}

static enum err get_delivery(struct request *req)
{
    struct webhook_delivery d;
    return show(req, &d);
}

static enum err post_resend(struct request *req)
{
    struct webhook_delivery before, after;
    struct webhook_endpoint p;
    enum err e = webhook_delivery_find(req->db, req->param_id, &before);
    if (!e) e = webhook_endpoint_find(req->db, before.endpoint_id, &p);
    if (!e && !p.is_enabled) e = ERR_INVALID_STATE;
    if (!e) e = webhook_delivery_resend(req->db, req->param_id, req->now);
    if (!e) e = show(req, &after);
    if (e) return e;
    courier_wake(req->app->courier);
    return admin_audit(req, "webhook_delivery.resend", before.id, str_from(event_type_names[before.type]),
                       admin_json(req, view, &before), admin_json(req, view, &after));
}

struct news_query {
    Id after;
    Str types;
    int64_t limit;
};
static const struct field event_fields[] = {
    {"after", FIELD_INT, OPTIONAL, offsetof(struct news_query, after), .min = 0, .max = ID_MAX},
    {"types", FIELD_LINE, OPTIONAL, offsetof(struct news_query, types), .max = 1000},
    {"limit", FIELD_INT, OPTIONAL, offsetof(struct news_query, limit), .min = 1, .max = 100},
    {0},
};
static const struct shape news_query = {event_fields, sizeof(struct news_query)};

/* Names separated by commas; none: all. */
static enum err read_types(struct request *req, Str text, unsigned *ret)
{
    unsigned types = text.len ? 0 : EVENT_ALL;
    for (Str name, rest; text.len; text = rest) {
        if (!str_cut(text, ',', &name, &rest)) name = text, rest = (Str){0};
        int i = str_choice(str_trim(name), event_choice_names);
        if (i < 0) return request_bad_part(req, "types", ERR_FIELD_VALUE, name);
        types |= 1u << i;
    }
    *ret = types;
    return OK;
}

static void view_event_listed(struct request *req, const struct event *e)
{
    struct json_writer *w = &req->out;
    json_begin_object(w);
    json_kv_id(w, "id", e->id);
    json_kv_str(w, "webhook_id", courier_id(req->arena, e));
    json_kv_cstr(w, "type", event_type_names[e->type]);
    json_kv_time(w, "timestamp", e->created_at);
    json_key(w, "data");
    json_raw(w, view_event_data(req->arena, e, false));
    json_end_object(w);
}

#define PAGE_BYTES (1024 * 1024)

static enum err get_events(struct request *req)
{
    const struct news_query *q = req->query;
    unsigned types = 0;
    struct event *events;
    size_t count;
    enum err e = read_types(req, q->types, &types);
    if (!e) e = event_list(req->db, q->after, types, req->now, q->limit ? q->limit : 50, &events, &count);
    if (e) return e;
    json_begin_array(&req->out);
    for (size_t i = 0; i < count && (!i || req->out_buf.len < PAGE_BYTES); i++) view_event_listed(req, &events[i]);
    json_end_array(&req->out);
    return OK;
}

const struct route admin_webhook_deliveries_routes[] = {
    {"GET", "/api/admin/events", SCOPE_ADMIN, TX_READ, NULL, get_events, OWNER_ONLY, .query = &news_query},
    {"GET", "/api/admin/webhook-deliveries", SCOPE_ADMIN, TX_READ, NULL, get_deliveries, OWNER_ONLY,
     .query = &delivery_query},
    {"GET", "/api/admin/webhook-deliveries/{id}", SCOPE_ADMIN, TX_READ, NULL, get_delivery, OWNER_ONLY},
    {"POST", "/api/admin/webhook-deliveries/{id}/resend", SCOPE_ADMIN, TX_WRITE, NULL, post_resend, OWNER_ONLY},
    {0},
};
