/* api/customer/customer_orders.c - what a customer has bought. */
#include "api/tables.h"
#include "serve/app.h"
#include "serve/request.h"
#include "view/view_order.h"
#include "view/view_payment.h"

/* A waiting order says how to pay it. */
static enum err show_order(struct request *req, const void *row)
{
    const struct order *order = row;
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
    json_end_object(w);
    return OK;
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
    return e ? e : show_order(req, &order);
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
