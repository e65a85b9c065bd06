/* api/shop/shop_orders.c - a customer's own orders. */
#include "api/order_pay.h"
#include "api/shop/account_sheet.h"
#include "api/tables.h"
#include "domain/order_ref.h"
#include "page/words.h"
#include "serve/app.h"
#include "serve/form.h"

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
    Str pay;
    e = shop_way_to_pay(req, &o, &pay);
    if (!e) e = shop_show_own_order(req, &o, pay, t);
    if (t->e) req->status = err_info(t->e)->status;
    return e;
}
REQUEST_STEP(show_order);

static enum err get_order(struct request *req)
{
    return show_order(req, &(struct trouble){0});
}

static Str order_path(struct request *req, Id order)
{
    return str_printf(req->arena, "/account/orders/%lld", (long long)order.v);
}

static enum err show_again(struct request *req, enum err e)
{
    if (!shop_can_show(e)) return e;
    struct trouble t = trouble_of(req, e);
    return request_step(req, TX_READ, show_order, &t);
}

static enum err cancel_write(struct request *req, struct order *o)
{
    enum err e = order_give_up(req, req->param_id, o);
    return e ? e : shop_go(req, order_path(req, o->id));
}
REQUEST_STEP(cancel_write);

static enum err post_cancel(struct request *req)
{
    struct order o;
    enum err e = request_step(req, TX_WRITE, cancel_write, &o);
    dispatcher_wake(req->app->dispatcher);
    return e ? show_again(req, e) : OK;
}

struct order_pay_form {
    Str pay_with;
};
static const struct field order_pay_fields[] = {
    {"pay_with", FIELD_LINE, REQUIRED, offsetof(struct order_pay_form, pay_with), .min = 1, .max = 40},
    {0},
};
static const struct shape order_pay_form = {order_pay_fields, sizeof(struct order_pay_form)};

struct order_paying {
    struct paying paying; /* first */
    const struct order_pay_form *in;
};

static enum err pay_answer(struct request *req, struct pay *pay)
{
    Id order = ((const struct paying *)pay)->order.id;
    if (!id_is(pay->payment.id)) return shop_go(req, order_path(req, order));
    return shop_go(req, str_printf(req->arena, "/pay/%.*s", STR_FMT(ref_make(req->arena, REF_ORDER, order))));
}

static enum err pay_write(struct request *req, struct order_paying *p)
{
    Str page = str_printf(req->arena, "%s%.*s", req->app->shop_url, STR_FMT(order_path(req, req->param_id)));
    struct pay_wish wish = {.pay_with = p->in->pay_with, .success_url = page, .cancel_url = page};
    enum err e = order_pay_begin(req, req->param_id, &wish, &p->paying);
    return e ? e : pay_answer(req, &p->paying.pay);
}
REQUEST_STEP(pay_write);

static enum err post_pay(struct request *req)
{
    void *in = NULL;
    struct order_paying *p = arena_new(req->arena, struct order_paying);
    enum err e = form_read(req, &order_pay_form, &in);
    p->in = in;
    if (!e) e = request_step(req, TX_WRITE, pay_write, p);
    if (!e) e = pay_finish(req, &p->paying.pay, pay_answer, order_pay_undo);
    dispatcher_wake(req->app->dispatcher);
    return e ? show_again(req, e) : OK;
}

const struct route shop_orders_routes[] = {
    {"GET", "/account/orders", SCOPE_NONE, TX_READ, NULL, get_orders, SHOP_PAGE | LOGIN_FIRST},
    {"GET", "/account/orders/{id}", SCOPE_NONE, TX_READ, NULL, get_order, SHOP_PAGE | LOGIN_FIRST},
    {"POST", "/account/orders/{id}/pay", SCOPE_NONE, TX_SELF, NULL, post_pay,
     SHOP_FORM | LOGIN_FIRST | CALLS_OUT | PROVEN_EMAIL, .accepts = FORM_TYPE},
    {"POST", "/account/orders/{id}/cancel", SCOPE_NONE, TX_SELF, NULL, post_cancel, SHOP_FORM | LOGIN_FIRST,
     .accepts = FORM_TYPE},
    {0},
};
