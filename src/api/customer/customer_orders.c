/* api/customer/customer_orders.c - what a customer has bought. */
#include "api/tables.h"
#include "serve/app.h"
#include "serve/request.h"
#include "view/view_order.h"

static enum err get_orders(struct request *req)
{
    struct list_page page;
    enum err e = request_page(req, &page);
    if (e) return e;
    struct order *orders;
    size_t count;
    e = order_list(req->db, req->account, page.after_id, page.limit + 1, &orders, &count);
    if (e) return e;
    bool more = request_page_more(&page, &count);
    json_begin_array(&req->out);
    for (size_t i = 0; i < count; i++) view_order(&req->out, req->arena, req->app->options.base_url, &orders[i]);
    json_end_array(&req->out);
    request_page_end(req, more, 0, count ? orders[count - 1].id : (Id){0});
    return OK;
}

static enum err get_order(struct request *req)
{
    struct order order;
    enum err e = order_find(req->db, req->account, req->param_id, &order);
    if (e) return e;
    view_order(&req->out, req->arena, req->app->options.base_url, &order);
    return OK;
}

static enum err get_licenses(struct request *req)
{
    struct list_page page;
    enum err e = request_page(req, &page);
    if (e) return e;
    struct license *licenses;
    size_t count;
    e = license_list(req->db, req->account, page.after_id, page.limit + 1, &licenses, &count);
    if (e) return e;
    bool more = request_page_more(&page, &count);
    json_begin_array(&req->out);
    for (size_t i = 0; i < count; i++) view_license(&req->out, &licenses[i]);
    json_end_array(&req->out);
    request_page_end(req, more, 0, count ? licenses[count - 1].id : (Id){0});
    return OK;
}

const struct route customer_orders_routes[] = {
    {"GET", "/api/customer/orders", SCOPE_CUSTOMER, TX_READ, NULL, get_orders, .query = &list_query_shape},
    {"GET", "/api/customer/orders/{id}", SCOPE_CUSTOMER, TX_READ, NULL, get_order},
    {"GET", "/api/customer/licenses", SCOPE_CUSTOMER, TX_READ, NULL, get_licenses, .query = &list_query_shape},
    {0},
};
