/* view/view_staff.c - see view_staff.h. */
#include "view/view_staff.h"

#include "view/view_account.h"
#include "view/view_order.h"
#include "view/view_payment.h"
#include "view/view_ticket.h"
#include "view/view_timeline.h"

static void kv_array(struct json_writer *w, const char *key, const void *rows, size_t bytes, size_t count,
                     void (*view)(struct json_writer *w, const void *row))
{
    json_key(w, key);
    json_begin_array(w);
    for (size_t i = 0; i < count; i++) view(w, (const char *)rows + i * bytes);
    json_end_array(w);
}

void view_order_staff(struct json_writer *w, struct arena *a, const char *base_url, const struct order *o,
                      const struct order_history *h)
{
    json_begin_object(w);
    json_kv_id(w, "customer_id", o->account_id);
    json_kv_str(w, "email", o->email);
    view_order_members(w, a, base_url, o);
    kv_array(w, "payments", h->payments, sizeof *h->payments, h->payment_count, view_payment_staff);
    kv_array(w, "refunds", h->refunds, sizeof *h->refunds, h->refund_count, view_refund);
    view_timeline_staff(w, h->timeline, h->timeline_count);
    json_end_object(w);
}

void view_shortage_members(struct json_writer *w, const struct serial_shortage *s)
{
    json_kv_id(w, "product_id", s->product_id);
    json_kv_str(w, "product_name", s->product_name);
    json_kv_opt_id(w, "variant_id", s->variant_id);
    json_kv_opt_str(w, "variant_name", s->variant_name);
    json_kv_int(w, "free", s->free);
}

void view_license_staff(struct json_writer *w, const void *thing)
{
    const struct license *l = thing;
    json_begin_object(w);
    json_kv_id(w, "id", l->id);
    json_kv_str(w, "license_key", l->key);
    json_kv_id(w, "product_id", l->product_id);
    json_kv_str(w, "product_name", l->product_name);
    json_kv_opt_id(w, "variant_id", l->variant_id);
    json_kv_id(w, "customer_id", l->account_id);
    json_kv_str(w, "email", l->email);
    json_kv_opt_id(w, "order_id", l->order_id);
    json_kv_cstr(w, "status", license_status_names[l->status]);
    json_kv_bool(w, "on_hold", l->on_hold);
    json_kv_str(w, "reason", l->reason);
    json_kv_time(w, "expires_at", l->expires_at);
    json_kv_opt_str(w, "hardware_id", l->hardware_id);
    json_kv_time(w, "bound_at", l->bound_at);
    json_kv_time(w, "created_at", l->created_at);
    json_kv_time(w, "last_seen_at", l->last_seen_at);
    json_kv_int(w, "seen_count", l->seen_count);
    json_end_object(w);
}

void view_customer(struct json_writer *w, const void *thing)
{
    const struct customer *c = thing;
    json_begin_object(w);
    view_account_members(w, &c->account);
    json_kv_cstr(w, "role", role_names[c->account.role]);
    json_kv_bool(w, "is_active", c->account.is_active);
    json_kv_money(w, "balance", c->balance);
    json_kv_money(w, "credit_limit", c->credit_limit);
    json_end_object(w);
}

void view_ticket_staff(struct json_writer *w, const void *thing)
{
    const struct ticket_view *v = thing;
    const struct ticket *t = &v->ticket;
    json_begin_object(w);
    json_kv_id(w, "id", t->id);
    json_kv_id(w, "customer_id", t->account);
    json_kv_str(w, "email", v->email);
    json_kv_id(w, "department_id", t->department_id);
    json_kv_str(w, "department", t->department);
    json_kv_str(w, "subject", t->subject);
    json_kv_opt_id(w, "order_id", t->order_id);
    json_kv_opt_id(w, "license_id", t->license_id);
    json_kv_cstr(w, "status", ticket_status_names[t->status]);
    json_kv_time(w, "created_at", t->created_at);
    json_kv_time(w, "last_reply_at", t->last_reply_at);
    if (v->has_messages) {
        json_key(w, "messages");
        json_begin_array(w);
        for (size_t i = 0; i < v->message_count; i++) view_ticket_message(w, &v->messages[i]);
        json_end_array(w);
    }
    json_end_object(w);
}

void view_withdrawal_staff(struct json_writer *w, const void *thing)
{
    const struct withdrawal_view *view = thing;
    const struct withdrawal *wd = &view->withdrawal;
    json_begin_object(w);
    json_kv_id(w, "id", wd->id);
    json_kv_id(w, "customer_id", wd->account);
    json_kv_str(w, "email", view->email);
    json_kv_money(w, "amount", wd->amount);
    json_kv_cstr(w, "status", withdrawal_status_names[wd->status]);
    json_kv_opt_str(w, "destination", view->destination);
    json_kv_opt_id(w, "first_by", wd->first_by);
    json_kv_str(w, "reason", wd->reason);
    json_kv_time(w, "requested_at", wd->requested_at);
    json_kv_time(w, "decided_at", wd->decided_at);
    json_kv_opt_id(w, "decided_by", wd->decided_by);
    json_end_object(w);
}

/* The amount is in its own currency, which need not be the store's, so it is sent as text. */
static void kv_amount(struct json_writer *w, const struct review *r)
{
    int exponent = currency_exponent(r->currency);
    char text[MONEY_TEXT_MAX];
    if (r->amount.minor && exponent >= 0)
        json_kv_str(w, "amount", (Str){text, money_format(r->amount, exponent, text)});
    else
        json_kv_null(w, "amount");
    json_kv_opt_str(w, "currency", r->currency);
}

static void view_review_members(struct json_writer *w, const struct review *r)
{
    json_kv_id(w, "id", r->id);
    json_kv_cstr(w, "kind", review_kind_names[r->kind]);
    json_kv_cstr(w, "status", review_status_names[r->status]);
    json_kv_str(w, "reason", r->reason);
    json_kv_opt_str(w, "gateway", r->gateway_label);
    json_kv_opt_id(w, "payment_id", r->payment_id);
    json_kv_opt_id(w, "order_id", r->order_id);
    json_kv_opt_id(w, "event_id", r->event_id);
    json_kv_opt_id(w, "refund_id", r->refund_id);
    json_kv_opt_id(w, "customer_id", r->account_id);
    json_kv_opt_str(w, "email", r->email);
    kv_amount(w, r);
    json_kv_time(w, "due_at", r->due_at);
    json_kv_time(w, "created_at", r->created_at);
    json_kv_time(w, "settled_at", r->settled_at);
    json_kv_opt_id(w, "settled_by", r->settled_by);
    json_kv_opt_str(w, "action", r->action);
    json_kv_opt_str(w, "note", r->note);
}

void view_review_actions(struct json_writer *w, const struct review *r, unsigned actions)
{
    json_begin_object(w);
    view_review_members(w, r);
    json_key(w, "actions");
    json_begin_array(w);
    for (unsigned i = 0; i < REVIEW_ACTION_COUNT; i++)
        if (actions & 1u << i) json_str(w, str_from(review_action_names[i]));
    json_end_array(w);
    json_end_object(w);
}

void view_review(struct json_writer *w, const void *row)
{
    json_begin_object(w);
    view_review_members(w, row);
    json_end_object(w);
}
