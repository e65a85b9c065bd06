/* api/order_pay.c - see order_pay.h. */
#include "api/order_pay.h"

#include "domain/ledger.h"
#include "domain/payment_desk.h"
#include "domain/payment_end.h"

/* The most payments that one order may have. */
#define PAYMENTS_MAX 20

static enum err pay_by_wallet(struct request *req, const struct order *o)
{
    struct wallet w;
    enum err e = wallet_find(req->db, req->account, &w);
    if (e) return e;
    e = payment_pay_from_wallet(req->db, o->id, req->now);
    if (e == ERR_INSUFFICIENT_BALANCE) {
        request_error_money(req, "required", o->total);
        request_error_money(req, "available", w.balance);
    }
    return e;
}

static enum err pay_by_gateway(struct request *req, const struct pay_wish *in, struct paying *p)
{
    struct payment *all, locked;
    size_t count;
    bool waiting;
    enum err e = payment_list_order(req->db, p->order.id, &all, &count);
    if (!e && count) e = payment_lock(req->db, all[0].id, &locked);
    if (!e) e = order_lock(req->db, p->order.id, &p->order);
    if (!e) e = payment_has_waiting(req->db, p->order.id, &waiting);
    if (e) return e;
    if (p->order.status != ORDER_PENDING || waiting || count >= PAYMENTS_MAX) return ERR_INVALID_STATE;
    struct payment want = {.account_id = req->account,
                           .order_id = p->order.id,
                           .amount = p->order.total,
                           .success_url = in->success_url,
                           .cancel_url = in->cancel_url};
    e = pay_begin(req, &p->pay, &want);
    /* Without a payment page there is nothing to wait for. */
    return e || id_is(p->pay.errand) ? e : payment_close_others(req->db, &p->pay.payment, req->now);
}

enum err order_pay_begin(struct request *req, Id order, const struct pay_wish *in, struct paying *p)
{
    *p = (struct paying){0};
    bool by_wallet = str_eq(in->pay_with, STR(PAID_WITH_WALLET));
    enum err e = order_find(req->db, req->account, order, &p->order);
    if (!e && !by_wallet) e = pay_gateway(req->db, in->pay_with, &p->pay.gateway);
    if (e == ERR_FIELD_VALUE) return request_bad_field(req, "pay_with", e);
    if (e) return e;
    return by_wallet ? pay_by_wallet(req, &p->order) : pay_by_gateway(req, in, p);
}

enum err order_pay_undo(struct request *req, struct pay *pay)
{
    (void)req, (void)pay;
    return OK;
}

enum err order_give_up(struct request *req, Id order, struct order *ret)
{
    struct order o;
    Money back;
    bool waiting, changed;
    enum err e = order_find(req->db, req->account, order, &o);
    if (!e) e = payment_has_waiting(req->db, o.id, &waiting);
    if (e) return e;
    if (waiting) return ERR_INVALID_STATE; /* it is paid: staff sort that out */
    e = payment_cancel_order(req->db, o.id, SPARE_REFUND, req->account, req->now, &changed, &back);
    if (!e && !changed) e = ERR_INVALID_STATE;
    return e ? e : order_find(req->db, req->account, o.id, ret);
}
