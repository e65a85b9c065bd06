/* api/admin/admin_webhook_endpoints.c - where events go. A secret is shown once, when it is made. */
#include "api/admin/audit_trail.h"
#include "api/tables.h"
#include "domain/webhook_delivery.h"
#include "domain/webhook_endpoint.h"
#include "outbound/outbound.h"
#include "outbox/courier.h"
#include "serve/app.h"

static void view_members(struct json_writer *w, const struct webhook_endpoint *p)
{
    json_kv_id(w, "id", p->id);
    json_kv_str(w, "url", p->url);
    json_kv_str(w, "description", p->description);
    json_key(w, "events");
    json_begin_array(w);
    for (unsigned i = 0; event_choice_names[i]; i++)
        if (p->events & 1u << i) json_str(w, str_from(event_choice_names[i]));
    json_end_array(w);
    json_kv_bool(w, "include_keys", p->include_keys);
    json_kv_bool(w, "is_enabled", p->is_enabled);
    json_kv_opt_str(w, "off_reason", p->off_reason);
    json_kv_time(w, "old_secret_until", p->old_until);
    json_kv_int(w, "pending", p->pending);
    json_kv_int(w, "failures", p->failures);
    json_kv_time(w, "failing_since", p->failing_since);
    json_kv_time(w, "succeeded_at", p->succeeded_at);
    json_kv_time(w, "created_at", p->created_at);
    json_kv_time(w, "updated_at", p->updated_at);
}

static void view(struct json_writer *w, const void *thing)
{
    json_begin_object(w);
    view_members(w, thing);
    json_end_object(w);
}

static void show_with_secret(struct request *req, const struct webhook_endpoint *p)
{
    json_begin_object(&req->out);
    view_members(&req->out, p);
    json_kv_str(&req->out, "secret", webhook_secret_text(req->arena, p->secret));
    json_end_object(&req->out);
}

struct endpoint_body {
    Str url, description;
    unsigned events;
    bool include_keys, is_enabled;
    bool has_url, has_description, has_events, has_include_keys, has_is_enabled;
};
#define AT(member) offsetof(struct endpoint_body, member)
#define OTHER_FIELDS                                                                                                   \
    {"description", FIELD_LINE, OPTIONAL, AT(description), .max = 200, .has = AT(has_description)},                    \
        {"include_keys", FIELD_BOOL, OPTIONAL, AT(include_keys), .has = AT(has_include_keys)},                         \
    {                                                                                                                  \
        "is_enabled", FIELD_BOOL, OPTIONAL, AT(is_enabled), .has = AT(has_is_enabled)                                  \
    }
static const struct field create_fields[] = {
    {"url", FIELD_URL, REQUIRED, AT(url), .has = AT(has_url)},
    {"events", FIELD_CHOICES, REQUIRED, AT(events), .choices = event_choice_names, .min = 1, .max = EVENT_TYPES + 1,
     .has = AT(has_events)},
    OTHER_FIELDS,
    {0},
};
static const struct field change_fields[] = {
    {"url", FIELD_URL, OPTIONAL, AT(url), .has = AT(has_url)},
    {"events", FIELD_CHOICES, OPTIONAL, AT(events), .choices = event_choice_names, .min = 1, .max = EVENT_TYPES + 1,
     .has = AT(has_events)},
    OTHER_FIELDS,
    {0},
};
static const struct shape create_shape = {create_fields, sizeof(struct endpoint_body)};
static const struct shape change_shape = {change_fields, sizeof(struct endpoint_body)};

static enum err apply(struct request *req, const struct endpoint_body *in, struct webhook_endpoint *p)
{
    if (in->has_url) {
        if (!webhook_url_is_fine(in->url, req->app->options.webhook_private_ok))
            return request_bad_field(req, "url", ERR_FIELD_PRIVATE_ADDRESS);
        p->url = in->url;
    }
    if (in->has_description) p->description = in->description;
    if (in->has_events) p->events = in->events & EVENT_ALL ? EVENT_ALL : in->events;
    if (in->has_include_keys) p->include_keys = in->include_keys;
    if (in->has_is_enabled) p->is_enabled = in->is_enabled;
    return OK;
}

static enum err get_endpoints(struct request *req)
{
    struct webhook_endpoint *all;
    size_t count;
    enum err e = webhook_endpoint_list(req->db, &all, &count);
    return e ? e : request_all(req, all, count, view);
}

static enum err get_endpoint(struct request *req)
{
    struct webhook_endpoint p;
    enum err e = webhook_endpoint_find(req->db, req->param_id, &p);
    if (!e) view(&req->out, &p);
    return e;
}

static enum err post_endpoint(struct request *req)
{
    struct webhook_endpoint want = {.is_enabled = true}, made;
    enum err e = apply(req, req->body, &want);
    if (!e) e = webhook_endpoint_create(req->db, &want, req->now, &made);
    if (e == ERR_FIELD_TOO_MANY) return request_bad_field(req, "url", e);
    if (e) return e;
    show_with_secret(req, &made);
    request_created(req, "/api/admin/webhook-endpoints", made.id);
    return admin_audit(req, "webhook_endpoint.create", made.id, made.url, (Str){0}, admin_json(req, view, &made));
}

static enum err patch_endpoint(struct request *req)
{
    struct webhook_endpoint before, want, after;
    enum err e = webhook_endpoint_find(req->db, req->param_id, &before);
    if (e) return e;
    want = before;
    e = apply(req, req->body, &want);
    if (!e) e = webhook_endpoint_change(req->db, &want, req->now, &after);
    if (e) return e;
    view(&req->out, &after);
    courier_wake(req->app->courier);
    return admin_audit(req, "webhook_endpoint.update", after.id, after.url, admin_json(req, view, &before),
                       admin_json(req, view, &after));
}

static enum err delete_endpoint(struct request *req)
{
    struct webhook_endpoint before;
    enum err e = webhook_endpoint_find(req->db, req->param_id, &before);
    if (!e) e = webhook_endpoint_delete(req->db, req->param_id, req->now);
    if (e) return e;
    view(&req->out, &before);
    return admin_audit(req, "webhook_endpoint.delete", before.id, before.url, admin_json(req, view, &before), (Str){0});
}

static enum err post_rotate(struct request *req)
{
    struct webhook_endpoint after;
    enum err e = webhook_endpoint_rotate(req->db, req->param_id, req->now, &after);
    if (e) return e;
    show_with_secret(req, &after);
    return admin_audit(req, "webhook_endpoint.rotate", after.id, after.url, (Str){0}, (Str){0});
}

/* A ping, for this endpoint alone. */
static enum err post_test(struct request *req)
{
    struct webhook_endpoint p;
    Id event, delivery;
    enum err e = webhook_endpoint_find(req->db, req->param_id, &p);
    if (e) return e;
    if (!p.is_enabled) return ERR_INVALID_STATE;
    e = event_add_ping(req->db, p.id, req->now, &event);
    if (!e) e = webhook_delivery_add(req->db, p.id, event, EVENT_PING, req->now, &delivery);
    if (e) return e;
    json_begin_object(&req->out);
    json_kv_id(&req->out, "delivery_id", delivery);
    json_end_object(&req->out);
    courier_wake(req->app->courier); /* only a hint: the courier also looks by itself */
    return admin_audit(req, "webhook_endpoint.test", p.id, p.url, (Str){0}, (Str){0});
}

const struct route admin_webhook_endpoints_routes[] = {
    {"GET", "/api/admin/webhook-endpoints", SCOPE_ADMIN, TX_READ, NULL, get_endpoints, OWNER_ONLY},
    {"POST", "/api/admin/webhook-endpoints", SCOPE_ADMIN, TX_WRITE, &create_shape, post_endpoint,
     OWNER_ONLY | SENSITIVE},
    {"GET", "/api/admin/webhook-endpoints/{id}", SCOPE_ADMIN, TX_READ, NULL, get_endpoint, OWNER_ONLY},
    {"PATCH", "/api/admin/webhook-endpoints/{id}", SCOPE_ADMIN, TX_WRITE, &change_shape, patch_endpoint,
     OWNER_ONLY | SENSITIVE},
    {"DELETE", "/api/admin/webhook-endpoints/{id}", SCOPE_ADMIN, TX_WRITE, NULL, delete_endpoint,
     OWNER_ONLY | SENSITIVE},
    {"POST", "/api/admin/webhook-endpoints/{id}/rotate", SCOPE_ADMIN, TX_WRITE, NULL, post_rotate,
     OWNER_ONLY | SENSITIVE},
    {"POST", "/api/admin/webhook-endpoints/{id}/test", SCOPE_ADMIN, TX_WRITE, NULL, post_test, OWNER_ONLY},
    {0},
};
