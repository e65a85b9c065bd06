/* api/admin/admin_reviews.c - the review desk: what waits for a person, with every action that can settle it. Each
 * takes effect once. */
#include "api/admin/audit_trail.h"
#include "api/tables.h"
#include "domain/payment_desk.h"
#include "serve/app.h"

struct review_query {
    struct list_query list;
    int status, kind;
    bool has_status, has_kind;
};
static const struct field query_fields[] = {
    LIST_FIELDS,
    {"status", FIELD_CHOICE, OPTIONAL, offsetof(struct review_query, status), .choices = review_status_names,
     .has = offsetof(struct review_query, has_status)},
    {"kind", FIELD_CHOICE, OPTIONAL, offsetof(struct review_query, kind), .choices = review_kind_names,
     .has = offsetof(struct review_query, has_kind)},
    {0},
};
static const struct shape review_query = {query_fields, sizeof(struct review_query)};

/* The amount is in its own currency, which need not be the store's, so it is sent as text. */
static void kv_amount(struct json_writer *w, const struct review *r)
{
    int exponent = currency_exponent(r->currency);
    char text[MONEY_TEXT_MAX];
    if (r->amount.minor && exponent >= 0)
        json_kv_str(w, "amount", (Str){text, money_format(r->amount, exponent, text)});
    else
        json_kv_null(w, "amount");
    json_kv_opt_str(w, "currency", r->currency);
}

static void view_members(struct json_writer *w, const struct review *r)
{
    json_kv_id(w, "id", r->id);
    json_kv_cstr(w, "kind", review_kind_names[r->kind]);
    json_kv_cstr(w, "status", review_status_names[r->status]);
    json_kv_str(w, "reason", r->reason);
    json_kv_opt_str(w, "gateway", r->gateway_label);
    json_kv_opt_id(w, "payment_id", r->payment_id);
    json_kv_opt_id(w, "order_id", r->order_id);
    json_kv_opt_id(w, "event_id", r->event_id);
    json_kv_opt_id(w, "refund_id", r->refund_id);
    json_kv_opt_id(w, "customer_id", r->account_id);
    json_kv_opt_str(w, "email", r->email);
    kv_amount(w, r);
    json_kv_time(w, "due_at", r->due_at);
    json_kv_time(w, "created_at", r->created_at);
    json_kv_time(w, "settled_at", r->settled_at);
    json_kv_opt_id(w, "settled_by", r->settled_by);
    json_kv_opt_str(w, "action", r->action);
    json_kv_opt_str(w, "note", r->note);
}

static void view_review(struct json_writer *w, const void *row)
{
    json_begin_object(w);
    view_members(w, row);
    json_end_object(w);
}

static const struct list review_rows = {LIST_ROWS(struct review, id), .view = view_review};

static enum err get_reviews(struct request *req)
{
    const struct review_query *q = req->query;
    struct list_page page;
    struct review *reviews;
    struct review_filter filter = {.has_status = q->has_status,
                                   .status = (enum review_status)q->status,
                                   .has_kind = q->has_kind,
                                   .kind = (enum review_kind)q->kind};
    enum err e = request_page(req, &page);
    if (!e) e = review_list(req->db, &filter, page.after_id, page.ask, &reviews, &page.found);
    return e ? e : request_list(req, &page, &review_rows, reviews);
}

static enum err show_review(struct request *req)
{
    struct json_writer *w = &req->out;
    struct review r;
    unsigned actions;
    enum err e = review_find(req->db, req->param_id, &r);
    if (!e) e = payment_review_actions(req->db, &r, &actions);
    if (e) return e;
    json_begin_object(w);
    view_members(w, &r);
    json_key(w, "actions");
    json_begin_array(w);
    for (unsigned i = 0; i < REVIEW_ACTION_COUNT; i++)
        if (actions & 1u << i) json_str(w, str_from(review_action_names[i]));
    json_end_array(w);
    json_end_object(w);
    return OK;
}

struct resolve_body {
    int action;
    Str note;
};
static const struct field resolve_fields[] = {
    {"action", FIELD_CHOICE, REQUIRED, offsetof(struct resolve_body, action), .choices = review_action_names},
    {"note", FIELD_LINE, OPTIONAL, offsetof(struct resolve_body, note), .max = 500},
    {0},
};
static const struct shape resolve_shape = {resolve_fields, sizeof(struct resolve_body)};

static enum err post_resolve(struct request *req)
{
    const struct resolve_body *in = req->body;
    struct review before, after;
    enum err e = review_find(req->db, req->param_id, &before);
    if (!e)
        e = payment_review_resolve(req->db, req->param_id, (enum review_action)in->action, in->note, req->account,
                                   req->now);
    if (!e) e = review_find(req->db, req->param_id, &after);
    if (!e) e = show_review(req);
    if (e) return e;
    dispatcher_wake(req->app->dispatcher);
    return admin_audit(req, "review.resolve", after.id, str_from(review_kind_names[after.kind]),
                       admin_json(req, view_review, &before), admin_json(req, view_review, &after));
}

const struct route admin_reviews_routes[] = {
    {"GET", "/api/admin/reviews", SCOPE_ADMIN, TX_READ, NULL, get_reviews, .query = &review_query},
    {"GET", "/api/admin/reviews/{id}", SCOPE_ADMIN, TX_READ, NULL, show_review},
    {"POST", "/api/admin/reviews/{id}/resolve", SCOPE_ADMIN, TX_WRITE, &resolve_shape, post_resolve, IDEMPOTENT},
    {0},
};
