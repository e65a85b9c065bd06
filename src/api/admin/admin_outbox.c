/* api/admin/admin_outbox.c - the outbox, for staff: what waits, what failed and why, trying a row again, deleting it;
 * and a test message for the mail server. */
#include "api/admin/audit_trail.h"
#include "api/tables.h"
#include "domain/outbox_desk.h"
#include "outbox/mail_errand.h"
#include "page/words.h"
#include "serve/app.h"

struct outbox_query {
    struct list_query list;
    int status, kind;
    bool has_status, has_kind;
};
#define QUERY(member) offsetof(struct outbox_query, member)
static const struct field query_fields[] = {
    LIST_FIELDS,
    {"status", FIELD_CHOICE, OPTIONAL, QUERY(status), .choices = outbox_status_names, .has = QUERY(has_status)},
    {"kind", FIELD_CHOICE, OPTIONAL, QUERY(kind), .choices = outbox_group_names, .has = QUERY(has_kind)},
    {0},
};
static const struct shape query_shape = {query_fields, sizeof(struct outbox_query)};

static void view(struct json_writer *w, const void *thing)
{
    const struct outbox_view *v = thing;
    json_begin_object(w);
    json_kv_id(w, "id", v->item.id);
    json_kv_cstr(w, "kind", outbox_group_names[outbox_group_of(v->item.kind)]);
    json_kv_cstr(w, "status", outbox_status_names[v->status]);
    json_kv_str(w, "what", v->what);
    json_kv_opt_id(w, "order_id", v->order_id);
    json_kv_opt_id(w, "payment_id", v->item.payment);
    json_kv_int(w, "tries", v->item.attempts);
    json_kv_time(w, "next_try_at", v->status == OUTBOX_WAITING ? v->due_at : (Time){0});
    json_kv_opt_str(w, "last_error", v->last_error);
    json_kv_time(w, "created_at", v->item.created_at);
    json_end_object(w);
}

static enum err show(struct request *req, const void *thing)
{
    view(&req->out, thing);
    return OK;
}

static const struct list outbox_rows = {LIST_ROWS(struct outbox_view, item.id), .show = show};

static enum err get_outbox(struct request *req)
{
    const struct outbox_query *q = req->query;
    const struct outbox_filter filter = {.has_status = q->has_status,
                                         .status = (enum outbox_status)q->status,
                                         .has_group = q->has_kind,
                                         .group = (enum outbox_group)q->kind};
    struct list_page page;
    struct outbox_view *rows;
    enum err e = request_page(req, &page);
    if (!e) e = outbox_list(req->db, &filter, page.after_id, page.ask, &rows, &page.found);
    return e ? e : request_list(req, &page, &outbox_rows, rows);
}

static enum err post_retry(struct request *req)
{
    struct outbox_view before, after;
    enum err e = outbox_view(req->db, req->param_id, &before);
    if (!e) e = outbox_try_now(req->db, req->param_id, req->now);
    if (!e) e = outbox_view(req->db, req->param_id, &after);
    if (e) return e;
    view(&req->out, &after);
    dispatcher_wake(req->app->dispatcher); /* only a hint: the dispatcher also looks by itself */
    return admin_audit(req, "outbox.retry", before.item.id, before.what, admin_json(req, view, &before),
                       admin_json(req, view, &after));
}

static enum err delete_row(struct request *req)
{
    struct outbox_view before;
    enum err e = outbox_view(req->db, req->param_id, &before);
    if (!e) e = outbox_drop(req->db, req->param_id);
    if (e) return e;
    view(&req->out, &before);
    return admin_audit(req, "outbox.delete", before.item.id, before.what, admin_json(req, view, &before), (Str){0});
}

struct test_body {
    Str to;
};
static const struct field test_fields[] = {{"to", FIELD_EMAIL, REQUIRED, offsetof(struct test_body, to)}, {0}};
static const struct shape test_shape = {test_fields, sizeof(struct test_body)};

struct test_mail {
    Str to;
    const char *error; /* NULL: the server took it */
};

static enum err record_test(struct request *req, struct test_mail *t)
{
    json_begin_object(&req->out);
    json_kv_str(&req->out, "to", t->to);
    json_kv_bool(&req->out, "sent", t->error == NULL);
    json_kv_opt_str(&req->out, "error", t->error ? str_from(t->error) : (Str){0});
    json_end_object(&req->out);
    return admin_audit(req, "mail.test", (Id){0}, t->to, (Str){0}, (Str){0});
}
REQUEST_STEP(record_test);

/* Sent while the caller waits, so that the answer has the mail server's reply. */
static enum err post_mail_test(struct request *req)
{
    const struct test_body *in = req->body;
    struct app *app = req->app;
    struct test_mail t = {.to = in->to, .error = MAIL_OFF_ERROR};
    struct mail_look look = mail_look_of(req->arena, req->settings);
    struct mail_parts parts;
    enum lang langs[LANG_COUNT];
    lang_list(str_from(req->settings->languages), langs);
    mail_text_render(req->arena, langs[0], MAIL_test, &mail_defaults[langs[0]][MAIL_test], &(struct mail_values){0},
                     &look, &parts);
    if (*app->options.mail.url)
        mail_send(app->outbound, &app->options.mail, in->to, &parts, look.store, (Id){0}, req->now, req->arena,
                  &t.error);
    return request_step(req, TX_WRITE, record_test, &t);
}

const struct route admin_outbox_routes[] = {
    {"GET", "/api/admin/outbox", SCOPE_ADMIN, TX_READ, NULL, get_outbox, .query = &query_shape},
    {"POST", "/api/admin/outbox/{id}/retry", SCOPE_ADMIN, TX_WRITE, NULL, post_retry},
    {"DELETE", "/api/admin/outbox/{id}", SCOPE_ADMIN, TX_WRITE, NULL, delete_row},
    {"POST", "/api/admin/mail/test", SCOPE_ADMIN, TX_SELF, &test_shape, post_mail_test, CALLS_OUT},
    {0},
};
