/* api/customer/customer_topup.c - topping up a wallet through a gateway, and what became of the payments. */
#include "api/pay.h"
#include "api/tables.h"
#include "serve/app.h"
#include "serve/render.h"
#include "view/view_payment.h"

struct topup_body {
    Money amount;
    Str gateway, success_url, cancel_url;
};

static const struct field topup_fields[] = {
    {"amount", FIELD_MONEY, REQUIRED, offsetof(struct topup_body, amount), .min = 1},
    {"gateway", FIELD_LINE, REQUIRED, offsetof(struct topup_body, gateway), .min = 1, .max = 40},
    {"success_url", FIELD_URL, OPTIONAL, offsetof(struct topup_body, success_url)},
    {"cancel_url", FIELD_URL, OPTIONAL, offsetof(struct topup_body, cancel_url)},
    {0},
};
static const struct shape topup_shape = {topup_fields, sizeof(struct topup_body)};

static enum err answer(struct request *req, struct pay *pay)
{
    struct json_writer *w = &req->out;
    const struct payment *p = &pay->payment;
    req->status = 201;
    req->answer->location = str_printf(req->arena, "/api/customer/payments/%.*s", STR_FMT(p->reference));
    json_begin_object(w);
    json_kv_cstr(w, "status", "pending");
    json_kv_money(w, "amount", p->amount);
    json_key(w, "payment");
    view_pay_page(w, p);
    json_end_object(w);
    return OK;
}

static void also_wrong(struct request *req, struct db *db)
{
    const struct topup_body *in = req->body;
    struct gateway_config gateway;
    if (in->gateway.len && pay_gateway(db, in->gateway, &gateway) == ERR_FIELD_VALUE)
        request_bad_field(req, "gateway", ERR_FIELD_VALUE);
}

static enum err topup_write(struct request *req, struct pay *pay)
{
    const struct topup_body *in = req->body;
    *pay = (struct pay){0};
    enum err e = pay_gateway(req->db, in->gateway, &pay->gateway);
    if (e == ERR_FIELD_VALUE) return request_bad_field(req, "gateway", e);
    if (e) return e;
    struct payment want = {
        .account_id = req->account, .amount = in->amount, .success_url = in->success_url, .cancel_url = in->cancel_url};
    e = pay_begin(req, pay, &want);
    return e ? e : answer(req, pay);
}
REQUEST_STEP(topup_write);

static enum err undo(struct request *req, struct pay *pay)
{
    (void)req, (void)pay;
    return OK;
}

static enum err post_topup(struct request *req)
{
    struct pay *pay = arena_new(req->arena, struct pay);
    enum err e = request_step(req, TX_WRITE, topup_write, pay);
    return e ? e : pay_finish(req, pay, answer, undo);
}

static enum err get_payment(struct request *req)
{
    struct payment p;
    enum err e = payment_find_reference(req->db, req->account, req->params[0], &p);
    if (e) return e;
    view_payment(&req->out, &p);
    return OK;
}

const struct route customer_topup_routes[] = {
    {"POST", "/api/customer/wallet/topup", SCOPE_CUSTOMER, TX_SELF, &topup_shape, post_topup,
     IDEMPOTENT | CALLS_OUT | PROVEN_EMAIL, .also_wrong = also_wrong},
    {"GET", "/api/customer/payments/{reference}", SCOPE_CUSTOMER, TX_READ, NULL, get_payment},
    {0},
};
