/* api/admin/admin_payments.c - payments through gateways and where their money is; refunds that need a hand. */
#include "api/admin/audit_trail.h"
#include "api/tables.h"
#include "domain/payment_refund.h"
#include "serve/app.h"
#include "view/view_payment.h"

struct payment_query {
    struct list_query list;
    int status;
    bool has_status;
    Str gateway;
    Id order_id;
};
static const struct field query_fields[] = {
    LIST_FIELDS,
    {"status", FIELD_CHOICE, OPTIONAL, offsetof(struct payment_query, status), .choices = payment_status_names,
     .has = offsetof(struct payment_query, has_status)},
    {"gateway", FIELD_LINE, OPTIONAL, offsetof(struct payment_query, gateway), .max = 40},
    {"order_id", FIELD_ID, OPTIONAL, offsetof(struct payment_query, order_id)},
    {0},
};
static const struct shape payment_query = {query_fields, sizeof(struct payment_query)};

static const struct list payment_rows = {LIST_ROWS(struct payment, id), .view = view_payment_staff};

static enum err get_payments(struct request *req)
{
    const struct payment_query *q = req->query;
    struct list_page page;
    struct payment *payments;
    struct payment_filter filter = {.has_status = q->has_status,
                                    .status = (enum payment_status)q->status,
                                    .gateway_label = q->gateway,
                                    .order_id = q->order_id};
    enum err e = request_page(req, &page);
    if (!e) e = payment_list(req->db, &filter, page.after_id, page.ask, &payments, &page.found);
    return e ? e : request_list(req, &page, &payment_rows, payments);
}

static enum err get_payment(struct request *req)
{
    struct payment p;
    enum err e = payment_find(req->db, req->param_id, &p);
    if (!e) view_payment_staff(&req->out, &p);
    return e;
}

static enum err changed(struct request *req, const char *action, const struct refund *before,
                        const struct refund *after)
{
    view_refund(&req->out, after);
    Str label = str_printf(req->arena, "refund #%lld", (long long)after->id.v);
    return admin_audit(req, action, after->id, label, admin_json(req, view_refund, before),
                       admin_json(req, view_refund, after));
}

static enum err post_retry(struct request *req)
{
    struct refund before, after;
    enum err e = refund_find(req->db, req->param_id, &before);
    if (!e) e = payment_refund_retry(req->db, req->param_id, req->account, req->now, &after);
    if (e) return e;
    dispatcher_wake(req->app->dispatcher);
    return changed(req, "refund.retry", &before, &after);
}

struct settle_body {
    Str note;
};
static const struct field settle_fields[] = {
    {"note", FIELD_LINE, REQUIRED, offsetof(struct settle_body, note), .min = 1, .max = 500},
    {0},
};
static const struct shape settle_shape = {settle_fields, sizeof(struct settle_body)};

static enum err post_settle(struct request *req)
{
    const struct settle_body *in = req->body;
    struct refund before, after;
    enum err e = refund_find(req->db, req->param_id, &before);
    if (!e) e = payment_refund_settle(req->db, req->param_id, in->note, req->account, req->now, &after);
    return e ? e : changed(req, "refund.settle", &before, &after);
}

const struct route admin_payments_routes[] = {
    {"GET", "/api/admin/payments", SCOPE_ADMIN, TX_READ, NULL, get_payments, .query = &payment_query},
    {"GET", "/api/admin/payments/{id}", SCOPE_ADMIN, TX_READ, NULL, get_payment},
    {"POST", "/api/admin/refunds/{id}/retry", SCOPE_ADMIN, TX_WRITE, NULL, post_retry, IDEMPOTENT},
    {"POST", "/api/admin/refunds/{id}/settle", SCOPE_ADMIN, TX_WRITE, &settle_shape, post_settle, IDEMPOTENT},
    {0},
};
