/* view/view_ticket.c - see view_ticket.h. */
#include "view/view_ticket.h"

void view_department(struct json_writer *w, const void *department)
{
    const struct department *d = department;
    json_begin_object(w);
    json_kv_id(w, "id", d->id);
    json_kv_str(w, "name", d->name);
    json_end_object(w);
}

static void ticket_members(struct json_writer *w, const struct ticket *t)
{
    json_kv_id(w, "id", t->id);
    json_kv_str(w, "subject", t->subject);
    json_kv_str(w, "department", t->department);
    json_kv_cstr(w, "status", ticket_status_names[t->status]);
    json_kv_time(w, "created_at", t->created_at);
}

void view_ticket(struct json_writer *w, const struct ticket *t)
{
    json_begin_object(w);
    ticket_members(w, t);
    json_end_object(w);
}

void view_ticket_listed(struct json_writer *w, const void *row)
{
    const struct ticket *t = row;
    json_begin_object(w);
    ticket_members(w, t);
    json_kv_time(w, "last_reply_at", t->last_reply_at);
    json_end_object(w);
}

void view_ticket_message(struct json_writer *w, const struct ticket_message *m)
{
    json_begin_object(w);
    json_kv_id(w, "id", m->id);
    json_kv_cstr(w, "author", m->by_staff ? "staff" : "customer");
    json_kv_str(w, "author_name", m->author_name);
    json_kv_str(w, "body", m->body);
    json_kv_time(w, "created_at", m->created_at);
    json_end_object(w);
}

void view_ticket_conversation(struct json_writer *w, const struct ticket *t, const struct ticket_message *items,
                              size_t count)
{
    json_begin_object(w);
    ticket_members(w, t);
    json_kv_opt_id(w, "order_id", t->order_id);
    json_kv_opt_id(w, "license_id", t->license_id);
    json_key(w, "messages");
    json_begin_array(w);
    for (size_t i = 0; i < count; i++) view_ticket_message(w, &items[i]);
    json_end_array(w);
    json_end_object(w);
}
