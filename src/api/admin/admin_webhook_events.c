/* api/admin/admin_webhook_events.c - events from gateways, for staff: what waits, what needs a person, and trying one
 * again. */
#include "api/admin/audit_trail.h"
#include "api/tables.h"
#include "domain/payment_apply.h"
#include "serve/app.h"

struct event_query {
    struct list_query list;
    int status;
    bool has_status;
};
static const struct field query_fields[] = {
    LIST_FIELDS,
    {"status", FIELD_CHOICE, OPTIONAL, offsetof(struct event_query, status), .choices = webhook_status_names,
     .has = offsetof(struct event_query, has_status)},
    {0},
};
static const struct shape event_query = {query_fields, sizeof(struct event_query)};

/* Amounts are in the currency of the event, which need not be the store's, so they are sent as text. */
static void kv_amount(struct json_writer *w, struct arena *a, const char *key, bool has, Money m, Str currency)
{
    int exponent = currency_exponent(currency);
    char text[MONEY_TEXT_MAX];
    if (has && exponent >= 0)
        json_kv_str(w, key, str_dup(a, (Str){text, money_format(m, exponent, text)}));
    else
        json_kv_null(w, key);
}

static void view_members(struct json_writer *w, struct arena *a, const struct webhook_event *x)
{
    const struct payment_event *e = &x->event;
    json_kv_id(w, "id", x->id);
    json_kv_str(w, "gateway", x->gateway_label);
    json_kv_str(w, "event_id", e->event_id);
    json_kv_str(w, "type", e->type);
    json_kv_cstr(w, "kind", payment_event_kind_names[e->kind]);
    json_kv_cstr(w, "status", webhook_status_names[x->status]);
    json_kv_opt_str(w, "reason", x->reason);
    json_kv_opt_id(w, "order_id", x->order_id);
    json_kv_opt_str(w, "order_ref", e->order_ref);
    json_kv_opt_str(w, "payment_ref", e->payment_ref);
    json_kv_opt_str(w, "refund_ref", e->refund_ref);
    json_kv_opt_str(w, "currency", e->currency);
    kv_amount(w, a, "amount", e->has_amount, e->amount, e->currency);
    kv_amount(w, a, "refunded_total", e->has_refunded_total, e->refunded_total, e->currency);
    json_kv_time(w, "occurred_at", e->occurred_at);
    json_kv_time(w, "received_at", x->received_at);
}

static enum err show_event_listed(struct request *req, const void *event)
{
    json_begin_object(&req->out);
    view_members(&req->out, req->arena, event);
    json_end_object(&req->out);
    return OK;
}

static const struct list event_rows = {LIST_ROWS(struct webhook_event, id), .show = show_event_listed};

static enum err get_events(struct request *req)
{
    const struct event_query *q = req->query;
    const struct webhook_filter filter = {.has_status = q->has_status, .status = (enum webhook_status)q->status};
    struct list_page page;
    struct webhook_event *events;
    enum err e = request_page(req, &page);
    if (!e) e = webhook_event_list(req->db, &filter, page.after_id, page.ask, &events, &page.found);
    return e ? e : request_list(req, &page, &event_rows, events);
}

static enum err show_event(struct request *req)
{
    struct webhook_event x;
    enum err e = webhook_event_find(req->db, req->param_id, &x);
    if (e) return e;
    json_begin_object(&req->out);
    view_members(&req->out, req->arena, &x);
    json_kv_str(&req->out, "body", x.body);
    json_end_object(&req->out);
    return OK;
}

struct replay {
    struct webhook_event kept;
    struct gateway_config gateway;
    struct payment_event event;
};

static enum err replay_read(struct request *req, struct replay *r)
{
    enum err e = webhook_event_find(req->db, req->param_id, &r->kept);
    return e ? e : gateway_config_find_id(req->db, r->kept.gateway_id, &r->gateway);
}
REQUEST_STEP(replay_read);

static enum err replay_write(struct request *req, struct replay *r)
{
    struct payment_outcome outcome;
    enum err e = payment_replay(req->db, &r->gateway, r->kept.id, &r->event, req->now, &outcome);
    if (!e) e = show_event(req);
    return e ? e : admin_audit(req, "webhook_event.replay", r->kept.id, r->kept.event.event_id, (Str){0}, (Str){0});
}
REQUEST_STEP(replay_write);

/* From the original bytes: the first verdict may rest on a wrong configuration, so the event is read and confirmed
 * afresh. An answer that we fetched ourselves has no message; its facts are kept. */
static enum err post_replay(struct request *req)
{
    struct replay *r = arena_new(req->arena, struct replay);
    enum err e = request_step(req, TX_READ, replay_read, r);
    if (e) return e;
    struct webhook hook = {.raw = r->kept.body};
    bool was_sent = gateway_of(r->gateway.provider)->parse(req->arena, &r->gateway, &hook, &r->event) &&
                    str_eq(r->event.event_id, r->kept.event.event_id);
    if (!was_sent) r->event = r->kept.event;
    r->event.delivery_id = r->kept.event.delivery_id;
    if (was_sent) e = link_confirm(req->app->link, &r->gateway, &r->event, req->arena);
    if (!e) e = request_step(req, TX_WRITE, replay_write, r);
    if (!e) dispatcher_wake(req->app->dispatcher);
    return e;
}

const struct route admin_webhook_events_routes[] = {
    {"GET", "/api/admin/webhook-events", SCOPE_ADMIN, TX_READ, NULL, get_events, .query = &event_query},
    {"GET", "/api/admin/webhook-events/{id}", SCOPE_ADMIN, TX_READ, NULL, show_event},
    {"POST", "/api/admin/webhook-events/{id}/replay", SCOPE_ADMIN, TX_SELF, NULL, post_replay, CALLS_OUT},
    {0},
};
