/* api/customer/customer_notifications.c - what the customer has been told. */
#include "api/tables.h"
#include "domain/notification.h"
#include "serve/request.h"

static void view_notification(struct json_writer *w, const void *row)
{
    const struct notification *n = row;
    json_begin_object(w);
    json_kv_id(w, "id", n->id);
    json_kv_str(w, "kind", n->kind);
    json_kv_str(w, "message", n->message);
    json_kv_opt_id(w, "reference_id", n->reference);
    json_kv_bool(w, "is_read", n->is_read);
    json_kv_time(w, "created_at", n->created_at);
    json_end_object(w);
}

static const struct list notification_rows = {LIST_ROWS(struct notification, id), .view = view_notification};

static enum err get_notifications(struct request *req)
{
    struct list_page page;
    struct notification *items;
    enum err e = request_page(req, &page);
    if (!e) e = notification_list(req->db, req->account, page.after_id, page.ask, &items, &page.found);
    return e ? e : request_list(req, &page, &notification_rows, items);
}

struct read_body {
    Id up_to;
};
static const struct field read_fields[] = {
    {"up_to", FIELD_ID, REQUIRED, offsetof(struct read_body, up_to)},
    {0},
};
static const struct shape read_shape = {read_fields, sizeof(struct read_body)};

static enum err post_read(struct request *req)
{
    const struct read_body *in = req->body;
    int64_t marked;
    enum err e = notification_mark_read(req->db, req->account, in->up_to, &marked);
    if (e) return e;
    json_begin_object(&req->out);
    json_kv_int(&req->out, "marked", marked);
    json_end_object(&req->out);
    return OK;
}

const struct route customer_notifications_routes[] = {
    {"GET", "/api/customer/notifications", SCOPE_CUSTOMER, TX_READ, NULL, get_notifications,
     .query = &list_query_shape},
    {"POST", "/api/customer/notifications/read", SCOPE_CUSTOMER, TX_WRITE, &read_shape, post_read},
    {0},
};
