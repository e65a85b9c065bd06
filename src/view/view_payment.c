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
    json_kv_money(w, "refunded_amount", p->returned);
    json_kv_opt_str(w, "url", p->status == PAYMENT_OPEN || p->status == PAYMENT_FAILED ? p->url : (Str){0});
    json_kv_time(w, "expires_at", p->expires_at);
    json_kv_time(w, "created_at", p->created_at);
    json_end_object(w);
}

void view_order_payment(struct json_writer *w, const struct payment *p)
{
    json_begin_object(w);
    json_kv_str(w, "gateway", p->gateway_label);
    json_kv_str(w, "reference", p->reference);
    json_kv_opt_str(w, "url", p->status == PAYMENT_OPEN || p->status == PAYMENT_FAILED ? p->url : (Str){0});
    json_kv_time(w, "expires_at", p->expires_at);
    json_kv_cstr(w, "status", payment_status_names[p->status]);
    json_end_object(w);
}

void view_payment_staff(struct json_writer *w, const void *thing)
{
    const struct payment *p = thing;
    json_begin_object(w);
    json_kv_id(w, "id", p->id);
    json_kv_opt_id(w, "order_id", p->order_id);
    json_kv_id(w, "account_id", p->account_id);
    json_kv_str(w, "gateway", p->gateway_label);
    json_kv_str(w, "reference", p->reference);
    json_kv_cstr(w, "status", payment_status_names[p->status]);
    json_kv_money(w, "amount", p->amount);
    json_kv_str(w, "currency", p->currency);
    json_kv_money(w, "received", p->received);
    json_kv_money(w, "waiting", p->waiting);
    json_kv_money(w, "credited", p->credited);
    json_kv_money(w, "returned", p->returned);
    json_kv_money(w, "lost", p->lost_total);
    json_kv_bool(w, "paid_order", p->paid_order);
    json_kv_bool(w, "is_disputed", p->is_disputed);
    json_kv_opt_str(w, "group_ref", p->group_ref);
    json_kv_opt_str(w, "payment_ref", p->payment_ref);
    json_kv_opt_str(w, "url", p->url);
    json_kv_time(w, "created_at", p->created_at);
    json_kv_time(w, "expires_at", p->expires_at);
    json_kv_time(w, "ends_at", p->ends_at);
    json_kv_time(w, "ended_at", p->ended_at);
    json_kv_time(w, "succeeded_at", p->succeeded_at);
    json_end_object(w);
}

void view_refund(struct json_writer *w, const void *thing)
{
    const struct refund *r = thing;
    json_begin_object(w);
    json_kv_id(w, "id", r->id);
    json_kv_opt_id(w, "payment_id", r->payment_id);
    json_kv_opt_id(w, "order_id", r->order_id);
    json_kv_money(w, "amount", r->amount);
    json_kv_cstr(w, "status", refund_status_names[r->status]);
    json_kv_opt_str(w, "reason", r->error.len ? r->error : r->reason);
    json_kv_opt_str(w, "note", r->note);
    json_kv_opt_str(w, "claim_url", r->claim_url);
    json_kv_time(w, "requested_at", r->requested_at);
    json_kv_opt_id(w, "requested_by", r->requested_by);
    json_kv_time(w, "done_at", r->done_at);
    json_end_object(w);
}

void view_refund_customer(struct json_writer *w, const struct refund *r)
{
    json_begin_object(w);
    json_kv_money(w, "amount", r->amount);
    json_kv_cstr(w, "status", refund_status_names[r->status == REFUND_DONE ? REFUND_DONE : REFUND_REQUESTED]);
    json_kv_opt_str(w, "claim_url", r->claim_url);
    json_kv_time(w, "requested_at", r->requested_at);
    json_kv_time(w, "done_at", r->done_at);
    json_end_object(w);
}
