/* api/shop/shop_orders.c - a customer's own orders. */
#include "api/shop/account_sheet.h"
#include "api/tables.h"
#include "domain/order_ref.h"
#include "page/words.h"

static enum err get_orders(struct request *req)
{
    struct order *orders;
    size_t count;
    struct sheet s;
    enum err e = order_list(req->db, req->account, account_before(req), ACCOUNT_ROWS + 1, &orders, &count);
    if (e) return e;
    account_sheet(req, &s, WORD_orders);
    Str older = ACCOUNT_OLDER(req, "/account/orders", orders, count);
    page_write_orders(&s.page, &(const struct page_orders){
                                   .frame = s.frame, .orders = account_order_rows(req, orders, count), .older = older});
    sheet_send(req, &s);
    return OK;
}

static enum err show_order(struct request *req, struct trouble *t)
{
    struct order o;
    enum err e = order_find(req->db, req->account, req->param_id, &o);
    if (e) return e;
    Str pay = {0};
    if (o.status == ORDER_PENDING)
        pay = str_printf(req->arena, "/pay/%.*s", STR_FMT(ref_make(req->arena, REF_ORDER, o.id)));
    e = shop_show_own_order(req, &o, pay, t);
    if (t->e) req->status = err_info(t->e)->status;
    return e;
}
REQUEST_STEP(show_order);

static enum err get_order(struct request *req)
{
    return show_order(req, &(struct trouble){0});
}

static enum err cancel_write(struct request *req, const struct trouble *unused)
{
    (void)unused;
    struct order o;
    bool changed;
    enum err e = order_find(req->db, req->account, req->param_id, &o);
    if (!e) e = order_cancel(req->db, o.id, req->now, &changed);
    return e ? e : shop_go(req, str_printf(req->arena, "/account/orders/%lld", (long long)o.id.v));
}
REQUEST_STEP(cancel_write);

static enum err post_cancel(struct request *req)
{
    struct trouble t = {0};
    enum err e = request_step(req, TX_WRITE, cancel_write, &t);
    if (!e || !shop_can_show(e)) return e;
    t = trouble_of(req, e);
    return request_step(req, TX_READ, show_order, &t);
}

const struct route shop_orders_routes[] = {
    {"GET", "/account/orders", SCOPE_NONE, TX_READ, NULL, get_orders, SHOP_PAGE | LOGIN_FIRST},
    {"GET", "/account/orders/{id}", SCOPE_NONE, TX_READ, NULL, get_order, SHOP_PAGE | LOGIN_FIRST},
    {"POST", "/account/orders/{id}/cancel", SCOPE_NONE, TX_SELF, NULL, post_cancel, SHOP_FORM | LOGIN_FIRST,
     .accepts = FORM_TYPE},
    {0},
};
