/* api/admin/admin_stats.c - the dashboard: its figures, and what a new store still needs. */
#include "api/admin/audit_trail.h"
#include "api/tables.h"
#include "domain/backup_record.h"
#include "domain/checklist.h"
#include "domain/serial.h"
#include "domain/settings.h"
#include "domain/stats.h"
#include "serve/app.h"
#include "view/view_staff.h"

#define DAYS_DEFAULT 30
#define DAYS_MAX 366
#define LOW_STOCK 10

struct stats_query {
    int64_t days;
};
static const struct field query_fields[] = {
    {"days", FIELD_INT, OPTIONAL, offsetof(struct stats_query, days), .min = 1, .max = DAYS_MAX},
    {0},
};
static const struct shape stats_query = {query_fields, sizeof(struct stats_query)};

static void view_sales(struct json_writer *w, const struct day_sales *sales, int days)
{
    json_key(w, "sales");
    json_begin_array(w);
    for (int i = 0; i < days; i++) {
        char text[TIME_TEXT_LEN + 1];
        time_format(sales[i].day, text);
        json_begin_object(w);
        json_kv_str(w, "day", (Str){text, 10});
        json_kv_int(w, "orders", sales[i].orders);
        json_kv_money(w, "total", sales[i].total);
        json_end_object(w);
    }
    json_end_array(w);
}

static void view_shortages(struct json_writer *w, const struct serial_shortage *items, size_t count)
{
    json_key(w, "low_stock");
    json_begin_array(w);
    for (size_t i = 0; i < count; i++) {
        json_begin_object(w);
        view_shortage_members(w, &items[i]);
        json_end_object(w);
    }
    json_end_array(w);
}

static enum err get_stats(struct request *req)
{
    const struct stats_query *q = req->query;
    int days = q->days ? (int)q->days : DAYS_DEFAULT;
    struct day_sales *sales = arena_array(req->arena, struct day_sales, (size_t)days);
    struct open_work work;
    Time made, verified;
    struct serial_shortage *shortages;
    size_t count;
    enum err e = stats_sales(req->db, req->now, days, sales);
    if (!e) e = stats_open_work(req->db, &work);
    if (!e) e = serial_shortages(req->db, LOW_STOCK, &shortages, &count);
    if (!e) e = backup_record_last(req->db, &made, &verified);
    if (e) return e;
    struct json_writer *w = &req->out;
    json_begin_object(w);
    json_kv_cstr(w, "currency", req->settings->currency);
    view_sales(w, sales, days);
    json_key(w, "open");
    json_begin_object(w);
    json_kv_int(w, "withdrawals", work.withdrawals);
    json_kv_int(w, "tickets", work.tickets);
    json_kv_int(w, "pending_orders", work.pending_orders);
    json_kv_int(w, "orders_on_hold", work.orders_on_hold);
    json_kv_int(w, "webhooks", work.webhooks);
    json_kv_int(w, "reviews", work.reviews);
    json_kv_int(w, "outbox", work.outbox);
    json_end_object(w);
    view_shortages(w, shortages, count);
    json_key(w, "backup");
    json_begin_object(w);
    json_kv_time(w, "made_at", made);
    json_kv_time(w, "verified_at", verified);
    json_end_object(w);
    json_end_object(w);
    return OK;
}

/* ---- what a new store still needs ---- */

static void view_checklist(struct json_writer *w, const void *thing)
{
    const bool *is_done = thing;
    json_begin_array(w);
    for (int i = 0; i < CHECKLIST_COUNT; i++) {
        json_begin_object(w);
        json_kv_cstr(w, "item", checklist_item_names[i]);
        json_kv_bool(w, "is_done", is_done[i]);
        json_end_object(w);
    }
    json_end_array(w);
}

/* One item of it, for the audit. */
struct ticked {
    int item;
    bool is_done;
};

static void view_ticked(struct json_writer *w, const void *thing)
{
    const struct ticked *t = thing;
    json_begin_object(w);
    json_kv_cstr(w, "item", checklist_item_names[t->item]);
    json_kv_bool(w, "is_done", t->is_done);
    json_end_object(w);
}

static enum err read_it(struct request *req, bool ret[CHECKLIST_COUNT])
{
    return checklist_read(req->db, req->app->options.base_url[0], ret);
}

static enum err get_checklist(struct request *req)
{
    bool is_done[CHECKLIST_COUNT];
    enum err e = read_it(req, is_done);
    if (!e) view_checklist(&req->out, is_done);
    return e;
}

struct checklist_body {
    int item;
    bool is_done;
};
static const struct field checklist_fields[] = {
    {"item", FIELD_CHOICE, REQUIRED, offsetof(struct checklist_body, item), .choices = checklist_item_names},
    {"is_done", FIELD_BOOL, REQUIRED, offsetof(struct checklist_body, is_done)},
    {0},
};
static const struct shape checklist_shape = {checklist_fields, sizeof(struct checklist_body)};

static enum err patch_checklist(struct request *req)
{
    const struct checklist_body *in = req->body;
    bool before[CHECKLIST_COUNT], after[CHECKLIST_COUNT];
    enum err e = read_it(req, before);
    if (!e) e = checklist_set(req->db, (enum checklist_item)in->item, in->is_done);
    if (!e) e = read_it(req, after);
    if (e) return e;
    view_checklist(&req->out, after);
    const struct ticked was = {in->item, before[in->item]}, is = {in->item, after[in->item]};
    return admin_audit(req, "settings.checklist", (Id){0}, str_from(checklist_item_names[in->item]),
                       admin_json(req, view_ticked, &was), admin_json(req, view_ticked, &is));
}

const struct route admin_stats_routes[] = {
    {"GET", "/api/admin/stats", SCOPE_ADMIN, TX_READ, NULL, get_stats, .query = &stats_query},
    {"GET", "/api/admin/checklist", SCOPE_ADMIN, TX_READ, NULL, get_checklist},
    {"PATCH", "/api/admin/checklist", SCOPE_ADMIN, TX_WRITE, &checklist_shape, patch_checklist, OWNER_ONLY},
    {0},
};
