/* view/view_timeline.c - see view_timeline.h. */
#include "view/view_timeline.h"

static void view_entry(struct json_writer *w, const struct timeline_entry *t, bool for_staff)
{
    json_begin_object(w);
    json_kv_time(w, "at", t->at);
    json_kv_cstr(w, "kind", timeline_kind_names[t->kind]);
    if (t->has_amount)
        json_kv_money(w, "amount", t->amount);
    else
        json_kv_null(w, "amount");
    json_kv_opt_str(w, "gateway", t->gateway_label);
    if (for_staff) {
        json_kv_opt_id(w, "by", t->actor);
        json_kv_opt_str(w, "by_email", t->actor_email);
        json_kv_opt_str(w, "note", t->note);
    }
    json_end_object(w);
}

static void view(struct json_writer *w, const struct timeline_entry *entries, size_t count, bool for_staff)
{
    json_key(w, "timeline");
    json_begin_array(w);
    for (size_t i = 0; i < count; i++)
        if (for_staff || timeline_concerns_customer(entries[i].kind)) view_entry(w, &entries[i], for_staff);
    json_end_array(w);
}

void view_timeline_staff(struct json_writer *w, const struct timeline_entry *entries, size_t count)
{
    view(w, entries, count, true);
}

void view_timeline_customer(struct json_writer *w, const struct timeline_entry *entries, size_t count)
{
    view(w, entries, count, false);
}
