/* view/view_payment.c - see view_payment.h. */
#include "view/view_payment.h"

void view_pay_page(struct json_writer *w, const struct payment *p)
{
    json_begin_object(w);
    json_kv_str(w, "gateway", p->gateway_label);
    json_kv_str(w, "reference", p->reference);
    json_kv_opt_str(w, "url", p->url);
    json_kv_time(w, "expires_at", p->expires_at);
    json_end_object(w);
}

void view_payment(struct json_writer *w, const struct payment *p)
{
    json_begin_object(w);
    json_kv_str(w, "reference", p->reference);
    json_kv_str(w, "gateway", p->gateway_label);
    json_kv_opt_id(w, "order_id", p->order_id);
    json_kv_cstr(w, "status", payment_status_names[p->status]);
    json_kv_money(w, "amount", p->amount);
    json_kv_str(w, "currency", p->currency);
    json_kv_money(w, "refunded_amount", p->refunded_total);
    json_kv_opt_str(w, "url", p->status == PAYMENT_PENDING || p->status == PAYMENT_FAILED ? p->url : (Str){0});
    json_kv_time(w, "expires_at", p->expires_at);
    json_kv_time(w, "created_at", p->created_at);
    json_end_object(w);
}
