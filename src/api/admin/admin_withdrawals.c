/* api/admin/admin_withdrawals.c - decisions about withdrawals. Each is made once; the customer is told. */
#include "api/admin/audit_trail.h"
#include "api/tables.h"
#include "domain/account.h"
#include "domain/sealed_code.h"
#include "domain/settings.h"
#include "domain/withdrawal.h"
#include "view/view_staff.h"

static enum err view_of(struct request *req, const struct withdrawal *wd, struct withdrawal_view *ret)
{
    struct account a;
    enum err e = account_find(req->db, wd->account, &a);
    if (!e) *ret = (struct withdrawal_view){*wd, a.email, code_mask(req->arena, wd->destination)};
    return e;
}

struct withdrawal_query {
    struct list_query list;
    int status;
    bool has_status;
};
static const struct field query_fields[] = {
    LIST_FIELDS,
    {"status", FIELD_CHOICE, OPTIONAL, offsetof(struct withdrawal_query, status), .choices = withdrawal_status_names,
     .has = offsetof(struct withdrawal_query, has_status)},
    {0},
};
static const struct shape withdrawal_query = {query_fields, sizeof(struct withdrawal_query)};

static enum err show_withdrawal(struct request *req, const void *row)
{
    struct withdrawal_view view;
    enum err e = view_of(req, row, &view);
    if (!e) view_withdrawal_staff(&req->out, &view);
    return e;
}

static const struct list withdrawal_rows = {LIST_ROWS(struct withdrawal, id), .show = show_withdrawal};

static enum err get_withdrawals(struct request *req)
{
    const struct withdrawal_query *q = req->query;
    struct list_page page;
    struct withdrawal *items;
    enum err e = request_page(req, &page);
    if (!e && q->has_status)
        e = withdrawal_list_status(req->db, (enum withdrawal_status)q->status, page.after_id, page.ask, &items,
                                   &page.found);
    else if (!e)
        e = withdrawal_list_all(req->db, page.after_id, page.ask, &items, &page.found);
    return e ? e : request_list(req, &page, &withdrawal_rows, items);
}

/* The person who pays it out sees the destination. */
static enum err get_withdrawal(struct request *req)
{
    struct withdrawal wd;
    struct withdrawal_view view;
    enum err e = withdrawal_find(req->db, req->param_id, (Id){0}, &wd);
    if (!e) e = view_of(req, &wd, &view);
    if (e) return e;
    view.destination = wd.destination;
    view_withdrawal_staff(&req->out, &view);
    return OK;
}

static enum err decided(struct request *req, const char *action, const struct withdrawal *before,
                        const struct withdrawal *after)
{
    struct withdrawal_view was, is;
    enum err e = view_of(req, before, &was);
    if (!e) e = view_of(req, after, &is);
    if (e) return e;
    view_withdrawal_staff(&req->out, &is);
    return admin_audit(req, action, after->id, is.email, admin_json(req, view_withdrawal_staff, &was),
                       admin_json(req, view_withdrawal_staff, &is));
}

static enum err post_approve(struct request *req)
{
    struct withdrawal before = {0}, after = {0};
    struct settings s; /* read now, so that a limit that was just set applies */
    enum err e = settings_load(req->db, &s);
    if (!e) e = withdrawal_find(req->db, req->param_id, (Id){0}, &before);
    if (!e) e = withdrawal_approve(req->db, req->param_id, req->account, s.second_person_above, req->now, &after);
    return e ? e : decided(req, "withdrawal.approve", &before, &after);
}

struct reject_body {
    Str reason;
};
static const struct field reject_fields[] = {
    {"reason", FIELD_LINE, OPTIONAL, offsetof(struct reject_body, reason), .max = 500},
    {0},
};
static const struct shape reject_shape = {reject_fields, sizeof(struct reject_body)};

static enum err post_reject(struct request *req)
{
    const struct reject_body *in = req->body;
    struct withdrawal before = {0}, after = {0};
    enum err e = withdrawal_find(req->db, req->param_id, (Id){0}, &before);
    if (!e) e = withdrawal_reject(req->db, req->param_id, req->account, in->reason, req->now, &after);
    return e ? e : decided(req, "withdrawal.reject", &before, &after);
}

const struct route admin_withdrawals_routes[] = {
    {"GET", "/api/admin/withdrawals", SCOPE_ADMIN, TX_READ, NULL, get_withdrawals, .query = &withdrawal_query},
    {"GET", "/api/admin/withdrawals/{id}", SCOPE_ADMIN, TX_READ, NULL, get_withdrawal},
    {"POST", "/api/admin/withdrawals/{id}/approve", SCOPE_ADMIN, TX_WRITE, NULL, post_approve, CONFIRMED | IDEMPOTENT},
    {"POST", "/api/admin/withdrawals/{id}/reject", SCOPE_ADMIN, TX_WRITE, &reject_shape, post_reject, IDEMPOTENT},
    {0},
};
