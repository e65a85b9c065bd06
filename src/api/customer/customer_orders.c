/* api/customer/customer_orders.c - what a customer has bought. */
#include "api/tables.h"
#include "serve/app.h"
#include "serve/request.h"
#include "view/view_order.h"
#include "view/view_payment.h"
#include "view/view_timeline.h"

/* What happened, and what went back: of one order alone. */
static enum err show_history(struct request *req, Id order)
{
    struct json_writer *w = &req->out;
    struct refund *refunds;
    struct timeline_entry *timeline;
    size_t refund_count, count;
    enum err e = refund_list_order(req->db, order, &refunds, &refund_count);
    if (!e) e = timeline_list(req->db, order, &timeline, &count);
    if (e) return e;
    json_key(w, "refunds");
    json_begin_array(w);
    for (size_t i = 0; i < refund_count; i++) view_refund_customer(w, &refunds[i]);
    json_end_array(w);
    view_timeline_customer(w, timeline, count);
    return OK;
}

/* A waiting order says how to pay it. */
static enum err show(struct request *req, const struct order *order, bool is_whole)
{
    struct json_writer *w = &req->out;
    struct payment p;
    enum err e = order->status == ORDER_PENDING ? payment_find_order(req->db, order->id, &p) : ERR_NOT_FOUND;
    if (e && e != ERR_NOT_FOUND) return e;
    json_begin_object(w);
    view_order_members(w, req->arena, req->app->shop_url, order);
    if (!e) {
        json_key(w, "payment");
        view_order_payment(w, &p);
    }
    e = is_whole ? show_history(req, order->id) : OK;
    json_end_object(w);
    return e;
}

static enum err show_order(struct request *req, const void *row)
{
    return show(req, row, false);
}

static const struct list order_rows = {LIST_ROWS(struct order, id), .show = show_order};

static enum err get_orders(struct request *req)
{
    struct list_page page;
    struct order *orders;
    enum err e = request_page(req, &page);
    if (!e) e = order_list(req->db, req->account, page.after_id, page.ask, &orders, &page.found);
    return e ? e : request_list(req, &page, &order_rows, orders);
}

static enum err get_order(struct request *req)
{
    struct order order;
    enum err e = order_find(req->db, req->account, req->param_id, &order);
    return e ? e : show(req, &order, true);
}

static const struct list license_rows = {LIST_ROWS(struct license, id), .view = view_license};

static enum err get_licenses(struct request *req)
{
    struct list_page page;
    struct license *licenses;
    enum err e = request_page(req, &page);
    if (!e) e = license_list(req->db, req->account, page.after_id, page.ask, &licenses, &page.found);
    return e ? e : request_list(req, &page, &license_rows, licenses);
}

const struct route customer_orders_routes[] = {
    {"GET", "/api/customer/orders", SCOPE_CUSTOMER, TX_READ, NULL, get_orders, .query = &list_query_shape},
    {"GET", "/api/customer/orders/{id}", SCOPE_CUSTOMER, TX_READ, NULL, get_order},
    {"GET", "/api/customer/licenses", SCOPE_CUSTOMER, TX_READ, NULL, get_licenses, .query = &list_query_shape},
    {0},
};
