/* api/admin/admin_reviews.c - the review desk: what waits for a person, with every action that can settle it. Each
 * takes effect once. */
#include "api/admin/audit_trail.h"
#include "api/admin/desk.h"
#include "api/tables.h"
#include "domain/payment_desk.h"
#include "serve/app.h"
#include "view/view_staff.h"

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
    struct review r;
    unsigned actions;
    enum err e = review_find(req->db, req->param_id, &r);
    if (!e) e = payment_review_actions(req->db, &r, &actions);
    if (e) return e;
    view_review_actions(&req->out, &r, actions);
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
    if (!e) e = desk_is_others(req, before.account_id);
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
