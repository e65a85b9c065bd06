/* api/admin/admin_exports.c - everything as CSV: orders, customers, the ledger.
 *
 * Read page by page in one snapshot, on the blocking pool, so that a large export keeps nobody waiting. An export that
 * exceeds EXPORT_BYTES_MAX says where to continue: the last line's id is the next call's `after`.
 *
 * All customers in one answer is what a thief wants: so it is audited, before anything is read, and wants a proof. */
#include "api/admin/audit_trail.h"
#include "api/admin/csv.h"
#include "api/tables.h"
#include "domain/customer.h"
#include "domain/ledger.h"
#include "domain/order_search.h"
#include "domain/settings.h"
#include "serve/request.h"

#define PAGE_ROWS 1000
#define EXPORT_BYTES_MAX ((size_t)48 * 1024 * 1024)
#define ROW_BYTES_MAX 65536 /* room that another row may need */

struct export_query {
    Id after;
};
static const struct field query_fields[] = {
    {"after", FIELD_ID, OPTIONAL, offsetof(struct export_query, after)},
    {0},
};
static const struct shape export_query = {query_fields, sizeof(struct export_query)};

static void order_row(struct csv *c, const struct order *o)
{
    csv_int(c, o->id.v);
    csv_text(c, o->email);
    csv_text(c, str_from(order_status_names[o->status]));
    csv_text(c, str_from(order_channel_names[o->channel]));
    csv_text(c, o->paid_with);
    csv_money(c, o->subtotal);
    csv_money(c, o->discount);
    csv_money(c, o->total);
    csv_money(c, o->refunded_amount);
    csv_text(c, o->coupon_code);
    csv_time(c, o->created_at);
    csv_time(c, o->confirmed_at);
    csv_time(c, o->closed_at);
    csv_end(c);
}

static void customer_row(struct csv *c, const struct customer *p)
{
    csv_int(c, p->account.id.v);
    csv_text(c, p->account.email);
    csv_text(c, p->account.name);
    csv_text(c, str_from(role_names[p->account.role]));
    csv_text(c, p->account.is_active ? STR("active") : STR("off"));
    csv_money(c, p->balance);
    csv_money(c, p->credit_limit);
    csv_time(c, p->account.created_at);
    csv_end(c);
}

static void ledger_row(struct csv *c, const struct ledger_row *r)
{
    csv_int(c, r->id.v);
    csv_text(c, r->debit);
    csv_text(c, r->debit_email);
    csv_text(c, r->credit);
    csv_text(c, r->credit_email);
    csv_money(c, r->amount);
    csv_text(c, r->kind);
    csv_int(c, r->reference.v);
    csv_text(c, r->description);
    csv_time(c, r->created_at);
    csv_end(c);
}

/* Writes one page into the CSV, starting after *at, which moves on; *ret_count says whether there may be more. */
typedef enum err page_writer(struct db *db, struct csv *c, Id *at, size_t *ret_count);

static enum err orders_page(struct db *db, struct csv *c, Id *at, size_t *ret_count)
{
    struct order *rows;
    enum err e = order_list_after(db, *at, PAGE_ROWS, &rows, ret_count);
    for (size_t i = 0; !e && i < *ret_count; i++) order_row(c, &rows[i]), *at = rows[i].id;
    return e;
}

static enum err customers_page(struct db *db, struct csv *c, Id *at, size_t *ret_count)
{
    struct customer *rows;
    enum err e = customer_list_after(db, *at, PAGE_ROWS, &rows, ret_count);
    for (size_t i = 0; !e && i < *ret_count; i++) customer_row(c, &rows[i]), *at = rows[i].account.id;
    return e;
}

static enum err ledger_page(struct db *db, struct csv *c, Id *at, size_t *ret_count)
{
    struct ledger_row *rows;
    enum err e = ledger_list(db, *at, PAGE_ROWS, &rows, ret_count);
    for (size_t i = 0; !e && i < *ret_count; i++) ledger_row(c, &rows[i]), *at = rows[i].id;
    return e;
}

static enum err write_export(struct request *req, const char *head, const char *file, page_writer *page)
{
    const struct export_query *q = req->query;
    struct buf out;
    struct csv c;
    Id at = q->after;
    size_t count = PAGE_ROWS;
    buf_init(&out, req->arena, EXPORT_BYTES_MAX + (size_t)PAGE_ROWS * ROW_BYTES_MAX);
    csv_init(&c, &out, req->settings->exponent);
    csv_head(&c, head);
    while (count == PAGE_ROWS && out.len < EXPORT_BYTES_MAX) {
        enum err e = page(req->db, &c, &at, &count);
        if (e) return e;
    }
    if (count == PAGE_ROWS)
        request_add_header(req, "Link",
                           str_printf(req->arena, "<%.*s?after=%lld>; rel=\"next\"", STR_FMT(req->exchange->head.path),
                                      (long long)at.v));
    request_add_header(req, "Content-Disposition", str_printf(req->arena, "attachment; filename=\"%s.csv\"", file));
    request_ready(req, "text/csv; charset=utf-8", buf_str(&out));
    return OK;
}

static enum err orders_export(struct request *req)
{
    return write_export(req,
                        "id,email,status,channel,paid_with,subtotal,discount,total,refunded_amount,coupon,created_at,"
                        "confirmed_at,closed_at",
                        "orders", orders_page);
}

static enum err customers_export(struct request *req)
{
    return write_export(req, "id,email,name,role,state,balance,credit_limit,created_at", "customers", customers_page);
}

static enum err ledger_export(struct request *req)
{
    return write_export(req, "id,debit,debit_email,credit,credit_email,amount,kind,reference_id,description,created_at",
                        "ledger", ledger_page);
}

static void view_after(struct json_writer *w, const void *thing)
{
    const struct export_query *q = thing;
    json_begin_object(w);
    json_kv_id(w, "after", q->after);
    json_end_object(w);
}

static enum err note_export(struct request *req, const Str *what)
{
    const struct export_query *q = req->query;
    Str after = id_is(q->after) ? admin_json(req, view_after, q) : (Str){0};
    return admin_audit(req, "export.read", (Id){0}, *what, (Str){0}, after);
}
REQUEST_STEP(note_export);

static enum err give(struct request *req, Str what, enum err (*write)(struct request *req))
{
    enum err e = request_step(req, TX_WRITE, note_export, &what);
    return e ? e : request_tx(req, TX_READ, write);
}

static enum err get_orders(struct request *req)
{
    return give(req, STR("orders"), orders_export);
}
static enum err get_customers(struct request *req)
{
    return give(req, STR("customers"), customers_export);
}
static enum err get_ledger(struct request *req)
{
    return give(req, STR("ledger"), ledger_export);
}

const struct route admin_exports_routes[] = {
    {"GET", "/api/admin/exports/orders", SCOPE_ADMIN, TX_SELF, NULL, get_orders, CONFIRMED | ANY_ACCEPT,
     .query = &export_query},
    {"GET", "/api/admin/exports/customers", SCOPE_ADMIN, TX_SELF, NULL, get_customers, CONFIRMED | ANY_ACCEPT,
     .query = &export_query},
    {"GET", "/api/admin/exports/ledger", SCOPE_ADMIN, TX_SELF, NULL, get_ledger, CONFIRMED | ANY_ACCEPT,
     .query = &export_query},
    {0},
};
