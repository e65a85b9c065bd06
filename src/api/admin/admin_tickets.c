/* api/admin/admin_tickets.c - support as staff see it: tickets and replies. */
#include "api/admin/audit_trail.h"
#include "api/admin/ticket_desk.h"
#include "api/tables.h"
#include "api/ticket_ids.h"
#include "domain/account.h"
#include "view/view_staff.h"

static enum err view_of(struct request *req, const struct ticket *t, bool with_messages, struct ticket_view *ret)
{
    struct account a;
    struct ticket_message *messages = NULL;
    size_t count = 0;
    enum err e = account_find(req->db, t->account, &a);
    if (!e && with_messages) e = ticket_messages(req->db, t->id, (Id){0}, TICKET_STAFF_MESSAGES_MAX, &messages, &count);
    if (!e) *ret = (struct ticket_view){*t, a.email, messages, count, with_messages};
    return e;
}

struct ticket_query {
    struct list_query list;
    int status;
    bool has_status;
    Id department_id;
};
static const struct field query_fields[] = {
    LIST_FIELDS,
    {"status", FIELD_CHOICE, OPTIONAL, offsetof(struct ticket_query, status), .choices = ticket_status_names,
     .has = offsetof(struct ticket_query, has_status)},
    {"department_id", FIELD_ID, OPTIONAL, offsetof(struct ticket_query, department_id)},
    {0},
};
static const struct shape ticket_query = {query_fields, sizeof(struct ticket_query)};

static enum err show_ticket_listed(struct request *req, const void *row)
{
    struct ticket_view view;
    enum err e = view_of(req, row, false, &view);
    if (!e) view_ticket_staff(&req->out, &view);
    return e;
}

static const struct list ticket_rows = {LIST_ROWS(struct ticket, id), .show = show_ticket_listed,
                                        .key_at = offsetof(struct ticket, last_reply_at)};

static enum err get_tickets(struct request *req)
{
    const struct ticket_query *q = req->query;
    struct list_page page;
    struct ticket *items;
    enum err e = request_page(req, &page);
    if (e) return e;
    const struct ticket_page from = {{page.after_key}, page.after_id, page.ask};
    e = ticket_list_all(req->db, q->has_status ? q->status : -1, q->department_id, &from, &items, &page.found);
    return e ? e : request_list(req, &page, &ticket_rows, items);
}

static enum err show_ticket(struct request *req, struct ticket_view *ret)
{
    struct ticket t;
    enum err e = ticket_find(req->db, req->param_id, (Id){0}, &t);
    if (!e) e = view_of(req, &t, true, ret);
    if (!e) view_ticket_staff(&req->out, ret);
    return e;
}

enum err ticket_show(struct request *req)
{
    struct ticket_view view;
    return show_ticket(req, &view);
}

struct ticket_patch {
    int status;
    Id department_id, order_id, license_id;
    bool has_status, has_department_id, has_order_id, has_license_id;
};
static const struct field patch_fields[] = {
    {"status", FIELD_CHOICE, OPTIONAL, offsetof(struct ticket_patch, status), .choices = ticket_status_names,
     .has = offsetof(struct ticket_patch, has_status)},
    {"department_id", FIELD_ID, OPTIONAL, offsetof(struct ticket_patch, department_id),
     .has = offsetof(struct ticket_patch, has_department_id)},
    {"order_id", FIELD_ID, NULLABLE, offsetof(struct ticket_patch, order_id),
     .has = offsetof(struct ticket_patch, has_order_id)},
    {"license_id", FIELD_ID, NULLABLE, offsetof(struct ticket_patch, license_id),
     .has = offsetof(struct ticket_patch, has_license_id)},
    {0},
};
static const struct shape ticket_patch = {patch_fields, sizeof(struct ticket_patch)};

/* What it is about: only what was sent changes. */
static enum err change_about(struct request *req, const struct ticket_patch *in, const struct ticket *before)
{
    struct ticket changed;
    struct ticket_unknown unknown;
    bool is_order = in->has_order_id, is_license = in->has_license_id;
    if (!is_order && !is_license) return OK;
    enum err e = ticket_set_about(req->db, before->id, is_order ? in->order_id : before->order_id,
                                  is_license ? in->license_id : before->license_id, &changed, &unknown);
    return e == ERR_FIELD_NOT_FOUND ? ticket_bad_ids(req, &unknown) : e;
}

static enum err patch_ticket(struct request *req)
{
    const struct ticket_patch *in = req->body;
    struct ticket before, changed;
    struct ticket_view was, is;
    enum err e = ticket_find(req->db, req->param_id, (Id){0}, &before);
    if (!e) e = view_of(req, &before, false, &was);
    if (e) return e;
    if (in->has_department_id) e = ticket_move(req->db, req->param_id, in->department_id, &changed);
    if (e == ERR_FIELD_NOT_FOUND) return request_bad_field(req, "department_id", e);
    if (!e) e = change_about(req, in, &before);
    if (!e && in->has_status)
        e = ticket_set_status(req->db, req->param_id, (enum ticket_status)in->status, req->now, &changed);
    if (!e) e = show_ticket(req, &is);
    if (e) return e;
    is.has_messages = false;
    return admin_audit(req, "ticket.update", before.id, before.subject, admin_json(req, view_ticket_staff, &was),
                       admin_json(req, view_ticket_staff, &is));
}

struct reply_body {
    Str message;
};
static const struct field reply_fields[] = {
    {"message", FIELD_TEXT, REQUIRED | AS_SENT, offsetof(struct reply_body, message), .min = 1,
     .max = TICKET_MESSAGE_MAX},
    {0},
};
static const struct shape reply_shape = {reply_fields, sizeof(struct reply_body)};

enum err ticket_answer(struct request *req, const char *action, Str message)
{
    struct ticket_message said;
    struct ticket_view view;
    enum err e = ticket_reply_staff(req->db, req->param_id, req->account, message, req->now, &said);
    if (!e) e = show_ticket(req, &view);
    if (e) return e;
    req->status = 201;
    view.has_messages = false;
    return admin_audit(req, action, view.ticket.id, view.ticket.subject, (Str){0},
                       admin_json(req, view_ticket_staff, &view));
}

static enum err post_reply(struct request *req)
{
    const struct reply_body *in = req->body;
    return ticket_answer(req, "ticket.reply", in->message);
}

const struct route admin_tickets_routes[] = {
    {"GET", "/api/admin/tickets", SCOPE_ADMIN, TX_READ, NULL, get_tickets, .query = &ticket_query},
    {"GET", "/api/admin/tickets/{id}", SCOPE_ADMIN, TX_READ, NULL, ticket_show},
    {"PATCH", "/api/admin/tickets/{id}", SCOPE_ADMIN, TX_WRITE, &ticket_patch, patch_ticket},
    {"POST", "/api/admin/tickets/{id}/replies", SCOPE_ADMIN, TX_WRITE, &reply_shape, post_reply, IDEMPOTENT,
     .body_bytes_max = TICKET_BODY_BYTES},
    {0},
};
