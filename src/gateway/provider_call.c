/* gateway/provider_call.c - see provider_call.h. */
#include "gateway/provider_call.h"

#include "gateway/payload.h"

struct json_writer *json_body_begin(struct json_body *b, struct arena *a)
{
    buf_init(&b->bytes, a, CALL_BODY_MAX);
    json_writer_init(&b->w, &b->bytes, 0);
    json_begin_object(&b->w);
    return &b->w;
}

bool call_json(struct http_call *call, struct json_body *b)
{
    json_end_object(&b->w);
    call_header(call, STR("Content-Type"), STR("application/json"));
    call->body = buf_str(&b->bytes);
    return !b->bytes.full;
}

bool call_form(struct http_call *call, const struct buf *form)
{
    call_header(call, STR("Content-Type"), STR("application/x-www-form-urlencoded"));
    call->body = buf_str(form);
    return !form->full;
}

void json_open(struct json_writer *w, const char *key)
{
    json_key(w, key);
    json_begin_object(w);
}

void call_url(struct arena *a, const struct gateway_config *config, struct http_call *call, Str path)
{
    call->url = str_printf(a, "%.*s%.*s", STR_FMT(gateway_base_url(config)), STR_FMT(path));
}

enum reply page_read(struct pay_page page, struct pay_page *ret)
{
    if (!page.group_ref.len || !page.url.len) return REPLY_RETRY;
    *ret = page;
    return REPLY_OK;
}

enum reply refund_read_json(const struct json *refund, Str url, struct refund_page *ret)
{
    Str status = json_text(refund, "status"), id = payload_ref(refund, "id");
    if (str_eq_nocase(status, STR("failed")) || str_eq_nocase(status, STR("canceled")) ||
        str_eq_nocase(status, STR("cancelled")))
        return REPLY_REFUSED;
    if (!id.len) return REPLY_RETRY;
    *ret = (struct refund_page){.refund_ref = id, .url = url};
    return REPLY_OK;
}

void book_add(struct arena *a, struct book_lines *lines, struct book_entry entry)
{
    struct book_entry *kept = arena_new(a, struct book_entry);
    *kept = entry;
    kept->next = lines->entries;
    lines->entries = kept;
}

void event_of_claim(const struct payment_event *claim, struct payment_event *e)
{
    e->event_id = claim->event_id;
    e->delivery_id = claim->delivery_id;
    e->type = claim->type;
    e->occurred_at = claim->occurred_at;
}
