/* domain/payment_desk.c - see payment_desk.h. The payment is locked before its order, as everywhere. */
#include "domain/payment_desk.h"

#include "domain/gateway_config.h"
#include "domain/order.h"
#include "domain/outbox.h"
#include "domain/payment.h"
#include "domain/receipt.h"

enum err payment_confirm_order(struct db *db, Id order, Time now, bool *ret_changed)
{
    struct payment p;
    Str paid_with = STR(PAID_BY_HAND);
    enum err e = payment_find_order(db, order, &p);
    if (!e) e = payment_lock(db, p.id, &p);
    if (!e && p.status == PAYMENT_SUCCEEDED) paid_with = p.gateway_label;
    if (e && e != ERR_NOT_FOUND) return e;
    bool changed;
    e = order_confirm(db, order, paid_with, now, &changed);
    if (!e && changed) e = receipt_order(db, order, now);
    if (!e) *ret_changed = changed;
    return e;
}

/* The gateway is told, and will tell us in turn: that changes nothing more, because the total is the same. */
static enum err tell_gateway(struct db *db, struct payment *p, Money given, Time now)
{
    struct gateway_config gateway;
    Money total;
    enum err e = gateway_config_find_id(db, p->gateway_id, &gateway);
    if (e) return e;
    if (!money_add(p->refunded_total, given, &total) || money_cmp(total, p->amount) > 0) total = p->amount;
    p->refunded_total = p->refunded_booked = total;
    if (money_cmp(total, p->amount) == 0) p->status = PAYMENT_REFUNDED;
    e = payment_set_refunded(db, p);
    if (e || !gateway.api_key.len) return e;
    return outbox_add(db, &(struct outbox_item){.kind = OUTBOX_REFUND, .payment = p->id, .amount = given}, now, now,
                      NULL);
}

enum err payment_refund_order(struct db *db, Id order, Money refunded_total, Time now, Money *ret_refunded)
{
    struct payment p = {0};
    struct order o;
    Money given = {0};
    enum err e = payment_find_order(db, order, &p);
    bool has_payment = !e;
    if (!e) e = payment_lock(db, p.id, &p);
    if (e == ERR_NOT_FOUND) e = OK;
    if (!e) e = order_refund(db, order, refunded_total, now, &given);
    if (!e) e = order_find(db, (Id){0}, order, &o);
    if (!e && has_payment && given.minor > 0 && str_eq(o.paid_with, p.gateway_label))
        e = tell_gateway(db, &p, given, now);
    if (!e) *ret_refunded = given;
    return e;
}
