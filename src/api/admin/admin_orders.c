/* api/admin/admin_orders.c - orders as staff see them: search, confirm by hand, cancel, refund. */
#include "api/admin/audit_trail.h"
#include "api/admin/desk.h"
#include "api/tables.h"
#include "domain/order_search.h"
#include "domain/payment.h"
#include "domain/payment_desk.h"
#include "domain/receipt.h"
#include "domain/sealed_code.h"
#include "serve/app.h"
#include "serve/limit.h"
#include "view/view_order.h"
#include "view/view_payment.h"
#include "view/view_staff.h"
#include "view/view_timeline.h"

struct order_query {
    struct list_query list;
    int status;
    bool has_status;
    Str q;
    Id customer_id;
};
static const struct field query_fields[] = {
    LIST_FIELDS,
    {"status", FIELD_CHOICE, OPTIONAL, offsetof(struct order_query, status), .choices = order_status_names,
     .has = offsetof(struct order_query, has_status)},
    {"q", FIELD_LINE, OPTIONAL, offsetof(struct order_query, q), .max = 100},
    {"customer_id", FIELD_ID, OPTIONAL, offsetof(struct order_query, customer_id)},
    {0},
};
static const struct shape order_query = {query_fields, sizeof(struct order_query)};

static void view_order_listed(struct json_writer *w, const void *row)
{
    const struct order *o = row;
    json_begin_object(w);
    json_kv_id(w, "id", o->id);
    json_kv_id(w, "customer_id", o->account_id);
    json_kv_str(w, "email", o->email);
    json_kv_cstr(w, "status", order_status_names[o->status]);
    json_kv_cstr(w, "channel", order_channel_names[o->channel]);
    json_kv_opt_str(w, "paid_with", o->paid_with);
    json_kv_money(w, "total", o->total);
    json_kv_money(w, "refunded_amount", o->refunded_amount);
    json_kv_bool(w, "on_hold", o->on_hold);
    json_kv_time(w, "created_at", o->created_at);
    json_end_object(w);
}

static const struct list order_rows = {LIST_ROWS(struct order, id), .view = view_order_listed};

static enum err get_orders(struct request *req)
{
    const struct order_query *q = req->query;
    const struct order_filter filter = {
        .has_status = q->has_status, .status = (enum order_status)q->status, .q = q->q, .account = q->customer_id};
    struct list_page page;
    struct order *orders;
    enum err e = request_page(req, &page);
    if (!e) e = order_search(req->db, &filter, page.after_id, page.ask, &orders, &page.found);
    return e ? e : request_list(req, &page, &order_rows, orders);
}

/* Keys and codes belong to the buyer; staff see their last characters, and reveal them where they must. */
static void mask(struct request *req, struct order *o)
{
    for (size_t i = 0; i < o->item_count; i++)
        for (size_t n = 0; n < o->items[i].delivery_count; n++) {
            struct delivery *d = &o->items[i].deliveries[n];
            if (d->type != DELIVERY_DOWNLOAD_URL) d->value = code_mask(req->arena, d->value);
        }
}

static enum err show_order_whole(struct request *req, bool is_masked)
{
    struct order o;
    struct order_history history;
    enum err e = order_find(req->db, (Id){0}, req->param_id, &o);
    if (!e) e = order_history_find(req->db, req->param_id, &history);
    if (e) return e;
    if (is_masked) mask(req, &o);
    view_order_staff(&req->out, req->arena, req->app->shop_url, &o, &history);
    return OK;
}

static enum err show_order(struct request *req)
{
    return show_order_whole(req, true);
}

static void view_summary(struct json_writer *w, const void *thing)
{
    view_order_listed(w, thing);
}

static enum err note_change(struct request *req, const char *action, const struct order *before)
{
    struct order after;
    enum err e = order_find(req->db, (Id){0}, before->id, &after);
    if (e) return e;
    return admin_audit(req, action, after.id, after.email, admin_json(req, view_summary, before),
                       admin_json(req, view_summary, &after));
}

/* What the three changes have in common: the order before and after, its view, the audit row. */
static enum err changed(struct request *req, const char *action, const struct order *before)
{
    enum err e = show_order(req);
    return e ? e : note_change(req, action, before);
}

static enum err post_confirm(struct request *req)
{
    struct order before;
    bool is_changed;
    enum err e = order_find(req->db, (Id){0}, req->param_id, &before);
    if (!e) e = desk_is_others(req, before.account_id);
    if (!e) e = payment_confirm_order(req->db, req->param_id, req->account, req->now, &is_changed);
    if (e) return e;
    return is_changed ? changed(req, "order.confirm", &before) : ERR_INVALID_STATE;
}

struct cancel_body {
    int money;
};
static const struct field cancel_fields[] = {
    {"money", FIELD_CHOICE, OPTIONAL, offsetof(struct cancel_body, money), .choices = spare_money_names},
    {0},
};
static const struct shape cancel_shape = {cancel_fields, sizeof(struct cancel_body)};

/* Money that has come in goes back where it came from, or into the wallet: the answer says which. */
static enum err post_cancel(struct request *req)
{
    const struct cancel_body *in = req->body;
    struct order before;
    Money back;
    bool is_changed;
    enum err e = order_find(req->db, (Id){0}, req->param_id, &before);
    if (!e)
        e = payment_cancel_order(req->db, req->param_id, (enum spare_money)in->money, req->account, req->now,
                                 &is_changed, &back);
    if (e) return e;
    if (!is_changed) return ERR_INVALID_STATE;
    req->message = back.minor == 0             ? "The order is cancelled; nothing had been paid"
                   : in->money == SPARE_CREDIT ? "The order is cancelled; what was paid is in the customer's wallet"
                                               : "The order is cancelled; what was paid is being given back";
    return changed(req, "order.cancel", &before);
}

struct refund_body {
    Money amount;
    Str reason;
};
static const struct field refund_fields[] = {
    {"amount", FIELD_MONEY, OPTIONAL, offsetof(struct refund_body, amount), .min = 1},
    {"reason", FIELD_LINE, OPTIONAL, offsetof(struct refund_body, reason), .max = 500},
    {0},
};
static const struct shape refund_shape = {refund_fields, sizeof(struct refund_body)};

const char *desk_refund_said(const struct refund *r)
{
    if (!id_is(r->id)) return "There was nothing to refund; the order is closed";
    switch (r->status) {
    case REFUND_REQUESTED: return "The gateway is being asked to give the money back";
    case REFUND_DONE: return "The money was given back";
    case REFUND_FAILED: break;
    }
    return "Nothing was called: the gateway has no API key. Give the money back there, then settle the refund here";
}

enum err desk_refund(struct request *req, Id order, Money amount, Str reason, struct refund *ret)
{
    struct order before;
    enum err e = order_find(req->db, (Id){0}, order, &before);
    if (!e) e = desk_is_others(req, before.account_id);
    if (!e) e = payment_refund_order(req->db, order, amount, reason, req->account, req->now, ret);
    if (e == ERR_FIELD_RANGE) return request_bad_field(req, "amount", e);
    return e ? e : note_change(req, "order.refund", &before);
}

static enum err post_refund(struct request *req)
{
    const struct refund_body *in = req->body;
    struct refund r = {0};
    enum err e = desk_refund(req, req->param_id, in->amount, in->reason, &r);
    if (e) return e;
    req->message = desk_refund_said(&r);
    return show_order(req);
}

#define REVEALS_A_DAY 200

enum err desk_may_reveal(struct request *req)
{
    struct app *app = req->app;
    if (req->token_kind == TOKEN_API || !app->options.rate_auth) return OK;
    Str account = {(const char *)&req->account.v, sizeof req->account.v};
    struct limit_result r = limiter_charge_day(app->limiter, 's', account, REVEALS_A_DAY, time_monotonic_ns());
    req->retry_after_s = r.retry_after_s;
    return r.allowed ? OK : ERR_RATE_LIMITED;
}

static enum err post_reveal(struct request *req)
{
    struct order o;
    enum err e = order_find(req->db, (Id){0}, req->param_id, &o);
    if (!e) e = desk_may_reveal(req);
    if (!e) e = show_order_whole(req, false);
    return e ? e : admin_audit(req, "order.reveal", o.id, o.email, (Str){0}, (Str){0});
}

#define NOTE_MAX 2000

struct note_body {
    Str note;
};
static const struct field note_fields[] = {
    {"note", FIELD_TEXT, REQUIRED, offsetof(struct note_body, note), .min = 1, .max = NOTE_MAX},
    {0},
};
static const struct shape note_shape = {note_fields, sizeof(struct note_body)};

static void view_note(struct json_writer *w, const void *thing)
{
    json_begin_object(w);
    json_kv_str(w, "note", *(const Str *)thing);
    json_end_object(w);
}

/* Staff see it in the timeline; customers do not. */
static enum err post_note(struct request *req)
{
    const struct note_body *in = req->body;
    struct order o;
    enum err e = order_find(req->db, (Id){0}, req->param_id, &o);
    if (!e) e = timeline_note(req->db, o.id, req->account, in->note, req->now);
    if (!e) e = show_order(req);
    if (e) return e;
    req->status = 201;
    return admin_audit(req, "order.note", o.id, o.email, (Str){0}, admin_json(req, view_note, &in->note));
}

/* The order's mail once more, for a customer who cannot find it. */
static enum err post_send(struct request *req)
{
    struct order o;
    enum err e = order_find(req->db, (Id){0}, req->param_id, &o);
    if (!e) e = receipt_order_again(req->db, o.id, req->now);
    if (!e) e = timeline_order(req->db, o.id, TIMELINE_SENT_AGAIN, req->account, req->now);
    if (!e) e = show_order(req);
    return e ? e : admin_audit(req, "order.send", o.id, o.email, (Str){0}, (Str){0});
}

const struct route admin_orders_routes[] = {
    {"GET", "/api/admin/orders", SCOPE_ADMIN, TX_READ, NULL, get_orders, .query = &order_query},
    {"GET", "/api/admin/orders/{id}", SCOPE_ADMIN, TX_READ, NULL, show_order},
    {"POST", "/api/admin/orders/{id}/reveal", SCOPE_ADMIN, TX_WRITE, NULL, post_reveal},
    {"POST", "/api/admin/orders/{id}/confirm", SCOPE_ADMIN, TX_WRITE, NULL, post_confirm, IDEMPOTENT},
    {"POST", "/api/admin/orders/{id}/cancel", SCOPE_ADMIN, TX_WRITE, &cancel_shape, post_cancel, IDEMPOTENT},
    {"POST", "/api/admin/orders/{id}/refund", SCOPE_ADMIN, TX_WRITE, &refund_shape, post_refund, IDEMPOTENT},
    {"POST", "/api/admin/orders/{id}/notes", SCOPE_ADMIN, TX_WRITE, &note_shape, post_note, IDEMPOTENT},
    {"POST", "/api/admin/orders/{id}/send", SCOPE_ADMIN, TX_WRITE, NULL, post_send, IDEMPOTENT},
    {0},
};
