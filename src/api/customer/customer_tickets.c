/* api/customer/customer_tickets.c - support as the customer sees it. */
#include "api/tables.h"
#include "api/ticket_ids.h"
#include "domain/department.h"
#include "domain/ticket.h"
#include "serve/request.h"
#include "view/view_ticket.h"

/* This list is older than paging: a caller that does not page gets as much as a page can hold. */
#define TICKETS_DEFAULT 100
#define MESSAGES_MAX 100

static enum err get_departments(struct request *req)
{
    struct department *items;
    size_t count;
    enum err e = department_list(req->db, true, &items, &count);
    return e ? e : request_all(req, items, count, view_department);
}

static const struct list ticket_rows = {LIST_ROWS(struct ticket, id), .view = view_ticket_listed,
                                        .key_at = offsetof(struct ticket, last_reply_at)};

static enum err get_tickets(struct request *req)
{
    const struct list_query *q = req->query;
    struct list_page page;
    struct ticket *items;
    enum err e = request_page(req, &page);
    if (e) return e;
    if (!q->limit) page.ask = TICKETS_DEFAULT + 1;
    const struct ticket_page from = {{page.after_key}, page.after_id, page.ask};
    e = ticket_list_account(req->db, req->account, &from, &items, &page.found);
    return e ? e : request_list(req, &page, &ticket_rows, items);
}

struct new_ticket {
    Id department_id, order_id, license_id;
    Str subject, message;
};

static const struct field new_ticket_fields[] = {
    {"department_id", FIELD_ID, REQUIRED, offsetof(struct new_ticket, department_id)},
    {"subject", FIELD_LINE, REQUIRED | AS_SENT, offsetof(struct new_ticket, subject), .min = 1,
     .max = TICKET_SUBJECT_MAX},
    {"message", FIELD_TEXT, REQUIRED | AS_SENT, offsetof(struct new_ticket, message), .min = 1,
     .max = TICKET_MESSAGE_MAX},
    {"order_id", FIELD_ID, OPTIONAL, offsetof(struct new_ticket, order_id)},
    {"license_id", FIELD_ID, OPTIONAL, offsetof(struct new_ticket, license_id)},
    {0},
};
static const struct shape new_ticket_body = {new_ticket_fields, sizeof(struct new_ticket)};

static enum err post_ticket(struct request *req)
{
    const struct new_ticket *in = req->body;
    struct ticket t, want = {.account = req->account,
                             .department_id = in->department_id,
                             .subject = in->subject,
                             .order_id = in->order_id,
                             .license_id = in->license_id};
    struct ticket_unknown unknown;
    enum err e = ticket_limit(req, in->message);
    if (!e) e = ticket_create(req->db, &want, in->message, req->now, &t, &unknown);
    if (e == ERR_FIELD_NOT_FOUND) return ticket_bad_ids(req, &unknown);
    if (e) return e;
    view_ticket(&req->out, &t);
    return OK;
}

struct messages_query {
    int64_t limit;
    Id before;
};

static const struct field messages_query_fields[] = {
    {"limit", FIELD_INT, OPTIONAL, offsetof(struct messages_query, limit), .min = 1, .max = MESSAGES_MAX},
    {"before", FIELD_ID, OPTIONAL, offsetof(struct messages_query, before)},
    {0},
};
static const struct shape messages_query = {messages_query_fields, sizeof(struct messages_query)};

static enum err get_ticket(struct request *req)
{
    const struct messages_query *q = req->query;
    struct ticket t;
    enum err e = ticket_find(req->db, req->param_id, req->account, &t);
    if (e) return e;
    struct ticket_message *items;
    size_t count;
    e = ticket_messages(req->db, t.id, q->before, q->limit ? q->limit : MESSAGES_MAX, &items, &count);
    if (e) return e;
    view_ticket_conversation(&req->out, &t, items, count);
    return OK;
}

struct reply {
    Str message;
};

static const struct field reply_fields[] = {
    {"message", FIELD_TEXT, REQUIRED | AS_SENT, offsetof(struct reply, message), .min = 1, .max = TICKET_MESSAGE_MAX},
    {0},
};
static const struct shape reply_body = {reply_fields, sizeof(struct reply)};

static enum err post_reply(struct request *req)
{
    const struct reply *in = req->body;
    struct ticket_message m;
    enum err e = ticket_limit(req, in->message);
    if (!e) e = ticket_reply(req->db, req->param_id, req->account, in->message, req->now, &m);
    if (e) return e;
    request_created(req, "/api/customer/tickets", req->param_id);
    view_ticket_message(&req->out, &m);
    return OK;
}

static enum err post_close(struct request *req)
{
    struct ticket t;
    enum err e = ticket_close(req->db, req->param_id, req->account, req->now, &t);
    if (e) return e;
    view_ticket(&req->out, &t);
    return OK;
}

const struct route customer_tickets_routes[] = {
    {"GET", "/api/support/departments", SCOPE_NONE, TX_READ, NULL, get_departments},
    {"GET", "/api/customer/tickets", SCOPE_CUSTOMER, TX_READ, NULL, get_tickets, .query = &list_query_shape},
    {"POST", "/api/customer/tickets", SCOPE_CUSTOMER, TX_WRITE, &new_ticket_body, post_ticket, IDEMPOTENT,
     .body_bytes_max = TICKET_BODY_BYTES},
    {"GET", "/api/customer/tickets/{id}", SCOPE_CUSTOMER, TX_READ, NULL, get_ticket, .query = &messages_query},
    {"POST", "/api/customer/tickets/{id}/replies", SCOPE_CUSTOMER, TX_WRITE, &reply_body, post_reply, IDEMPOTENT,
     .body_bytes_max = TICKET_BODY_BYTES},
    {"POST", "/api/customer/tickets/{id}/close", SCOPE_CUSTOMER, TX_WRITE, NULL, post_close},
    {0},
};
