/* api/admin/admin_reconciliations.c - whether the gateways' books agree with ours, and comparing them now. */
#include "api/admin/audit_trail.h"
#include "api/tables.h"
#include "domain/reconciliation.h"
#include "serve/app.h"

static void view(struct json_writer *w, const void *thing)
{
    const struct reconciliation *r = thing;
    json_begin_object(w);
    json_kv_str(w, "gateway", r->gateway_label);
    json_kv_time(w, "asked_at", r->asked_at);
    json_kv_time(w, "ran_at", r->ran_at);
    json_kv_bool(w, "agrees", time_is(r->ran_at) && !r->error.len && r->differences == 0);
    json_kv_int(w, "charges", r->counts[BOOK_CHARGES]);
    json_kv_int(w, "refunds", r->counts[BOOK_REFUNDS]);
    json_kv_int(w, "disputes", r->counts[BOOK_DISPUTES]);
    json_kv_int(w, "differences", r->differences);
    json_kv_opt_str(w, "error", r->error);
    json_end_object(w);
}

static enum err get_reconciliations(struct request *req)
{
    struct reconciliation *all;
    size_t count;
    enum err e = reconciliation_list(req->db, &all, &count);
    return e ? e : request_all(req, all, count, view);
}

static enum err post_reconciliation(struct request *req)
{
    struct reconciliation *all;
    size_t count;
    enum err e = reconciliation_list(req->db, &all, &count);
    for (size_t i = 0; !e && i < count; i++) {
        if (!str_eq(all[i].gateway_label, req->params[0])) continue;
        e = reconciliation_ask(req->db, all[i].gateway_id, req->now);
        if (e) return e;
        all[i].asked_at = req->now;
        view(&req->out, &all[i]);
        dispatcher_wake(req->app->dispatcher);
        return admin_audit(req, "reconciliation.ask", all[i].gateway_id, all[i].gateway_label, (Str){0}, (Str){0});
    }
    return e ? e : ERR_NOT_FOUND;
}

const struct route admin_reconciliations_routes[] = {
    {"GET", "/api/admin/reconciliations", SCOPE_ADMIN, TX_READ, NULL, get_reconciliations},
    {"POST", "/api/admin/reconciliations/{gateway}", SCOPE_ADMIN, TX_WRITE, NULL, post_reconciliation},
    {0},
};
