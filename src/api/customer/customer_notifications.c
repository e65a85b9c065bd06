/* api/customer/customer_notifications.c - what the customer was told. The table at the end is the whole list of
 * endpoints. */
#include "api/tables.h"
#include "domain/notification.h"
#include "serve/request.h"

static void view_notification(struct json_writer *w, const struct notification *n)
{
    json_begin_object(w);
    json_kv_id(w, "id", n->id);
    json_kv_str(w, "kind", n->kind);
    json_kv_str(w, "message", n->message);
    json_kv_opt_id(w, "reference_id", n->reference);
    json_kv_time(w, "created_at", n->created_at);
    json_end_object(w);
}

static enum err get_notifications(struct request *req)
{
    struct list_page page;
    enum err e = request_page(req, &page);
    if (e) return e;
    struct notification *items;
    size_t count;
    e = notification_list(req->db, req->account, page.after_id, page.limit + 1, &items, &count);
    if (e) return e;
    bool more = request_page_more(&page, &count);
    json_begin_array(&req->out);
    for (size_t i = 0; i < count; i++) view_notification(&req->out, &items[i]);
    json_end_array(&req->out);
    request_page_end(req, more, 0, count ? items[count - 1].id : (Id){0});
    return OK;
}

const struct route customer_notifications_routes[] = {
    {"GET", "/api/customer/notifications", SCOPE_CUSTOMER, TX_READ, NULL, get_notifications,
     .query = &list_query_shape},
    {0},
};
